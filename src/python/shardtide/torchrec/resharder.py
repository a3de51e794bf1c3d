"""Goes from plan to plan while a TorchRec model is trained; docs/TORCHREC.md has an example.

DistributedModelParallel.reshard, of the releases up to 1.9.0 of August 2026, moves weights right, and little else.
TorchRecResharder moves the state of optimizers itself, and keeps TorchRec from what fails.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from shardtide.torchrec.changes import NotReshardable, changes
from shardtide.torchrec.conversions import reshard_call, running_description, to_module_plan
from shardtide.torchrec.modules import collections, configs, describe_for, is_unpooled
from shardtide.torchrec.optimizer_state import STATES, first_states, learning_rates, move, set_learning_rates
from shardtide.torchrec.workload import BYTES


class Prepared(NamedTuple):
    """A plan that can be applied: the descriptions that the model runs and that it will run, and changes() of them."""

    running: dict[str, Any]
    wanted: dict[str, Any]
    changes: dict[str, Any]


class TorchRecResharder:
    """A Resharder of shardtide.train for a DistributedModelParallel.

    model: sharded by a plan of describe_for(); on all ranks
    devices_per_node, devices_per_host: as of describe()
    drain: called on all ranks before something moves. A batch that a pipeline has distributed cannot be trained on
        after a move: see drain_pipeline()
    moved: called on all ranks after something moved. model.fused_optimizer is another object then: give it to what
        holds the old one, such as a pipeline or a schedule of learning rates. The old one keeps the old tables in memory
    free_bytes: returns how much memory a move may use on this rank now, such as lambda: torch.cuda.mem_get_info()[0];
        without it, memory is not checked

    ValueError if the model has no collection, or one that was not sharded, since its path was not in the plan.
    """

    def __init__(
        self,
        model: Any,
        devices_per_node: int = 8,
        drain: Callable[[], object] | None = None,
        moved: Callable[[], object] | None = None,
        free_bytes: Callable[[], int] | None = None,
        devices_per_host: int | None = None,
    ):
        if hasattr(model, "_ctxs"):
            raise ValueError("model is sharded in two dimensions, which is not supported; must be one")
        self._collections = collections(model)
        running_description(model)
        self._model = model
        self._nodes = {"devices_per_node": devices_per_node, "devices_per_host": devices_per_host}
        self._drain = drain
        self._moved = moved
        self._free_bytes = free_bytes

    @property
    def running(self) -> dict[str, Any]:
        return running_description(self._model)

    def prepare(self, plan: Mapping[str, Any]) -> Prepared:
        """Returns what to change to go to a plan; changes nothing and talks to no other rank.

        plan: a ShardingPlan record, a line of ./shardtide plan, or a description

        ValueError if TorchRec cannot run the plan, or it is not one of the model's tables. NotReshardable if the model
        cannot go there without a restart.
        """
        wanted = describe_for(self._model, plan, device=self._model.device.type, **self._nodes)
        # A collection with several paths is moved once.
        wanted["plan"] = {path: tables for path, tables in wanted["plan"].items() if path in self._collections}
        running = self.running
        problems = list(self._changed_unpooled(running, wanted))
        if problems:
            raise NotReshardable(problems)
        found = changes(running, wanted)
        for path in found["plan"]:
            problems += self._problems(path, running["plan"][path])
        if found["plan"]:
            problems += [*self._problems_of_model(), *self._shortage(running, wanted, found["plan"])]
        if problems:
            raise NotReshardable(problems)
        return Prepared(running, wanted, found)

    def apply(self, prepared: Prepared) -> None:
        """Goes to a plan. Call it on all ranks between the same two steps, if prepare() succeeded on all of them."""
        if not prepared.changes["plan"]:
            return
        if prepared.running != self.running:
            raise ValueError("The model was resharded after prepare(); prepare the plan again")
        if self._drain:
            self._drain()
        for path, tables in prepared.changes["plan"].items():
            self._reshard(path, tables, prepared)
        if self._moved:
            self._moved()

    def _reshard(self, path: str, tables: dict[str, Any], prepared: Prepared) -> None:
        import torch.distributed as dist

        collection = self._collections[path]
        group = self._model._env.process_group
        states = first_states(collection)
        rates: list[dict[str, float]] = [{}] * dist.get_world_size(group)
        dist.all_gather_object(rates, learning_rates(collection), group)
        signature, moved = inspect.signature(self._model.reshard), prepared.changes["moved_elements"]
        with _supported(collection), _sends_on_gloo(group, self._model.device):
            self._model.reshard(**reshard_call(signature, path, to_module_plan(tables), moved))
        # Computed when the first batch comes, from the new order of features; TorchRec does not set it again.
        collection._has_features_permute = True
        collection.train(collection.training)
        set_learning_rates(collection, {table: rate for of_rank in rates for table, rate in of_rank.items()})
        before, after = prepared.running["plan"][path], prepared.wanted["plan"][path]
        new_states = first_states(collection)
        rank = dist.get_rank(group)
        for table, kind in sorted(_state_kinds(collection).items()):
            if kind is None or before[table]["sharding_type"] == "data_parallel":
                continue
            old, new = states.get(table, []), new_states.get(table, [])
            if table in tables:
                move(before[table], after[table], old, new, kind == "row", rank, group)
                continue
            for source, target in zip(old, new):
                target.copy_(source)

    def _changed_unpooled(self, running: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
        """Yields each table of an EmbeddingCollection that changes on the same devices, and each that would deduplicate."""
        unpooled = {path: collection for path, collection in self._collections.items() if is_unpooled(collection)}
        for path, collection in unpooled.items() if running["world_size"] == wanted["world_size"] else ():
            if "deduplicated" in wanted and not collection._use_index_dedup:
                yield (
                    f'EmbeddingCollection "{path}" runs without deduplication of ids, which the new plan has; must be'
                    " sharded with use_index_dedup, restart from a checkpoint"
                )
            for table, sharding in wanted["plan"][path].items():
                if running["plan"][path][table] != sharding:
                    yield (
                        f'Table "{table}" of EmbeddingCollection "{path}" has other shards in the new plan; must have'
                        " the same, since TorchRec reshards EmbeddingBagCollections only, or restart from a checkpoint"
                    )

    def _problems(self, path: str, tables: dict[str, Any]) -> Iterator[str]:
        """Yields why no table of a collection can be moved."""
        collection = self._collections[path]
        if not hasattr(collection, "update_shards"):
            yield f'Module "{path}" is a {type(collection).__name__}, which TorchRec cannot reshard'
            return
        optimizers = _optimizers(collection)
        for table, sharding in sorted(tables.items()):
            kernel, of = sharding["compute_kernel"], f'Table "{table}" has the'
            if sharding["sharding_type"] == "data_parallel":
                continue
            if kernel != "fused":
                yield f"{of} kernel {kernel}; must be fused, since optimizers hold the old parameters of others"
            elif optimizers[table] not in STATES:
                lost = f"{of} optimizer {optimizers[table]}, whose state would be lost"
                yield f"{lost}; must be one of {', '.join(STATES)}, or restart from a checkpoint"

    def _problems_of_model(self) -> Iterator[str]:
        if self._model._env.output_dtensor:
            yield "The model's parameters are DTensors, which TorchRec cannot reshard"
        if not hasattr(self._model._dmp_wrapped_module, "module"):
            yield (
                "The model is not wrapped by DistributedDataParallel, and TorchRec's reshard would fail after the move;"
                " must have a dense parameter, and init_data_parallel() must have been called"
            )
        try:
            reshard_call(inspect.signature(self._model.reshard), "", {}, 0)
        except TypeError as e:
            yield str(e)

    def _shortage(
        self, running: dict[str, Any], wanted: dict[str, Any], changed: dict[str, dict[str, Any]]
    ) -> Iterator[str]:
        """Yields whether the new tables, beside the old ones, and what is sent and received do not fit."""
        if not self._free_bytes:
            return
        import torch.distributed as dist

        rank = dist.get_rank(self._model._env.process_group)
        new, buffer = 0.0, 0.0
        for path, tables in changed.items():
            sizes, before = _sizes(self._collections[path]), running["plan"][path]
            for table, sharding in wanted["plan"][path].items():
                new += _bytes(sharding, rank, *sizes[table])
            # TorchRec prepares a table while it moves the one before.
            for t in tables:
                buffer = max(buffer, 2 * sum(_bytes(of, rank, *sizes[t]) for of in (before[t], tables[t])))
        free, needed = self._free_bytes(), new + buffer
        if needed > free:
            has = f"Rank {rank} has {free / 2**20:.1f} MiB of free memory; needs {needed / 2**20:.1f} MiB"
            yield f"{has}, since old and new tables are in memory at once"


@contextlib.contextmanager
def _supported(collection: Any) -> Iterator[None]:
    """Keeps update_shards of a collection from what fails, for the time of the call.

    - It moves the first momentum of optimizers only: it sees no optimizer, and moves none.
    - It ends with loading a state dict whose tensors are the new tables themselves, each in the width of the table's
      first shard: nothing is loaded, since nothing is to be copied.
    - It looks at shards of all tables in the state dict, creates copied tables again without gradient
      synchronization, and draws new weights for all: it sees sharded tables only, and copied ones stay as they are.
    """
    collection._optim = type(collection._optim)([])
    create, state_dict = collection._create_lookups, collection.state_dict
    copies = [lookup for kind, lookup in zip(collection._embedding_shardings, collection._lookups) if _is_copied(kind)]

    def create_lookups() -> None:
        create()
        for i, kind in enumerate(collection._embedding_shardings):
            if _is_copied(kind):
                collection._lookups[i] = copies[0]

    def sharded_tables() -> dict[str, Any]:
        return {name: tensor for name, tensor in state_dict().items() if hasattr(tensor, "local_shards")}

    replaced = {"state_dict": sharded_tables, "_create_lookups": create_lookups}
    replaced.update(dict.fromkeys(("load_state_dict", "reset_parameters"), lambda *_, **__: None))
    collection.__dict__.update(replaced)
    try:
        yield
    finally:
        for name in replaced:
            del collection.__dict__[name]


@contextlib.contextmanager
def _sends_on_gloo(group: Any, device: Any) -> Iterator[None]:
    """Lets TorchRec's moves run where gloo sends a device's tensors, for the time of the call; NCCL needs none of it.

    - gloo cannot send to its own rank, as TorchRec does with columns that stay: they are copied.
    - TorchRec's tags are hashes of texts, which differ between processes. All messages of two ranks have one tag: both
      have them in the same order.
    """
    import torch.distributed as dist

    backends = dict(pair.split(":") for pair in dist.get_backend_config(group).split(","))
    if backends.get(device.type) != "gloo":
        yield
        return
    from torchrec.distributed.sharding import dynamic_sharding

    rank = dist.get_rank(group)
    # torch.distributed, but for one function.
    dynamic_sharding.dist = types.SimpleNamespace(
        **{**vars(dist), "batch_isend_irecv": lambda operations: _on_gloo(operations, rank)}
    )
    try:
        yield
    finally:
        dynamic_sharding.dist = dist


def _on_gloo(operations: Sequence[Any], rank: int) -> list[Any]:
    """Starts sends and receives, of contiguous tensors, and returns the work of each; those of a rank with itself are
    copies, in order.
    """
    import torch.distributed as dist

    own, others = ([of for of in operations if (of.group_peer == rank) == is_own] for is_own in (True, False))
    sent, received = ([of.tensor for of in own if of.op is kind] for kind in (dist.isend, dist.irecv))
    for source, target in zip(sent, received):
        target.copy_(source.view(target.shape))
    for operation in others:
        operation.tag = 0
    works = iter(dist.batch_isend_irecv(others) if others else [])
    done = types.SimpleNamespace(wait=lambda: True)
    return [done if operation.group_peer == rank else next(works) for operation in operations]


def _is_copied(sharding: Any) -> bool:
    return type(sharding).__name__ == "DpPooledEmbeddingSharding"


def _optimizers(collection: Any) -> dict[str, str]:
    """Returns the name of each table's optimizer as FBGEMM has it, also of tables that other ranks have."""
    return {
        info.embedding_config.name: getattr((info.fused_params or {}).get("optimizer"), "name", "EXACT_SGD")
        for infos in collection.sharding_type_to_sharding_infos.values()
        for info in infos
    }


