"""Converts Shardtide's plans to TorchRec's sharding plans.

    running = describe(plan)                          # plan: a ShardingPlan record from the log, a dict
    model = DistributedModelParallel(net, plan=to_sharding_plan(running), ...)
    ...
    wanted = describe(next_plan)
    reshard(model, running, wanted)                   # on all ranks, between two steps

A description is a dict that JSON can represent: the object that `./shardtide plan --format torchrec` and
`watch --format torchrec` write on each line, with TorchRec's own names and layout under "plan". Only to_sharding_plan,
reshard_arguments and reshard need torch and torchrec, and import them when they are called.
"""

from __future__ import annotations

import inspect
from typing import Any, Iterator, Sequence

DEFAULT_MODULE = "model.sparse_arch.embedding_bag_collection"

# Columns. TorchRec accepts no narrower shard, and FBGEMM's kernels load 4 floats at once.
COLUMN_UNIT = 4


class NotReshardable(ValueError):
    """DistributedModelParallel.reshard cannot go from one plan to the other.

    problems: the reasons, a sentence each. Save a checkpoint, and start again with the new plan.
    """

    def __init__(self, problems: Sequence[str]):
        super().__init__("; ".join(problems))
        self.problems = list(problems)


def describe(
    plan: dict[str, Any],
    module: str = DEFAULT_MODULE,
    devices_per_node: int = 8,
    reshardable: bool = False,
    compute_kernel: str = "fused",
    device: str = "cuda",
) -> dict[str, Any]:
    """Returns the description of a ShardingPlan record.

    module: path of the EmbeddingBagCollection within the model that DistributedModelParallel wraps; "" for the model
        itself
    devices_per_node: the local world size, at least 1; device R of the plan is "rank:R/cuda:(R mod devices_per_node)"
    reshardable: whether DistributedModelParallel.reshard can go from this plan to any other reshardable plan of the
        same tables and devices. It keeps each table's sharding type and accepts one shard of a table on a rank; so
        whole tables are column-wise too, and a device's shards of a table are joined
    compute_kernel: fused (the optimizer is in the backward pass) or dense
    device: cuda or cpu

    ValueError if TorchRec cannot run the plan.
    """
    return {
        "workload": plan["workloadId"],
        "generation": plan["generation"],
        "plan_id": plan["planId"],
        "previous_plan_id": plan.get("previousPlanId"),
        "predicted_ms": plan["predictedMs"],
        "world_size": len(plan["deviceCosts"]),
        "plan": {
            module: {
                table: _parameter_sharding(table, shards, devices_per_node, reshardable, compute_kernel, device)
                for table, shards in _by_table(plan["shards"], len(plan["deviceCosts"])).items()
            }
        },
    }


def _by_table(shards: list[dict[str, Any]], world_size: int) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for shard in sorted(shards, key=lambda s: (s["table"], s["columnOffset"])):
        if not 0 <= shard["device"] < world_size:
            raise ValueError(
                f'Table "{shard["table"]}" has a shard on device {shard["device"]}; must be 0 to {world_size - 1}'
            )
        tables.setdefault(shard["table"], []).append(shard)
    return tables


def _check(table: str, shards: list[dict[str, Any]]) -> None:
    if "." in table:
        raise ValueError(
            f'Table "{table}" must not have a dot in its name, since TorchRec makes a module of each table'
        )
    column = 0
    for shard in shards:
        if shard["kind"] not in ("TABLE_WISE", "COLUMN_WISE"):
            raise ValueError(
                f'Table "{table}" is sharded {shard["kind"]}; supported are TABLE_WISE and COLUMN_WISE'
            )
        if shard["columnOffset"] != column or shard["rowOffset"] != 0 or shard["rows"] != shards[0]["rows"]:
            raise ValueError(
                f'Table "{table}" has a shard of columns {shard["columnOffset"]}+{shard["columns"]}, rows'
                f' {shard["rowOffset"]}+{shard["rows"]}; expected all rows, and columns from {column}'
            )
        if shard["columns"] % COLUMN_UNIT:
            raise ValueError(
                f'Table "{table}" has a shard of {shard["columns"]} columns; must be a multiple of {COLUMN_UNIT}'
            )
        column += shard["columns"]


