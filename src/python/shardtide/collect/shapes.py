"""Random sets of shards, as a device holds them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from shardtide.optimizers import DEFAULT, OF_COPIES, OPTIMIZERS
from shardtide.collect.tables import AnyTable, log_uniform

LEAST_COLUMNS, MOST_COLUMNS = 4, 512
DEVICES_PER_NODE = 8

# Shards of a small set, in which single shards matter, and of a device of a plan.
MOST_IN_SMALL_SETS = 15
MOST_SHARDS = 200
MOST_COPIES = 50

# Of the sets, so many are as a device of a plan holds them.
SHARE_OF_PLANS = 0.6

# Elements of a table that plans copy to each device: 64 MiB as float32.
MOST_COPIED_ELEMENTS = 2**24

# Draws of a shard until one fits what the set leaves free.
TRIES = 8

# Rows of tables whose shards may be cached, and of all cached shards of a set: FBGEMM needs about 2 s for each 2^24 of
# them, as it makes a Python list of them first.
LEAST_CACHED_ROWS = 100_000
MOST_CACHED_ROWS = 2**25
LEAST_CACHE_SHARE = 0.01

# A cached row's index, and when it was last used. The operator also has a number of 4 bytes for each row of a table
# with a cache, on the device: as much as the optimizer's state of a row, which `rows` of the limits counts.
BYTES_PER_CACHED_ROW = 16


@dataclass(frozen=True)
class Limits:
    """What a step of a set of shards may need.

    weight_bytes: bytes of the weights, and of what an optimizer keeps of each of them
    rows: rows of all shards together, each with a float32 of optimizer state
    gradient_elements: elements of the outputs and of the gradients of lookups, or of rows if gradients are dense;
        bounds working memory and time
    host_bytes: host memory of the weights and optimizer state of cached shards; 0 for none of them
    """

    weight_bytes: int
    rows: int
    gradient_elements: int
    host_bytes: int = 0

    def minus(self, needs: Limits) -> Limits | None:
        """Returns what is left, None if the needs are beyond the limits."""
        left = [has - need for has, need in zip(astuple(self), astuple(needs))]
        return Limits(*left) if min(left) >= 0 else None


@dataclass(frozen=True)
class Shard:
    """A part of a table on a device.

    table: index of the table
    samples: outputs of a step
    devices: over how many devices the rows are split; 1 if the device holds all of them
    replicated: whether each device holds a copy (data_parallel)
    bytes_per_element: 4 (float32 weights) or 2 (float16)
    cache_share: share of its rows, the most used, that device memory holds, above 0, while host memory holds all of
        them; None if device memory holds all of them. Copies have none
    pooled: whether the rows of a sample's lookups are summed; if not, each lookup has an output
    """

    table: int
    columns: int
    samples: int
    devices: int = 1
    replicated: bool = False
    bytes_per_element: int = 4
    optimizer: str = DEFAULT
    cache_share: float | None = None
    pooled: bool = True

    def __post_init__(self) -> None:
        if self.cache_share is not None and self.replicated:
            raise ValueError("a copy cannot be cached")
        if self.cache_share is not None and not 0 < self.cache_share <= 1:
            raise ValueError(f"cache_share must be above 0 and at most 1, got {self.cache_share}")

    def rows(self, table: AnyTable) -> int:
        return -(-table.rows // self.devices)

    def cached_rows(self, table: AnyTable) -> int:
        """Rows that a cache holds, at least 1; 0 if there is none."""
        return 0 if self.cache_share is None else max(1, math.ceil(self.rows(table) * self.cache_share))

    def lookups(self, table: AnyTable) -> int:
        """Ids that the device looks up in a step, at least 1."""
        return max(1, round(self.samples * table.pooling_factor / self.devices))

    def outputs(self, table: AnyTable) -> int:
        """Rows that the device passes on in a step."""
        return self.samples if self.pooled else self.lookups(table)

    def needs(self, table: AnyTable) -> Limits:
        rows, state = self.rows(table), OPTIMIZERS[self.optimizer]
        gradients = self.columns * (self.outputs(table) + (rows if self.replicated else self.lookups(table)))
        weights, per_element = self.columns * self.bytes_per_element, 4 * state.per_element * self.columns
        if self.cache_share is None:
            return Limits(rows * (weights + per_element), rows, gradients)
        # FBGEMM keeps all weights and the whole state of such a table in host memory.
        on_host = rows * (weights + per_element + 4 * state.per_row)
        return Limits(self.cached_rows(table) * (weights + BYTES_PER_CACHED_ROW), rows, gradients, on_host)

    def to_json(self) -> dict[str, object]:
        """Returns the shard as a sample file has it; defaults are left out."""
        others: dict[str, tuple[object, object]] = {
            "rowShare": (1 / self.devices, 1.0),
            "replicated": (self.replicated, False),
            "bytesPerElement": (self.bytes_per_element, 4),
            "optimizer": (self.optimizer, DEFAULT),
            "cacheShare": (self.cache_share, None),
            "pooled": (self.pooled, True),
        }
        fields = {"table": self.table, "columns": self.columns, "samples": self.samples}
        return {**fields, **{name: value for name, (value, default) in others.items() if value != default}}


@dataclass(frozen=True)
class Caches:
    """Which shards of a set are cached, of those that may be: all but copies and parts of small tables.

    FBGEMM has one cache for all tables of an operator, so that they have one share.

    draw: for each shard, whether it is cached; apart from what draws shards
    part: share of the shards that are cached
    """

    cache_share: float
    draw: random.Random
    part: float

    def of(self, shard: Shard, table: AnyTable, cached_rows: int) -> Shard:
        """Returns the shard with a cache, or as it is. cached_rows: of the set's cached shards before it"""
        is_drawn = self.draw.random() < self.part
        if shard.replicated or table.rows < LEAST_CACHED_ROWS:
            return shard
        if cached_rows + shard.rows(table) > MOST_CACHED_ROWS or not (is_drawn or not cached_rows):
            return shard
        return replace(shard, cache_share=self.cache_share)