def _state_kinds(collection: Any) -> dict[str, str | None]:
    """Returns what the state of each table has a number for, if that can be moved: STATES."""
    return {table: STATES[name] for table, name in _optimizers(collection).items() if name in STATES}


def _sizes(collection: Any) -> dict[str, tuple[float, float]]:
    """Returns the bytes of an element and of a row of a shard of each table, with those of optimizers."""
    kinds, types_of = _state_kinds(collection), {of.name: BYTES[of.data_type.name] for of in configs(collection)}
    return {
        name: (element + 4 * (kinds.get(name) == "element"), row + 4 * (kinds.get(name) == "row"))
        for name, (element, row) in types_of.items()
    }


def _bytes(sharding: dict[str, Any], rank: int, element: float, row: float) -> float:
    return sum(
        shard["shard_sizes"][0] * (shard["shard_sizes"][1] * element + row)
        for owner, shard in zip(sharding["ranks"], sharding.get("shards", []))
        if owner == rank
    )


def drain_pipeline(pipeline: Any) -> None:
    """Trains on the batches that a TrainPipelineSparseDist has taken already, and detaches it from the model.

    Its next progress() attaches it again. Call it on all ranks; each must have taken as many batches.
    """
    with contextlib.suppress(StopIteration):
        while True:
            pipeline.progress(iter(()))
    pipeline.detach()
