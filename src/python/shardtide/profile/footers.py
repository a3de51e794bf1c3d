"""What footers of Parquet files, and an Iceberg table's metadata, say of columns of ids: no data is read.

Formats: parquet.thrift and Thrift's compact protocol of apache/parquet-format 2.12, and Iceberg's table specification.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote, urlparse

from shardtide.profile.files import ID_FIELDS, files_of, of_features

# A header of a dictionary page has fewer bytes.
PAGE_HEADER = 256

# Fields of parquet.thrift by number: of FileMetaData, SchemaElement, RowGroup, ColumnMetaData and what these hold.
SCHEMA, ROW_GROUPS, CREATED_BY = 2, 4, 6
TYPE, REPETITION, NAME, CHILDREN, CONVERTED, SCALE, LOGICAL = 1, 3, 4, 5, 6, 7, 10
COLUMNS, ROWS, CHUNK = 1, 3, 3
PATH, VALUES, DATA, DICTIONARY, STATISTICS, ENCODINGS, SIZES = 3, 5, 9, 11, 12, 13, 16
NULLS, LEVELS = 3, 3
DICTIONARY_HEADER = 7

# Values of its enums: types of integers; converted and logical types of maps, decimals and integers; pages of data.
TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
INTEGERS = (1, 2)
MAPS, DECIMAL, INTEGER_TYPES, LOGICAL_MAP, LOGICAL_DECIMAL, LOGICAL_INTEGER = (1, 2), 5, range(11, 19), 2, 5, 10
DATA_PAGES, DICTIONARY_ENCODINGS = (0, 3), (2, 8)

PUFFIN_BLOB = "apache-datasketches-theta-v1"


class Figure(NamedTuple):
    """What is known of a column.

    value: None if nothing is
    exactness: exact, at most, at least, or estimate
    source: what says so
    """

    value: float | None
    exactness: str = ""
    source: str = ""


class Leaf(NamedTuple):
    """Where the ids of a column are.

    path: names in the schema, from the column on
    most: definition level of an id that is not null
    repeated: definition level of an element of the outermost list; 0 outside lists
    in_struct: whether ids are fields of structs
    """

    path: list[bytes]
    most: int
    repeated: int
    in_struct: bool


class Column:
    """What footers say of a column of ids: sums over the row groups of files, None where a row group does not say it.

    samples: all
    lookups, most_lookups: ids that are not null, and an upper bound
    nulls, empties: samples that are null, or an empty list
    group_ids: distinct ids of each row group
    """

    def __init__(self) -> None:
        self.samples = self.most_lookups = 0
        self.lookups: int | None = 0
        self.nulls: int | None = 0
        self.empties: int | None = 0
        self.group_ids: list[int] | None = []
        # Iceberg's estimate of distinct ids in the table.
        self.table_ids: int | None = None
        self._sources: dict[str, None] = {}

    def add(self, file: BinaryIO, leaf: Leaf, rows: int, chunk: Mapping[int, Any], created_by: str) -> None:
        """Adds a row group of so many rows, whose ids have this ColumnMetaData; ValueError if a page is damaged."""
        values, levels = chunk[VALUES], chunk.get(SIZES, {}).get(LEVELS, [])
        nulls = chunk.get(STATISTICS, {}).get(NULLS)
        lookups = null_samples = empties = None
        if not leaf.most:
            lookups, source = values, "num_values"
        elif len(levels) == leaf.most + 1 and sum(levels) == values:
            lookups, source = levels[leaf.most], "definition levels"
        elif nulls is None or not 0 <= nulls <= values or leaf.in_struct and created_by.startswith("parquet-cpp"):
            source = "num_values, nulls included"
        else:
            lookups, source = values - nulls, "num_values - null_count"
        if not leaf.repeated:
            null_samples, empties = None if lookups is None else rows - lookups, 0
        elif source == "definition levels":
            null_samples, empties = sum(levels[: leaf.repeated - 1]), levels[leaf.repeated - 1]
        self._sources[source] = None
        self.samples += rows
        self.most_lookups += values if lookups is None else lookups
        self.lookups, self.nulls, self.empties = map(
            _sum, (self.lookups, self.nulls, self.empties), (lookups, null_samples, empties)
        )
        # Of categories, fastparquet writes those too that are not used.
        ids = None if created_by.startswith("fastparquet") else _dictionary(file, chunk)
        if ids is None:
            self.group_ids = None
        elif self.group_ids is not None:
            self.group_ids.append(ids)

    def figures(self) -> dict[str, Figure]:
        """Returns what is known, by what it is of."""
        source, exactness = ", ".join(self._sources), "at most" if self.lookups is None else "exact"
        groups = self.group_ids or []
        ids, dictionaries = sum(groups) if groups else None, f"dictionary pages of {len(groups):,} row groups"
        found = {
            "samples": Figure(self.samples, "exact", "num_rows"),
            "lookups": Figure(self.most_lookups, exactness, source),
            "lookups a sample": Figure(self.most_lookups / self.samples if self.samples else None, exactness, source),
            "null samples": Figure(self.nulls, "exact", source),
            "empty samples": Figure(self.empties, "exact", source),
            "ids a row group": Figure(ids and ids / len(groups), "exact", f"mean of {dictionaries}"),
            "ids": Figure(ids, "exact" if len(groups) == 1 else "at most", dictionaries),
            "ids, lower bound": Figure(max(groups, default=None), "at least", dictionaries),
            "ids of the table": Figure(self.table_ids, "estimate", "ndv in Iceberg's metadata"),
        }
        return {name: Figure(None) if figure.value is None else figure for name, figure in found.items()}


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _dictionary(file: BinaryIO, chunk: Mapping[int, Any]) -> int | None:
    """Returns how many values the dictionary page of a column chunk has; None if a data page may have others."""
    pages = {(page[1], page[2]) for page in chunk.get(ENCODINGS, ())}
    data = [encoding for kind, encoding in pages if kind in DATA_PAGES]
    if not data or not all(encoding in DICTIONARY_ENCODINGS for encoding in data):
        return None
    # Some writers name only where data pages begin, with the dictionary before them.
    file.seek(chunk.get(DICTIONARY) or chunk[DATA])
    header = thrift(file.read(PAGE_HEADER)).get(DICTIONARY_HEADER)
    return None if header is None else int(header[1])


def thrift(data: bytes, at: int = 0) -> dict[int, Any]:
    """Returns a struct of Thrift's compact protocol by number of field: numbers, bytes, lists and structs.

    ValueError if the bytes are none.
    """

    def varint() -> int:
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            if byte < 128:
                return result
            shift += 7

    def value(kind: int) -> Any:
        nonlocal at
        if kind in (4, 5, 6):
            number = varint()
            return number >> 1 ^ -(number & 1)
        if kind == 8:
            size = varint()
            at += size
            if at > len(data):
                raise IndexError
            return data[at - size : at]
        if kind == 12:
            return fields()
        if kind in (9, 10):
            head = data[at]
            at += 1
            size = head >> 4 if head < 0xF0 else varint()
            if size > len(data) - at:
                raise IndexError
            return [value(head & 15) for _ in range(size)]
        if kind in (1, 2, 3):
            at += 1
            return data[at - 1]
        if kind == 7:
            at += 8
            return struct.unpack_from("<d", data, at - 8)[0]
        raise IndexError

    def fields() -> dict[int, Any]:
        nonlocal at
        found: dict[int, Any] = {}
        field = 0
        while data[at]:
            head = data[at]
            at += 1
            kind = head & 15
            field = field + (head >> 4) if head >> 4 else value(4)
            # A boolean is in its type.
            found[field] = kind == 1 if kind in (1, 2) else value(kind)
        at += 1
        return found

    try:
        return fields()
    except (IndexError, struct.error, RecursionError):
        raise ValueError(f"bytes are damaged at {min(at, len(data))} of {len(data)}") from None


def footer(path: Path, file: BinaryIO) -> dict[int, Any]:
    """Returns the FileMetaData of a Parquet file; ValueError, with the file's name, if it has none that can be read."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 65_536))
    end = file.read()
    if end[-4:] == b"PARE":
        raise ValueError(f"{path} must have a footer that is not encrypted: give files with plaintext footers")
    length = int.from_bytes(end[-8:-4], "little")
    if end[-4:] != b"PAR1" or length + 12 > size:
        raise ValueError(f"{path} must be a whole Parquet file: it does not end with a footer")
    if length + 8 > len(end):
        file.seek(size - length - 8)
        end = file.read()
    try:
        return thrift(end[-length - 8 : -8])
    except ValueError as e:
        raise ValueError(f"{path} must have an intact footer: {e}") from None