def _joined(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns one shard for each device, as wide as its shards together, in the order of their first columns."""
    widths: dict[int, int] = {}
    for shard in shards:
        widths[shard["device"]] = widths.get(shard["device"], 0) + shard["columns"]
    joined = []
    column = 0
    for device, columns in widths.items():
        joined.append({**shards[0], "device": device, "columnOffset": column, "columns": columns})
        column += columns
    return joined


def _parameter_sharding(
    table: str,
    shards: list[dict[str, Any]],
    devices_per_node: int,
    reshardable: bool,
    compute_kernel: str,
    device: str,
) -> dict[str, Any]:
    _check(table, shards)
    if reshardable:
        shards = _joined(shards)
    return {
        "sharding_type": "column_wise" if reshardable or len(shards) > 1 else "table_wise",
        "compute_kernel": compute_kernel,
        "ranks": [shard["device"] for shard in shards],
        "shards": [
            {
                "shard_offsets": [0, shard["columnOffset"]],
                "shard_sizes": [shard["rows"], shard["columns"]],
                "placement": _placement(shard["device"], devices_per_node, device),
            }
            for shard in shards
        ],
    }


def _placement(rank: int, devices_per_node: int, device: str) -> str:
    return f"rank:{rank}/cpu" if device == "cpu" else f"rank:{rank}/{device}:{rank % devices_per_node}"


def changes(running: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns what to reshard to go from one description to another.

    The result has "module"; "tables", the tables that change, with their new sharding; and "moved_elements", the number
    of weights that change their device. NotReshardable if more differs than the placement of columns.
    """
    problems = []
    if running["world_size"] != wanted["world_size"]:
        problems.append(
            f'The running plan is for {running["world_size"]} devices and the new one for {wanted["world_size"]};'
            " the number must not change, since a process group keeps it"
        )
    if list(running["plan"]) != list(wanted["plan"]) or len(wanted["plan"]) != 1:
        problems.append(
            f'The running plan is for modules {sorted(running["plan"])} and the new one for {sorted(wanted["plan"])};'
            " must be one module, the same in both"
        )
    if problems:
        raise NotReshardable(problems)
    ((module, before),) = running["plan"].items()
    ((_, after),) = wanted["plan"].items()
    changed = {}
    moved = 0
    for table in sorted(before.keys() | after.keys()):
        problem = _problem(table, before.get(table), after.get(table))
        if problem:
            problems.append(problem)
        elif before[table] != after[table]:
            changed[table] = after[table]
            moved += _moved(before[table], after[table])
    if problems:
        raise NotReshardable(problems)
    return {"module": module, "tables": changed, "moved_elements": moved}


def _problem(table: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str | None:
    if before is None:
        return f'Table "{table}" is new; must be the tables of the running plan'
    if after is None:
        return f'Table "{table}" is missing; must be the tables of the running plan'
    if _size(before) != _size(after):
        return (
            f'Table "{table}" is {_size(after)[0]} rows by {_size(after)[1]} columns and was {_size(before)[0]} by'
            f" {_size(before)[1]}; its size must not change"
        )
    if before == after:
        return None
    if before["sharding_type"] != after["sharding_type"]:
        return (
            f'Table "{table}" is {after["sharding_type"]} and was {before["sharding_type"]}; reshard keeps the sharding'
            " type, use reshardable plans"
        )
    if len(set(after["ranks"])) < len(after["ranks"]):
        return (
            f'Table "{table}" has shards on ranks {after["ranks"]}; reshard supports one per rank, use reshardable'
            " plans"
        )
    return None


def _size(sharding: dict[str, Any]) -> tuple[int, int]:
    rows = sharding["shards"][0]["shard_sizes"][0]
    return rows, sum(shard["shard_sizes"][1] for shard in sharding["shards"])


def _moved(before: dict[str, Any], after: dict[str, Any]) -> int:
    return _size(after)[0] * sum(b != a for b, a in zip(_rank_of_each_column(before), _rank_of_each_column(after)))


def _rank_of_each_column(sharding: dict[str, Any]) -> Iterator[int]:
    for rank, shard in zip(sharding["ranks"], sharding["shards"]):
        yield from [rank] * shard["shard_sizes"][1]


def reshard_call(signature: inspect.Signature, module: str, tables: Any, moved_elements: int) -> dict[str, Any]:
    """Returns the keyword arguments of DistributedModelParallel.reshard, whose signature differs between releases.

    signature: of the bound method
    tables: an EmbeddingModuleShardingPlan of the tables that change

    TypeError if the signature is unknown.
    """
    names = list(signature.parameters)
    if names == ["path_to_sharded_module", "changed_shard_to_params"]:
        return {"path_to_sharded_module": module, "changed_shard_to_params": tables}
    if names == ["sharded_module_fqn", "changed_shard_to_params"]:
        return {"sharded_module_fqn": module, "changed_shard_to_params": tables}
    if names == ["changed_shard_to_params", "sharded_module_fqn"]:
        # reshard returns the first of the pair: moved MiB.
        mebibytes = moved_elements * 4 / 2**20
        return {"changed_shard_to_params": {module: (mebibytes, tables)}, "sharded_module_fqn": module}
    raise TypeError(
        f"DistributedModelParallel.reshard of this TorchRec takes {', '.join(names)}, which no known release does"
    )


# The functions below need torch and torchrec. They only convert.


def to_sharding_plan(description: dict[str, Any]) -> Any:
    """Returns a torchrec.distributed.types.ShardingPlan, for DistributedModelParallel(plan=...)."""
    from torchrec.distributed.types import ShardingPlan

    return ShardingPlan({module: _to_module_plan(tables) for module, tables in description["plan"].items()})


def reshard_arguments(running: dict[str, Any], wanted: dict[str, Any]) -> tuple[str, Any]:
    """Returns the module's path and an EmbeddingModuleShardingPlan of the tables that change.

    NotReshardable as changes().
    """
    found = changes(running, wanted)
    return found["module"], _to_module_plan(found["tables"])


def reshard(model: Any, running: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Makes a DistributedModelParallel go from one description to another; does nothing if nothing changes.

    Call it on all ranks between the same two steps. NotReshardable as changes().
    """
    found = changes(running, wanted)
    if found["tables"]:
        tables = _to_module_plan(found["tables"])
        model.reshard(
            **reshard_call(inspect.signature(model.reshard), found["module"], tables, found["moved_elements"])
        )


def _to_module_plan(tables: dict[str, dict[str, Any]]) -> Any:
    from torchrec.distributed.types import EmbeddingModuleShardingPlan, ParameterSharding

    return EmbeddingModuleShardingPlan(
        {
            table: ParameterSharding(
                sharding_type=sharding["sharding_type"],
                compute_kernel=sharding["compute_kernel"],
                ranks=list(sharding["ranks"]),
                sharding_spec=to_sharding_spec(sharding),
            )
            for table, sharding in tables.items()
        }
    )


def to_sharding_spec(sharding: dict[str, Any]) -> Any:
    """Returns the EnumerableShardingSpec of a table's sharding; needs torch but not torchrec."""
    from torch.distributed._shard.sharding_spec import EnumerableShardingSpec, ShardMetadata

    return EnumerableShardingSpec(
        [
            ShardMetadata(
                shard_offsets=list(shard["shard_offsets"]),
                shard_sizes=list(shard["shard_sizes"]),
                placement=shard["placement"],
            )
            for shard in sharding["shards"]
        ]
    )
