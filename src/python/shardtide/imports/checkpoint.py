"""The tables of a checkpoint of a TorchRec model, from its metadata: no weights are read. Needs torch.

torch.distributed.checkpoint keeps the name, size and data type of each tensor, whatever plan it was sharded by.
Weights of tables are named MODULE.embedding_bags.TABLE.weight (of an EmbeddingBagCollection) and
MODULE.embeddings.TABLE.weight (of an EmbeddingCollection, unpooled).
"""

from __future__ import annotations

import pathlib
import re

from shardtide.imports.imported import Imported

# Data types of torch, as TorchRec's DataType.
DATA_TYPES = {"torch.float32": "FP32", "torch.float16": "FP16", "torch.bfloat16": "BF16"}

_WEIGHT = re.compile(r"(?P<module>.*?)\.?\b(?P<kind>embedding_bags|embeddings)\.(?P<table>[^.]+)\.weight")


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
    imported = Imported()
    modules: dict[str, str] = {}
    for name, tensor in tensors.items():
        found = _WEIGHT.fullmatch(name)
        if found is None or not hasattr(tensor, "size") or len(tensor.size) != 2:
            continue
        path, table = found["module"], found["table"]
        if module is not None and path != module and not path.startswith(module + "."):
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
        pooling = "SUM" if found["kind"] == "embedding_bags" else "NONE"
        imported.add(table, rows, columns, [table], DATA_TYPES[data_type], pooling)
    if not imported.configs:
        of = "" if module is None else f" in {module}"
        raise ValueError(
            f"{folder} must have weights of tables{of}, named ...embedding_bags.TABLE.weight or"
            f" ...embeddings.TABLE.weight, got {len(tensors)} others"
        )
    imported.notes.append("A checkpoint does not say the optimizer: name the one that is trained with")
    return imported
