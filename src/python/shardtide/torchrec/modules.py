"""The EmbeddingBagCollections of a model, and whether a description is one of their tables.

TorchRec leaves a collection unsharded that no path of a plan names, and says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardtide.torchrec.descriptions import describe
from shardtide.torchrec.lines import plan_record
from shardtide.torchrec.pooling import mean_problems


def collections(model: Any) -> dict[str, Any]:
    """Returns the EmbeddingBagCollections of a model by path, weighted ones too, sharded or not.

    model: a module, or the DistributedModelParallel that wraps it; "" is the path of the module itself. What is inside
        of a collection is not looked at.
    """
    found: dict[str, Any] = {}
    pending = [("", unwrapped(model))]
    while pending:
        path, module = pending.pop()
        if hasattr(module, "embedding_bag_configs") or hasattr(module, "_embedding_bag_configs"):
            found[path] = module
        else:
            pending += [(f"{path}.{name}" if path else name, child) for name, child in module.named_children()]
    return dict(sorted(found.items()))


def configs(collection: Any) -> list[Any]:
    """Returns the EmbeddingBagConfigs of a collection's tables, sharded or not."""
    # A sharded collection has no method for it.
    find = getattr(collection, "embedding_bag_configs", None)
    return list(find() if find else collection._embedding_bag_configs)


def poolings(collection: Any) -> dict[str, str]:
    """Returns the pooling of each table of a collection: SUM or MEAN."""
    found = {config.name: getattr(config, "pooling", "SUM") for config in configs(collection)}
    return {name: getattr(pooling, "name", pooling) for name, pooling in found.items()}


def is_weighted(collection: Any) -> bool:
    """Returns whether the lookups of a collection have weights, sharded or not."""
    found = getattr(collection, "is_weighted", None)
    return bool(found() if found else getattr(collection, "_is_weighted", False))


def unwrapped(model: Any) -> Any:
    """Returns the model that a DistributedModelParallel wraps; any other model as it is."""
    return model.module if hasattr(model, "_dmp_wrapped_module") else model


def table_modules(model: Any) -> dict[str, str]:
    """Returns the path of the collection of each table of a model: modules of describe().

    ValueError if the model has no collection, or a table's name twice: tables of a workload have different names.
    """
    paths: dict[str, str] = {}
    for path, collection in collections(model).items():
        for config in configs(collection):
            if config.name in paths:
                raise ValueError(
                    f'Table "{config.name}" is in modules "{paths[config.name]}" and "{path}"; must be in one'
                )
            paths[config.name] = path
    if not paths:
        raise ValueError(f"{type(unwrapped(model)).__name__} has no EmbeddingBagCollection")
    return paths


def describe_for(model: Any, plan: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Returns the reshardable description of a plan for all tables of a model.

    plan: a ShardingPlan record, a line of ./shardtide plan, or a description, whose modules may be others
    options: of describe(), such as devices_per_node and device

    ValueError as describe() and check_model(), and if the model lacks tables of the plan.
    """
    modules = table_modules(model)
    unknown = sorted({shard["table"] for shard in plan_record(plan).record["shards"]} - modules.keys())
    if unknown:
        raise ValueError(f"Tables {', '.join(unknown)} of the plan are not in the model; must be a plan of its tables")
    description = describe(plan, modules, reshardable=True, **options)
    check_model(model, description)
    return description


def check_model(model: Any, description: dict[str, Any]) -> None:
    """Checks that a description has the model's tables, in their modules and sizes, and that TorchRec computes it right.

    ValueError names each path that is not one of a collection, each table that its collection lacks, each table of a
    collection that the description lacks, each table of another size, and each MEAN table whose kind makes outputs wrong
    (shardtide.torchrec.pooling).
    """
    modules = collections(model)
    found = {
        path: {config.name: (config.num_embeddings, config.embedding_dim) for config in configs(module)}
        for path, module in modules.items()
    }
    problems = [
        f'Module "{path}" is no EmbeddingBagCollection of the model; must be one of {_quoted(found)}'
        for path in description["plan"]
        if path not in found
    ]
    for path, sizes in found.items():
        shardings = description["plan"].get(path, {})
        for table in sorted(sizes.keys() | shardings.keys()):
            if table not in shardings:
                problems.append(f'Table "{table}" of module "{path}" is not in the plan; must be all of the module')
            elif table not in sizes:
                problems.append(f'Table "{table}" is not in module "{path}"; must be one of its tables')
            elif table_size(shardings[table]) != sizes[table]:
                planned, actual = table_size(shardings[table]), sizes[table]
                problems.append(
                    f'Table "{table}" is {planned[0]} rows by {planned[1]} columns in the plan; must be {actual[0]} by'
                    f" {actual[1]} as in the model"
                )
        module = modules[path]
        problems += mean_problems(path, shardings, poolings(module), is_weighted(module))
    if problems:
        raise ValueError("; ".join(problems))


def table_size(sharding: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the rows and columns of a table of a description."""
    if "size" in sharding:
        return sharding["size"][0], sharding["size"][1]
    rows, columns = (
        max(shard["shard_offsets"][i] + shard["shard_sizes"][i] for shard in sharding["shards"]) for i in (0, 1)
    )
    return rows, columns


def _quoted(paths: Mapping[str, Any] | Sequence[str]) -> str:
    return ", ".join(f'"{path}"' for path in paths) or "none, since it has no collection"
