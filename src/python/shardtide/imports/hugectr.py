"""The tables of HugeCTR: of a model's JSON file, or of the arguments of its embedding collection's benchmark.

**JSON**, as written by hand or by `Model.graph_to_json`: layers with `sparse_embedding_hparam`. With a
`slot_size_array`, each slot has a table, LAYER_slotN. Without one, all slots of a layer share a hash table, which
evicts nothing; its slots are `max_vocabulary_size_global`, `vocabulary_size`, or those of all GPUs together:
`max_vocabulary_size_per_gpu`, or `workspace_size_per_gpu_in_mb` x 2^20 / (4 x `embedding_vec_size`), as HugeCTR
computes it. Lookups are `nnz_per_slot` of the data layer, or `max_nnz`, or `max_feature_num_per_sample` / `slot_num`.

**Arguments**: a text, such as a shell script, with --num_table, --vocabulary_size_per_table, --nnz_per_table and
--ev_size_per_table, each a list with a number for each group of equal tables; with --combiner_per_table, where c
(concat) is unpooled, --optimizer, and --use_dynamic_hash_table, with which all tables are hash tables. Of several
datasets, NAME="--num_table ..." each, one must be chosen.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from shardtide.arguments import items, mapping, one_of, parse_json, read_text, shown
from shardtide.imports.imported import Imported

OPTIMIZERS = {"sgd": "sgd", "adam": "adam", "adagrad": "adagrad"}

# Of a HugeCTR hash table: it has no eviction.
_STORAGE = {"eviction": "none"}

_HPARAM = "sparse_embedding_hparam"
_COMBINERS = {"0": "SUM", "1": "MEAN", "sum": "SUM", "mean": "MEAN"}
_ARGUMENTS = ("num_table", "vocabulary_size_per_table", "nnz_per_table", "ev_size_per_table")


def read(path: str | pathlib.Path, gpus: int | None = None, dataset: str | None = None) -> Imported:
    """Returns the tables of a file; ValueError names the file, what is wrong and what is expected. OSError.

    gpus: number of GPUs, for sizes that are those of one GPU, where the file has no solver that says it
    dataset: of a file with the arguments of several, the name of one
    """
    text = read_text(path)
    is_json = text.lstrip().startswith("{")
    config = mapping(parse_json(text, str(path)), str(path), "layers") if is_json else {}
    try:
        return tables(config, gpus) if is_json else arguments(text, dataset)
    except ValueError as e:
        raise ValueError(f"{path}: {e}") from None


def tables(config: Mapping[str, Any], gpus: int | None = None) -> Imported:
    layers = [mapping(layer, "a layer", "type") for layer in items(config.get("layers"), "layers", "objects")]
    gpus = _gpus(config) or gpus
    inputs = {
        str(sparse.get("top")): sparse
        for layer in layers
        for sparse in items(layer.get("sparse", []), "sparse of the data layer", "objects")
    }
    imported = Imported(optimizer=_optimizer(config.get("optimizer"), "the model"))
    for layer in layers:
        if _HPARAM in layer:
            _add_layer(imported, layer, inputs, gpus)
    if not imported.configs:
        raise ValueError(f"layers must have at least one with {_HPARAM}, got none")
    _note_optimizer(imported)
    imported.notes = list(dict.fromkeys(imported.notes))
    return imported


def _note_optimizer(imported: Imported) -> None:
    if imported.optimizer is None:
        imported.notes.append(f"The optimizer is none of {', '.join(OPTIMIZERS)}: name the one that is trained with")


def _add_layer(
    imported: Imported, layer: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]], gpus: int | None
) -> None:
    top, bottom = str(layer.get("top", layer.get("name", "embedding"))), str(layer.get("bottom"))
    hparam = mapping(layer[_HPARAM], f"{_HPARAM} of {top}", "embedding_vec_size")
    columns = _number(hparam, "embedding_vec_size", top)
    combiner = str(hparam.get("combiner", "sum"))
    one_of(combiner, _COMBINERS, f"combiner of {top}")
    own = layer.get("optimizer")
    if own is not None and _optimizer(own, top) != imported.optimizer:
        imported.notes.append(f"{top} has an optimizer of its own, which is not imported: name one for all tables")
    sizes = [int(size) for size in items(hparam.get("slot_size_array", []), f"slot_size_array of {top}", "rows")]
    if bottom not in inputs and not sizes:
        raise ValueError(f"bottom of {top} must be the top of one of sparse of the data layer, got {bottom}")
    data = inputs.get(bottom, {"slot_num": len(sizes)})
    slots = _number(data, "slot_num", bottom)
    if sizes and len(sizes) != slots:
        raise ValueError(f"slot_size_array of {top} must have a number for each of {slots} slots, got {len(sizes)}")
    lookups = _lookups(imported, data, slots, bottom)
    names = [f"{top}_slot{slot}" for slot in range(slots)]
    for slot, name in enumerate(names):
        if lookups is not None:
            imported.lookups[name] = lookups[slot]
        if sizes:
            imported.add(name, sizes[slot], columns, [name], "FP32", _COMBINERS[combiner])
    if not sizes:
        rows = _hash_rows(hparam, top, columns, gpus)
        imported.add(top, rows, columns, names, "FP32", _COMBINERS[combiner], dict(_STORAGE))
        if slots > 1:
            imported.notes.append(
                f"The {slots} slots of {top} share a table; they are planned as one output, while HugeCTR sends"
                f" {slots}: predicted costs of its all-to-all are too small. Maybe give slot_size_array"
            )


def _hash_rows(hparam: Mapping[str, Any], top: str, columns: int, gpus: int | None) -> int:
    for whole in ("max_vocabulary_size_global", "vocabulary_size"):
        if hparam.get(whole):
            return _number(hparam, whole, top)
    if hparam.get("max_vocabulary_size_per_gpu"):
        of_one = _number(hparam, "max_vocabulary_size_per_gpu", top)
    elif hparam.get("workspace_size_per_gpu_in_mb"):
        of_one = _number(hparam, "workspace_size_per_gpu_in_mb", top) * 2**20 // (4 * columns)
    else:
        raise ValueError(
            f"{_HPARAM} of {top} must have slot_size_array, max_vocabulary_size_global, vocabulary_size,"
            f" max_vocabulary_size_per_gpu or workspace_size_per_gpu_in_mb, got {', '.join(hparam)}"
        )
    if gpus is None:
        raise ValueError(f"The size of {top} is that of one GPU, and no solver says how many there are: give devices")
    return of_one * gpus


def _lookups(imported: Imported, data: Mapping[str, Any], slots: int, bottom: str) -> list[float] | None:
    """Returns the lookups per sample of each slot; None if the data layer does not say them."""
    each = data.get("nnz_per_slot", data.get("max_nnz"))
    if isinstance(each, list):
        if len(each) != slots:
            raise ValueError(f"nnz_per_slot of {bottom} must have a number for each of {slots} slots, got {len(each)}")
        found = [float(lookups) for lookups in each]
    elif each is not None:
        found = [float(each)] * slots
    elif data.get("max_feature_num_per_sample"):
        found = [_number(data, "max_feature_num_per_sample", bottom) / slots] * slots
    else:
        return None
    if any(lookups != 1 for lookups in found) and not data.get("is_fixed_length"):
        imported.notes.append(
            f"The data layer says how many lookups a sample has in {bottom} at most; they are taken unless lookups"
            " say less"
        )
    return found


def _gpus(config: Mapping[str, Any]) -> int | None:
    """Returns the number of GPUs of the solver: a list, or one for each node."""
    solver = config.get("solver")
    gpu = solver.get("gpu") if isinstance(solver, Mapping) else None
    if gpu is None:
        return None
    if not isinstance(gpu, list):
        return 1
    return sum(len(of) if isinstance(of, list) else 1 for of in gpu)


def _optimizer(optimizer: Any, of: str) -> str | None:
    if optimizer is None:
        return None
    return OPTIMIZERS.get(str(mapping(optimizer, f"optimizer of {of}", "type").get("type")).lower())


def _number(fields: Mapping[str, Any], name: str, of: str) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} of {of} must be a whole number from 1, got {shown(value)}")
    return value


def arguments(text: str, dataset: str | None = None) -> Imported:
    text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    named = {name: value for name, value in re.findall(r'(\w+)="([^"]*)"', text) if "--num_table" in value}
    if dataset is not None:
        text = named[one_of(dataset, named, "the dataset")]
    elif len(named) > 1:
        raise ValueError(f"must have the arguments of one dataset, got {', '.join(named)}: name one")
    lists = {name: _list(text, name) for name in _ARGUMENTS}
    combiners = _list(text, "combiner_per_table") if "--combiner_per_table" in text else ["s"] * len(lists["num_table"])
    optimizer = re.search(r"--optimizer[\s=\\]+([^\s\\]+)", text)
    imported = Imported(optimizer=OPTIMIZERS.get(optimizer.group(1).lower()) if optimizer is not None else None)
    _note_optimizer(imported)
    is_hashed = re.search(r"--use_dynamic_hash_table(?!\w)", text) is not None
    groups = len(lists["num_table"])
    for name, values in [*lists.items(), ("combiner_per_table", combiners)]:
        if len(values) != groups:
            raise ValueError(f"--{name} must have a value for each of {groups} groups of tables, got {len(values)}")
    for group, combiner in enumerate(combiners):
        if combiner not in ("s", "c"):
            raise ValueError(f"--combiner_per_table must be s or c of each group, got {combiner}")
        count, rows, lookups, columns = (_whole(lists[name][group], name) for name in _ARGUMENTS)
        for _ in range(count):
            name = f"table{len(imported.configs)}"
            pooling = "SUM" if combiner == "s" else "NONE"
            imported.add(name, rows, columns, [name], "FP32", pooling, dict(_STORAGE) if is_hashed else None)
            imported.lookups[name] = float(lookups)
    imported.notes = list(dict.fromkeys(imported.notes))
    return imported


def _list(text: str, name: str) -> list[str]:
    found = re.search(rf"--{name}[\s=\\]+([^\s\\]+)", text)
    if found is None:
        raise ValueError(f"--{name} must be given, as must {', '.join('--' + other for other in _ARGUMENTS)}")
    return found.group(1).split(",")


def _whole(text: str, name: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", text):
        raise ValueError(f"--{name} must be whole numbers from 1, got {text!r}")
    return int(text)
