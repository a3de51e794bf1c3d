"""Random sets of shards, as a device holds them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from shardtide.collect.tables import Table, log_uniform

LEAST_COLUMNS, MOST_COLUMNS = 4, 512
MOST_SHARDS = 15
DEVICES_PER_NODE = 8

# Draws of a shard until one fits what the set leaves free.
TRIES = 8


@dataclass(frozen=True)
class Limits:
    """What a step of a set of shards may need.

    weight_bytes: bytes of the weights
    rows: rows of all shards together, each with a float32 of optimizer state
    gradient_elements: elements of the outputs and of the gradients of lookups, or of rows if gradients are dense;
        bounds working memory and time
    """

    weight_bytes: int
    rows: int
    gradient_elements: int

    def minus(self, needs: Limits) -> Limits | None:
        """Returns what is left, None if the needs are beyond the limits."""
        left = Limits(
            self.weight_bytes - needs.weight_bytes,
            self.rows - needs.rows,
            self.gradient_elements - needs.gradient_elements,
        )
        return left if min(left.weight_bytes, left.rows, left.gradient_elements) >= 0 else None


@dataclass(frozen=True)
class Shard:
    """A part of a table on a device.

    table: index of the table
    columns: columns of the part
    samples: outputs of a step
    devices: over how many devices the rows are split; 1 if the device holds all of them
    replicated: whether each device holds a copy (data_parallel)
    bytes_per_element: 4 (float32 weights) or 2 (float16)
    """

    table: int
    columns: int
    samples: int
    devices: int = 1
    replicated: bool = False
    bytes_per_element: int = 4

    def rows(self, table: Table) -> int:
        """Rows on the device."""
        return -(-table.rows // self.devices)

    def lookups(self, table: Table) -> int:
        """Ids that the device looks up in a step, at least 1."""
        return max(1, round(self.samples * table.pooling_factor / self.devices))

    def needs(self, table: Table) -> Limits:
        """What a step of the shard needs."""
        rows = self.rows(table)
        gradients = self.samples + (rows if self.replicated else self.lookups(table))
        return Limits(rows * self.columns * self.bytes_per_element, rows, gradients * self.columns)

    def to_json(self) -> dict[str, object]:
        """Returns the shard as a sample file has it; defaults are left out."""
        fields: dict[str, object] = {"table": self.table, "columns": self.columns, "samples": self.samples}
        if self.devices > 1:
            fields["rowShare"] = 1 / self.devices
        if self.replicated:
            fields["replicated"] = True
        if self.bytes_per_element != 4:
            fields["bytesPerElement"] = self.bytes_per_element
        return fields


def draw_shards(
    draw: random.Random,
    tables: Sequence[Table],
    eligible: Sequence[Sequence[int]],
    batch_sizes: Sequence[int],
    limits: Limits,
    clusters: Sequence[int],
) -> list[Shard]:
    """Returns 1 to 15 shards of one cluster and batch size, of every kind, which together are within the limits.

    tables: all tables
    eligible: groups of indices of tables; each shard is of a table of a random group
    clusters: numbers of devices, one of which the set is for
    """
    batch_size = draw.choice(batch_sizes)
    devices = draw.choice(clusters)
    wanted = draw.randint(1, MOST_SHARDS)
    shards: list[Shard] = []
    while not shards:
        for _ in range(wanted):
            for _ in range(TRIES):
                shard = _draw_shard(draw, draw.choice(draw.choice(eligible)), batch_size, devices)
                left = limits.minus(shard.needs(tables[shard.table]))
                if left is not None:
                    limits = left
                    shards.append(shard)
                    break
    return shards


def _draw_shard(draw: random.Random, table: int, batch_size: int, devices: int) -> Shard:
    columns = _draw_columns(draw)
    bytes_per_element = 2 if draw.random() < 0.25 else 4
    kind = draw.random()
    if kind < 0.55:  # table_wise, column_wise
        return Shard(table, columns, batch_size, bytes_per_element=bytes_per_element)
    if kind < 0.7:  # row_wise
        return Shard(table, columns, batch_size, devices, bytes_per_element=bytes_per_element)
    if kind < 0.85:  # table_row_wise, grid_shard
        on_node = min(devices, DEVICES_PER_NODE)
        return Shard(table, columns, batch_size, on_node, bytes_per_element=bytes_per_element)
    samples = max(1, batch_size // devices)
    return Shard(table, columns, samples, replicated=True, bytes_per_element=bytes_per_element)


def _draw_columns(draw: random.Random) -> int:
    """Returns 4 to 512 columns, a multiple of 4; most often a power of 2."""
    if draw.random() < 0.6:
        return int(2 ** draw.randint(2, 9))
    return 4 * round(log_uniform(draw, LEAST_COLUMNS, MOST_COLUMNS) / 4)