def columns_of(schema: Sequence[Mapping[int, Any]]) -> dict[str, Leaf | str]:
    """Returns where the ids of each column are, as `files.read` finds them; of a column without ids, its type."""
    elements = iter(schema)

    def tree() -> tuple[Mapping[int, Any], list[Any]]:
        element = next(elements)
        return element, [tree() for _ in range(element.get(CHILDREN, 0))]

    def leaf(node: tuple[Mapping[int, Any], list[Any]], above: Leaf, is_entry: bool) -> Leaf | str:
        element, children = node
        repetition = element.get(REPETITION, 0)
        most = above.most + (repetition > 0)
        repeated = above.repeated or (most if repetition == 2 else 0)
        here = Leaf([*above.path, element[NAME]], most, repeated, above.in_struct)
        if not children:
            return here if _is_id(element) else TYPES[element[TYPE]]
        if len(children) > 1 and not is_entry:
            named = [child for name in ID_FIELDS for child in children if child[0][NAME] == name.encode()]
            integers = [child for child in children if not child[1] and _is_id(child[0])]
            if not named and len(integers) != 1:
                return "structs without a field of ids"
            return leaf((named or integers)[0], here._replace(in_struct=True), False)
        return leaf(children[0], here, element.get(CONVERTED) in MAPS or LOGICAL_MAP in element.get(LOGICAL, {}))

    try:
        return {top[0][NAME].decode(): leaf(top, Leaf([], 0, 0, False), False) for top in tree()[1]}
    except (StopIteration, RuntimeError):
        raise ValueError("its schema ends early") from None


