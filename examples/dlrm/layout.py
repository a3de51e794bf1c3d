"""Which device holds which part of which table: a sharding plan, checked. Needs no PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# Whose device a part is on, by the kind of shard: the names that collectives are measured under.
SCOPES = {
    "TABLE_WISE": "device",
    "COLUMN_WISE": "device",
    "TABLE_COLUMN_WISE": "device",
    "TABLE_ROW_WISE": "node",
    "GRID_SHARD": "node",
    "ROW_WISE": "cluster",
    "DATA_PARALLEL": "copies",
}

# The device of a part that each device holds.
ALL_DEVICES = -1


class TableShape(NamedTuple):
    """An embedding table of the model."""

    name: str
    rows: int
    columns: int


class Part(NamedTuple):
    """A range of columns and rows of a table on a device; on ALL_DEVICES a copy on each."""

    table: str
    column: int
    columns: int
    row: int
    rows: int
    device: int

    def is_on(self, device: int) -> bool:
        return self.device in (device, ALL_DEVICES)

    def __str__(self) -> str:
        return f"columns {self.column}+{self.columns}, rows {self.row}+{self.rows} on device {self.device}"


class Block(NamedTuple):
    """A range of columns of a table, whose outputs are sent together."""

    table: str
    column: int
    columns: int


class Layout:
    """The parts of all tables.

    tables: the model's tables, in its order
    devices: number of devices
    per_node: devices of a node
    scopes: device, node, cluster or copies, for each table
    parts: sorted by column and row, for each table; a device that is left without rows has no part
    """

    def __init__(
        self,
        tables: Sequence[TableShape],
        devices: int,
        per_node: int,
        scopes: dict[str, str],
        parts: dict[str, list[Part]],
    ):
        self.tables = tuple(tables)
        self.devices = devices
        self.per_node = per_node
        self.scopes = scopes
        self.parts = parts

    def held(self, device: int) -> list[Part]:
        """Returns the parts on a device, in the order of the tables."""
        return [part for table in self.tables for part in self.parts[table.name] if part.is_on(device)]

    def of_scope(self, scope: str) -> list[TableShape]:
        """Returns the tables of a scope, in the model's order."""
        return [table for table in self.tables if self.scopes[table.name] == scope]

    def row_devices(self, table: str) -> int:
        """Returns over how many devices the rows of a table are split; 1 if they are not."""
        return {"node": self.per_node, "cluster": self.devices}.get(self.scopes[table], 1)

    def blocks(self, scope: str, devices: range) -> list[Block]:
        """Returns the column blocks of a scope's tables on a group of devices, in the order of tables and columns."""
        found = (
            Block(part.table, part.column, part.columns)
            for table in self.of_scope(scope)
            for part in self.parts[table.name]
            if part.device in devices
        )
        return list(dict.fromkeys(found))


def lay_out(plan: dict[str, Any], tables: Sequence[TableShape], devices: int, per_node: int) -> Layout:
    """Returns the layout of a ShardingPlan record.

    devices: number of ranks
    per_node: ranks of a node

    ValueError that names the table and the reason: the plan is of other tables, another number of devices, or shards
    that are not of their kind.
    """
    found = len(plan["deviceCosts"])
    if found != devices:
        raise ValueError(f"The plan is for {found} devices; this job has {devices} ranks")
    shards: dict[str, list[dict[str, Any]]] = {}
    for shard in plan["shards"]:
        shards.setdefault(shard["table"], []).append(shard)
    names = {table.name for table in tables}
    for name in shards:
        if name not in names:
            raise ValueError(f'Table "{name}" of the plan is unknown to the model, which has {_list(names)}')
    scopes, parts = {}, {}
    for table in tables:
        if table.name not in shards:
            raise ValueError(f'Table "{table.name}" of the model is missing in the plan, which has {_list(shards)}')
        kinds = sorted({shard["kind"] for shard in shards[table.name]})
        if len(kinds) > 1:
            raise ValueError(f'Table "{table.name}" has shards of kinds {", ".join(kinds)}; must be of one kind')
        if kinds[0] not in SCOPES:
            raise ValueError(f'Table "{table.name}" is {kinds[0]}; must be one of {", ".join(SCOPES)}')
        if any(shard.get("cacheShare") is not None for shard in shards[table.name]):
            raise ValueError(f'Table "{table.name}" is cached; this trainer holds all rows in device memory')
        scopes[table.name] = SCOPES[kinds[0]]
        parts[table.name] = sorted(
            Part(s["table"], s["columnOffset"], s["columns"], s["rowOffset"], s["rows"], s["device"])
            for s in shards[table.name]
        )
        _check_cells(table, parts[table.name])
        _check_kind(table, kinds[0], parts[table.name], devices, per_node)
    return Layout(tables, devices, per_node, scopes, parts)


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


def _check_kind(table: TableShape, kind: str, parts: list[Part], devices: int, per_node: int) -> None:
    """Checks that a table's parts are on the devices, and of the rows, that their kind says."""

    def require(holds: bool, expected: str) -> None:
        if not holds:
            found = "; ".join(map(str, parts))
            raise ValueError(f'Table "{table.name}" is {kind.lower()} and has {found}; expected {expected}')

    if kind == "DATA_PARALLEL":
        require(len(parts) == 1 and parts[0].device == ALL_DEVICES, "one shard, on device -1")
        return
    for part in parts:
        require(0 <= part.device < devices, f"devices 0 to {devices - 1}")
    nodes = {part.device // per_node for part in parts}
    ranges = {(part.column, part.columns) for part in parts}
    if SCOPES[kind] == "device":
        require(all(part.rows == table.rows for part in parts), "all rows in each shard")
        require(kind != "TABLE_WISE" or len(parts) == 1, "one shard")
        require(kind != "TABLE_COLUMN_WISE" or len(nodes) == 1, f"one node of {per_node} devices")
        return
    require(kind == "GRID_SHARD" or len(ranges) == 1, "all columns in each shard")
    if SCOPES[kind] == "node":
        require(devices % per_node == 0, f"whole nodes of {per_node} devices, got {devices} devices")
    split = devices if SCOPES[kind] == "cluster" else per_node
    block = -(-table.rows // split)
    for column, columns in ranges:
        block_parts = [part for part in parts if (part.column, part.columns) == (column, columns)]
        first = block_parts[0].device // split * split
        expected = [
            Part(table.name, column, columns, row, min(block, table.rows - row), first + i)
            for i, row in enumerate(range(0, table.rows, block))
        ]
        require(block_parts == expected, "; ".join(map(str, expected)))


def overlap(one: Part, other: Part) -> tuple[range, range] | None:
    """Returns the rows and the columns that two parts of a table have in common; None if there are none."""
    rows = range(max(one.row, other.row), min(one.row + one.rows, other.row + other.rows))
    columns = range(max(one.column, other.column), min(one.column + one.columns, other.column + other.columns))
    return (rows, columns) if rows and columns else None


def _list(names: Iterable[str]) -> str:
    found = sorted(names)
    shown = ", ".join(f'"{name}"' for name in found[:5])
    return shown + (f" and {len(found) - 5} more" if len(found) > 5 else "") if found else "none"
