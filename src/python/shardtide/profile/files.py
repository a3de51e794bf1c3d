"""Reads ids from Parquet, .npy and .npz files."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shardtide.profile.bags import Bags, bags, first_outside

# Samples that are read at once.
READ_SAMPLES = 32_768


SUFFIXES = (".parquet", ".npy", ".npz")

# Times in seconds, from 1970 until 2242: those in milliseconds are larger.
TIME_LIMIT = 2**33

DAY_SECONDS = 86_400

# Parts of a second in which Arrow counts timestamps.
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class Times:
    """Times of samples, by which a stream is cut into periods.

    column: of Parquet files: timestamps or dates, those without a time zone in UTC, or integers, in seconds since 1970
    seconds: length of a period, at least 1; periods begin at whole multiples of it since 1970, in UTC
    """

    column: str
    seconds: int


class Part(NamedTuple):
    """A part of a file.

    done: share of the file that is read after this part
    batch: ids by feature
    times: of the first and the last of its samples, in seconds since 1970, in one period; None if times are not read.
        A date has samples until its last second
    """

    done: float
    batch: dict[str, Bags]
    times: tuple[int, int] | None = None


def files_of(path: Path) -> list[Path]:
    """Returns the files that a path stands for: itself, or those of a folder that can be read, in order of their names.

    ValueError if a folder has none.
    """
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise ValueError(f"{path} must have {', '.join(SUFFIXES)} files, got none")
    return files


def read(path: Path, features: Collection[str], times: Times | None = None) -> Iterator[Part]:
    """Yields the batches of a file by feature.

    .parquet: columns with features' names, of integers or lists of them; a null is a sample, or an element, without id
    .npy: the ids of the feature that the file is named after, [samples] or [samples, ids]
    .npz: arrays with features' names, as in .npy; or NAME.values with NAME.lengths or NAME.offsets

    times: if given, parts end where a period does; only of .parquet

    Other columns and arrays are ignored. ValueError, with the file's name, if a file has none of the features, has one
    twice, holds something else, or is damaged; and if a sample has no time, or none between 1970 and 2242.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path} must be a {', '.join(SUFFIXES)} file")
    if path.suffix == ".parquet":
        yield from _read_parquet(path, features, times)
    elif times is not None:
        raise ValueError(f"{path} must be a .parquet file, as it must have a column of times, {times.column}")
    else:
        yield from _read_npy(path, features) if path.suffix == ".npy" else _read_npz(path, features)


def _read_parquet(path: Path, features: Collection[str], times: Times | None) -> Iterator[Part]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ValueError(f"{path} needs pyarrow to be read: pip install pyarrow") from None
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            columns = _of_features(path, names, features)
            if times is not None and times.column not in names:
                raise ValueError(f"{path} must have a column of times, {times.column}, got {', '.join(names)}")
            wanted = columns if times is None else list(dict.fromkeys((*columns, times.column)))
            for column in wanted:
                if names.count(column) > 1:
                    raise ValueError(f"{path} must have one column {column}, got {names.count(column)}")
            for column in columns:
                kind = file.schema_arrow.field(column).type
                if not pa.types.is_integer(_element(pa, kind)):
                    raise ValueError(f"Column {column} of {path} must hold integers or lists of them, got {kind}")
            done, rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=READ_SAMPLES, columns=wanted):
                for part, of_part in [(batch, None)] if times is None else _by_period(pa, path, batch, times):
                    done += part.num_rows
                    ids = {column: _bags_of(pa, part.column(column)) for column in columns}
                    yield Part(done / rows, ids, of_part)
    except pa.ArrowException as e:
        raise ValueError(f"{path} must be a Parquet file: {e}") from None
    except OSError as e:
        # Arrow reads pages by itself; only what the system says of a file names it.
        if e.filename is not None:
            raise
        raise ValueError(f"{path} must be an intact Parquet file: {e}") from None


def _by_period(pa: Any, path: Path, batch: Any, times: Times) -> Iterator[tuple[Any, tuple[int, int]]]:
    """Yields slices of a batch, each of samples of one period that follow each other, and their first and last time."""
    seconds = _seconds(pa, path, batch.column(times.column), times.column)
    if not len(seconds):
        return
    periods = seconds // times.seconds
    whole_day = DAY_SECONDS - 1 if pa.types.is_date(batch.schema.field(times.column).type) else 0
    begins = np.concatenate(([0], np.flatnonzero(periods[1:] != periods[:-1]) + 1)).tolist()
    for begin, end in zip(begins, [*begins[1:], len(seconds)]):
        part = seconds[begin:end]
        yield batch.slice(begin, end - begin), (int(part.min()), int(part.max()) + whole_day)


def _seconds(pa: Any, path: Path, column: Any, name: str) -> Any:
    """Returns times in seconds since 1970 as an array of int64."""
    kind = column.type
    if column.null_count:
        raise ValueError(f"Column {name} of {path} must have the time of each sample, got {column.null_count} null")
    if pa.types.is_date(kind):
        seconds = column.cast(pa.timestamp("s")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    elif pa.types.is_timestamp(kind):
        # Arrow has timestamps of a zone in UTC.
        seconds = column.cast(pa.int64()).to_numpy(zero_copy_only=False) // UNITS[kind.unit]
    elif pa.types.is_integer(kind):
        seconds = column.to_numpy(zero_copy_only=False)
    else:
        raise ValueError(f"Column {name} of {path} must hold timestamps, dates, or integers in seconds, got {kind}")
    place = first_outside(seconds, TIME_LIMIT)
    if place is not None:
        raise ValueError(
            f"Times in column {name} of {path} must be between 0 and 2^33 seconds since 1970, got {seconds[place]}."
            " Maybe these are not seconds: convert them to timestamps"
        )
    return seconds.astype(np.int64)


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


def _read_npy(path: Path, features: Collection[str]) -> Iterator[Part]:
    (feature,) = _of_features(path, [path.stem], features)
    # Mapped: only the samples at hand are in memory.
    ids = load(path, mmap_mode="r")
    if ids.ndim not in (1, 2):
        raise ValueError(f"{path} must have 1 or 2 dimensions, got {ids.ndim}")
    for begin in range(0, max(1, len(ids)), READ_SAMPLES):
        part = ids[begin : begin + READ_SAMPLES]
        yield Part((begin + len(part)) / max(1, len(ids)), {feature: _bags(path, feature, part)})


def _read_npz(path: Path, features: Collection[str]) -> Iterator[Part]:
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
            yield Part(done / len(found), {feature: ids})


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

