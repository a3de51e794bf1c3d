"""Plans from files: lines of ./shardtide plan and descriptions, as records of the log.

There are three forms of a plan, each a dict:

- a record: what PlanSubscriber returns, with the fields of avro/ShardingPlan.avsc;
- a line that `./shardtide plan make --out` writes: shards by tables;
- a description: shardings by modules, with TorchRec's names. shardtide-py convert makes them of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shardtide.arguments import mapping, shown

# What a sharding of a description says about its shards; all else is kept as it is.
_OF_SHARDS = ("sharding_type", "ranks", "shards", "size")

# Fields of a shard in a record, and their names in a line.
_REGION = {"columnOffset": "column_offset", "columns": "columns", "rowOffset": "row_offset", "rows": "rows"}

# Fields of a kernel in a record, and their names in a line.
_KERNEL = {
    "computeKernel": "compute_kernel",
    "cacheAlgorithm": "cache_algorithm",
    "outputType": "output_dtype",
    "stochasticRounding": "stochastic_rounding",
}

# What a line says of a table in the words of a description.
_OF_TABLE = ("optimizer", "enforce_hbm", "stochastic_rounding", "output_dtype")

_KERNELS = ("dense", "fused", "fused_uvm", "fused_uvm_caching")


class PlanRecord(NamedTuple):
    """A plan in one form.

    record: a ShardingPlan record, or those of its fields that a description needs
    modules: the paths of each table's module, if the plan says them
    fields: by table, further fields of its sharding: kernel, cache, optimizer
    """

    record: dict[str, Any]
    modules: dict[str, list[str]] | None
    fields: dict[str, dict[str, Any]]


def is_description(plan: Any) -> bool:
    """Returns whether a plan is a description: shardings by modules under "plan"."""
    return isinstance(plan, Mapping) and "plan" in plan


def check_feasible(plan: Any) -> None:
    """Checks that something is a plan, and not the line of a workload that does not fit, whose reason is raised."""
    forms = "fields of a ShardingPlan record, of a line of ./shardtide plan, or of a description"
    mapping(plan, "plan", forms)
    if plan.get("feasible", True) is not True:
        name = plan.get("task", plan.get("workload"))
        raise ValueError(f"Workload {name} has no plan that fits: {plan.get('reason', 'no reason given')}")
    if not any(field in plan for field in ("shards", "tables", "plan")):
        got = ", ".join(map(str, plan)) or "none"
        raise ValueError(f"plan must be an object with {forms}: shards, tables or plan; got the fields {got}")


def plan_record(plan: Mapping[str, Any], needs_sizes: bool = True) -> PlanRecord:
    """Returns a plan of any form as a record; ValueError if it has none, or says that the workload does not fit.

    needs_sizes: whether a description must say the size of copies, as TorchRec's own planner does not
    """
    check_feasible(plan)
    if "shards" in plan:
        return PlanRecord(dict(plan), None, {})
    of_tables: dict[str, list[dict[str, Any]]] = {}
    fields: dict[str, dict[str, Any]] = {}
    kernels: list[dict[str, Any]] = []
    modules: dict[str, list[str]] = {}
    for path, tables in mapping(plan["plan"], "plan", "the shardings of each module").items() if "plan" in plan else ():
        for table, sharding in mapping(tables, f'Module "{path}"', "a sharding for each table").items():
            first = modules.setdefault(table, [path])[0]
            if first == path:
                of_tables[table] = _shards(table, sharding, needs_sizes, table in plan.get("deduplicated", ()))
                fields[table] = {name: value for name, value in sharding.items() if name not in _OF_SHARDS}
                continue
            if sharding != plan["plan"][first][table]:
                has = f'Table "{table}" is in modules "{first}" and "{path}" with different shardings'
                raise ValueError(f"{has}; must be in one, or one collection with several paths")
            modules[table].append(path)
    for place, table in enumerate(_list(plan["tables"], "tables")) if "plan" not in plan else ():
        name = _get(table, "name", str, f"The table at position {place}")
        what = f'Table "{name}"'
        if name in of_tables:
            raise ValueError(f"{what} is there twice; tables must have different names")
        of_tables[name] = [_shard(name, shard, what) for shard in _list(_get(table, "shards", list, what), what)]
        fields[name] = {"optimizer": table["optimizer"]} if "optimizer" in table else {}
        kernel = {field: table.get(own) for field, own in _KERNEL.items()}
        kernels.append({"table": name, "kernel": kernel, "enforceHbm": table.get("enforce_hbm", False)})
    record = {
        "workloadId": plan.get("workload", plan.get("task")),
        "generation": plan.get("generation"),
        "planId": plan.get("plan_id"),
        "previousPlanId": plan.get("previous_plan_id"),
        "predictedMs": plan.get("predicted_ms"),
        "shards": [shard for shards in of_tables.values() for shard in shards],
        "deviceCosts": [{}] * _count(plan, "world_size"),
        "replication": _replication(plan),
        "codecs": _codecs(plan),
        "kernels": kernels,
    }
    return PlanRecord(record, modules if "plan" in plan else None, fields)


def to_line(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a description as a line for `./shardtide plan evaluate`, where copies of unknown size are whole tables."""
    record, _, fields = plan_record(plan, needs_sizes=False)
    tables = []
    for name, sharding in fields.items():
        kernel, cache = sharding.get("compute_kernel"), sharding.get("cache_params") or {}
        if kernel not in _KERNELS:
            raise ValueError(f'compute_kernel of Table "{name}" must be one of {", ".join(_KERNELS)}, got {shown(kernel)}')
        if kernel == "fused_uvm_caching" and not isinstance(cache.get("load_factor"), float):
            raise ValueError(f'cache_params of Table "{name}" must have a load_factor, got {shown(cache)}')
        table = {"name": name, **{field: sharding[field] for field in _OF_TABLE if field in sharding}}
        if "algorithm" in cache:
            table["cache_algorithm"] = cache["algorithm"]
        shards = [_part(shard) for shard in record["shards"] if shard["table"] == name]
        if kernel in ("dense", "fused") and shards and shards[0]["device"] is not None:
            table["compute_kernel"] = kernel
        tables.append({**table, "shards": shards or [{"kind": "data_parallel", "device": None}]})
    return {**{field: value for field, value in plan.items() if field != "plan"}, "tables": tables}


