"""The weights and the optimizer state of a part of a table: on the device that holds it, or cached there."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from caches import HOST, RowCache
from layout import ALL_DEVICES, Part, TableShape
from shardtide.collect.operators import ShardOperator

BYTES_PER_ELEMENT = 4

# Of a slot of a hashed table, beside its row: an id and how often it was used, of 8 bytes each.
SLOT_BYTES = 16

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

    Weights and state of a cached part are in host memory; rows that the cache holds are newer there, until flush().

    weight: rows x columns, float32
    momentum: of row-wise Adagrad, a float32 for each row: sums of the mean square over the part's columns; else None
    tensors: weight, and momentum if there is one
    cache: of a cached part; else None
    operator: looks up and updates the rows; of a cached part, from forward() to step(), those of the step
    """

    def __init__(self, part: Part, optimizer: Optimizer, device: torch.device):
        self.part = part
        self._learning_rate = optimizer.learning_rate
        home = device if part.cache_share is None else HOST
        self.weight = torch.zeros(part.rows, part.columns, device=home)
        self.momentum = torch.zeros(part.rows, device=home) if optimizer.row_wise_adagrad else None
        self.tensors = [self.weight] if self.momentum is None else [self.weight, self.momentum]
        self.cache = None if part.cache_share is None else RowCache(self.tensors, part.rows_on_device, device)
        self.operator = self._operator(*self.tensors)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """Returns the sums of the rows of each sample. Ids count from the part's first row."""
        if self.cache:
            ids, tensors = self.cache.fetch(ids)
            self.operator = self._operator(*tensors)
        return self.operator.forward(ids, offsets)

    def step(self) -> None:
        """Updates the rows by the gradient of a backward pass."""
        self.operator.step()
        if self.cache:
            self.cache.settle()
            # So that a cache of another size can be made after the memory of this one is free.
            self.operator = self._operator(*self.tensors)

    def flush(self) -> None:
        """Writes what a cache holds to the weights and the state in host memory."""
        if self.cache:
            self.cache.flush()

    def reload(self) -> None:
        """Reads what a cache holds from the weights and the state in host memory."""
        if self.cache:
            self.cache.reload()

    def resize(self, part: Part) -> None:
        """Becomes another part, which differs in nothing but the size of its cache."""
        assert self.cache
        self.flush()
        self.cache.fill(part.rows_on_device)
        self.part = part

    def load(self, weight: torch.Tensor, momentum: torch.Tensor | None) -> None:
        """Takes over the weights and the state of all its rows."""
        self.weight.copy_(weight)
        if self.momentum is not None and momentum is not None:
            self.momentum.copy_(momentum)
        if self.cache:
            self.cache.fill(self.part.rows_on_device)

    def cut(self, rows: range, columns: range) -> torch.Tensor:
        """Returns a copy of the weights of rows and columns of the table, with the state as the last column.

        Call flush() before it.
        """
        own_rows = slice(rows.start - self.part.row, rows.stop - self.part.row)
        cells = [self.weight[own_rows, columns.start - self.part.column : columns.stop - self.part.column]]
        if self.momentum is not None:
            cells.append(self.momentum[own_rows, None])
        return torch.cat(cells, 1)

    def paste(self, rows: range, columns: range, cells: torch.Tensor) -> None:
        """Takes weights and state that `cut` returned; a shard takes each of its cells once, before the first step.

        The state of a row is the mean over its columns: if they come from several shards, each counts by its width. So
        it is what it had been without cuts, had all gradients been the same. Where columns are cut, each part takes the
        state as it is.
        """
        own_rows = slice(rows.start - self.part.row, rows.stop - self.part.row)
        own_columns = slice(columns.start - self.part.column, columns.stop - self.part.column)
        cells = cells.to(self.weight.device)
        self.weight[own_rows, own_columns] = cells[:, : len(columns)]
        if self.momentum is not None:
            self.momentum[own_rows] += cells[:, -1] * (len(columns) / self.part.columns)

    def _operator(self, weight: torch.Tensor, momentum: torch.Tensor | None = None) -> ShardOperator:
        return ShardOperator(weight, momentum, self.part.device == ALL_DEVICES, self._learning_rate)


def shard_bytes(part: Part, optimizer: Optimizer) -> int:
    """Returns the bytes of device memory that a part's weights and state take; of a cached part, those of its cache.

    Of a part of a hashed table, ids and their uses count too.
    """
    return part.rows_on_device * _row_bytes(part, optimizer)


def host_bytes(part: Part, optimizer: Optimizer) -> int:
    """Returns the bytes of host memory that a part's weights and state take: none unless it is cached."""
    return 0 if part.cache_share is None else part.rows * _row_bytes(part, optimizer)


def _row_bytes(part: Part, optimizer: Optimizer) -> int:
    of_slot = 0 if part.slots is None else SLOT_BYTES
    return (part.columns + optimizer.row_wise_adagrad) * BYTES_PER_ELEMENT + of_slot


class Memory(NamedTuple):
    """A memory that shards are in.

    name: of the memory on a rank, for people
    limit: bytes for shards, None if it does not matter
    bytes_of: returns what a part with an optimizer takes
    """

    name: str
    limit: int | None
    bytes_of: Callable[[Part, Optimizer], int]

    def require(self, needed: int, what: str) -> None:
        if self.limit is not None and needed > self.limit:
            raise ValueError(f"{what} needs {needed} bytes {self.name}; it has {self.limit} for shards")


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
