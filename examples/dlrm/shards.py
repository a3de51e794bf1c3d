"""The weights and the optimizer state of a part of a table, on the device that holds it."""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import torch
from layout import ALL_DEVICES, Part, TableShape
from shardtide.collect.operators import ShardOperator

BYTES_PER_ELEMENT = 4

# Rows that are drawn from one seed.
SEEDED_ROWS = 1024


class Optimizer(NamedTuple):
    """The optimizer of the embeddings, applied as soon as there are gradients.

    learning_rate: above 0
    row_wise_adagrad: or SGD, which has no state
    """

    learning_rate: float
    row_wise_adagrad: bool = True


class Shard:
    """A part of a table on this device.

    weight: rows x columns, float32
    momentum: of row-wise Adagrad, a float32 for each row: sums of the mean square over the part's columns; else None
    operator: looks up and updates them
    """

    def __init__(self, part: Part, optimizer: Optimizer, device: torch.device):
        self.part = part
        self.weight = torch.zeros(part.rows, part.columns, device=device)
        self.momentum = torch.zeros(part.rows, device=device) if optimizer.row_wise_adagrad else None
        self.operator = ShardOperator(self.weight, self.momentum, part.device == ALL_DEVICES, optimizer.learning_rate)

    def cut(self, rows: range, columns: range) -> torch.Tensor:
        """Returns a copy of the weights of rows and columns of the table, with the state as the last column."""
        own_rows = slice(rows.start - self.part.row, rows.stop - self.part.row)
        cells = [self.weight[own_rows, columns.start - self.part.column : columns.stop - self.part.column]]
        if self.momentum is not None:
            cells.append(self.momentum[own_rows, None])
        return torch.cat(cells, 1)

    def paste(self, rows: range, columns: range, cells: torch.Tensor) -> None:
        """Takes weights and state that `cut` returned; a shard takes each of its cells once.

        The state of a row is the mean over its columns: if they come from several shards, each counts by its width. So
        it is what it had been without cuts, had all gradients been the same. Where columns are cut, each part takes the
        state as it is.
        """
        own_rows = slice(rows.start - self.part.row, rows.stop - self.part.row)
        own_columns = slice(columns.start - self.part.column, columns.stop - self.part.column)
        self.weight[own_rows, own_columns] = cells[:, : len(columns)]
        if self.momentum is not None:
            self.momentum[own_rows] += cells[:, -1] * (len(columns) / self.part.columns)


def shard_bytes(part: Part, optimizer: Optimizer) -> int:
    """Returns the bytes of a part's weights and state."""
    return part.rows * (part.columns + optimizer.row_wise_adagrad) * BYTES_PER_ELEMENT


def initialize(shard: Shard, table: TableShape, seed: int) -> None:
    """Draws a shard's weights, uniform between -1/sqrt(rows) and 1/sqrt(rows).

    A cell's weight follows from the seed, the table's name, the row and the column; not from the plan.
    """
    part = shard.part
    bound = 1 / math.sqrt(table.rows)
    for first in range(part.row // SEEDED_ROWS * SEEDED_ROWS, part.row + part.rows, SEEDED_ROWS):
        name = f"{seed}/{table.name}/{first}".encode()
        generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(name).digest()[:8], "big") >> 1)
        drawn = torch.rand(min(SEEDED_ROWS, table.rows - first), table.columns, generator=generator)
        rows = range(max(first, part.row), min(first + len(drawn), part.row + part.rows))
        shard.weight[rows.start - part.row : rows.stop - part.row] = (
            drawn[rows.start - first : rows.stop - first, part.column : part.column + part.columns]
            .mul_(2 * bound)
            .sub_(bound)
            .to(shard.weight.device)
        )
