"""Which device holds which part of which table: a sharding plan, checked. Needs no PyTorch."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from shardtide.train.replication import ONE_GROUP, Replication, replication_of

# Whose device a part is on, by the kind of shard: the names that collectives are measured under.
SCOPES = {
    "TABLE_WISE": "device",
    "COLUMN_WISE": "device",
    "TABLE_COLUMN_WISE": "device",
    "TABLE_ROW_WISE": "node",
    "GRID_SHARD": "node",
    "ROW_WISE": "cluster",
    "DATA_PARALLEL": "copies",
    "PARTIAL_ROW_WISE": "device",
}

# The kinds of an unpooled table. Each lookup has one row, which one device has: there are no partial sums to reduce.
UNPOOLED_KINDS = ("TABLE_WISE", "COLUMN_WISE", "TABLE_COLUMN_WISE", "ROW_WISE", "DATA_PARALLEL")

# The device of a part that each device holds.
ALL_DEVICES = -1


# What a hash table does with a new id where all slots that may hold it are taken: it shares a slot, or takes the place
# of the id that is used least.
EVICTIONS = ("none", "lfu")


class TableShape(NamedTuple):
    """An embedding table of the model.

    rows: of a hashed table, the slots that it begins with: plans may give it others
    pooled: whether the rows of a sample's lookups are summed; if not, each lookup has an output
    eviction: of a hashed table, whose ids are any numbers from 0 to 2^63 - 1: one of EVICTIONS. None if ids are rows
    """

    name: str
    rows: int
    columns: int
    pooled: bool = True
    eviction: str | None = None

    @property
    def hashed(self) -> bool:
        """Whether a hash table stores the rows."""
        return self.eviction is not None


class Part(NamedTuple):
    """A range of columns and rows of a table on a device; on ALL_DEVICES a copy on each.

    cache_share: share of the rows that device memory holds, above 0 and at most 1; all are in host memory then. None if
        all are in device memory
    slots: of the whole table if it is hashed: they say in which row an id is looked for. None if ids are rows
    """

    table: str
    column: int
    columns: int
    row: int
    rows: int
    device: int
    cache_share: float | None = None
    slots: int | None = None

    @property
    def rows_on_device(self) -> int:
        """The rows that device memory holds: of a cached part those that the cache has places for."""
        return self.rows if self.cache_share is None else max(1, math.ceil(self.cache_share * self.rows))

    def is_on(self, device: int) -> bool:
        return self.device in (device, ALL_DEVICES)

    def __str__(self) -> str:
        return f"columns {self.column}+{self.columns}, rows {self.row}+{self.rows} on device {self.device}"


class Block(NamedTuple):
    """A range of columns of a table, whose outputs are sent together.

    row: first row of those that the outputs are of
    """

    table: str
    column: int
    columns: int
    row: int


class Layout:
    """The parts of all tables.

    tables: the model's tables, in its order; a hashed one with the slots that the plan gives it
    devices: number of devices, of a replica group
    per_node: devices of a node, of a replica group
    scopes: device, node or cluster, for each table: of the parts that are not copies; copies if all are
    parts: sorted by column and row, for each table; a device that is left without rows has no part. A copy of a part of
        the rows, from row 0 on, is of the table's hot rows; the other parts have all other rows
    replication: the replica groups, each with all parts
    """

    def __init__(
        self,
        tables: Sequence[TableShape],
        devices: int,
        per_node: int,
        scopes: dict[str, str],
        parts: dict[str, list[Part]],
        replication: Replication = ONE_GROUP,
    ):
        self.tables = tuple(tables)
        self.devices = devices
        self.per_node = per_node
        self.scopes = scopes
        self.parts = parts
        self.replication = replication

    def with_tables(self, other: Layout, names: Collection[str]) -> Layout:
        """Returns this layout with some tables as in another one of the same replica groups."""
        scopes = {**self.scopes, **{name: other.scopes[name] for name in names}}
        parts = {**self.parts, **{name: other.parts[name] for name in names}}
        shapes = {table.name: table for table in other.tables if table.name in names}
        tables = [shapes.get(table.name, table) for table in self.tables]
        return Layout(tables, self.devices, self.per_node, scopes, parts, self.replication)

    def held(self, device: int) -> list[Part]:
        """Returns the parts on a device, in the order of the tables."""
        return [part for table in self.tables for part in self.parts[table.name] if part.is_on(device)]

    def scope(self, part: Part) -> str:
        """Returns the scope of a part: device, node, cluster or copies."""
        return "copies" if part.device == ALL_DEVICES else self.scopes[part.table]

    def of_scope(self, scope: str) -> list[Part]:
        """Returns all parts of a scope, in the order of the tables."""
        return [part for table in self.tables for part in self.parts[table.name] if self.scope(part) == scope]

    def row_starts(self, table: str) -> list[int]:
        """Returns the first rows of the ranges that a table's rows are cut into, from 0, ascending."""
        return sorted({part.row for part in self.parts[table]})

    def blocks(self, scope: str, devices: range) -> list[Block]:
        """Returns the column blocks of a scope's tables on a group of devices, in the order of tables and columns.

        Where the group sums the outputs of its parts, a block begins at the first row of all parts of the scope.
        """
        first_rows: dict[str, int] = {}
        if scope in ("node", "cluster"):
            for part in self.of_scope(scope):
                first_rows[part.table] = min(part.row, first_rows.get(part.table, part.row))
        found = (
            Block(part.table, part.column, part.columns, first_rows.get(part.table, part.row))
            for part in self.of_scope(scope)
            if part.device in devices
        )
        return list(dict.fromkeys(found))


