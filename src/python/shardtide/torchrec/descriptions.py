"""Shards of Shardtide's plans in TorchRec's terms, checked by TorchRec's rules."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from shardtide.optimizers import OF_FBGEMM_CPU
from shardtide.torchrec import codecs
from shardtide.torchrec.lines import plan_record
from shardtide.train.replication import replication_of

logger = logging.getLogger("shardtide")

DEFAULT_MODULE = "model.sparse_arch.embedding_bag_collection"

_PATH = re.compile(r"|[^.]+(\.[^.]+)*")

# Columns. TorchRec accepts no narrower shard, and FBGEMM's kernels load 4 floats at once.
COLUMN_UNIT = 4

# Types whose shards have all rows.
COLUMN_KINDS = ("table_wise", "column_wise", "table_column_wise")

# Types that TorchRec's EmbeddingCollection has.
UNPOOLED_KINDS = ("table_wise", "column_wise", "row_wise", "data_parallel")

# Types that split rows over the devices of a node.
NODE_KINDS = ("table_row_wise", "grid_shard")

# TorchRec's sharding types.
KINDS = ("table_wise", "column_wise", "table_column_wise", "row_wise", "table_row_wise", "grid_shard", "data_parallel")

# How placements of CPUs end.
ON_CPU = "/cpu"

# DataTypes of tables and of outputs that FBGEMM's CPU kernels, fused and dense, train with. Of others, ranks with such a
# table fail when it is made or in their first step, while others wait.
TYPES_OF_CPUS = ("FP32", "FP16")


def describe(
    plan: Mapping[str, Any],
    modules: str | Mapping[str, str | Sequence[str]] | None = None,
    devices_per_node: int = 8,
    reshardable: bool = False,
    compute_kernel: str = "fused",
    device: str = "cuda",
    devices_per_host: int | None = None,
    unpooled: Collection[str] = (),
) -> dict[str, Any]:
    """Returns the description of a plan: of a ShardingPlan record, a line of ./shardtide plan, or a description.

    modules: path of the EmbeddingBagCollection or EmbeddingCollection within the model that DistributedModelParallel
        wraps; "" for the model itself. Of several collections, the path for each table, or all paths if the model holds
        its collection under several names: table_modules(model). None: that of a description, of others DEFAULT_MODULE
    devices_per_node: devices that the fast links connect, at least 1; the same as devicesPerNode of the cluster
    reshardable: whether a running model can go from this plan to any other reshardable plan of the same tables and
        devices in which the same tables are copied and have their rows split. DistributedModelParallel.reshard moves
        columns only, keeps each table's sharding type and accepts one shard of a table on a rank; so all tables whose
        shards have all rows are column-wise, and a device's shards of a table are joined
    compute_kernel: fused (the optimizer is in the backward pass) or dense, of tables in device memory that name none
    device: cuda or cpu, where shards without rows and optimizers that FBGEMM's kernels lack are refused
    devices_per_host: the local world size, a divisor of devices_per_node; device R of the plan is
        "rank:R/cuda:(R mod devices_per_host)". None: a node is a host. If it is not, TorchRec splits rows over a node
        where the environment says the hosts of a node: see check_nodes()
    unpooled: names of tables of EmbeddingCollections, which TorchRec does not reshard: they keep the plan's kinds

    Of a plan with replica groups it describes each group, of ranks 0 to world_size less one, and has "dmp_collection":
    arguments of DMPCollection, which numbers the ranks of each group, with its synchronization called by the program.
    Of a plan with codecs it has "qcomms", their names by scope and direction: precisions for QCommsConfig. All others
    are single precision.

    Of a plan with deduplicated ids it has "deduplicated", the tables: EmbeddingCollectionSharder takes use_index_dedup for
    them, for the tables of all EmbeddingCollections or for none. So all of unpooled are among them, with a warning.

    ValueError if TorchRec cannot run the plan, or modules does not have its tables; if it is no plan, or does not fit.
    """
    plan, own_modules, fields = plan_record(plan)
    if modules is None:
        modules = DEFAULT_MODULE if own_modules is None else own_modules
    kernels = {planned["table"]: planned for planned in plan.get("kernels") or []}
    world_size = len(plan["deviceCosts"])
    ranks = world_size * (plan.get("replication") or {}).get("groups", 1)
    replication = replication_of(plan, ranks)
    per_node = min(replication.per_node(ranks, devices_per_node), world_size)
    per_host = devices_per_host or devices_per_node
    if per_host < 1 or devices_per_node % per_host:
        got = f"{devices_per_node} devices per node, got {devices_per_host}"
        raise ValueError(f"devices_per_host must be a divisor of the {got}")
    # DMPCollection numbers the ranks of each group and their devices itself.
    numbered = min(per_host, per_node) if replication.groups == 1 else per_node
    if device == "cpu":
        _check_unpooled_on_cpus(plan["shards"], unpooled, compute_kernel)
    description = {
        "workload": plan["workloadId"],
        "generation": plan["generation"],
        "plan_id": plan["planId"],
        "previous_plan_id": plan.get("previousPlanId"),
        "predicted_ms": plan["predictedMs"],
        "world_size": world_size,
        "plan": {
            path: {
                table: {
                    **_parameter_sharding(
                        _sharding(table, shards, world_size, per_node, reshardable and table not in unpooled, device),
                        _cache_share(table, shards),
                        kernels.get(table, {"kernel": {}}),
                        compute_kernel,
                        world_size,
                        numbered,
                        device,
                    ),
                    **fields.get(table, {}),
                }
                for table, shards in tables.items()
            }
            for path, tables in _by_module(_by_table(plan["shards"], world_size), modules).items()
        },
    }
    for path, shardings in description["plan"].items():
        _check_outputs(path, shardings, world_size)
    for table, sharding in shardings_of(description).items() if device == "cpu" else ():
        _check_on_cpus(table, sharding)
    precisions: dict[str, dict[str, str]] = {}
    for used in plan.get("codecs") or []:
        codecs.check(used["scope"], used["direction"], used["codec"]["name"], device)
        precisions.setdefault(used["scope"], {})[used["direction"]] = used["codec"]["name"]
    if precisions:
        description["qcomms"] = precisions
    deduplicated = {shard["table"] for shard in plan["shards"] if shard.get("deduplicated")}
    if deduplicated:
        description["deduplicated"] = sorted(deduplicated.union(unpooled))
        others = sorted(set(unpooled) - deduplicated)
        if others:
            logger.warning("Ids of %s are deduplicated beside those of the plan: TorchRec does it for all", ", ".join(others))
    if replication.groups > 1:
        description["dmp_collection"] = {
            "world_size": ranks,
            "sharding_group_size": world_size,
            "node_group_size": per_node,
            "use_inter_host_allreduce": replication.layout == "CONSECUTIVE",
        }
    return description


def _check_unpooled_on_cpus(shards: list[dict[str, Any]], unpooled: Collection[str], compute_kernel: str) -> None:
    """FBGEMM's dense kernel pools on CPUs, without an error in some cases: outputs would be those of other lookups."""
    for shard in shards:
        if shard["table"] in unpooled and (compute_kernel == "dense" or shard["kind"] == "DATA_PARALLEL"):
            of = f'Table "{shard["table"]}" of an EmbeddingCollection is {shard["kind"].lower()} with the kernel dense'
            remedy = "must be on GPUs, or have another kind and the kernel fused"
            raise ValueError(f"{of}, which has no unpooled lookups on CPUs; {remedy}")


