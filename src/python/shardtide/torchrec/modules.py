"""The embedding collections of a model, and whether a description is one of their tables.

Tables of an EmbeddingBagCollection are pooled; those of an EmbeddingCollection are not: each lookup has an output, as
sequence models need it. TorchRec leaves a collection unsharded that no path of a plan names, and says nothing.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from shardtide.torchrec.descriptions import KINDS, NODE_KINDS, ON_CPU, TYPES_OF_CPUS, UNPOOLED_KINDS
from shardtide.torchrec.descriptions import describe, shardings_of
from shardtide.torchrec.lines import plan_record
from shardtide.torchrec.pooling import mean_problems

# Variables from which TorchRec takes the number of hosts of a node: until 1.6.1, and in 1.9.2.
HOSTS_OF_A_NODE = ("TOPOLOGY_DOMAIN_MULTIPLE", "TORCHREC_RESOLVED_POD_SIZE")

# Where collections have their configs: a sharded one has no method for it.
_BAG_CONFIGS = ("embedding_bag_configs", "_embedding_bag_configs")
_CONFIGS = ("embedding_configs", "_embedding_configs")

# Where a collection is within a model: a path, or all of them if the model holds it under several names.
Paths = Union[str, Sequence[str]]


def collections(model: Any) -> dict[str, Any]:
    """Returns the EmbeddingBagCollections, weighted ones too, and EmbeddingCollections of a model by path.

    model: a module, sharded or not, or the DistributedModelParallel that wraps it; "" is the path of the module itself.
        What is inside of a collection is not looked at. A collection that the model holds under several names has the
        path that TorchRec meets first

    ValueError for managed collision collections, whose ids change while they are trained, and for a collection of two
    names that TorchRec would not share: in one module, or before 1.6.1.
    """
    return {paths[0]: collection for paths, collection in _with_paths(model)}


def collections_of_paths(model: Any) -> dict[str, Any]:
    """Returns the collections of a model by each of their paths. Arguments and errors as collections()."""
    return {path: collection for paths, collection in _with_paths(model) for path in paths}


def _with_paths(model: Any) -> list[tuple[list[str], Any]]:
    """Returns the collections with all their paths, the one first that TorchRec shards, ordered by it."""
    found: dict[int, tuple[list[str], Any]] = {}
    pending = [("", unwrapped(model))]
    while pending:
        path, module = pending.pop()
        if hasattr(module, "_managed_collision_collection"):
            has = f'Module "{path}" is a {type(module).__name__}, which is not supported'
            raise ValueError(f"{has}; must be an EmbeddingBagCollection or an EmbeddingCollection")
        if _is_collection(module):
            found.setdefault(id(module), ([], module))[0].append(path)
            continue
        names: dict[int, str] = {}
        for name, child in getattr(module, "_modules", {}).items():
            first = names.setdefault(id(child), name)
            if first != name and _is_collection(child):
                raise ValueError(
                    f'Module "{path}" has one {type(child).__name__} as {first} and as {name}, of which TorchRec shards'
                    f" {first} only, and trains the other apart; must have one name in a module"
                )
        # named_children() has a child of two names once, as TorchRec meets it. The first one is popped first.
        pending += [(f"{path}.{name}" if path else name, child) for name, child in module.named_children()][::-1]
    shared = next((paths for paths, _ in found.values() if len(paths) > 1), None)
    if shared and not _shards_once():
        raise ValueError(
            f"Modules {_quoted(shared)} are one collection, of which this TorchRec trains a copy for each; must have one"
            " name, or a TorchRec whose DistributedModelParallel has a module_id_cache, such as 1.6.1"
        )
    return sorted(found.values(), key=lambda of: of[0][0])


def _shards_once() -> bool:
    """Returns whether TorchRec shards a collection with several names once; 1.4.0 does not."""
    from torchrec.distributed.model_parallel import DistributedModelParallel

    return "module_id_cache" in inspect.signature(DistributedModelParallel._shard_modules_impl).parameters


def _is_collection(module: Any) -> bool:
    return _has(module, _BAG_CONFIGS) or (_has(module, _CONFIGS) and hasattr(module, "embeddings"))


def configs(collection: Any) -> list[Any]:
    """Returns the EmbeddingBagConfigs or EmbeddingConfigs of a collection's tables, sharded or not."""
    name = next(name for name in (*_BAG_CONFIGS, *_CONFIGS) if hasattr(collection, name))
    found = getattr(collection, name)
    return list(found() if callable(found) else found)


