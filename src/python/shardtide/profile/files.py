"""Reads ids from Parquet, .npy and .npz files."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from shardtide.profile.bags import Bags, bags, first_outside

# Samples that are read at once.
READ_SAMPLES = 32_768


SUFFIXES = (".parquet", ".npy", ".npz")

# Folder of a Delta table that says which files are its data.
DELTA_LOG = "_delta_log"

# Fields of ids in structs of an id and its weight.
ID_FIELDS = ("id", "ids", "key")

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
    """Returns the files that a path stands for, in the order of their names.

    A file is itself, and a pattern, as day*.parquet, those that match. A folder is its files of SUFFIXES, and those of
    folders in it, but for names that begin with _ or ., which Hive, Spark and pyarrow.dataset leave out too. Of a Delta
    table, or a part of one, they are those that its log names as its data: needs deltalake.

    ValueError if a folder has none, if a file is no longer data of its Delta table, and if a path belongs to a table of
    another format whose metadata says which rows are its data.
    """
    place = path.absolute()
    table = next((folder for folder in (place, *place.parents) if (folder / DELTA_LOG).is_dir()), None)
    # Before other formats: a Delta table may have metadata of theirs, too.
    if table is not None:
        found = [file for file in _delta_files(table) if place in (file, *file.parents)]
        if not found:
            raise ValueError(f"{path} must be data of the Delta table {table}, whose log has none there")
        return found
    _refuse_tables(path)
    if not path.is_dir():
        return [path] if path.exists() else sorted(map(Path, glob(str(path)))) or [path]
    found = list(_in_folder(path, ()))
    if not found:
        raise ValueError(f"{path} must have {', '.join(SUFFIXES)} files, got none")
    return found


def _in_folder(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    place = folder.resolve()
    if place in above:
        raise ValueError(f"{folder} is a link to a folder that it is in, {place}: remove it")
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("_", ".")):
            continue
        if (path / DELTA_LOG).is_dir():
            yield from files_of(path)
        elif path.is_dir():
            _refuse_tables(path)
            yield from _in_folder(path, (*above, place))
        elif path.suffix in SUFFIXES:
            yield path


def _delta_files(table: Path) -> list[Path]:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ModuleNotFoundError:
        raise ValueError(
            f"{table} is a Delta table, whose log says which of its files are its data, and needs deltalake to be read:"
            " pip install deltalake"
        ) from None
    try:
        # Unlike its list of files, this refuses tables with rows that are deleted in files that stay.
        fragments = DeltaTable(str(table)).to_pyarrow_dataset().get_fragments()
        names = sorted(fragment.path for fragment in fragments)
    except (DeltaError, ImportError) as e:
        raise ValueError(f"{table} is a Delta table that deltalake cannot read: {e}") from None
    # Names in a log are URLs: some writers name the folders of partitions so, others as they are.
    return [table / name if (table / name).exists() else table / unquote(name) for name in names]


def _refuse_tables(path: Path) -> None:
    """ValueError if a path is in a table of Apache Iceberg or Apache Hudi."""
    place = path.absolute()
    for folder in (place, *place.parents):
        name = None
        if (folder / ".hoodie").is_dir():
            name = "Apache Hudi"
        elif (folder == place or folder / "data" in (place, *place.parents)) and any(
            (folder / "metadata").glob("*.metadata.json*")
        ):
            name = "Apache Iceberg"
        if name is not None:
            raise ValueError(
                f"{folder} is a table of {name}, whose metadata says which rows of its files are its data: write these"
                " to Parquet files of their own, and give these"
            )


def read(path: Path, features: Collection[str], times: Times | None = None) -> Iterator[Part]:
    """Yields the batches of a file by feature.

    .parquet: columns with features' names, of integers, decimals without a fraction, or lists of them of any kind,
        tensors too; of a map its keys, and of structs the field id, ids or key, or the only one of integers. A null is
        a sample, or an element, without id
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
        import pyarrow.compute
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ValueError(f"{path} needs pyarrow to be read: pip install pyarrow") from None
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            columns = of_features(path, names, features)
            if times is not None and times.column not in names:
                raise ValueError(f"{path} must have a column of times, {times.column}, got {', '.join(names)}")
            wanted = columns if times is None else list(dict.fromkeys((*columns, times.column)))
            for column in wanted:
                if names.count(column) > 1:
                    raise ValueError(f"{path} must have one column {column}, got {names.count(column)}")
            nothing = file.schema_arrow.empty_table()
            for column in columns:
                if not _holds_ids(pa, _ids(pa, nothing.column(column).combine_chunks())[0].type):
                    raise ValueError(
                        f"Column {column} of {path} must hold integers, or lists or maps of them, got"
                        f" {file.schema_arrow.field(column).type}"
                    )
            done, rows = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=READ_SAMPLES, columns=wanted):
                for part, of_part in [(batch, None)] if times is None else _by_period(pa, path, batch, times):
                    done += part.num_rows
                    ids = {column: _bags_of(pa, path, column, part.column(column)) for column in columns}
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


def _ids(pa: Any, column: Any) -> tuple[Any, Any]:
    """Returns what a column holds, without nulls, and how many of that each sample has; None: one.

    That is an array of numbers if they are ids; of a struct that has no field of ids, the struct.
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _ids(pa, column.storage)
    if pa.types.is_dictionary(kind):
        return _ids(pa, column.dictionary_decode())
    if pa.types.is_map(kind):
        return _ids(pa, pa.ListArray.from_arrays(column.offsets, column.keys))
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        numbers = [field.name for field in fields if _holds_ids(pa, field.type)]
        named = [name for name in ID_FIELDS if any(field.name == name for field in fields)]
        if named or len(numbers) == 1:
            return _ids(pa, pa.compute.struct_field(column, [(named or numbers)[0]]))
    elif kind.num_fields == 1:
        # All kinds of lists have one child.
        ids, inner = _ids(pa, pa.compute.list_flatten(column))
        lengths = pa.compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        if inner is not None:
            sums, ends = np.concatenate(([0], np.cumsum(inner))), np.cumsum(lengths)
            lengths = sums[ends] - sums[ends - lengths]
        return ids, lengths
    if column.null_count:
        return column.drop_null(), column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    return column, None


def _holds_ids(pa: Any, kind: Any) -> bool:
    is_whole_decimal = pa.types.is_decimal(kind) and kind.scale == 0
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind) or is_whole_decimal)


def _bags_of(pa: Any, path: Path, name: str, column: Any) -> Bags:
    ids, lengths = _ids(pa, column)
    if pa.types.is_null(ids.type):
        ids = ids.cast(pa.int64())
    elif not pa.types.is_integer(ids.type):
        # Decimals: those of Spark for ids without a sign, or others.
        is_signed = len(ids) > 0 and pa.compute.min(ids).as_py() < 0
        try:
            ids = ids.cast(pa.int64() if is_signed else pa.uint64())
        except pa.ArrowInvalid as e:
            raise ValueError(f"Column {name} of {path} must hold ids of 64 bits, got {ids.type}: {e}") from None
    return bags(ids.to_numpy(zero_copy_only=False), lengths=lengths)


def _read_npy(path: Path, features: Collection[str]) -> Iterator[Part]:
    (feature,) = of_features(path, [path.stem], features)
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
        found = of_features(path, names, features)
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


def of_features(path: Path, names: Collection[str], features: Collection[str]) -> list[str]:
    found = [name for name in names if name in features]
    if not found:
        raise ValueError(f"{path} must have one of the features {', '.join(features)}, got {', '.join(names)}")
    return found
