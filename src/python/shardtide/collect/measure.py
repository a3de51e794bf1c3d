"""Times of the forward pass, the backward pass and the optimizer of a set of shards."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from shardtide.collect.ids import draw_ids, draw_offsets, most_used
from shardtide.collect.operators import Bags, EmbeddingBags, ShardOperator
from shardtide.optimizers import OF_EMBEDDING_BAG
from shardtide.collect.shapes import MOST_SHARDS, Limits, Shard
from shardtide.collect.tables import AnyTable
from shardtide.train.clock import Clock

WARM_UPS = 2

# Of caches, forward passes after their most used rows were fetched, at most so many of all tables at a time; the last
# passes are counted.
CACHE_WARM_UPS = 20
COUNTED_WARM_UPS = 5
FETCHED_AT_A_TIME = 2**22

# Repetitions end when the standard error of their mean is at most this share of it, or there are MOST_REPETITIONS.
REPETITIONS = 3
MOST_REPETITIONS = {"cuda": 9, "cpu": 5}
STANDARD_ERROR = 0.01

# Writes of a whole buffer that a GPU has queued before a pass, 0.36 ms each on an H100: at first, and at most.
FLUSHES = 4
MOST_FLUSHES = 64

# Larger than the caches of today's GPUs (60 MB on an H200).
FLUSHED_BYTES = {"cuda": 512 * 2**20, "cpu": 32 * 2**20}

# Each byte of the weights: 0.011 as float32, 1.06 as float16. Neither is subnormal, which would be slow on CPUs.
FILL = 0x3C
WEIGHT = 0.011

# The weights stay as they are, as other sets read their bytes as other types; the work is that of any other rate.
LEARNING_RATE = 0.0

# Weights begin at multiples of this many bytes.
ALIGNMENT = 256

# Gradients, their coalesced copies, what the optimizer derives from them, and sorted ids.
BYTES_PER_GRADIENT_ELEMENT = 24

# Bytes of weights for each row that there may be: rows are mostly wider.
WEIGHT_BYTES_PER_ROW = 32


@dataclass(frozen=True)
class Times:
    """Medians over repetitions, in ms.

    forward_ms: lookups and sums, after what caches lack is fetched
    backward_ms: gradients and optimizer
    optimizer_ms: the part of backward_ms that an optimizer after it takes: all of it, or that of copies with FBGEMM
    launch_ms: what the host takes to launch all of that on a GPU; None on a CPU
    is_queued: whether all was launched before a GPU began with it, so that the other times have no pauses in them
    prefetch_ms: the part of forward_ms in which caches look up what they lack, fetch it, and write back what leaves;
        None without caches
    cache: of a mean step before those that are timed, counts as EmbeddingBags.cache_counts(); empty without caches
    """

    forward_ms: float
    backward_ms: float
    optimizer_ms: float
    launch_ms: float | None = None
    is_queued: bool = True
    prefetch_ms: float | None = None
    cache: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        names = ("forward_ms", "backward_ms", "optimizer_ms", "prefetch_ms", "cache", "launch_ms")
        found = {name: getattr(self, name) for name in names}
        fields = {name: dict(of) if name == "cache" else round(of, 5) for name, of in found.items() if of or of == 0}
        return fields if self.is_queued else {**fields, "queued": False}


class _Step(NamedTuple):
    """A forward pass, of which prefetch is a part, backward pass and optimizer, in ms; whether launched in time."""

    prefetch: float
    forward: float
    backward: float
    optimizer: float
    launch: float
    is_queued: bool


class Meter:
    """Measures sets of shards on a device, a CUDA device or the CPU.

    limits: what a set may need; see `limits_of`
    operator: embedding_bag, for whose weights and optimizer state memory is taken at once, or fbgemm, which allocates
        them for each set
    """

    def __init__(self, device: torch.device, limits: Limits, operator: str = "embedding_bag"):
        self._device = device
        self.limits = limits
        self._table_batched = operator == "fbgemm"
        if not self._table_batched:
            # Sets use this memory one after the other: allocating it for each would fragment it.
            self._weights = torch.full(
                (limits.weight_bytes + MOST_SHARDS * ALIGNMENT,), FILL, dtype=torch.uint8, device=device
            )
            self._momentum = torch.ones(limits.rows, device=device)
        self._flushed = torch.empty(FLUSHED_BYTES[device.type], dtype=torch.uint8, device=device)

    def measure(self, tables: Sequence[AnyTable], shards: Sequence[Shard], seed: int) -> Times:
        """Returns the times of one step of all shards, with other ids in each repetition.

        tables: all tables, of which the shards have indices
        RuntimeError: the operator fails for these shards, or the device has too little memory
        """
        generator = torch.Generator(self._device).manual_seed(seed)
        operators = self._operators(tables, shards)
        gradients = [_gradient(tables[shard.table], shard, generator) for shard in shards]
        flushes = FLUSHES if self._device.type == "cuda" else 1

        def step() -> _Step:
            return self._step(tables, shards, operators, gradients, generator, flushes)

        cache: dict[str, float] = {}
        if operators.has_caches:
            cache = self._fill_caches(tables, shards, operators, generator)
        for _ in range(WARM_UPS):
            step()
        steps: list[_Step] = []
        while not _is_enough(steps, MOST_REPETITIONS[self._device.type]):
            taken = step()
            if taken.is_queued or flushes >= MOST_FLUSHES:
                steps.append(taken)
            else:
                flushes *= 2
        launches, caches = self._device.type == "cuda", operators.has_caches
        return Times(
            forward_ms=statistics.median(taken.forward for taken in steps),
            backward_ms=statistics.median(taken.backward + taken.optimizer for taken in steps),
            optimizer_ms=statistics.median(taken.optimizer for taken in steps),
            launch_ms=statistics.median(taken.launch for taken in steps) if launches else None,
            is_queued=all(taken.is_queued for taken in steps),
            prefetch_ms=statistics.median(taken.prefetch for taken in steps) if caches else None,
            cache=cache,
        )

    def copy_gigabytes_per_second(self) -> float:
        """Returns the bandwidth of a copy on the device: bytes read and bytes written, in 10^9 bytes a second."""
        half = self._flushed.numel() // 2
        laps = []
        for _ in range(WARM_UPS + REPETITIONS):
            watch = Stopwatch(self._device)
            self._flushed[half:].copy_(self._flushed[:half])
            watch.lap()
            laps += watch.laps_ms()
        return round(2 * half / statistics.median(laps[WARM_UPS:]) / 1e6, 1)

    @property
    def has_caches(self) -> bool:
        return self._table_batched and self._device.type == "cuda"

    @property
    def has_unpooled(self) -> bool:
        return self._table_batched

    def _fill_caches(
        self,
        tables: Sequence[AnyTable],
        shards: Sequence[Shard],
        operators: EmbeddingBags,
        generator: torch.Generator,
    ) -> dict[str, float]:
        """Brings caches into the state that they have in training, and returns what they then lack.

        The rows that they should hold are fetched, the most used ones last. Ids of some steps follow.
        """
        most = max(shard.cached_rows(tables[shard.table]) for shard in shards)
        at_a_time = max(1, FETCHED_AT_A_TIME // sum(shard.cache_share is not None for shard in shards))
        for end in range(most, 0, -at_a_time):
            self._pass_untimed(
                [_most_used(tables[of.table], of, end - at_a_time, end, generator.device) for of in shards], operators
            )
        for left in range(CACHE_WARM_UPS, 0, -1):
            if left == COUNTED_WARM_UPS:
                operators.count_lookups(True)
            self._pass_untimed([_inputs(tables[shard.table], shard, generator) for shard in shards], operators)
        operators.count_lookups(False)
        return operators.cache_counts()

    @torch.no_grad()
    def _pass_untimed(self, inputs: Sequence[Bags], operators: EmbeddingBags) -> None:
        operators.forward(operators.join(inputs))

    def _operators(self, tables: Sequence[AnyTable], shards: Sequence[Shard]) -> EmbeddingBags:
        if self._table_batched:
            from shardtide.collect.fbgemm import TableBatchedEmbeddings

            held = [(shard.rows(tables[shard.table]), shard) for shard in shards]
            return TableBatchedEmbeddings(held, self._device, LEARNING_RATE, WEIGHT)
        operators = []
        first_byte = first_row = 0
        for shard in shards:
            if shard.optimizer not in OF_EMBEDDING_BAG:
                has = f"--operator embedding_bag has no optimizer {shard.optimizer}"
                raise ValueError(f"{has}; expected one of {', '.join(OF_EMBEDDING_BAG)}")
            if not shard.pooled:
                raise ValueError("unpooled shards need --operator fbgemm")
            needs = shard.needs(tables[shard.table])
            weight = self._weights[first_byte : first_byte + needs.weight_bytes].view(_dtype(shard))
            momentum = self._momentum[first_row : first_row + needs.rows]
            state = momentum if shard.optimizer == "rowwise_adagrad" else None
            weight = weight.view(needs.rows, shard.columns)
            operators.append(ShardOperator(weight, state, shard.replicated, LEARNING_RATE))
            first_byte += -(-needs.weight_bytes // ALIGNMENT) * ALIGNMENT
            first_row += needs.rows
        return EmbeddingBags(operators)

    def _step(
        self,
        tables: Sequence[AnyTable],
        shards: Sequence[Shard],
        operators: EmbeddingBags,
        gradients: Sequence[torch.Tensor],
        generator: torch.Generator,
        flushes: int,
    ) -> _Step:
        """Takes the time of a step, from a start with other data in the caches."""
        inputs = [_inputs(tables[shard.table], shard, generator) for shard in shards]
        joined = operators.join(inputs)
        of_outputs = operators.join_gradients(gradients)
        forward = Stopwatch(self._device, queue=lambda: self._flush(flushes))
        if operators.has_caches:
            operators.prefetch(joined)
            forward.lap()
        operators.forward(joined)
        forward.lap()
        forward.end_launching()
        # Read before the next queue: what it waits for would count as launching.
        laps_ms = forward.laps_ms()
        backward = Stopwatch(self._device, queue=lambda: self._flush(flushes))
        operators.backward(of_outputs)
        backward.lap()
        operators.step()
        backward.lap()
        backward.end_launching()
        backward_ms, optimizer_ms = backward.laps_ms()
        return _Step(
            sum(laps_ms[:-1]),
            sum(laps_ms),
            backward_ms,
            optimizer_ms,
            forward.launch_ms + backward.launch_ms,
            forward.is_queued and backward.is_queued,
        )

    def _flush(self, times: int) -> None:
        """Fills the caches with other data, as the dense layers of a model do, for as long as the host launches."""
        for _ in range(times):
            self._flushed.add_(1)


class Stopwatch:
    """Times a device's work in laps, by shardtide.train's clock.

    Computation starts after `queue`: a GPU should be busy with what that launches until all work is launched, so that
    laps have no pauses in which the GPU waits for the host.

    computes: whether it is computation, else a collective
    queue: launches other work before the first lap
    launch_ms: by `end_launching`: what the host took to launch the work
    is_queued: by `end_launching`: whether a GPU had not begun with the first lap by then; true on a CPU
    """

    def __init__(self, device: torch.device, computes: bool = True, queue: Callable[[], None] | None = None):
        self._clock = Clock(device, computes)
        self.launch_ms = 0.0
        self.is_queued = True
        if self._clock.cuda and computes:
            torch.cuda.synchronize(device)
        if queue:
            queue()
        self._marks: list[Any] = []
        self.lap()
        self._began = time.perf_counter()

    def lap(self) -> None:
        self._marks.append(self._clock.now())

    def end_launching(self) -> None:
        self.launch_ms = (time.perf_counter() - self._began) * 1e3
        self.is_queued = not self._clock.cuda or self._clock.is_ahead(self._marks[0])

    def laps_ms(self) -> list[float]:
        """Waits for the device, and returns the ms of each lap."""
        return [self._clock.ms(begin, end) for begin, end in zip(self._marks, self._marks[1:])]


def _is_enough(steps: Sequence[_Step], most: int) -> bool:
    if len(steps) < REPETITIONS:
        return False
    totals = [taken.forward + taken.backward + taken.optimizer for taken in steps]
    error = statistics.stdev(totals) / math.sqrt(len(totals))
    return len(steps) >= most or error <= STANDARD_ERROR * statistics.mean(totals)


def limits_of(free_bytes: int, device_type: str, host_bytes: int = 0) -> Limits:
    """Returns the limits of sets on a device with so many free bytes; those of a CPU are less for time's sake."""
    most_elements = 2**30 if device_type == "cuda" else 2**22
    elements = min(most_elements, free_bytes // 3 // BYTES_PER_GRADIENT_ELEMENT)
    left = free_bytes - elements * BYTES_PER_GRADIENT_ELEMENT - FLUSHED_BYTES[device_type]
    # The rest is what the allocator cannot use.
    rows = left * 85 // 100 // (WEIGHT_BYTES_PER_ROW + 4)
    if rows < 2**16:
        raise ValueError(f"{free_bytes // 2**20} MiB of memory are free, which is too little to measure")
    return Limits(rows * WEIGHT_BYTES_PER_ROW, rows, elements, host_bytes)


def _inputs(table: AnyTable, shard: Shard, generator: torch.Generator) -> Bags:
    lookups = shard.lookups(table)
    ids = draw_ids(table, lookups, shard.devices, generator)
    return ids, draw_offsets(table, shard.samples, lookups, shard.devices, generator)


def _most_used(table: AnyTable, shard: Shard, first: int, last: int, device: torch.device) -> Bags:
    """Bags with those of a shard's rows first..last in order of use, last not included, that its cache should hold."""
    last = max(0, min(last, shard.cached_rows(table)))
    ids = most_used(table, min(max(0, first), last), last, shard.devices, device)
    offsets = torch.arange(shard.samples + 1, device=device).mul_(len(ids)).div_(shard.samples, rounding_mode="floor")
    return ids, offsets


def _gradient(table: AnyTable, shard: Shard, generator: torch.Generator) -> torch.Tensor:
    device = generator.device
    return torch.randn(shard.outputs(table), shard.columns, dtype=_dtype(shard), device=device, generator=generator)


def _dtype(shard: Shard) -> torch.dtype:
    return torch.float16 if shard.bytes_per_element == 2 else torch.float32
