"""A planner for TorchRec that asks Shardtide. torch and torchrec are imported when it is made."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shardtide.arguments import check_text, mapping, plain
from shardtide.errors import ShardtideError
from shardtide.torchrec import codecs, constraints, modules
from shardtide.torchrec.conversions import to_sharding_plan
from shardtide.torchrec.descriptions import KINDS, describe, placement, shardings_of
from shardtide.torchrec.sources import PlanSource, Wanted
from shardtide.train.ranks import by_rank
from shardtide.train.replication import replication_of
from shardtide.torchrec.workload import Workload

logger = logging.getLogger("shardtide")

# Releases of TorchRec: the oldest whose plans have what ours use, and the newest that this planner was tested with.
OLDEST = (1, 4)
NEWEST_TESTED = (1, 9)

# Fields of a ClusterSpec that only the user can know.
_OF_CLUSTER = ("memoryBytesPerDevice", "batchSize", "hardware")


class _Answer(NamedTuple):
    """What rank 0 found, for all ranks: a description, or a plan of the fallback, or an error."""

    planned_by: str
    description: dict[str, Any] | None = None
    fallback_plan: Any = None
    fallback_reason: str | None = None
    error: Exception | None = None


class ShardtidePlanner:
    """A ShardingPlanner of TorchRec whose plans are Shardtide's; on every rank. docs/TORCHREC.md has an example.

    All EmbeddingBagCollections and EmbeddingCollections of the model are planned together. All ranks get the same plan
    or raise the same error, before anything is sharded; rank 0 alone asks the source.

    source: LogSource, ProgramSource or FileSource: where plans come from
    workload: name of the workload
    cluster: fields of a ClusterSpec: memoryBytesPerDevice, batchSize (of all ranks together), hardware, and any others.
        Codecs that TorchRec cannot send (shardtide.torchrec.codecs) are left out with a warning. devices is the number
        of ranks, devicesPerNode and devicesPerHost are TorchRec's sizes of a node and a host, unless they are given.
        Replica groups must be one. Needed unless the source takes plans that are there already, whose hardware and
        memory are compared with it
    lookups: mean number of lookups per sample of each feature; not needed for tables with pooling_factors in their
        constraints or with a profile
    optimizer: of all tables, one of shardtide.optimizers.OPTIMIZERS. None: that of apply_optimizer_in_backward or of
        fused_params of the sharder; else the cluster's
    profiles: by table, what TableUse.fields() of shardtide.profile returns
    constraints: by table, ParameterConstraints of TorchRec, or a dict of TableConstraints. What the sharders do not
        allow is excluded without them. Of a plan that is there already, the sharding types of these tables are checked
    weights: by feature, "learned" if a network of the program computes the weights of its ids: its table is copied to
        all ranks (data_parallel) then, since TorchRec returns gradients of weights from no other. Of a plan that is
        there already, that is checked
    deduplicated: whether each rank sends the distinct ids of unpooled tables alone: use_index_dedup of
        EmbeddingCollectionSharder, one for all tables. None: true if a sharder has it; else a plan decides, for tables
        whose profile has a distinctShare, and sharders that are given to plan() get it as the plan says. False without
        given sharders, and on CPUs, for which FBGEMM lacks the operator
    reshardable: whether a running model can go to later plans with TorchRecResharder; tables that are table_wise are
        column_wise then, with one shard. Without effect if a sharder has no column_wise
    device: type of the devices: cuda or cpu; None: cuda if there is one
    timeout_seconds: how long a plan is waited for. Other ranks wait for rank 0 that long: it must be below the timeout
        of the process group
    fallback: a planner of TorchRec that plans if the source cannot be reached or has no plan in time; None: that is an
        error. Tables that are refused, and wrong settings, are always errors

    description: what the last plan was made of, a dict for JSON: see shardtide.torchrec.describe. It has "qcomms" if
        the plan has codecs. None if the fallback planned
    planned_by: who made the last plan: the source's name (log, program, file), or the type of the fallback
    fallback_reason: why the fallback made it; None if it did not
    """

    def __init__(
        self,
        source: PlanSource,
        workload: str,
        cluster: Mapping[str, Any] | None = None,
        lookups: Mapping[str, float] | None = None,
        *,
        optimizer: str | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        constraints: Mapping[str, Any] | None = None,
        weights: Mapping[str, str] | None = None,
        deduplicated: bool | None = None,
        reshardable: bool = True,
        device: str | None = None,
        timeout_seconds: float = 60.0,
        fallback: Any = None,
    ):
        from torchrec.distributed.types import ShardingPlanner

        # It is one without being a subclass, so that this module can be imported without torch.
        ShardingPlanner.register(ShardtidePlanner)
        self.description: dict[str, Any] | None = None
        self.planned_by: str | None = None
        self.fallback_reason: str | None = None
        self._source = source
        self._workload = check_text(workload, "workload")
        self._cluster = None if cluster is None else dict(cluster)
        self._lookups = lookups or {}
        self._optimizer = optimizer
        self._profiles = profiles
        self._constraints = constraints or {}
        self._weights = weights or {}
        self._deduplicated = deduplicated
        self._reshardable = reshardable
        self._device = device
        self._timeout_seconds = timeout_seconds
        self._fallback = fallback

    def plan(self, module: Any, sharders: Sequence[Any] | None = None) -> Any:
        """Returns a ShardingPlan for a model; talks to no other rank.

        Call it on one rank, and give the plan to all; collective_plan() does. Without torch.distributed, cluster must
        have devices: the number of ranks that will run the plan.

        PlanRefused if there is no plan for these tables; Unreachable or TimedOut if there is none for now, and
        no fallback; PermissionError; FileNotFoundError; ValueError for wrong settings, a model that cannot be planned,
        and a plan that is not of this model. RuntimeError for a TorchRec that is too old, and all else.
        """
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            ranks = dist.get_world_size()
        else:
            ranks = (self._cluster or {}).get("devices", 0)
            if not ranks:
                raise ValueError("cluster must have devices, since torch.distributed is not initialized")
        sharders = _sharders(sharders)
        answer = self._answer(module, sharders, ranks)
        if answer.error is not None:
            raise answer.error
        self._check(answer, module, sharders, ranks)
        return self._finished(answer, sharders)

    def collective_plan(self, module: Any, sharders: Sequence[Any] | None = None, pg: Any = None) -> Any:
        """Returns the same ShardingPlan on all ranks of a process group; call it on all of them.

        pg: the process group; None: the default one

        Errors as plan(), the same on all ranks, whichever rank met one.
        """
        import torch.distributed as dist

        if pg is None:
            if not (dist.is_available() and dist.is_initialized()):
                raise RuntimeError("torch.distributed must be initialized, or a process group given; or call plan()")
            pg = dist.group.WORLD
        sharders = _sharders(sharders)
        ranks = pg.size()
        box: list[Any] = [None]
        stop: BaseException | None = None
        if pg.rank() == 0:
            try:
                box = [self._answer(module, sharders, ranks)]
            except BaseException as e:
                # Ctrl-C: the others wait for an answer.
                stop = e
                box = [_Answer(self._source.name, error=RuntimeError(f"Rank 0 stopped: {type(e).__name__}"))]
        if ranks > 1:
            dist.broadcast_object_list(box, src=dist.get_global_rank(pg, 0), group=pg)
        if stop is not None:
            raise stop
        answer: _Answer = box[0]
        if answer.error is not None:
            raise answer.error
        problem = None
        try:
            self._check(answer, module, sharders, ranks)
        except Exception as e:
            problem = str(e) or type(e).__name__
        problems: list[Any] = [problem]
        if ranks > 1:
            problems = [None] * ranks
            dist.all_gather_object(problems, problem, group=pg)
        if any(found is not None for found in problems):
            raise ValueError(by_rank(problems))
        return self._finished(answer, sharders)

    def _finished(self, answer: _Answer, sharders: list[Any]) -> Any:
        tables = (answer.description or {}).get("deduplicated")
        why_not = self._why_no_index_dedup(sharders) if tables else None
        if why_not:
            logger.warning("Ids of tables %s are not deduplicated, as the plan has it: %s", ", ".join(tables or ()), why_not)
        for sharder in sharders if tables and not why_not else ():
            if hasattr(sharder, "_use_index_dedup"):
                sharder._use_index_dedup = True
        self.planned_by = answer.planned_by
        self.description = answer.description
        self.fallback_reason = answer.fallback_reason
        return answer.fallback_plan if answer.description is None else to_sharding_plan(answer.description)

    def _answer(self, module: Any, sharders: list[Any], ranks: int) -> _Answer:
        name = self._source.name
        try:
            check_version()
            wanted = self._wanted(module, sharders, ranks)
            try:
                found = self._source.plan(wanted, self._timeout_seconds)
            except (ConnectionError, TimeoutError) as e:
                if self._fallback is None:
                    raise
                return self._fall_back(module, sharders, e)
            self._check_kinds(module, sharders, found)
            self._check_cluster(found, ranks)
            return _Answer(name, self._describe(module, sharders, found, ranks))
        except Exception as e:
            return _Answer(name, error=_portable(e))

    def _fall_back(self, module: Any, sharders: list[Any], reason: Exception) -> _Answer:
        name = type(self._fallback).__name__
        logger.warning(
            "No plan of workload %s from the %s, %s plans instead: %s", self._workload, self._source.name, name, reason
        )
        try:
            plan = self._fallback.plan(module, sharders)
        except Exception as e:
            raise RuntimeError(f"{reason}; and {name}, which planned instead, failed: {type(e).__name__}: {e}") from e
        return _Answer(name, fallback_plan=plan, fallback_reason=str(reason))

    def _wanted(self, module: Any, sharders: list[Any], ranks: int) -> Wanted:
        modules.table_modules(module)
        constraints.check_sharders(module, sharders)
        if self._device_type() == "cpu":
            of_model = modules.collections(module).values()
            problems = [problem for collection in of_model for problem in modules.cpu_problems(collection)]
            if problems:
                raise ValueError("; ".join(problems))
        if not self._source.needs_tables:
            constraints.rules_of(module, sharders, self._constraints, self._device_type())
            return Wanted(self._workload, None)
        cluster = self._complete_cluster(ranks)
        batch = cluster["batchSize"]
        samples = batch / ranks if isinstance(batch, int) and batch > 0 else None
        rules = constraints.rules_of(module, sharders, self._constraints, self._device_type(), samples)
        shares = constraints.merged_batch_shares(rules)
        workload = Workload(self._workload).cluster(cluster)
        workload.model(
            module,
            constraints.merged_lookups(self._lookups, rules),
            self._optimizer or constraints.optimizers_of(module, sharders, _optimizer_of_class),
            profiles=self._profiles,
            constraints={name: rule.limits for name, rule in rules.items()},
            batch_sizes={feature: share * cluster["batchSize"] for feature, share in shares.items()},
            weights=self._weights,
        )
        deduplicated = self._index_dedup(sharders)
        for spec in workload.specs:
            spec.update(rules[spec["name"]].kernel)
            # Without a distinctShare, no plan would decide it.
            if not spec.get("pooled", True) and (deduplicated or (deduplicated is False and "distinctShare" in spec)):
                spec["deduplicated"] = deduplicated
        if "codecs" in cluster:
            cluster["codecs"], problems = codecs.usable(cluster, workload.specs, self._device_type())
            for problem in problems:
                logger.warning("Workload %s is planned without %s", self._workload, problem)
        return Wanted(self._workload, workload.cluster(cluster).change())

    def _index_dedup(self, sharders: list[Any]) -> bool | None:
        """Returns whether ids of unpooled tables are deduplicated, None if a plan decides; ValueError if it cannot be."""
        wanted = any(getattr(sharder, "_use_index_dedup", False) for sharder in sharders) or self._deduplicated
        why_not = self._why_no_index_dedup(sharders)
        if wanted and why_not:
            raise ValueError(f"Ids of unpooled tables cannot be deduplicated: {why_not}")
        return False if why_not else wanted

    def _why_no_index_dedup(self, sharders: list[Any]) -> str | None:
        if isinstance(sharders, _OfTorchRec):
            return "the planner and DistributedModelParallel must be given the same sharders"
        if self._device_type() == "cpu":
            import torch

            if not torch._C._dispatch_has_kernel_for_dispatch_key("fbgemm::jagged_unique_indices", "CPU"):
                return "FBGEMM has no operator for it on CPUs; must be on GPUs, or sharders without use_index_dedup"
        return None

    def _complete_cluster(self, ranks: int) -> dict[str, Any]:
        given = mapping({} if self._cluster is None else self._cluster, "cluster", "fields of a ClusterSpec")
        missing = [name for name in _OF_CLUSTER if name not in given]
        if missing:
            raise ValueError(f"cluster must have {', '.join(missing)}")
        if given.get("devices", ranks) != ranks:
            raise ValueError(f"cluster has {given['devices']} devices; must be {ranks}, the ranks of the process group")
        if list(given.get("replicaGroups", [1])) != [1]:
            raise ValueError(
                f"replicaGroups must be [1], got {given['replicaGroups']}: plans of several are for DMPCollection, see"
                " describe_for()"
            )
        per_node, per_host = self._nodes(ranks)
        nodes = {"devicesPerNode": per_node, **({} if per_host == per_node else {"devicesPerHost": per_host})}
        return {"devices": ranks, **nodes, **{name: plain(value) for name, value in given.items()}}

    def _check_kinds(self, module: Any, sharders: list[Any], found: Mapping[str, Any]) -> None:
        """Checks that a plan keeps to the constraints that were given; ValueError names each table of another kind."""
        kinds = {shard["table"]: {shard["kind"].lower()} for shard in found.get("shards", [])}
        for table, sharding in shardings_of(found).items() if "plan" in found else ():
            whole = sharding["sharding_type"] == "column_wise" and len(sharding["ranks"]) == 1
            # A table_wise one of a reshardable plan.
            kinds[table] = {sharding["sharding_type"], *(["table_wise"] if whole else [])}
        rules = constraints.rules_of(module, sharders, self._constraints, self._device_type())
        allowed = {table: (rules[table].limits.get("kinds") or KINDS, "constraints and its sharder") for table in rules}
        checked = {table: allowed[table] for table in self._constraints}
        checked.update({table: (["data_parallel"], "learned weights") for table in self._learned_tables(module)})
        problems = [
            f"Table {table} is {min(kinds[table])} in the plan; must be {' or '.join(only)}, as its {reason} say"
            for table, (only, reason) in sorted(checked.items())
            if table in kinds and not kinds[table].intersection(only)
        ]
        if problems:
            raise ValueError("; ".join(problems))

    def _learned_tables(self, module: Any) -> set[str]:
        """Returns the tables of weighted collections for whose ids a network computes weights."""
        return {
            config.name
            for path, collection in modules.collections(module).items()
            if modules.is_weighted(collection) and not modules.is_processed(module, path)
            for config in modules.configs(collection)
            if any(self._weights.get(feature) == "learned" for feature in config.feature_names or [config.name])
        }

    def _check_cluster(self, found: Mapping[str, Any], ranks: int) -> None:
        """Checks that a plan fits on the cluster that is asked for, as far as both are known; ValueError names both."""
        cluster = self._cluster or {}
        hardware = found.get("hardware")
        if hardware is not None and cluster.get("hardware", hardware) != hardware:
            raise ValueError(f"The plan is for hardware {hardware}; cluster has {cluster['hardware']}: plan again")
        if "memoryBytesPerDevice" not in cluster:
            return
        own = {of["device"]: of["bytes"] for of in cluster.get("memoryBytesByDevice", ())}
        planned = {of["device"]: of["bytes"] for of in found.get("memory_bytes_by_device", ())}
        costs = found.get("deviceCosts") or [{}] * ranks
        for device, cost in zip(range(ranks), costs):
            needed = cost.get("memoryBytes", planned.get(device, found.get("memory_bytes_per_device", 0)))
            usable = own.get(device, cluster["memoryBytesPerDevice"]) - cluster.get("reservedMemoryBytesPerDevice", 0)
            if needed > usable:
                raise ValueError(
                    f"The plan is for {_gib(needed)} of memory on device {device}; cluster has {_gib(usable)} there, less"
                    " what is reserved: plan again"
                )

    def _describe(self, module: Any, sharders: list[Any], found: Mapping[str, Any], ranks: int) -> dict[str, Any]:
        """Returns the description of what a source gave; ValueError if it is not of this model and of these ranks."""
        per_node, per_host = self._nodes(ranks)
        if "plan" in found:
            if "dmp_collection" in found:
                raise ValueError("The plan has replica groups, and is for DMPCollection; must have one")
            if found["world_size"] != ranks:
                raise ValueError(f"The plan is for {found['world_size']} devices; this job has {ranks} ranks")
            for scope, directions in found.get("qcomms", {}).items():
                for direction, name in directions.items():
                    codecs.check(scope, direction, name, self._device_type())
            return _on_device(found, self._device_type(), per_host)
        if replication_of(found, ranks).groups > 1:
            raise ValueError("The plan has replica groups, and is for DMPCollection; must have one")
        by_type = constraints.by_module_type(sharders)
        by_columns = all(
            "column_wise" in by_type[type(collection)].sharding_types(self._device_type())
            for collection in modules.collections(module).values()
        )
        return describe(
            found,
            modules.modules_of(module, found),
            devices_per_node=per_node,
            reshardable=self._reshardable and by_columns,
            device=self._device_type(),
            devices_per_host=per_host,
            unpooled=modules.unpooled_tables(module),
        )

    def _check(self, answer: _Answer, module: Any, sharders: list[Any], ranks: int) -> None:
        """Checks on any rank that a plan is one of its model; ValueError or RuntimeError if not."""
        check_version()
        constraints.check_sharders(module, sharders)
        if answer.description is None:
            return
        modules.check_model(module, answer.description)
        modules.check_nodes(answer.description)

    def _nodes(self, ranks: int) -> tuple[int, int]:
        given = self._cluster or {}
        per_node = given.get("devicesPerNode")
        per_host = given.get("devicesPerHost")
        if per_host is None:
            per_host = modules.local_size(ranks) if per_node is None else per_node
        return int(modules.node_size(ranks) if per_node is None else per_node), int(per_host)

    def _device_type(self) -> str:
        from torchrec.distributed.utils import get_device_type

        return self._device or str(get_device_type())


def check_version() -> None:
    """Checks TorchRec's version: RuntimeError if it is too old, a warning if it is newer than what was tested."""
    import torchrec

    text = str(getattr(torchrec, "__version__", ""))
    found = re.match(r"(\d+)\.(\d+)", text)
    if not found:
        modules.warn_once(f"TorchRec has the version {text!r}, of which nothing is known")
        return
    version = int(found[1]), int(found[2])
    if version < OLDEST:
        raise RuntimeError(f"TorchRec {text} is too old for ShardtidePlanner; must be {_text(OLDEST)}.0 or newer")
    if version > NEWEST_TESTED:
        modules.warn_once(f"TorchRec {text} is newer than {_text(NEWEST_TESTED)}, the newest that was tested")


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f} GiB"


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _on_device(description: Mapping[str, Any], device: str, per_host: int) -> dict[str, Any]:
    """Returns a description that was written for any type of devices, for one."""
    plan = {}
    for path, tables in description["plan"].items():
        plan[path] = dict(tables)
        for table, sharding in tables.items():
            if "shards" in sharding:
                shards = [
                    {**shard, "placement": placement(rank, per_host, device)}
                    for rank, shard in zip(sharding["ranks"], sharding["shards"])
                ]
                plan[path][table] = {**sharding, "shards": shards}
    return {**description, "plan": plan}


def _portable(error: Exception) -> Exception:
    """Returns an error that any rank can unpickle: those of other packages, which it may lack, with their names."""
    if type(error).__module__ == "builtins" or isinstance(error, ShardtideError):
        return error
    if isinstance(error, ValueError):
        return ValueError(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")


class _OfTorchRec(list[Any]):
    """Sharders of which DistributedModelParallel makes its own, when none are given."""


def _sharders(sharders: Sequence[Any] | None) -> list[Any]:
    if sharders is not None:
        return list(sharders)
    from torchrec.distributed.sharding_plan import get_default_sharders

    return _OfTorchRec(get_default_sharders())


def _optimizer_of_class(kind: Any) -> Any:
    from torchrec.distributed.utils import optimizer_type_to_emb_opt_type

    return optimizer_type_to_emb_opt_type(kind)