def lay_out(plan: Mapping[str, Any], tables: Sequence[TableShape], ranks: int, per_node: int) -> Layout:
    """Returns the layout of a ShardingPlan record.

    ranks: number of ranks, of all replica groups
    per_node: ranks of a node, of all replica groups

    ValueError that names the table and the reason: the plan is of other tables, another number of ranks, replica groups
    that cannot be, or shards that are not of their kind; or it has replica groups, copies or caches of a hashed table.
    """
    replication = replication_of(plan, ranks)
    devices, per_node = ranks // replication.groups, replication.per_node(ranks, per_node)
    shards: dict[str, list[dict[str, Any]]] = {}
    for shard in plan["shards"]:
        shards.setdefault(shard["table"], []).append(shard)
    names = {table.name for table in tables}
    for name in shards:
        if name not in names:
            raise ValueError(f'Table "{name}" of the plan is unknown to the model, which has {_list(names)}')
    scopes, parts, shapes = {}, {}, []
    for table in tables:
        if table.name not in shards:
            raise ValueError(f'Table "{table.name}" of the model is missing in the plan, which has {_list(shards)}')
        copies = [shard for shard in shards[table.name] if shard["kind"] == "DATA_PARALLEL"]
        others = [shard for shard in shards[table.name] if shard["kind"] != "DATA_PARALLEL"]
        kind = _kind(table, others or copies)
        _check_caches(table, copies, others)
        if table.hashed:
            _check_hashed(table, copies, others, replication)
            table = table._replace(rows=max(shard["rowOffset"] + shard["rows"] for shard in others))
        shapes.append(table)
        # A device that has rows of an unpooled table sends them at once, as no sums need the rows of other devices.
        scopes[table.name] = "device" if others and not table.pooled else SCOPES[kind]
        if others and copies:
            _check_hot_rows(table, _parts(table, copies), _parts(table, others))
        parts[table.name] = _parts(table, shards[table.name])
        _check_cells(table, parts[table.name])
        _check_placement(table, kind, _parts(table, others or copies), devices, per_node)
    return Layout(shapes, devices, per_node, scopes, parts, replication)