def _part(shard: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a shard of a record as a line has it."""
    device = None if shard["device"] < 0 else shard["device"]
    of = {"kind": shard["kind"].lower(), **{name: shard[field] for field, name in _REGION.items()}}
    sent = {"deduplicated": True} if shard["deduplicated"] else {}
    return {**of, "device": device, "cache_share": shard["cacheShare"], **sent}


def _shard(table: str, shard: Any, what: str) -> dict[str, Any]:
    device = _get(shard, "device", (int, type(None)), what)
    return {
        "table": table,
        "kind": _get(shard, "kind", str, what).upper(),
        **{field: _get(shard, name, int, what) for field, name in _REGION.items()},
        "device": -1 if device is None else device,
        "cacheShare": shard.get("cache_share"),
        "deduplicated": shard.get("deduplicated", False),
        "rowOrder": shard.get("row_order"),
    }


def _shards(table: str, sharding: Any, needs_sizes: bool, deduplicated: bool) -> list[dict[str, Any]]:
    """Returns the shards of a description's sharding as a record has them: those with rows."""
    what = f'Table "{table}"'
    kind = _get(sharding, "sharding_type", str, what).upper()
    if kind == "DATA_PARALLEL":
        has_size = needs_sizes or "size" in sharding
        parts = [(-1, (0, 0), _pair(sharding, "size", what))] if has_size else []
    else:
        ranks, shards = (_list(_get(sharding, field, list, what), what) for field in ("ranks", "shards"))
        if len(ranks) != len(shards):
            raise ValueError(f"{what} has {len(ranks)} ranks and {len(shards)} shards; must be as many")
        pairs = [[_pair(shard, field, what) for field in ("shard_offsets", "shard_sizes")] for shard in shards]
        parts = [(rank, offsets, sizes) for rank, (offsets, sizes) in zip(ranks, pairs)]
    cache = sharding.get("cache_params") or {}
    share = 0.0 if sharding.get("compute_kernel") == "fused_uvm" else cache.get("load_factor")
    of = {"table": table, "kind": kind, "cacheShare": share, "deduplicated": deduplicated and kind != "DATA_PARALLEL"}
    return [
        {**of, "columnOffset": column, "columns": columns, "rowOffset": row, "rows": rows, "device": rank}
        for rank, (row, column), (rows, columns) in parts
        if rows
    ]


def _replication(plan: Mapping[str, Any]) -> dict[str, Any] | None:
    groups, collection = plan.get("replica_groups"), plan.get("dmp_collection")
    if groups:
        return {
            "groups": _count(groups, "groups"),
            "layout": _get(groups, "layout", str, "replica_groups").upper(),
            "synchronizationSteps": groups.get("synchronization_steps", 1),
            "synchronizationMs": groups.get("synchronization_ms", 0.0),
        }
    if collection:
        groups = _count(collection, "world_size") // _count(collection, "sharding_group_size")
        return {"groups": groups, "layout": "CONSECUTIVE" if collection.get("use_inter_host_allreduce") else "STRIDED"}
    return None


def _codecs(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    named = [(of.get("scope"), of.get("direction"), of.get("codec")) for of in plan.get("codecs") or []]
    for scope, directions in (plan.get("qcomms") or {}).items():
        named += [(scope, direction, name) for direction, name in directions.items()]
    return [{"scope": scope, "direction": direction, "codec": {"name": name}} for scope, direction, name in named]


def _count(of: Any, field: str) -> int:
    count = _get(of, field, int, "plan")
    if count < 1:
        raise ValueError(f"{field} of the plan must be at least 1, got {count}")
    return count


def _pair(of: Any, field: str, what: str) -> tuple[int, int]:
    pair = _get(of, field, list, what)
    if len(pair) != 2 or any(isinstance(n, bool) or not isinstance(n, int) for n in pair):
        raise ValueError(f"{field} of {what} must be a list of rows and columns, got {shown(pair)}")
    return pair[0], pair[1]


def _list(values: Any, what: str) -> list[Any]:
    if not isinstance(values, list) or not values:
        raise ValueError(f"{what} must have a list that is not empty, got {shown(values)}")
    return values


def _get(of: Any, field: str, kind: type | tuple[type, ...], what: str) -> Any:
    if field not in mapping(of, what, field):
        raise ValueError(f"{what} has no {field}; must be a line of ./shardtide plan of this version, or a description")
    value = of[field]
    if isinstance(value, bool) or not isinstance(value, kind):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise ValueError(f"{field} of {what} must be of type {names}, got {shown(value)}")
    return value