def is_unpooled(collection: Any) -> bool:
    """Returns whether a collection is an EmbeddingCollection, sharded or not: each lookup has an output."""
    return not _has(collection, _BAG_CONFIGS)


def parameter_name(path: str, collection: Any, table: str) -> str:
    """Returns the name of the parameter, as TorchRec has it, of a table of the collection at a path."""
    return f"{path}{'.' if path else ''}{'embeddings' if is_unpooled(collection) else 'embedding_bags'}.{table}.weight"


def _has(module: Any, names: Sequence[str]) -> bool:
    return any(hasattr(module, name) for name in names)


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


def table_modules(model: Any) -> dict[str, Paths]:
    """Returns the path of the collection of each table of a model, or all its paths: modules of describe().

    ValueError if the model has no collection, or a table's name twice: tables of a workload have different names.
    """
    found: dict[str, list[str]] = {}
    for paths, collection in _with_paths(model):
        for config in configs(collection):
            if config.name in found:
                raise ValueError(
                    f'Table "{config.name}" is in modules "{found[config.name][0]}" and "{paths[0]}"; must be in one'
                )
            found[config.name] = paths
    if not found:
        raise ValueError(f"{type(unwrapped(model)).__name__} has no EmbeddingBagCollection or EmbeddingCollection")
    return {table: paths if len(paths) > 1 else paths[0] for table, paths in found.items()}


def modules_of(model: Any, plan: Mapping[str, Any]) -> dict[str, Paths]:
    """Returns table_modules() of a model for a plan of any form; ValueError names its tables that the model lacks."""
    modules = table_modules(model)
    unknown = sorted({shard["table"] for shard in plan_record(plan).record["shards"]} - modules.keys())
    if unknown:
        raise ValueError(f"Tables {', '.join(unknown)} of the plan are not in the model; must be a plan of its tables")
    return modules


def optimizers_in_backward(collection: Any) -> set[str]:
    """Returns the tables of a collection, sharded or not, whose optimizer apply_optimizer_in_backward() set.

    TorchRec trains a data-parallel one with the dense optimizer of the program, and its rate.
    """
    weights = getattr(collection, "embeddings" if is_unpooled(collection) else "embedding_bags", {})
    return {name for name, of in weights.items() if getattr(getattr(of, "weight", None), "_optimizer_classes", None)}


def is_processed(model: Any, path: str) -> bool:
    """Returns whether the collection at a path is inside of a FeatureProcessedEmbeddingBagCollection of TorchRec."""
    return hasattr(unwrapped(model).get_submodule(path.rpartition(".")[0]), "_feature_processors")


def kinds_that_train(is_in_backward: bool, is_learned: bool) -> tuple[str, ...]:
    """Returns the kinds of shards that train a table as the program says.

    Copies have no optimizer in the backward pass, and learned weights of ids have gradients of copies only.
    """
    return tuple(kind for kind in KINDS if not (is_in_backward if kind == "data_parallel" else is_learned))


def unpooled_tables(model: Any) -> list[str]:
    """Returns the names of the tables of a model's EmbeddingCollections: unpooled of describe()."""
    return [c.name for module in collections(model).values() if is_unpooled(module) for c in configs(module)]