def _parts(table: TableShape, shards: Sequence[dict[str, Any]]) -> list[Part]:
    slots = table.rows if table.hashed else None
    return sorted(
        Part(
            table.name,
            s["columnOffset"],
            s["columns"],
            s["rowOffset"],
            s["rows"],
            s["device"],
            s.get("cacheShare"),
            slots,
        )
        for s in shards
    )


def _kind(table: TableShape, shards: Sequence[dict[str, Any]]) -> str:
    """Returns the kind of a table's shards, hot rows left out."""
    kinds = sorted({shard["kind"] for shard in shards})
    if len(kinds) > 1:
        raise ValueError(f'Table "{table.name}" has shards of kinds {", ".join(kinds)}; must be of one kind')
    if kinds[0] not in SCOPES:
        raise ValueError(f'Table "{table.name}" is {kinds[0]}; must be one of {", ".join(SCOPES)}')
    if not table.pooled and kinds[0] not in UNPOOLED_KINDS:
        expected = ", ".join(map(str.lower, UNPOOLED_KINDS))
        raise ValueError(f'Table "{table.name}" is unpooled and {kinds[0].lower()}; must be one of {expected}')
    return kinds[0]


def _check_caches(table: TableShape, copies: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    """Checks that copies have no cache, and that the other shards have caches of one possible size, or none."""
    of_copies, shares = ({shard.get("cacheShare") for shard in shards} for shards in (copies, others))
    if of_copies - {None}:
        raise ValueError(f'Table "{table.name}" has copies with cache share {_shares(of_copies)}; copies have no cache')
    if len(shares) > 1:
        raise ValueError(f'Table "{table.name}" has shards with cache shares {_shares(shares)}; must be one')
    if not all(share is None or 0 < share <= 1 for share in shares):
        raise ValueError(f'Table "{table.name}" has cache share {_shares(shares)}; must be above 0 and at most 1')


def _check_hashed(
    table: TableShape, copies: list[dict[str, Any]], others: list[dict[str, Any]], replication: Replication
) -> None:
    """Checks that a hashed table is in device memory, once: each copy would store other ids."""
    if table.eviction not in EVICTIONS:
        raise ValueError(f'Table "{table.name}" has eviction {table.eviction}; must be one of {", ".join(EVICTIONS)}')
    if copies:
        what = "hot rows" if others else "data_parallel shards"
        raise ValueError(f'Table "{table.name}" is hashed and has {what}; each copy would store other ids')
    if replication.groups > 1:
        raise ValueError(
            f'Table "{table.name}" is hashed and has {replication.groups} replica groups; must have one: each group'
            " would store other ids"
        )
    share = others[0].get("cacheShare")
    if share is not None:
        raise ValueError(
            f'Table "{table.name}" is hashed and has cache share {share}; this trainer caches no hashed tables'
        )


def _shares(found: set[float | None]) -> str:
    return ", ".join(sorted(map(str, found)))


def _check_hot_rows(table: TableShape, hot: list[Part], others: list[Part]) -> None:
    """Checks that the only copy is of the first rows, and that the other parts begin behind them."""
    copy = hot[0]
    if hot != [Part(table.name, 0, table.columns, 0, copy.rows, ALL_DEVICES)] or not 0 < copy.rows < table.rows:
        found = "; ".join(map(str, hot))
        raise ValueError(
            f'Table "{table.name}" has hot rows {found}; must be one shard of columns 0+{table.columns}, rows 0+1 to'
            f" 0+{table.rows - 1} on device -1"
        )
    first = min(part.row for part in others)
    if first != copy.rows:
        raise ValueError(
            f'Table "{table.name}" has {copy.rows} hot rows, and other shards that begin at row {first}; must begin at'
            f" row {copy.rows}"
        )


def _check_cells(table: TableShape, parts: list[Part]) -> None:
    """Checks that a table's parts have each of its cells once."""
    rows, columns = max(p.row + p.rows for p in parts), max(p.column + p.columns for p in parts)
    if (rows, columns) != (table.rows, table.columns):
        raise ValueError(
            f'Table "{table.name}" has {rows} rows and {columns} columns in the plan; the model\'s has {table.rows} and'
            f" {table.columns}"
        )
    for i, part in enumerate(parts):
        if min(part.row, part.column) < 0 or min(part.rows, part.columns) < 1:
            raise ValueError(f'Table "{table.name}" has {part}; must be at least one cell of the table')
        for other in parts[:i]:
            if overlap(part, other):
                raise ValueError(f'Table "{table.name}" has cells twice: {other}, and {part}')
    missing = rows * columns - sum(part.rows * part.columns for part in parts)
    if missing:
        raise ValueError(f'Table "{table.name}" has {missing} cells on no device')


def _check_placement(table: TableShape, kind: str, parts: list[Part], devices: int, per_node: int) -> None:
    """Checks that a table's parts are on the devices, and of the rows, that their kind says; hot rows are left out."""

    def require(holds: bool, expected: str) -> None:
        if not holds:
            found = "; ".join(map(str, parts))
            raise ValueError(f'Table "{table.name}" is {kind.lower()} and has {found}; expected {expected}')

    if kind == "DATA_PARALLEL":
        require(len(parts) == 1 and parts[0].device == ALL_DEVICES, "one shard, on device -1")
        return
    for part in parts:
        require(0 <= part.device < devices, f"devices 0 to {devices - 1}")
    first_row = min(part.row for part in parts)
    rows = table.rows - first_row
    nodes = {part.device // per_node for part in parts}
    ranges = {(part.column, part.columns) for part in parts}
    if kind == "PARTIAL_ROW_WISE":
        block = -(-rows // len(parts))
        cuts = [(row, min(block, table.rows - row)) for row in range(first_row, table.rows, block)]
        require(ranges == {(0, table.columns)}, "all columns in each shard")
        found = [(part.row, part.rows) for part in parts]
        require(found == cuts, f"blocks of {block} rows, the last of those that are left")
        require(len({part.device for part in parts}) == len(parts), "each block on a device of its own")
        return
    if SCOPES[kind] == "device":
        require(all(part.rows == rows for part in parts), "all rows in each shard")
        require(kind != "TABLE_WISE" or len(parts) == 1, "one shard")
        require(kind != "TABLE_COLUMN_WISE" or len(nodes) == 1, f"one node of {per_node} devices")
        return
    require(kind == "GRID_SHARD" or len(ranges) == 1, "all columns in each shard")
    if SCOPES[kind] == "node":
        require(devices % per_node == 0, f"whole nodes of {per_node} devices, got {devices} devices")
    split = devices if SCOPES[kind] == "cluster" else per_node
    block = -(-rows // split)
    for column, columns in ranges:
        block_parts = [part for part in parts if (part.column, part.columns) == (column, columns)]
        first_device = block_parts[0].device // split * split
        expected = [
            parts[0]._replace(
                column=column, columns=columns, row=row, rows=min(block, table.rows - row), device=first_device + i
            )
            for i, row in enumerate(range(first_row, table.rows, block))
        ]
        require(block_parts == expected, "; ".join(map(str, expected)))


def overlap(one: Part, other: Part) -> tuple[range, range] | None:
    """Returns the rows and the columns that two parts of a table have in common; None if there are none."""
    rows = common(one.row, one.rows, other.row, other.rows)
    columns = common(one.column, one.columns, other.column, other.columns)
    return (rows, columns) if rows and columns else None


def common(first: int, count: int, other_first: int, other_count: int) -> range:
    """Returns what two ranges have in common, which begin at a number and have so many."""
    return range(max(first, other_first), min(first + count, other_first + other_count))


def _list(names: Iterable[str]) -> str:
    found = sorted(names)
    shown = ", ".join(f'"{name}"' for name in found[:5])
    return shown + (f" and {len(found) - 5} more" if len(found) > 5 else "") if found else "none"
