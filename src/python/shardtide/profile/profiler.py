"""Profiles of tables: counts of a stream's lookups, and what a workload says of the use of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardtide.arguments import mapping, one_of, texts
from shardtide.profile.bags import Bags, by_feature, first_outside
from shardtide.profile.growth import HashTableProfile, TableGrowth
from shardtide.profile.lookups import StreamProfile, StreamUse, is_integer
from shardtide.profile.order import RowOrder, file_name, rank_type, spread, write
from shardtide.profile.rows import BLOCKS, DEFAULT_MEMORY_BYTES, ROW_ORDERS, RowCounts, blocks_of, row_counter
from shardtide.profile.statistics import access_cdf

if TYPE_CHECKING:
    from shardtide.profile.rows import Int64s

MOST_ROWS = 2**36

# With fewer lookups of a used row, counts are more skewed than use is.
FEW_LOOKUPS = 10

# An error of the access CDF that is worth a warning.
LARGE_ERROR = 0.005


@dataclass(frozen=True)
class TableUse(StreamUse):
    """How a stream of batches used a table with fixed rows.

    rows: rows of the table
    used_rows: rows that were looked up at least once; an estimate if access_cdf_error is above 0
    access_cdf: share of the lookups on the 1, 4, 16, ... 4^k most used rows while 4^k < rows, then 1; empty without
        lookups
    access_cdf_error: standard error of the entries of access_cdf against the counts of this stream, at its worst entry;
        0 if exact
    row_spread: share of the lookups in each block of rows, by one of ROW_ORDERS; empty without lookups
    """

    rows: int
    used_rows: int
    access_cdf: list[float]
    access_cdf_error: float
    row_spread: Mapping[str, list[float]]

    @property
    def lookups_per_used_row(self) -> float:
        """Mean lookups of a row that was looked up; 0 without lookups. The lower, the more chance is in the counts."""
        return self.lookups / self.used_rows if self.used_rows else 0.0

    @property
    def warnings(self) -> list[str]:
        """What makes the profile less than it could be, in sentences."""
        found = []
        if not self.lookups:
            found.append(f"Table {self.name} has no lookups: its access CDF and reuse histogram are unknown")
        elif self.lookups_per_used_row < FEW_LOOKUPS and self.rows > 1:
            found.append(
                f"Table {self.name} has {self.lookups_per_used_row:.1f} lookups of each row in use; of fewer than"
                f" {FEW_LOOKUPS}, use looks more skewed than it is: profile more samples"
            )
        found += super().warnings
        if self.access_cdf_error > LARGE_ERROR:
            found.append(
                f"The access CDF of table {self.name} has a standard error of {self.access_cdf_error:.4f}:"
                " give it more memory"
            )
        return found

    def fields(self) -> dict[str, Any]:
        """Returns the fields of a TableSpec that the stream tells: as StreamUse, and rows, accessCdf and rowSpread."""
        return {
            "rows": self.rows,
            **super().fields(),
            "accessCdf": list(self.access_cdf),
            "rowSpread": [{"order": order, "shares": list(shares)} for order, shares in self.row_spread.items()],
        }


class TableProfile(StreamProfile):
    """Counts the lookups of one table; arguments and ValueError as StreamProfile.

    Takes at most `memory_bytes`, and some megabytes beside them for the batch at hand. Can be pickled: each process
    that reads a part of the stream has its own, and one merges them.

    The error of a sketch, against exact counts of the same stream, is in the result. With the default memory, entries
    of the access CDF were off by at most 0.003 on 100 million skewed ids of 1 billion rows, and by
    0.006 on the least favourable orders of 30 million (sorted, rare rows first). It falls with the square root of
    memory.

    rows: 1 to 2^36
    memory_bytes: at least 2^24. Counts are exact if 8 bytes a row suffice; else RowSketch counts, which takes 192 bytes
        a row while it counts, 40 of which stay. The default, 2^27, is exact for 16,777,216 rows, and for larger tables
        while at most 699,050 rows are used.
    row_orders: those of ROW_ORDERS by which the trainer can cut the table
    """

    _MERGED = ("name", "rows", "memory_bytes", "row_orders")

    def __init__(
        self,
        name: str,
        rows: int,
        features: Iterable[str] | None = None,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        row_orders: Iterable[str] = ROW_ORDERS[:1],
    ) -> None:
        super().__init__(name, features, memory_bytes)
        if not is_integer(rows) or not 1 <= rows <= MOST_ROWS:
            raise ValueError(f"rows of table {name} must be an integer between 1 and 2^36, got {rows!r}")
        self.rows = int(rows)
        orders = texts(row_orders, "row_orders", "names")
        self.row_orders = tuple(one_of(order, ROW_ORDERS, "row order") for order in dict.fromkeys(orders))
        self._counter = row_counter(self.rows, self.memory_bytes)
        # Of a sketch, which does not know all rows.
        blocks = 0 if isinstance(self._counter, RowCounts) else BLOCKS
        self._blocks = {order: np.zeros(blocks, np.int64) for order in self.row_orders}

    def _count_ids(self, ids: Int64s) -> None:
        super()._count_ids(ids)
        for order, blocks in self._blocks.items():
            if len(blocks):
                blocks += np.bincount(blocks_of(ids, order, self.rows), minlength=BLOCKS)

    def _check_ids(self, feature: str, batch: Bags) -> None:
        place = first_outside(batch.ids, self.rows)
        if place is not None:
            raise ValueError(
                f"ids of feature {feature} must be between 0 and {self.rows - 1}, as table {self.name} has {self.rows}"
                f" rows, got {batch.ids[place]} at position {place} of the batch"
            )

    def merge(self, other: TableProfile) -> None:
        """Adds the counts of another part of the stream, which stays as it is.

        Exact if both parts and their sum are; else the uncertainties of the parts add up. ValueError if the other is of
        another table, or has other rows, features or memory.
        """
        self.check_merge(other)
        self._counter.merge(other._counter)  # type: ignore[arg-type]  # of the same kind, as rows and memory are equal
        for order, blocks in self._blocks.items():
            blocks += other._blocks[order]
        self._merge_lookups(other)

    def result(self) -> TableUse:
        """Returns the use of the table so far; more can be added afterwards.

        ValueError if a feature has no samples, or more than 1,000,000 lookups a sample, which no table may have.
        """
        uses = self._counter.uses()
        use = self._use(uses, self.rows)
        return TableUse(
            **use,
            rows=self.rows,
            used_rows=min(self.rows, round(float(uses.rows.sum()))),
            access_cdf=access_cdf(uses, self.rows),
            access_cdf_error=uses.error,
            row_spread={order: self._spread(order, use["lookups"]) for order in self.row_orders if use["lookups"]},
        )

    def _spread(self, order: str, lookups: int) -> list[float]:
        counter = self._counter
        blocks = counter.blocks(order) if isinstance(counter, RowCounts) else self._blocks[order]
        return [count / lookups for count in blocks.tolist()]

    def order(self, hot_rows: int | None = None) -> RowOrder:
        """Returns the rows in the order of their use so far: the most used first, ties in the order of the ids.

        Rows without lookups come last. Exact if the counts are. Else the rows that the sketch keeps come first, by
        their estimated use, and all others follow in the order of their ids; `known_rows` says how far the order is
        sure. Takes 4 bytes a row, 8 beyond 2^31 rows; `write_order` needs no such memory.

        hot_rows: how many rows each device has a copy of, as a plan says, 0 to rows. Only these are in the order of
            use then; all others are spread, so that blocks of them, which row-wise sharding makes, are used alike

        ValueError for another number of hot rows.
        """
        array = np.empty(self.rows, rank_type(self.rows))
        done = 0
        for ranks in self._ranks(hot_rows):
            array[done : done + len(ranks)] = ranks
            done += len(ranks)
        return RowOrder(array)

    def write_order(self, folder: str | Path, hot_rows: int | None = None) -> Path:
        """Writes `order` to a file in a folder that exists, and returns its path, which `RowOrder.read` reads.

        The file is named after the table as `file_name` says, and holds the rank of each row in numpy's format. It
        replaces an earlier one, and is written completely or not at all.

        OSError if it cannot be written. ValueError as `file_name` and `order`.
        """
        ranks = self._ranks(hot_rows)
        path = Path(folder) / file_name(self.name)
        write(path, self.rows, ranks)
        return path

    def _ranks(self, hot_rows: int | None) -> Iterator[Int64s]:
        if hot_rows is None:
            return self._counter.ranks(self.rows)
        self.check_hot_rows(hot_rows)
        return (spread(ranks, self.rows, hot_rows) for ranks in self._counter.ranks(self.rows))

    def check_hot_rows(self, hot_rows: int) -> None:
        """ValueError if the table cannot have so many hot rows."""
        if not is_integer(hot_rows) or not 0 <= hot_rows <= self.rows:
            raise ValueError(f"hot rows of table {self.name} must be between 0 and {self.rows}, got {hot_rows!r}")

    def known_rows(self) -> int:
        """Returns how many rows of the order are known, 0 to rows: no later row was looked up more often than these.

        All rows if the counts are exact.
        """
        return self._counter.known_rows(self.rows)


class Profiler:
    """Profiles of several tables. Can be pickled and merged, as TableProfile.

    tables: rows by table, of those that have rows
    features: the table of each feature. Tables that none of them names have one feature with the table's name.
    memory_bytes: for each table, as TableProfile and HashTableProfile have it
    hash_tables: tables without fixed rows, whose ids and growth are measured
    row_orders: as TableProfile has them

    ValueError as TableProfile, if features name a table that is not among the tables, and if a table has rows and is a
    hash table.
    """

    def __init__(
        self,
        tables: Mapping[str, int],
        features: Mapping[str, str] | None = None,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        hash_tables: Iterable[str] = (),
        row_orders: Iterable[str] = ROW_ORDERS[:1],
    ) -> None:
        mapping(tables, "tables", "the rows of each table")
        mapping({} if features is None else features, "features", "the table of each feature")
        hashed = texts(hash_tables, "hash_tables", "names")
        for name in hashed:
            if name in tables or hashed.count(name) > 1:
                raise ValueError(f"hash table {name} must occur once and have no rows")
        names = [*tables, *hashed]
        by_table: dict[str, list[str]] = {}
        for feature, table in (features or {}).items():
            by_table.setdefault(one_of(table, names, f"table of feature {feature}"), []).append(feature)
        self.tables = {
            name: TableProfile(name, rows, by_table.get(name), memory_bytes, row_orders)
            for name, rows in tables.items()
        }
        self.hash_tables = {name: HashTableProfile(name, by_table.get(name), memory_bytes) for name in hashed}
        self._by_feature: dict[str, StreamProfile] = {}
        for profile in (*self.tables.values(), *self.hash_tables.values()):
            for feature in profile.features:
                if feature in self._by_feature:
                    raise ValueError(
                        f"feature {feature} must be of one table, got {self._by_feature[feature].name} and"
                        f" {profile.name}"
                    )
                self._by_feature[feature] = profile

    @property
    def features(self) -> list[str]:
        return list(self._by_feature)

    def add(self, batch: Any) -> None:
        """Counts a batch: a mapping from features to ids in the forms of `bags`, or a KeyedJaggedTensor.

        Features may be missing: nothing is counted for them. ValueError, before anything is counted, as
        TableProfile.add, and if a feature is of no table.
        """
        found = by_feature(batch)
        for feature, ids in found.items():
            self._by_feature[one_of(feature, self._by_feature, "feature")].check(feature, ids)
        for profile in dict.fromkeys(self._by_feature[feature] for feature in found):
            profile.count({feature: found[feature] for feature in profile.features if feature in found})

    def begin_period(self, period: int) -> None:
        """Says that what is added from now on belongs to a period, from 0; ValueError as HashTableProfile.begin_period.

        Tables with rows are profiled over all periods.
        """
        for profile in self.hash_tables.values():
            profile.check_period(period)
        for profile in self.hash_tables.values():
            profile.begin_period(period)

    def merge(self, other: Profiler) -> None:
        """Adds the counts of another part of the stream.

        ValueError, before anything is added, as TableProfile.merge, and if the other has other tables.
        """
        for what, mine, others in (
            ("tables", self.tables, other.tables),
            ("hash tables", self.hash_tables, other.hash_tables),
        ):
            if mine.keys() != others.keys():
                raise ValueError(
                    f"{what} of profilers must be equal to merge them, got {', '.join(mine) or 'none'} and"
                    f" {', '.join(others) or 'none'}"
                )
        for name, profile in self.tables.items():
            profile.check_merge(other.tables[name])
        for name, hashed in self.hash_tables.items():
            hashed.check_merge(other.hash_tables[name])
        for name, profile in self.tables.items():
            profile.merge(other.tables[name])
        for name, hashed in self.hash_tables.items():
            hashed.merge(other.hash_tables[name])

    def results(self) -> dict[str, TableUse]:
        """Returns the use of each table with rows; ValueError as TableProfile.result."""
        return {name: profile.result() for name, profile in self.tables.items()}

    def growth(self, period_days: float = 1.0, is_last_complete: bool = True) -> dict[str, TableGrowth]:
        """Returns the use of each hash table; arguments and ValueError as HashTableProfile.result."""
        return {name: profile.result(period_days, is_last_complete) for name, profile in self.hash_tables.items()}