def draw_caches(draw: random.Random, cached: float) -> Caches | None:
    """Returns the caches of a set, None for a set without. cached: share of the sets that have caches"""
    if draw.random() >= cached:
        return None
    cache_share = float(f"{log_uniform(draw, LEAST_CACHE_SHARE, 1):.4g}")
    return Caches(min(1.0, cache_share), draw, draw.choice((1.0, draw.uniform(0.2, 0.8))))


def draw_shards(
    draw: random.Random,
    tables: Sequence[AnyTable],
    eligible: Sequence[Sequence[int]],
    batch_sizes: Sequence[int],
    limits: Limits,
    clusters: Sequence[int],
    optimizers: Sequence[str] = (DEFAULT,),
    caches: Caches | None = None,
    pooled: bool = True,
) -> list[Shard]:
    """Returns shards of one cluster, batch size and optimizer, which together are within the limits.

    Some sets are small: 1 to 15 shards of any kinds. The others are as a device of a plan holds them: 1 to 200 shards,
    up to 50 of them copies of small tables, mostly of the same widths and precision.

    eligible: groups of indices of tables; each shard is of a table of a random group
    clusters: numbers of devices, one of which the set is for
    optimizers: one of which the set has
    caches: of the set, which has none if no shard may be cached; None for no cached shards
    pooled: whether all of its shards are pooled, or none
    """
    batch_size = draw.choice(batch_sizes)
    devices = draw.choice(clusters)
    optimizer = draw.choice(optimizers)
    mix = _mix_of_plan(draw) if draw.random() < SHARE_OF_PLANS else _SMALL_SET
    wanted = mix.count or draw.randint(1, MOST_IN_SMALL_SETS)
    shards: list[Shard] = []
    cached_rows = 0
    while not shards:
        for _ in range(wanted):
            for _ in range(TRIES):
                table = draw.choice(draw.choice(eligible))
                shard = _draw_shard(draw, mix, table, tables[table].rows, batch_size, devices, optimizer)
                if not pooled:
                    shard = replace(shard, pooled=False)
                if caches:
                    shard = caches.of(shard, tables[table], cached_rows)
                left = limits.minus(shard.needs(tables[table]))
                if left is not None:
                    limits = left
                    shards.append(shard)
                    cached_rows += 0 if shard.cache_share is None else shard.rows(tables[table])
                    break
    return shards


@dataclass(frozen=True)
class _Mix:
    """What the shards of a set have in common: counts and widths, any if they are 0 or empty, and shares of shards.

    copied: share of copies among shards of tables that may be copied
    most_copied_elements: of such a table
    """

    count: int
    widths: tuple[int, ...]
    half: float
    copied: float
    most_copied_elements: float


_SMALL_SET = _Mix(count=0, widths=(), half=0.25, copied=0.15, most_copied_elements=math.inf)


def _mix_of_plan(draw: random.Random) -> _Mix:
    count = round(log_uniform(draw, 1, MOST_SHARDS))
    widths = tuple(draw.choice((8, 16, 32, 64, 64, 96, 128, 128, 192, 256)) for _ in range(draw.randint(1, 4)))
    copies = draw.choice((0, 1)) * log_uniform(draw, 1, MOST_COPIES)
    return _Mix(count, widths, draw.choice((0, 0, 1, 0.3)), min(0.9, copies / count), MOST_COPIED_ELEMENTS)


def _draw_shard(
    draw: random.Random, mix: _Mix, table: int, rows: int, batch_size: int, devices: int, optimizer: str
) -> Shard:
    columns = draw.choice(mix.widths) if mix.widths else _draw_columns(draw)
    size = 2 if draw.random() < mix.half else 4
    may_be_copied = optimizer in OF_COPIES and rows * columns <= mix.most_copied_elements
    if draw.random() < mix.copied and may_be_copied:
        return Shard(table, columns, max(1, batch_size // devices), 1, True, size, optimizer)
    kind = draw.random()
    # row_wise; table_row_wise and grid_shard; table_wise and column_wise
    split = devices if kind > 0.83 else min(devices, DEVICES_PER_NODE) if kind > 0.66 else 1
    return Shard(table, columns, batch_size, split, False, size, optimizer)


def _draw_columns(draw: random.Random) -> int:
    """Returns 4 to 512 columns, a multiple of 4; most often a power of 2."""
    if draw.random() < 0.6:
        return int(2 ** draw.randint(2, 9))
    return 4 * round(log_uniform(draw, LEAST_COLUMNS, MOST_COLUMNS) / 4)
