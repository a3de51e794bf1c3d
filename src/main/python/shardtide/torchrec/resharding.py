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

from shardtide.torchrec.descriptions import COLUMN_KINDS, DEFAULT_MODULE, describe

__all__ = [
    "DEFAULT_MODULE",
    "NotReshardable",
    "changes",
    "describe",
    "from_sharding_plan",
    "reshard",
    "reshard_arguments",
    "reshard_call",
    "to_sharding_plan",
    "to_sharding_spec",
]


class NotReshardable(ValueError):
    """DistributedModelParallel.reshard cannot go from one plan to the other.

    problems: the reasons, a sentence each. Save a checkpoint, and start again with the new plan.
    """

    def __init__(self, problems: Sequence[str]):
        super().__init__("; ".join(problems))
        self.problems = list(problems)


def changes(running: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns what to reshard to go from one description to another.

    The result has "module"; "tables", the tables that change, with their new sharding; and "moved_elements", the number
    of weights that change their device. NotReshardable if more differs than the placement of columns, or if columns are
    not cut into equal widths.
    """
    problems = []
    if running["world_size"] != wanted["world_size"]:
        problems.append(
            f"The running plan is for {running['world_size']} devices and the new one for {wanted['world_size']};"
            " the number must not change, since a process group keeps it"
        )
    if list(running["plan"]) != list(wanted["plan"]) or len(wanted["plan"]) != 1:
        problems.append(
            f"The running plan is for modules {sorted(running['plan'])} and the new one for {sorted(wanted['plan'])};"
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
    if changed:
        problems += [problem for table in sorted(after) if (problem := _blocking(table, after[table]))]
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
    types = (before["sharding_type"], after["sharding_type"])
    by_columns = all(kind in COLUMN_KINDS for kind in types)
    if not by_columns or types[1] == "table_column_wise":
        change = "with other shards" if types[0] == types[1] else f"and was {types[0]}"
        return (
            f'Table "{table}" is {types[1]} {change}; reshard moves only table_wise and column_wise shards,'
            f" {'use reshardable plans' if by_columns else 'restart from a checkpoint'}"
        )
    if types[0] != types[1]:
        return (
            f'Table "{table}" is {types[1]} and was {types[0]}; reshard keeps the sharding type, use reshardable plans'
        )
    if len(set(after["ranks"])) < len(after["ranks"]):
        return (
            f'Table "{table}" has shards on ranks {after["ranks"]}; reshard supports one per rank, use reshardable'
            " plans"
        )
    return None


def _blocking(table: str, sharding: dict[str, Any]) -> str | None:
    """Returns why no table can be resharded in a module with a table of this sharding.

    reshard ends with loading all tables, each with the width of its first shard; and copies have no shards to look at.
    """
    if sharding["sharding_type"] == "data_parallel":
        return (
            f'Table "{table}" is data_parallel; reshard fails in a module with such a table, restart from a checkpoint'
        )
    widths = [shard["shard_sizes"][1] for shard in sharding["shards"]]
    if len(set(widths)) > 1:
        return f'Table "{table}" has shards of {widths} columns; reshard needs equal widths, use equal column cuts'
    return None


def _size(sharding: dict[str, Any]) -> tuple[int, int]:
    """Returns the rows and columns of a table."""
    if "size" in sharding:
        return sharding["size"][0], sharding["size"][1]
    rows, columns = (
        max(shard["shard_offsets"][i] + shard["shard_sizes"][i] for shard in sharding["shards"]) for i in (0, 1)
    )
    return rows, columns


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


def from_sharding_plan(plan: Any, world_size: int) -> dict[str, Any]:
    """Returns a torchrec.distributed.types.ShardingPlan, such as one of TorchRec's planner, as a dict for JSON.

    A file with such an object a line is what ./shardtide plan --predict reads. Fields that have nothing to do with the
    placement, such as the output's type, are left out.

    world_size: number of devices

    plan = EmbeddingShardingPlanner(topology=topology).plan(model, sharders)
    print(json.dumps(from_sharding_plan(plan, world_size=16)))
    """
    return {
        "world_size": world_size,
        "plan": {
            module: {table: _from_parameter_sharding(sharding) for table, sharding in tables.items()}
            for module, tables in plan.plan.items()
        },
    }


def _from_parameter_sharding(sharding: Any) -> dict[str, Any]:
    found = {
        "sharding_type": sharding.sharding_type,
        "compute_kernel": sharding.compute_kernel,
        "ranks": list(sharding.ranks),
    }
    if sharding.sharding_spec is not None:
        found["shards"] = [
            {
                "shard_offsets": list(shard.shard_offsets),
                "shard_sizes": list(shard.shard_sizes),
                "placement": str(shard.placement),
            }
            for shard in sharding.sharding_spec.shards
        ]
    return found


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
                # Copies have none.
                sharding_spec=to_sharding_spec(sharding) if "shards" in sharding else None,
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
