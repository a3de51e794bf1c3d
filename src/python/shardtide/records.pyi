"""Records of the log, by the names of their schemas in avro/: written by tests/typed_records.py."""

import datetime
from typing import TypedDict

from typing_extensions import NotRequired

class WorkloadChange(TypedDict):
    eventId: str
    workloadId: str
    occurredAt: datetime.datetime
    source: str
    expectedGeneration: NotRequired[None | int]
    changes: list[TableUpserted | TableDropped | ClusterSet | WorkloadDeleted | TableResized]

class TableUpserted(TypedDict):
    table: TableSpec

class TableSpec(TypedDict):
    name: str
    rows: int
    columns: int
    poolingFactor: float
    reuseHistogram: NotRequired[list[float]]
    bytesPerElement: NotRequired[float]
    accessCdf: NotRequired[list[float]]
    optimizerBytesPerElement: NotRequired[float]
    optimizerBytesPerRow: NotRequired[float]
    constraints: NotRequired[TableConstraints]
    pooled: NotRequired[bool]
    optimizer: NotRequired[None | str]
    enforceHbm: NotRequired[bool]
    features: NotRequired[list[TableFeature]]
    idWeights: NotRequired[None | str]
    kernel: NotRequired[TableKernel]
    storage: NotRequired[None | HashedStorage]
    distinctShare: NotRequired[list[DistinctShare]]
    deduplicated: NotRequired[None | bool]
    rowSpread: NotRequired[list[RowSpread]]

class TableConstraints(TypedDict):
    kinds: NotRequired[list[str]]
    leastColumns: NotRequired[int]
    sameDevicesAs: NotRequired[None | str]
    mayBeCached: NotRequired[bool]
    mayHaveHotRows: NotRequired[bool]

class TableFeature(TypedDict):
    name: str
    poolingFactor: float
    batchShare: NotRequired[float]
    duplicates: NotRequired[float]

class TableKernel(TypedDict):
    computeKernel: NotRequired[None | str]
    cacheLoadFactor: NotRequired[None | float]
    cacheAlgorithm: NotRequired[None | str]
    outputType: NotRequired[None | str]
    stochasticRounding: NotRequired[None | bool]

class HashedStorage(TypedDict):
    ids: NotRequired[int]
    idsPerDay: NotRequired[float]
    slotBytes: NotRequired[float]
    eviction: NotRequired[str]
    hitShares: NotRequired[list[float]]
    resizeReason: NotRequired[None | str]

class DistinctShare(TypedDict):
    samples: int
    share: float

class RowSpread(TypedDict):
    order: str
    shares: list[float]

class TableDropped(TypedDict):
    name: str

class ClusterSet(TypedDict):
    cluster: ClusterSpec

class ClusterSpec(TypedDict):
    devices: int
    memoryBytesPerDevice: int
    batchSize: int
    devicesPerNode: int
    hardware: str
    hostMemoryBytesPerDevice: NotRequired[int]
    reservedMemoryBytesPerDevice: NotRequired[int]
    countsStepMemory: NotRequired[bool]
    forwardBytesPerElement: NotRequired[float]
    backwardBytesPerElement: NotRequired[float]
    replicaGroups: NotRequired[list[int]]
    synchronizationSteps: NotRequired[int]
    codecs: NotRequired[list[WireCodec]]
    optimizer: NotRequired[None | str]
    pipeline: NotRequired[None | str]
    memoryBytesByDevice: NotRequired[list[DeviceMemory]]
    devicesPerHost: NotRequired[int]

class WireCodec(TypedDict):
    name: str
    directions: NotRequired[list[str]]
    bytesPerElement: float
    gigabytesPerSecond: NotRequired[float]
    density: NotRequired[float]
    canBeSummed: NotRequired[bool]

class DeviceMemory(TypedDict):
    device: int
    bytes: int

class WorkloadDeleted(TypedDict):
    reason: str

class TableResized(TypedDict):
    tableName: str
    rows: int
    resizeReason: NotRequired[str]

class CostPredictions(TypedDict):
    workloadId: str
    generation: int
    eventId: str
    source: SourcePosition
    modelId: str
    part: int
    parts: int
    cluster: ClusterSpec
    change: NotRequired[None | TablePredicted | TableForgotten | WorkloadDeleted]
    costsOf: NotRequired[None | str]

class SourcePosition(TypedDict):
    topic: str
    partition: int
    offset: int

class TablePredicted(TypedDict):
    table: TableSpec
    towers: list[list[float]]
    outOfRange: NotRequired[list[OutOfRange]]
    splits: NotRequired[list[SplitPredicted]]
    byUse: NotRequired[list[UsePredicted]]
    byGroups: NotRequired[list[GroupPredicted]]
    deduplicated: NotRequired[None | TablePredicted]

class OutOfRange(TypedDict):
    subject: str
    quantity: str
    value: float
    min: float
    max: float

class SplitPredicted(TypedDict):
    scope: str
    columns: int
    tower: list[float]
    cacheShare: NotRequired[None | float]
    blocks: NotRequired[int]