def _cache_share(table: str, shards: list[dict[str, Any]]) -> float | None:
    """Returns the share of a table's rows that device memory holds as a cache, 0 without one; None if it holds all."""
    shares = {shard.get("cacheShare") for shard in shards}
    if len(shares) > 1:
        texts = sorted("none" if share is None else str(share) for share in shares)
        raise ValueError(f'Table "{table}" has shards with cache shares {", ".join(texts)}; must have one')
    return shares.pop()


class _Shard(NamedTuple):
    """TorchRec's ShardMetadata: a part of a table, which may have no rows, on a rank."""

    column: int
    columns: int
    row: int
    rows: int
    rank: int


def _by_table(shards: list[dict[str, Any]], world_size: int) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for shard in sorted(shards, key=lambda s: (s["table"], s["columnOffset"], s["rowOffset"])):
        of, device = f'Table "{shard["table"]}" has a', shard["device"]
        if shard["kind"] == "DATA_PARALLEL":
            if device != -1:
                raise ValueError(f"{of} data_parallel shard on device {device}; must be -1, each device")
        elif not 0 <= device < world_size:
            raise ValueError(f"{of} shard on device {device}; must be 0 to {world_size - 1}")
        tables.setdefault(shard["table"], []).append(shard)
    return tables


def _by_module(
    tables: dict[str, list[dict[str, Any]]], modules: str | Mapping[str, str | Sequence[str]]
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    given = {table: modules for table in tables} if isinstance(modules, str) else modules
    paths = {table: [of] if isinstance(of, str) else list(of) for table, of in given.items()}
    for table in sorted(tables.keys() | paths.keys()):
        if table not in paths:
            raise ValueError(f'Table "{table}" has no module path; modules must have one for each table of the plan')
        for path in paths[table]:
            if not _PATH.fullmatch(path):
                expected = "names separated by dots, or empty for the model itself"
                raise ValueError(f'module path must be {expected}, got "{path}"')
        if table not in tables:
            of = f'Table "{table}" of module "{paths[table][0]}"'
            raise ValueError(f"{of} is not in the plan; must be a plan of all tables of the modules")
    return {
        path: {table: shards for table, shards in tables.items() if path in paths[table]}
        for path in sorted({path for of in paths.values() for path in of})
    }


def _sharding(
    table: str, shards: list[dict[str, Any]], world_size: int, per_node: int, reshardable: bool, device: str
) -> tuple[str, list[_Shard]]:
    of, (kind, *others) = f'Table "{table}"', sorted({shard["kind"].lower() for shard in shards})
    hot = [shard["rows"] for shard in shards if shard["device"] == -1]
    if hot and len(hot) < len(shards):
        has = f"{of} has copies of its {hot[0]:,} most used rows"
        raise ValueError(f"{has}, which TorchRec lacks; publish it with mayHaveHotRows false")
    orders = sorted({shard.get("rowOrder") or "contiguous" for shard in shards} - {"contiguous"})
    if orders:
        has = f"{of} has its rows in the order {', '.join(orders)}"
        raise ValueError(f"{has}, which TorchRec lacks; publish it with a rowSpread of contiguous blocks only")
    if others:
        raise ValueError(f"{of} has shards of kinds {', '.join([kind, *others])}; must be of one kind")
    if kind == "partial_row_wise":
        has = f"{of} is partial_row_wise, blocks of rows on devices {[shard['device'] for shard in shards]}"
        raise ValueError(f"{has}, which TorchRec lacks; publish it without that kind")
    found = [_Shard(s["columnOffset"], s["columns"], s["rowOffset"], s["rows"], s["device"]) for s in shards]
    devices = _row_devices(kind, world_size, per_node)
    if devices:
        found = _with_empty(found, devices, world_size)
    _check(table, kind, found, world_size, per_node)
    if device == "cpu":
        _check_rows(table, kind, found)
    if reshardable and kind in COLUMN_KINDS:
        return "column_wise", _joined(found)
    _check_widths(table, found)
    return kind, found


def _row_devices(kind: str, world_size: int, per_node: int) -> int:
    """Returns over how many devices the rows of a column part are split; 0 if they are not."""
    return world_size if kind == "row_wise" else per_node if kind in NODE_KINDS else 0


def _with_empty(shards: list[_Shard], devices: int, world_size: int) -> list[_Shard]:
    """Adds to each column part a shard without rows for each last device that has none, as TorchRec has them."""
    rows = max(shard.row + shard.rows for shard in shards)
    padded = []
    for column in dict.fromkeys(shard.column for shard in shards):
        part = [shard for shard in shards if shard.column == column]
        first = part[0].rank // devices * devices
        padded += part
        padded += [_Shard(column, part[0].columns, rows, 0, first + i) for i in range(len(part), devices)]
    return padded


def _check(table: str, kind: str, shards: list[_Shard], world_size: int, per_node: int) -> None:
    """Checks a table's shards, in the order of their columns and rows."""
    of = f'Table "{table}"'
    if "." in table:
        raise ValueError(f"{of} must not have a dot in its name, since TorchRec makes a module of each table")
    if kind in NODE_KINDS and world_size % per_node:
        where = f"{of} is {kind} on nodes of {per_node} devices"
        raise ValueError(f"{where}; must be a plan of whole nodes, got {world_size} devices")
    rows = max(shard.row + shard.rows for shard in shards)
    if kind in ("table_wise", "data_parallel") and len(shards) > 1:
        raise ValueError(f"{of} is {kind} and must have one shard, got {len(shards)}")
    if kind in ("row_wise", "table_row_wise") and len({shard.column for shard in shards}) > 1:
        raise ValueError(f"{of} is {kind} and has several ranges of columns; must have one")
    nodes = {shard.rank // per_node for shard in shards}
    if kind == "table_column_wise" and len(nodes) > 1:
        where = f"{of} is table_column_wise on devices {[shard.rank for shard in shards]}"
        raise ValueError(f"{where}; must be on one node of {per_node} devices")
    devices = _row_devices(kind, world_size, per_node) or 1
    block = -(-rows // devices)
    column = 0
    for i, shard in enumerate(shards):
        first = shards[i - i % devices]
        device = first.rank // devices * devices + i % devices if devices > 1 else shard.rank
        row = min(i % devices * block, rows)
        expected = _Shard(column, first.columns, row, min(block, rows - row), device)
        if shard != expected:
            raise ValueError(f"{of} is {kind} and has {_text(shard)}; expected {_text(expected)}")
        if shard.columns % COLUMN_UNIT:
            raise ValueError(f"{of} has a shard of {shard.columns} columns; must be a multiple of {COLUMN_UNIT}")
        if i % devices == devices - 1:
            column += shard.columns
    if len(shards) % devices:
        has = f"{of} is {kind} and has {len(shards)} shards"
        raise ValueError(f"{has}; must be {devices} for each range of columns")


def _check_on_cpus(table: str, sharding: Mapping[str, Any]) -> None:
    """Checks that FBGEMM's CPU kernels have the optimizer of a table, if the plan says it, and its outputs."""
    optimizer, output = sharding.get("optimizer", OF_FBGEMM_CPU[0]), sharding.get("output_dtype", "FP32")
    if sharding["compute_kernel"] == "fused" and optimizer not in OF_FBGEMM_CPU:
        raise ValueError(
            f'Table "{table}" has the optimizer {optimizer}, which FBGEMM\'s fused CPU kernels lack; must be one of'
            f" {', '.join(OF_FBGEMM_CPU)}, or have the compute kernel dense and an optimizer of PyTorch"
        )
    if output not in TYPES_OF_CPUS:
        has = f'Table "{table}" has the output_dtype {output}'
        raise ValueError(f"{has}, which FBGEMM's CPU kernels lack; must be {' or '.join(TYPES_OF_CPUS)}")


def _check_rows(table: str, kind: str, shards: list[_Shard]) -> None:
    """Checks that each rank that shares a table's rows has some, as FBGEMM's CPU kernels need it."""
    for shard in shards:
        if not shard.rows:
            rows = max(shard.row + shard.rows for shard in shards)
            has = f'Table "{table}" is {kind} and leaves device {shard.rank} without any of its {rows} rows'
            raise ValueError(f"{has}; FBGEMM's CPU kernels need some on each, plan the table again")


def _check_widths(table: str, shards: list[_Shard]) -> None:
    """Checks that a rank's shards are of one width: TorchRec makes its parameter as large as so many first ones."""
    for rank in sorted({shard.rank for shard in shards}):
        widths = [shard.columns for shard in shards if shard.rank == rank]
        if len(set(widths)) > 1:
            has = f'Table "{table}" has shards of {widths} columns on device {rank}; must be of equal width there'
            raise ValueError(f"{has}, as reshardable plans and plans with equal column cuts have them")


def _text(shard: _Shard) -> str:
    return f"columns {shard.column}+{shard.columns}, rows {shard.row}+{shard.rows} on device {shard.rank}"


def _joined(shards: list[_Shard]) -> list[_Shard]:
    """Returns one shard for each rank, as wide as its shards together, in the order of their first columns."""
    widths: dict[int, int] = {}
    for shard in shards:
        widths[shard.rank] = widths.get(shard.rank, 0) + shard.columns
    ends = itertools.accumulate(widths.values())
    return [
        _Shard(end - columns, columns, 0, shards[0].rows, rank) for end, (rank, columns) in zip(ends, widths.items())
    ]


def _check_outputs(path: str, shardings: Mapping[str, dict[str, Any]], world_size: int) -> None:
    """Checks that all devices send numbers of one format in each collective of a module.

    A module's tables of one sharding type share a collective. TorchRec concatenates a device's outputs in their common
    format, and sends single precision from a device that has none. Devices that send different formats fail, or hang.
    """
    types: dict[str, list[set[str]]] = {}
    for sharding in shardings.values():
        if sharding["sharding_type"] != "data_parallel":
            of_ranks = types.setdefault(sharding["sharding_type"], [set() for _ in range(world_size)])
            for rank in sharding["ranks"]:
                of_ranks[rank].add(sharding.get("output_dtype", "FP32"))
    for kind in KINDS:
        sent = [next(iter(found)) if len(found) == 1 else "FP32" for found in types.get(kind, [])]
        for rank, own in enumerate(sent):
            if own != sent[0]:
                raise ValueError(
                    f'Module "{path}": device 0 sends {sent[0]} and device {rank} {own} in the collective of its {kind}'
                    " tables; must be one format. A device sends the outputType of its tables, or FP32 if they differ"
                    " or there are none. Maybe publish one outputType for all tables, and use reshardable plans"
                )


def _kernel_fields(planned: Mapping[str, Any], cache_share: float | None) -> dict[str, Any]:
    """Returns what a table's sharding says of its kernel beside the kernel's name, where it is not the default."""
    kernel = planned["kernel"]
    algorithm = kernel.get("cacheAlgorithm")
    cache = {**({"algorithm": algorithm} if algorithm else {}), "load_factor": cache_share}
    found = {
        "cache_params": cache if cache_share else None,
        "enforce_hbm": planned.get("enforceHbm") or None,
        "stochastic_rounding": kernel.get("stochasticRounding"),
        "output_dtype": kernel.get("outputType") or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _parameter_sharding(
    sharding: tuple[str, list[_Shard]],
    cache_share: float | None,
    planned: Mapping[str, Any],
    compute_kernel: str,
    world_size: int,
    per_host: int,
    device: str,
) -> dict[str, Any]:
    kind, shards = sharding
    if kind == "data_parallel":
        fields = {"sharding_type": kind, "compute_kernel": "dense", **_kernel_fields(planned, None)}
        return {**fields, "ranks": list(range(world_size)), "size": [shards[0].rows, shards[0].columns]}
    kernel = planned["kernel"].get("computeKernel") or compute_kernel
    if cache_share is not None:
        kernel = "fused_uvm_caching" if cache_share else "fused_uvm"
    return {
        "sharding_type": kind,
        "compute_kernel": kernel,
        **_kernel_fields(planned, cache_share),
        "ranks": [shard.rank for shard in shards],
        "shards": [
            {
                "shard_offsets": [shard.row, shard.column],
                "shard_sizes": [shard.rows, shard.columns],
                "placement": placement(shard.rank, per_host, device),
            }
            for shard in shards
        ],
    }


def shardings_of(description: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the sharding of each table of a description."""
    return {table: sharding for tables in description["plan"].values() for table, sharding in tables.items()}


def placement(rank: int, devices_per_host: int, device: str) -> str:
    """Returns where a rank is in TorchRec's terms. device: type of the devices"""
    return f"rank:{rank}{ON_CPU}" if device == "cpu" else f"rank:{rank}/{device}:{rank % devices_per_host}"
