"""Reads ids from Parquet, .npy and .npz files."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shardtide.profile.bags import Bags, bags

# Samples that are read at once.
READ_SAMPLES = 32_768


def read(path: Path, features: Collection[str]) -> Iterator[tuple[float, dict[str, Bags]]]:
    """Yields the batches of a file by feature, each with the share of the file that is read after it.

    .parquet: columns with features' names, of integers or lists of them; a null is a sample, or an element, without id
    .npy: the ids of the feature that the file is named after, [samples] or [samples, ids]
    .npz: arrays with features' names, as in .npy; or NAME.values with NAME.lengths or NAME.offsets

    Other columns and arrays are ignored. ValueError, with the file's name, if a file has none of the features, has one
    twice, holds something else, or is damaged.
    """
    readers = {".parquet": _read_parquet, ".npy": _read_npy, ".npz": _read_npz}
    if path.suffix not in readers:
        raise ValueError(f"{path} must be a {', '.join(readers)} file")
    return readers[path.suffix](path, features)


def _read_parquet(path: Path, features: Collection[str]) -> Iterator[tuple[float, dict[str, Bags]]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ValueError(f"{path} needs pyarrow to be read: pip install pyarrow") from None
    try:
        with pq.ParquetFile(path) as file:
            columns = _of_features(path, file.schema_arrow.names, features)
            for column in columns:
                if columns.count(column) > 1:
                    raise ValueError(f"{path} must have one column {column}, got {columns.count(column)}")
            for column in columns:
                kind = file.schema_arrow.field(column).type
                if not pa.types.is_integer(_element(pa, kind)):
                    raise ValueError(f"Column {column} of {path} must hold integers or lists of them, got {kind}")
            done, rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=READ_SAMPLES, columns=columns):
                done += batch.num_rows
                yield done / rows, {column: _bags_of(pa, batch.column(column)) for column in columns}
    except pa.ArrowException as e:
        raise ValueError(f"{path} must be a Parquet file: {e}") from None
    except OSError as e:
        # Arrow reads pages by itself; only what the system says of a file names it.
        if e.filename is not None:
            raise
        raise ValueError(f"{path} must be an intact Parquet file: {e}") from None


def _element(pa: Any, kind: Any) -> Any:
    """Returns the type of a column's elements."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return kind.value_type
    return kind


def _bags_of(pa: Any, column: Any) -> Bags:
    samples = len(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    elif not pa.types.is_integer(column.type):
        column = column.flatten()
    return bags(column.drop_null().to_numpy(zero_copy_only=False), samples=samples)


def _read_npy(path: Path, features: Collection[str]) -> Iterator[tuple[float, dict[str, Bags]]]:
    (feature,) = _of_features(path, [path.stem], features)
    # Mapped: only the samples at hand are in memory.
    ids = load(path, mmap_mode="r")
    if ids.ndim not in (1, 2):
        raise ValueError(f"{path} must have 1 or 2 dimensions, got {ids.ndim}")
    for begin in range(0, max(1, len(ids)), READ_SAMPLES):
        part = ids[begin : begin + READ_SAMPLES]
        yield (begin + len(part)) / max(1, len(ids)), {feature: _bags(path, feature, part)}


def _read_npz(path: Path, features: Collection[str]) -> Iterator[tuple[float, dict[str, Bags]]]:
    with load(path) as arrays, _readable(path):
        names = [name.removesuffix(".values") for name in arrays.files]
        found = _of_features(path, names, features)
        for done, feature in enumerate(found, 1):
            if feature in arrays.files:
                ids = _bags(path, feature, arrays[feature])
            else:
                given = [what for what in ("lengths", "offsets") if f"{feature}.{what}" in arrays.files]
                if len(given) != 1:
                    raise ValueError(f"{path} must have {feature}.lengths or {feature}.offsets for {feature}.values")
                others = {given[0]: arrays[f"{feature}.{given[0]}"]}
                ids = _bags(path, feature, arrays[f"{feature}.values"], **others)
            yield done / len(found), {feature: ids}


def load(path: Path, **options: Any) -> Any:
    """Returns what numpy reads from a file; ValueError, with the file's name, if that is no array."""
    with _readable(path):
        return np.load(path, allow_pickle=False, **options)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Gives what numpy says of a file the file's name."""
    try:
        yield
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as e:
        text = str(e)
        raise ValueError(text if str(path) in text else f"{path} must hold arrays of integers: {text}") from None


def _bags(path: Path, feature: str, ids: Any, **others: Any) -> Bags:
    try:
        return bags(ids, **others)
    except ValueError as e:
        raise ValueError(f"Feature {feature} of {path}: {e}") from None


def _of_features(path: Path, names: Collection[str], features: Collection[str]) -> list[str]:
    found = [name for name in names if name in features]
    if not found:
        raise ValueError(f"{path} must have one of the features {', '.join(features)}, got {', '.join(names)}")
    return found