class UsePredicted(TypedDict):
    hotRows: int
    hot: TablePredicted
    others: TablePredicted

class GroupPredicted(TypedDict):
    groups: int
    layout: str
    prediction: TablePredicted

class TableForgotten(TypedDict):
    name: str

class RejectedEvent(TypedDict):
    source: SourcePosition
    workloadId: NotRequired[None | str]
    reason: str
    message: str
    key: NotRequired[None | bytes]
    value: NotRequired[None | bytes]

class ShardingPlan(TypedDict):
    planId: str
    workloadId: str
    generation: int
    firstGeneration: int
    effort: str
    source: SourcePosition
    modelId: str
    settings: SearchSettings
    previousPlanId: NotRequired[None | str]
    slow: NotRequired[list[DeviceSpeed]]
    reason: str
    shards: list[Shard]
    replication: NotRequired[Replication]
    deviceCosts: list[DeviceCost]
    predictedMs: float
    moves: list[Move]
    moveOrder: list[MoveStep]
    movedBytes: int
    lowerBoundMs: float
    uncertaintyMs: NotRequired[float]
    bottleneck: Bottleneck
    explanations: list[Explanation]
    outOfRange: NotRequired[list[OutOfRange]]
    outOfRangeCount: NotRequired[int]
    cacheMisses: NotRequired[list[CacheMisses]]
    evaluations: int
    searchMillis: float
    createdAt: datetime.datetime
    codecs: NotRequired[list[CollectiveCodec]]
    kernels: NotRequired[list[PlannedKernel]]
    deduplications: NotRequired[list[Deduplication]]
    hotOwners: NotRequired[list[HotOwner]]

class SearchSettings(TypedDict):
    evaluationsPerTable: int
    repairEvaluations: int
    moveGigabytesPerSecond: float
    moveOverheadMs: float
    paybackSteps: int
    reshardMs: NotRequired[float]
    columnCuts: NotRequired[str]
    risk: NotRequired[float]

class DeviceSpeed(TypedDict):
    device: int
    part: str
    slowdown: float
    standardError: float
    since: datetime.datetime

class Shard(TypedDict):
    table: str
    kind: str
    columnOffset: int
    columns: int
    rowOffset: int
    rows: int
    device: int
    cacheShare: NotRequired[None | float]
    deduplicated: NotRequired[bool]
    rowOrder: NotRequired[None | str]

class Replication(TypedDict):
    groups: int
    layout: str
    synchronizationSteps: int
    synchronizationMs: float

class DeviceCost(TypedDict):
    computeMs: float
    forwardCommMs: float
    backwardCommMs: float
    memoryBytes: int
    hostMemoryBytes: NotRequired[int]

class Move(TypedDict):
    table: str
    columnOffset: int
    columns: int
    rowOffset: int
    rows: int
    fromDevice: int
    toDevice: int
    bytes: int

class MoveStep(TypedDict):
    move: int
    stage: str

class Bottleneck(TypedDict):
    device: int
    cause: str
    table: str
    gainMs: float

class Explanation(TypedDict):
    kind: str
    table: str
    fromDevice: int
    toDevice: int
    cause: str
    gainMs: float

class CacheMisses(TypedDict):
    table: str
    lookupShare: float
    known: str
    leastShare: NotRequired[None | float]

class CollectiveCodec(TypedDict):
    scope: str
    direction: str
    codec: WireCodec
    savedMs: float

class PlannedKernel(TypedDict):
    table: str
    kernel: TableKernel
    enforceHbm: NotRequired[bool]

class Deduplication(TypedDict):
    table: str
    distinctShare: float
    savedMs: float

class HotOwner(TypedDict):
    table: str
    device: int
    factor: float

class PlanStatus(TypedDict):
    workloadId: str
    planId: str
    status: str
    step: int
    reason: NotRequired[None | str]
    source: str
    run: NotRequired[str]
    occurredAt: datetime.datetime
    wave: NotRequired[int]
    waves: NotRequired[int]

class MeasuredCosts(TypedDict):
    measurementId: str
    workloadId: str
    planId: str
    run: NotRequired[str]
    step: int
    steps: NotRequired[int]
    devices: list[MeasuredDevice]
    collectives: NotRequired[list[MeasuredCollective]]
    source: str
    measuredAt: datetime.datetime

class MeasuredDevice(TypedDict):
    computeMs: float
    forwardCommMs: float
    backwardCommMs: float
    forwardComputeMs: NotRequired[None | float]

class MeasuredCollective(TypedDict):
    collective: str
    direction: str
    scope: str
    ms: list[float]

class FillReport(TypedDict):
    reportId: str
    workloadId: str
    planId: str
    run: NotRequired[str]
    source: str
    measuredAt: datetime.datetime
    tables: list[TableFill]

class TableFill(TypedDict):
    table: str
    shards: list[ShardFill]

class ShardFill(TypedDict):
    rank: int
    rowOffset: NotRequired[int]
    slots: int
    ids: int
    insertions: NotRequired[int]
    evictions: NotRequired[int]
    collisions: NotRequired[int]
