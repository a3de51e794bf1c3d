"""TorchRec's objects of descriptions, and back. These functions need torch and torchrec; they only convert."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from shardtide.torchrec.descriptions import describe
from shardtide.torchrec.lines import check_feasible, is_description
from shardtide.torchrec.modules import collections, configs


def to_sharding_plan(plan: Mapping[str, Any], **options: Any) -> Any:
    """Returns a torchrec.distributed.types.ShardingPlan, for DistributedModelParallel(plan=...).

    plan: a description, which is converted as it is; a ShardingPlan record or a line of ./shardtide plan, which is
        described before
    options: of describe(), such as modules, with which also a description is described again

    Of a description with replica groups it is for DMPCollection(plan=..., **description["dmp_collection"], ...).

    ValueError as describe() if the plan has to be described, and if it is the line of a workload that does not fit.
    """
    check_feasible(plan)
    description = plan if is_description(plan) and not options else describe(plan, **options)
    from torchrec.distributed.types import ShardingPlan

    return ShardingPlan({path: to_module_plan(tables) for path, tables in description["plan"].items()})


def to_module_plan(tables: Mapping[str, dict[str, Any]]) -> Any:
    from torchrec.distributed.types import CacheAlgorithm, CacheParams, EmbeddingModuleShardingPlan, ParameterSharding
    from torchrec.types import DataType

    def cache_params(params: Mapping[str, Any]) -> Any:
        algorithm = params.get("algorithm")
        return CacheParams(algorithm and CacheAlgorithm[algorithm], params.get("load_factor"))

    return EmbeddingModuleShardingPlan(
        {
            table: ParameterSharding(
                sharding_type=sharding["sharding_type"],
                compute_kernel=sharding["compute_kernel"],
                ranks=list(sharding["ranks"]),
                # Copies have none.
                sharding_spec=to_sharding_spec(sharding) if "shards" in sharding else None,
                cache_params=cache_params(sharding["cache_params"]) if "cache_params" in sharding else None,
                enforce_hbm=sharding.get("enforce_hbm"),
                stochastic_rounding=sharding.get("stochastic_rounding"),
                output_dtype=DataType[sharding["output_dtype"]] if "output_dtype" in sharding else None,
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


def from_sharding_plan(plan: Any, world_size: int) -> dict[str, Any]:
    """Returns a torchrec.distributed.types.ShardingPlan, such as one of TorchRec's planner, as a dict for JSON.

    shardtide-py convert makes a line for ./shardtide plan evaluate of it. All modules' tables are in it. What
    nothing of ours depends on is left out: bounds checks, and of caches all but the algorithm and the load factor.

    world_size: number of devices

    plan = EmbeddingShardingPlanner(topology=topology).plan(model, sharders)
    print(json.dumps(from_sharding_plan(plan, world_size=16)))
    """
    return {"world_size": world_size, "plan": {path: _from_module_plan(tables) for path, tables in plan.plan.items()}}


def _from_module_plan(tables: Any) -> dict[str, Any]:
    return {table: _from_parameter_sharding(sharding) for table, sharding in tables.items()}


def running_description(model: Any) -> dict[str, Any]:
    """Returns world_size and plan of the description of what a DistributedModelParallel runs.

    ValueError if it is none, or has no collection, or one that was not sharded.
    """
    if not hasattr(model, "_dmp_wrapped_module"):
        raise ValueError(f"model must be a DistributedModelParallel, got {type(model).__name__}")
    found = {}
    for path, collection in collections(model).items():
        if not hasattr(collection, "module_sharding_plan"):
            raise ValueError(
                f'Module "{path}" is a {type(collection).__name__}, which was not sharded; its path must be in the plan'
                " that DistributedModelParallel gets"
            )
        found[path] = _from_module_plan(collection.module_sharding_plan)
        for config in configs(collection):
            if "shards" not in found[path][config.name]:
                found[path][config.name]["size"] = [config.num_embeddings, config.embedding_dim]
    if not found:
        raise ValueError(f"{type(model.module).__name__} has no EmbeddingBagCollection or EmbeddingCollection")
    return {"world_size": model._env.world_size, "plan": found}


def _from_parameter_sharding(sharding: Any) -> dict[str, Any]:
    fields = ("enforce_hbm", "stochastic_rounding", "output_dtype")
    found = {
        "sharding_type": sharding.sharding_type,
        "compute_kernel": sharding.compute_kernel,
        "ranks": list(sharding.ranks),
        **{field: getattr(sharding, field) for field in fields if getattr(sharding, field, None) is not None},
    }
    if "output_dtype" in found:
        found["output_dtype"] = sharding.output_dtype.name
    cache = getattr(sharding, "cache_params", None)
    if cache is not None:
        algorithm = getattr(cache, "algorithm", None)
        named = {} if algorithm is None else {"algorithm": algorithm.name}
        found["cache_params"] = {**named, "load_factor": cache.load_factor}
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


def reshard_call(signature: inspect.Signature, module: str, tables: Any, moved_elements: int) -> dict[str, Any]:
    """Returns the keyword arguments of DistributedModelParallel.reshard as TorchRec 1.4.0 and later declare it.

    signature: of the bound method
    tables: an EmbeddingModuleShardingPlan of the tables that change
    moved_elements: weights that change their device

    TypeError if it is declared otherwise; 1.3.0 moves only as many shards to as many devices.
    """
    names = list(signature.parameters)
    if names != ["changed_shard_to_params", "sharded_module_fqn"]:
        raise TypeError(
            f"DistributedModelParallel.reshard of this TorchRec takes {', '.join(names)}; must be TorchRec 1.4.0 or later"
        )
    # reshard returns the first of the pair: moved MiB. It looks up each name of a path; the model itself has none.
    mebibytes = moved_elements * 4 / 2**20
    return {"changed_shard_to_params": {module: (mebibytes, tables)}, "sharded_module_fqn": module or None}