def _is_id(element: Mapping[int, Any]) -> bool:
    converted, logical = element.get(CONVERTED), element.get(LOGICAL, {})
    if converted == DECIMAL or LOGICAL_DECIMAL in logical:
        return not element.get(SCALE)
    is_integer = converted in (None, *INTEGER_TYPES) and (not logical or LOGICAL_INTEGER in logical)
    return element.get(TYPE) in INTEGERS and is_integer


def read_footers(given: Iterable[Path], features: Collection[str]) -> dict[str, Column]:
    """Returns what the footers of files, folders and Iceberg tables say of features, or of all columns of ids if none.

    ValueError, with the file's name, if a footer is missing, encrypted or damaged, or a file has none of the features
    or no ids in one; and as `files_of`.
    """
    found: dict[str, Column] = {}
    for path in given:
        is_iceberg = any((path / "metadata").glob("*.metadata.json*"))
        files, table_ids = _iceberg(path) if is_iceberg else (files_of(path), {})
        for each in files:
            with each.open("rb") as file:
                _add(found, each, file, features)
        for name, ids in table_ids.items():
            if name in found:
                found[name].table_ids = ids
    return found


def _add(found: dict[str, Column], path: Path, file: BinaryIO, features: Collection[str]) -> None:
    meta = footer(path, file)
    try:
        leaves = columns_of(meta[SCHEMA])
        created_by = meta.get(CREATED_BY, b"").decode()
        columns = [name for name, leaf in leaves.items() if isinstance(leaf, Leaf)]
        for column in of_features(path, list(leaves), features) if features else columns:
            leaf = leaves[column]
            if isinstance(leaf, str):
                raise ValueError(f"Column {column} of {path} must hold integers, or lists or maps of them, got {leaf}")
            of_column = found.setdefault(column, Column())
            for group in meta.get(ROW_GROUPS, ()):
                chunks = (chunk[CHUNK] for chunk in group[COLUMNS] if CHUNK in chunk)
                chunk = next((chunk for chunk in chunks if chunk[PATH] == leaf.path), None)
                if chunk is None:
                    raise ValueError(f"Column {column} of {path} must have metadata that is not encrypted, got none")
                of_column.add(file, leaf, group[ROWS], chunk, created_by)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as e:
        text = str(e)
        raise ValueError(text if str(path) in text else f"{path} must have an intact footer: {text}") from None


def _iceberg(table: Path) -> tuple[list[Path], dict[str, int]]:
    """Returns the data files of an Iceberg table, and the distinct ids of its columns of which it has a sketch."""
    try:
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.table import StaticTable
    except ModuleNotFoundError:
        raise ValueError(f"{table} is an Iceberg table, and needs pyiceberg: pip install pyiceberg") from None
    # v3.metadata.json or 00003-....metadata.json
    versions = (table / "metadata").glob("*.metadata.json*")
    latest = max(versions, key=lambda file: [int(number) for number in re.findall("^v?([0-9]+)", file.name)])
    try:
        loaded = StaticTable.from_metadata(str(latest))
        tasks = list(loaded.scan().plan_files())
    except (ValueError, ValidationError) as e:
        raise ValueError(f"{table} is an Iceberg table that pyiceberg cannot read: {str(e).splitlines()[0]}") from None
    if any(task.delete_files for task in tasks):
        raise ValueError(f"{table} must have no deleted rows in its files: rewrite them")
    names = {field.field_id: field.name for field in loaded.schema().fields if field.field_type.is_primitive}
    ids = {
        names[blob.fields[0]]: int(blob.properties["ndv"])
        for statistics in loaded.metadata.statistics
        if statistics.snapshot_id == loaded.metadata.current_snapshot_id
        for blob in statistics.blob_metadata
        if blob.type == PUFFIN_BLOB and blob.fields[0] in names and "ndv" in (blob.properties or {})
    }
    return [Path(unquote(urlparse(task.file.file_path).path)) for task in tasks], ids