def describe_for(model: Any, plan: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Returns the reshardable description of a plan, in any form, for all tables of a model. options: of describe()

    ValueError as describe(), check_model() and check_nodes(), and if the model lacks tables of the plan.
    """
    description = describe(plan, modules_of(model, plan), reshardable=True, unpooled=unpooled_tables(model), **options)
    check_model(model, description)
    if "LOCAL_WORLD_SIZE" in os.environ:
        # Outside of a training job, nothing says how large nodes are.
        check_nodes(description)
    return description


def local_size(world_size: int) -> int:
    """Returns how many ranks TorchRec has on a host."""
    from torchrec.distributed import comm

    return int(comm.get_local_size(world_size))


def node_size(world_size: int) -> int:
    """Returns over how many ranks TorchRec splits the rows of a table on a node, which may span hosts."""
    if not any(name in os.environ for name in HOSTS_OF_A_NODE):
        # TorchRec would warn of each of them.
        return local_size(world_size)
    from torchrec.distributed import comm

    # Earlier releases, such as 1.4.0, have nodes of one host.
    return int(getattr(comm, "get_topology_group_world_size", comm.get_local_size)(world_size))


def check_nodes(description: dict[str, Any]) -> None:
    """Checks in a training job that TorchRec splits rows over as many ranks of a node as the plan does.

    TorchRec takes the size of a node from the environment: LOCAL_WORLD_SIZE, which torchrun sets, times
    TOPOLOGY_DOMAIN_MULTIPLE if that is set (1.6.1), or TORCHREC_RESOLVED_POD_SIZE (1.9.2). If the plan has another one,
    ranks lack their shards and the job ends. With replica groups, DMPCollection gets nodes from the description, and
    nothing is checked.
    """
    planned = {
        table: sum(shard["shard_offsets"][1] == 0 for shard in sharding["shards"])
        for table, sharding in shardings_of(description).items()
        if sharding["sharding_type"] in NODE_KINDS
    }
    if not planned or "dmp_collection" in description:
        return
    size = node_size(description["world_size"])
    for table, ranks in sorted(planned.items()):
        if ranks != size:
            given = ", ".join(f"{name}={os.environ.get(name, 'none')}" for name in ("LOCAL_WORLD_SIZE", *HOSTS_OF_A_NODE))
            raise ValueError(
                f'Table "{table}" has its rows split over {ranks} ranks of a node, and TorchRec splits them over {size}'
                f" ({given}); must be equal. Set {' and '.join(HOSTS_OF_A_NODE)} to the hosts of a node on all ranks, or"
                " plan with other devicesPerNode"
            )


def check_model(model: Any, description: dict[str, Any]) -> None:
    """Checks that a description has the model's tables, in their modules and sizes, and that TorchRec computes it right.

    ValueError names each path, table and sharding that is wrong, and why. Of a collection with several paths, the first
    must be there; others must have the same shardings, or none.
    """
    of_paths, modules, plan = collections_of_paths(model), collections(model), description["plan"]
    first = {id(module): path for path, module in modules.items()}
    no_collection = "no EmbeddingBagCollection of the model and no EmbeddingCollection"
    problems = [
        f'Module "{path}" is {no_collection}; must be one of {_quoted(of_paths)}' for path in plan if path not in of_paths
    ]
    for path, module in of_paths.items():
        of_first = first[id(module)]
        if path not in modules and plan.get(path) not in (None, plan.get(of_first)):
            same = f'Module "{path}" is the same as "{of_first}", with other shardings in the plan'
            problems.append(f"{same}; must have the same, or none")
    for path, module in modules.items():
        sizes = {config.name: (config.num_embeddings, config.embedding_dim) for config in configs(module)}
        shardings = plan.get(path, {})
        for table in sorted(sizes.keys() | shardings.keys()):
            if table not in shardings:
                problems.append(f'Table "{table}" of module "{path}" is not in the plan; must be all of the module')
            elif table not in sizes:
                problems.append(f'Table "{table}" is not in module "{path}"; must be one of its tables')
            elif table_size(shardings[table]) != sizes[table]:
                (rows, columns), actual = table_size(shardings[table]), sizes[table]
                planned = f'Table "{table}" is {rows} rows by {columns} columns in the plan'
                problems.append(f"{planned}; must be {actual[0]} by {actual[1]} as in the model")
        problems += _training_problems(path, module, shardings)
        if is_unpooled(module):
            problems += _unpooled_problems(path, module, shardings)
        else:
            problems += mean_problems(path, shardings, poolings(module), is_weighted(module))
    if problems:
        raise ValueError("; ".join(problems))


def _training_problems(path: str, collection: Any, shardings: Mapping[str, Any]) -> Iterator[str]:
    for table in sorted(optimizers_in_backward(collection)):
        if shardings.get(table, {}).get("sharding_type") == "data_parallel":
            yield (
                f'Table "{table}" of module "{path}" is data_parallel and has an optimizer in the backward pass, which'
                " TorchRec drops for the dense one of the program and its rate; must have another kind: plan it with the"
                " model, or publish it without data_parallel"
            )
    if any(shard["placement"].endswith(ON_CPU) for of in shardings.values() for shard in of.get("shards", [])):
        yield from cpu_problems(collection)


def cpu_problems(collection: Any) -> Iterator[str]:
    """Yields which tables of a collection FBGEMM does not train on CPUs."""
    for config in configs(collection):
        name = getattr(getattr(config, "data_type", None), "name", "FP32")
        if name not in TYPES_OF_CPUS:
            has = f"Table \"{config.name}\" has the data_type {name}, which FBGEMM's CPU kernels do not train"
            yield f"{has}; must be {' or '.join(TYPES_OF_CPUS)} on CPUs"


def _unpooled_problems(path: str, collection: Any, shardings: Mapping[str, Any]) -> Iterator[str]:
    """Yields what TorchRec cannot do of the shardings of an EmbeddingCollection.

    Its ShardedEmbeddingCollection has four sharding types. It reads the outputs of all column-wise tables as rows of
    one width, that of the first shard: other widths fail in the first step. It writes rows only of row-wise tables.
    """
    widths: dict[int, str] = {}
    for config in (config for config in configs(collection) if config.name in shardings):
        kind = shardings[config.name]["sharding_type"]
        of = f'Table "{config.name}" of EmbeddingCollection "{path}"'
        if kind not in UNPOOLED_KINDS:
            known = ", ".join(UNPOOLED_KINDS)
            yield f"{of} is {kind}, which TorchRec has for pooled tables only; must be one of {known}"
        elif getattr(config, "use_virtual_table", False):
            yield f"{of} is a virtual table, which is not supported; must have all its rows"
        elif getattr(config, "enable_embedding_update", False) and kind != "row_wise":
            yield f"{of} has enable_embedding_update and is {kind}; must be row_wise, whose rows TorchRec writes"
        for shard in shardings[config.name]["shards"] if kind == "column_wise" else ():
            widths.setdefault(shard["shard_sizes"][1], config.name)
    if len(widths) > 1:
        parts = " and ".join(f'{columns} columns of table "{table}"' for columns, table in sorted(widths.items()))
        yield (
            f'EmbeddingCollection "{path}" has column_wise shards of {parts}; must be of one width in a collection, as'
            " plans have them with leastColumns of half the columns"
        )


def table_size(sharding: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the rows and columns of a table of a description."""
    whole = [{"shard_offsets": (0, 0), "shard_sizes": sharding["size"]}] if "size" in sharding else sharding["shards"]
    rows, columns = (max(shard["shard_offsets"][i] + shard["shard_sizes"][i] for shard in whole) for i in (0, 1))
    return rows, columns


@functools.lru_cache(maxsize=None)
def warn_once(message: str) -> None:
    """Warns once in a process."""
    logging.getLogger("shardtide").warning("%s", message)


def _quoted(paths: Mapping[str, Any] | Sequence[str]) -> str:
    return ", ".join(f'"{path}"' for path in paths) or "none, since it has no collection"
