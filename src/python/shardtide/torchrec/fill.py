"""How full the managed collision modules of a TorchRec model are, which map ids to rows of a table while it trains."""

from __future__ import annotations

from typing import Any, NamedTuple

from shardtide.torchrec.modules import unwrapped, warn_once
from shardtide.train.fill import ShardFill

# What stands in the buffer of a module for a slot without an id: in FBGEMM's kernel of MPZCH, and in TorchRec's sorting
# module.
_HASHED_EMPTY = -1
_SORTED_EMPTY = 2**63 - 1

# The input_hash_size of a sorting module that names none.
_ANY_ID = 2**63 - 1

# What an eviction policy of TorchRec is in a HashedStorage: of HashZchManagedCollisionModule by name, of
# MCHManagedCollisionModule by class.
_EVICTIONS = {
    None: "none",
    "SINGLE_TTL_EVICTION": "age",
    "PER_FEATURE_TTL_EVICTION": "age",
    "LRU_EVICTION": "lru",
    "LFU_EvictionPolicy": "lfu",
    "DistanceLFU_EvictionPolicy": "lfu",
    "LRU_EvictionPolicy": "lru",
}


class _Slots(NamedTuple):
    """The slots of a module on this rank, from a row on: ids, in host memory, and what stands for none."""

    row_offset: int
    ids: Any
    empty: int


class FillCounter:
    """Counts how full the tables of a model's managed collision modules are; on every rank.

    Tables of HashZchManagedCollisionModule (MPZCH) and of MCHManagedCollisionModule, sharded or not. TorchRec counts
    insertions and evictions for its own log only, so that they are found by comparing the id of each slot with that of
    the last take(): an id that came and went in between is in neither. Collisions are 0: no module keeps them.
    An expired id of MPZCH counts as held until another takes its slot. The last slot of each shard of an
    MCHManagedCollisionModule is that of all ids without one, and never holds an id.

    Keeps 8 bytes of host memory for each slot.

    Warns once of sorting modules (MCHManagedCollisionModule) whose ids would not spread over ranks, and of the numbers
    of ranks on which their checkpoint loads.

    model: a module, sharded or not, or the DistributedModelParallel that wraps it. Ids that it holds are not counted as
        insertions: create this after a checkpoint is loaded, and again after the model is sharded otherwise

    ValueError if the model has no such module, one of another class, or a table's name twice.
    """

    def __init__(self, model: Any):
        self._modules = _modules(model)
        self._before = {table: _slots(module) for table, module in self._modules.items()}

    def take(self) -> list[ShardFill]:
        """Returns the fill of this rank's shards, with insertions and evictions since the last call or the start.

        Copies the ids of all slots to the host, and so waits for a GPU. In no collective.
        """
        found = []
        for table, module in self._modules.items():
            before, now = self._before[table], _slots(module)
            self._before[table] = now
            changed, held = before.ids != now.ids, now.ids != now.empty
            gone = changed & (before.ids != before.empty)
            ids, insertions, evictions = (int(of.sum()) for of in (held, changed & held, gone))
            found.append(ShardFill(table, now.row_offset, now.ids.numel(), ids, insertions, evictions))
        return found


def managed_storage(model: Any) -> dict[str, dict[str, Any]]:
    """Returns the storage of the tables of a model's managed collision modules, as Workload.tables() takes it: the
    slotBytes and the eviction of each, by name. Their configs are those of any others, with slots as num_embeddings.

    ValueError as FillCounter, and if a module has another eviction policy than TorchRec's own.
    """
    found: dict[str, dict[str, Any]] = {}
    for table, module in _modules(model).items():
        if hasattr(module, "_hash_zch_identities"):
            policy = getattr(module._eviction_policy_name, "value", None)
            buffers = [module._hash_zch_identities, module._hash_zch_metadata]
            buffers.append(getattr(module, "_hash_zch_runtime_meta", None))
        else:
            policy = type(module._eviction_policy).__name__
            buffers = [module._mch_sorted_raw_ids, module._mch_remapped_ids_mapping, *module._mch_metadata.values()]
        if policy not in _EVICTIONS:
            known = ", ".join(name for name in _EVICTIONS if name)
            raise ValueError(f'Table "{table}" has the eviction policy {policy}; must be one of {known}, or none')
        size = sum(of.numel() * of.element_size() for of in buffers if of is not None)
        found[table] = {"slotBytes": size / module.output_size(), "eviction": _EVICTIONS[policy]}
    return found


def _modules(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    paths: dict[str, str] = {}
    for path, collection in unwrapped(model).named_modules():
        for table, module in dict(getattr(collection, "_managed_collision_modules", {})).items():
            if table in found:
                raise ValueError(f'Table "{table}" is in modules "{paths[table]}" and "{path}"; must be in one')
            if not any(hasattr(module, ids) for ids in ("_hash_zch_identities", "_mch_sorted_raw_ids")):
                has = f'Table "{table}" of module "{path}" has a {type(module).__name__}, which is not supported'
                raise ValueError(f"{has}; must be a HashZchManagedCollisionModule or an MCHManagedCollisionModule")
            found[table], paths[table] = module, path
            if hasattr(module, "_mch_sorted_raw_ids"):
                _warn_of_sorting(table, module)
    if not found:
        raise ValueError(f"{type(unwrapped(model)).__name__} has no ManagedCollisionCollection")
    return found


def _warn_of_sorting(table: str, module: Any) -> None:
    """Warns of what a sorting module does when its rows are split over ranks."""
    ranks = _world_size()
    if module._input_hash_size == _ANY_ID and module._input_hash_func is None:
        warn_once(
            f"Table {table} has a sorting managed collision module with the default input_hash_size, 2^63 - 1. TorchRec"
            " gives each rank an equal range of ids up to it: of ids below 2^63 / ranks, rank 0 alone holds some, and"
            " forecasts count the empty slots of the others. Set input_hash_size to one above the largest id"
        )
    loaded = ", ".join(str(n) for n in range(1, ranks + 1) if ranks % n == 0)
    warn_once(
        f"Table {table} has a sorting managed collision module, whose checkpoint of {ranks} ranks TorchRec loads on"
        f" {loaded} ranks only: a restart on others fails when it loads it"
    )


def _world_size() -> int:
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _slots(module: Any) -> _Slots:
    if hasattr(module, "_hash_zch_identities"):
        ids = module._hash_zch_identities.detach()[:, 0].to("cpu", copy=True)
        return _Slots(module._output_segments[module._start_bucket], ids, _HASHED_EMPTY)
    # Sorted by id; each has its slot beside it.
    first = module._output_global_offset
    ids = module._mch_sorted_raw_ids.new_empty(module._zch_size)
    ids[module._mch_remapped_ids_mapping - first] = module._mch_sorted_raw_ids
    return _Slots(first, ids.to("cpu"), _SORTED_EMPTY)
