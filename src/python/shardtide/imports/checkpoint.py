"""The tables of a checkpoint of a TorchRec model, from its metadata: no weights are read. Needs torch.

torch.distributed.checkpoint keeps the name, size and data type of each tensor, whatever plan it was sharded by.
Weights of tables are named MODULE.embedding_bags.TABLE.weight (of an EmbeddingBagCollection) and
MODULE.embeddings.TABLE.weight (of an EmbeddingCollection, unpooled). A table whose managed collision module is in the
checkpoint, as buffers named ..._managed_collision_modules.TABLE.BUFFER, is a hash table.
"""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from shardtide.imports.imported import Imported

# Data types of torch, as TorchRec's DataType.
DATA_TYPES = {"torch.float32": "FP32", "torch.float16": "FP16", "torch.bfloat16": "BF16"}

_WEIGHT = re.compile(r"(?P<module>.*?)\.?\b(?P<kind>embedding_bags|embeddings)\.(?P<table>[^.]+)\.weight")

# Others of their buffers have something for each shard or bucket.
_MANAGED = re.compile(
    r"(?P<path>.*)\._managed_collision_modules\.(?P<table>[^.]+)\.(?P<buffer>_mch_\w+|_hash_zch_(?!bucket)\w+)"
)

# Eviction policies of TorchRec's sorting module by what it counts of an id; DistanceLFU counts both.
_COUNTS = ("_mch_counts", "_mch_last_access_iter")
_SORTED = {_COUNTS[:1]: "lfu", _COUNTS[1:]: "lru", _COUNTS: "lfu"}

# Buffers of MPZCH, which has metadata only if it evicts.
_HASHED, _HASHED_METADATA = "_hash_zch_identities", "_hash_zch_metadata"


def read(folder: str | pathlib.Path, module: str | None = None) -> Imported:
    """Returns the tables of a checkpoint's folder.

    module: path in the checkpoint of the modules that are meant: of these, and of all inside of them; all if None

    Lookups are not known; each table has one feature of its name. ValueError if the folder is no checkpoint, has no
    tables, or two of one name.
    """
    from torch.distributed.checkpoint import FileSystemReader

    if not (pathlib.Path(folder) / ".metadata").is_file():
        raise ValueError(f"{folder} must be the folder of a checkpoint of torch.distributed, with a file .metadata")
    tensors = FileSystemReader(str(folder)).read_metadata().state_dict_metadata
    managed = _managed(tensors)
    imported = Imported()
    modules: dict[str, str] = {}
    for name, tensor in tensors.items():
        found = _WEIGHT.fullmatch(name)
        if found is None or not hasattr(tensor, "size") or len(tensor.size) != 2:
            continue
        path, table = found["module"], found["table"]
        if module is not None and not _is_in(path, module):
            continue
        if table in modules:
            raise ValueError(
                f"Table {table} is in {modules[table] or 'the model'} and in {path or 'the model'} of {folder}:"
                " name the module that is meant"
            )
        modules[table] = path
        data_type = str(tensor.properties.dtype)
        if data_type not in DATA_TYPES:
            raise ValueError(f"Table {table} of {folder} must be of {', '.join(DATA_TYPES)}, got {data_type}")
        rows, columns = (int(size) for size in tensor.size)
        # The collection of managed collision modules and that of their tables are in one module.
        beside = [of for (of_table, module_of), of in managed.items() if of_table == table and _is_in(path, module_of)]
        storage = _storage(imported, table, beside[0]) if beside else None
        pooling = "SUM" if found["kind"] == "embedding_bags" else "NONE"
        imported.add(table, rows, columns, [table], DATA_TYPES[data_type], pooling, storage)
        if storage is not None:
            # TorchRec shards them in no other way.
            imported.constraints[table] = {"kinds": ["row_wise"]}
    if not imported.configs:
        of = "" if module is None else f" in {module}"
        raise ValueError(
            f"{folder} must have weights of tables{of}, named ...embedding_bags.TABLE.weight or"
            f" ...embeddings.TABLE.weight, got {len(tensors)} others"
        )
    imported.notes.append("A checkpoint does not say the optimizer: name the one that is trained with")
    return imported


def _is_in(path: str, module: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")


def _managed(tensors: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, int]]:
    """Returns the bytes of a slot in each buffer of managed collision modules that has something for each of them.

    The key is the table, and the path of the module that the collection of managed collision modules is in.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    for name, tensor in tensors.items():
        match = _MANAGED.fullmatch(name)
        # MPZCH that does not evict has metadata of no slot.
        if match is not None and hasattr(tensor, "size") and math.prod(tensor.size):
            key = match["table"], match["path"].rpartition(".")[0]
            found.setdefault(key, {})[match["buffer"]] = math.prod(tensor.size[1:]) * tensor.properties.dtype.itemsize
    return found


def _storage(imported: Imported, table: str, buffers: Mapping[str, int]) -> dict[str, Any]:
    """Returns the HashedStorage of a table, as shardtide.torchrec.managed_storage() does of the module itself."""
    if _HASHED in buffers:
        eviction = "lru" if _HASHED_METADATA in buffers else "none"
        if eviction == "lru":
            imported.notes.append(
                f"Table {table} evicts ids, by which policy a checkpoint does not say: lru is taken, age is the other"
            )
    else:
        eviction = _SORTED.get(tuple(sorted(name for name in buffers if name in _COUNTS)), "none")
    return {"slotBytes": float(sum(buffers.values())), "eviction": eviction}
