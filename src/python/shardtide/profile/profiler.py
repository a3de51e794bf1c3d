"""Profiles of tables: counts of a stream's lookups, and what a workload says of the use of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardtide.arguments import check_text, mapping, texts
from shardtide.profile.bags import Bags, bags, by_feature, first_outside
from shardtide.profile.order import RowOrder, file_name, rank_type, spread, write
from shardtide.profile.rows import LEAST_MEMORY_BYTES, PART, row_counter
from shardtide.profile.statistics import HISTOGRAM_BATCH, access_cdf, reuse_histogram

if TYPE_CHECKING:
    from shardtide.profile.rows import Int64s

# Exact up to 16,777,216 rows; beyond, a sketch of 699,050 rows.
DEFAULT_MEMORY_BYTES = 2**27

MOST_ROWS = 2**36
MOST_POOLING = 1_000_000
LONGEST_NAME = 255

# With fewer lookups of a used row, counts are more skewed than use is.
FEW_LOOKUPS = 10

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# An error of the access CDF that is worth a warning.
LARGE_ERROR = 0.005


@dataclass(frozen=True)
class TableUse:
    """How a stream of batches used a table.

    rows: rows of the table
    lookups: of all features
    pooling_factor: mean lookups of a sample, of all features together
    feature_pooling: mean lookups of a sample, by feature
    samples: of the feature that has fewest
    used_rows: rows that were looked up at least once; an estimate if access_cdf_error is above 0
    access_cdf: share of the lookups on the 1, 4, 16, ... 4^k most used rows while 4^k < rows, then 1; empty without
        lookups
    access_cdf_error: standard error of the entries of access_cdf against the counts of this stream, at its worst entry;
        0 if exact
    reuse_histogram: how often a batch of 65,536 samples uses the rows that it uses: 17 shares of rows, used once, 2, 3
        to 4, 5 to 8, ... times; empty of fewer samples
    """

    name: str
    rows: int
    lookups: int
    pooling_factor: float
    feature_pooling: Mapping[str, float]
    samples: int
    used_rows: int
    access_cdf: list[float]
    access_cdf_error: float
    reuse_histogram: list[float]

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
        if self.lookups and not self.reuse_histogram:
            found.append(
                f"Table {self.name} has {self.samples} samples; a reuse histogram needs {HISTOGRAM_BATCH:,}:"
                " it is left out"
            )
        if self.access_cdf_error > LARGE_ERROR:
            found.append(
                f"The access CDF of table {self.name} has a standard error of {self.access_cdf_error:.4f}:"
                " give it more memory"
            )
        return found

    def fields(self) -> dict[str, Any]:
        """Returns the fields of a TableSpec that the stream tells.

        rows, poolingFactor, accessCdf, reuseHistogram; and features, if several share the table: each with the
        cluster's batch size, and samples that do not repeat.
        """
        fields: dict[str, Any] = {
            "rows": self.rows,
            "poolingFactor": self.pooling_factor,
            "accessCdf": list(self.access_cdf),
            "reuseHistogram": list(self.reuse_histogram),
        }
        if len(self.feature_pooling) > 1:
            fields["features"] = [
                {"name": name, "poolingFactor": lookups} for name, lookups in self.feature_pooling.items()
            ]
        return fields


class TableProfile:
    """Counts the lookups of one table, which one or several features share.

    Takes at most `memory_bytes`, and some megabytes beside them for the batch at hand. Can be pickled: each process
    that reads a part of the stream has its own, and one merges them.

    The error of a sketch, against exact counts of the same stream, is in the result. With the default memory, entries
    of the access CDF were off by at most 0.003 on 100 million skewed ids of 1 billion rows (`--benchmark`), and by
    0.006 on the least favourable orders of 30 million (sorted, rare rows first). It falls with the square root of
    memory.

    name: 1 to 255 characters, no control characters
    rows: 1 to 2^36
    features: those that look up this table; by default one with the table's name
    memory_bytes: at least 2^24. Counts are exact if 8 bytes a row suffice; else RowSketch counts, which takes 192 bytes
        a row while it counts, 40 of which stay. The default, 2^27, is exact for 16,777,216 rows, and for larger tables
        while at most 699,050 rows are used.

    ValueError for other values.
    """

    def __init__(
        self, name: str, rows: int, features: Iterable[str] | None = None, memory_bytes: int = DEFAULT_MEMORY_BYTES
    ) -> None:
        if not (isinstance(name, str) and name.strip() and len(name) <= LONGEST_NAME) or _CONTROL.search(name):
            raise ValueError(
                f"table name must have 1 to {LONGEST_NAME} characters, no control characters, got {name!r}"
            )
        check_text(name, "table name")
        if not _is_integer(rows) or not 1 <= rows <= MOST_ROWS:
            raise ValueError(f"rows of table {name} must be an integer between 1 and 2^36, got {rows!r}")
        if not _is_integer(memory_bytes) or memory_bytes < LEAST_MEMORY_BYTES:
            raise ValueError(f"memory_bytes must be at least {LEAST_MEMORY_BYTES}, got {memory_bytes!r}")
        self.name = name
        self.rows = int(rows)
        self.memory_bytes = int(memory_bytes)
        self._lookups = dict.fromkeys((name,) if features is None else texts(features, "features", "names"), 0)
        self._samples = dict.fromkeys(self._lookups, 0)
        if not self._lookups:
            raise ValueError(f"table {name} must have a feature, got none")
        self._counter = row_counter(self.rows, self.memory_bytes)

    @property
    def features(self) -> list[str]:
        """The features that look up this table."""
        return list(self._lookups)

    def add(
        self,
        ids: Any,
        *,
        lengths: Any = None,
        offsets: Any = None,
        samples: int | None = None,
        feature: str | None = None,
    ) -> None:
        """Counts the ids of a batch, in the forms of `bags`.

        feature: whose ids they are; may be left out if the table has only one

        ValueError, before anything is counted, as `bags`, if the table lacks the feature, and if an id is no row.
        """
        if feature is None:
            if len(self._lookups) > 1:
                raise ValueError(f"feature must be one of {', '.join(self._lookups)}, got none")
            (feature,) = self._lookups
        batch = bags(ids, lengths=lengths, offsets=offsets, samples=samples)
        self.check(feature, batch)
        self.count(feature, batch)

    def check(self, feature: str, batch: Bags) -> None:
        """ValueError if the table lacks the feature or an id is no row."""
        if feature not in self._lookups:
            raise ValueError(f"feature of table {self.name} must be one of {', '.join(self._lookups)}, got {feature}")
        place = first_outside(batch.ids, self.rows)
        if place is not None:
            raise ValueError(
                f"ids of feature {feature} must be between 0 and {self.rows - 1}, as table {self.name} has"
                f" {self.rows} rows, got {batch.ids[place]} at position {place} of the batch"
            )

    def count(self, feature: str, batch: Bags) -> None:
        """Counts a batch that `check` has passed."""
        for begin in range(0, batch.ids.size, PART):
            self._counter.add(batch.ids[begin : begin + PART].astype(np.int64, copy=False))
        self._lookups[feature] += batch.ids.size
        self._samples[feature] += batch.samples

    def merge(self, other: TableProfile) -> None:
        """Adds the counts of another part of the stream, which stays as it is.

        Exact if both parts and their sum are; else the uncertainties of the parts add up. ValueError if the other is of
        another table, or has other rows, features or memory.
        """
        self.check_merge(other)
        self._counter.merge(other._counter)  # type: ignore[arg-type]  # of the same kind, as rows and memory are equal
        for feature in self._lookups:
            self._lookups[feature] += other._lookups[feature]
            self._samples[feature] += other._samples[feature]

    def check_merge(self, other: TableProfile) -> None:
        """ValueError if the other cannot be merged."""
        for what in ("name", "rows", "memory_bytes"):
            if getattr(self, what) != getattr(other, what):
                raise ValueError(
                    f"{what} of profiles must be equal to merge them, got {getattr(self, what)!r} and"
                    f" {getattr(other, what)!r}"
                )
        if self._lookups.keys() != other._lookups.keys():
            raise ValueError(
                f"features of table {self.name} must be equal to merge profiles, got {', '.join(self._lookups)} and"
                f" {', '.join(other._lookups)}"
            )

    def result(self) -> TableUse:
        """Returns the use of the table so far; more can be added afterwards.

        ValueError if a feature has no samples, or more than 1,000,000 lookups a sample, which no table may have.
        """
        for feature, samples in self._samples.items():
            if not samples:
                raise ValueError(
                    f"Table {self.name} has no samples of feature {feature}: its pooling factor is unknown"
                )
        pooling = {feature: lookups / self._samples[feature] for feature, lookups in self._lookups.items()}
        pooling_factor = sum(pooling.values())
        if pooling_factor > MOST_POOLING:
            raise ValueError(f"Lookups a sample of table {self.name} must be at most 1,000,000, got {pooling_factor}")
        lookups, samples = sum(self._lookups.values()), min(self._samples.values())
        uses = self._counter.uses()
        # Of the lookups of the stream, these are in a batch.
        part = min(1.0, HISTOGRAM_BATCH * pooling_factor / lookups) if lookups else 1.0
        return TableUse(
            name=self.name,
            rows=self.rows,
            lookups=lookups,
            pooling_factor=pooling_factor,
            feature_pooling=pooling,
            samples=samples,
            used_rows=min(self.rows, round(float(uses.rows.sum()))),
            access_cdf=access_cdf(uses, self.rows),
            access_cdf_error=uses.error,
            reuse_histogram=reuse_histogram(uses, part) if samples >= HISTOGRAM_BATCH else [],
        )

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
        if not _is_integer(hot_rows) or not 0 <= hot_rows <= self.rows:
            raise ValueError(f"hot rows of table {self.name} must be between 0 and {self.rows}, got {hot_rows!r}")

    def known_rows(self) -> int:
        """Returns how many rows of the order are known, 0 to rows: no later row was looked up more often than these.

        All rows if the counts are exact.
        """
        return self._counter.known_rows(self.rows)


class Profiler:
    """Profiles of several tables. Can be pickled and merged, as TableProfile.

    tables: rows by table
    features: the table of each feature. Tables that none of them names have one feature with the table's name.
    memory_bytes: for each table, as TableProfile has it

    ValueError as TableProfile, and if features name a table that is not among the tables.
    """

    def __init__(
        self,
        tables: Mapping[str, int],
        features: Mapping[str, str] | None = None,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
    ) -> None:
        mapping(tables, "tables", "the rows of each table")
        mapping({} if features is None else features, "features", "the table of each feature")
        by_table: dict[str, list[str]] = {}
        for feature, table in (features or {}).items():
            if table not in tables:
                raise ValueError(f"table of feature {feature} must be one of {', '.join(tables)}, got {table}")
            by_table.setdefault(table, []).append(feature)
        self.tables = {
            name: TableProfile(name, rows, by_table.get(name), memory_bytes) for name, rows in tables.items()
        }
        self._by_feature: dict[str, TableProfile] = {}
        for profile in self.tables.values():
            for feature in profile.features:
                if feature in self._by_feature:
                    raise ValueError(
                        f"feature {feature} must be of one table, got {self._by_feature[feature].name} and"
                        f" {profile.name}"
                    )
                self._by_feature[feature] = profile

    @property
    def features(self) -> list[str]:
        """The features of all tables."""
        return list(self._by_feature)

    def add(self, batch: Any) -> None:
        """Counts a batch: a mapping from features to ids in the forms of `bags`, or a KeyedJaggedTensor.

        Features may be missing: nothing is counted for them. ValueError, before anything is counted, as
        TableProfile.add, and if a feature is of no table.
        """
        found = by_feature(batch)
        for feature, ids in found.items():
            if feature not in self._by_feature:
                raise ValueError(f"feature must be one of {', '.join(self._by_feature)}, got {feature}")
            self._by_feature[feature].check(feature, ids)
        for feature, ids in found.items():
            self._by_feature[feature].count(feature, ids)

    def merge(self, other: Profiler) -> None:
        """Adds the counts of another part of the stream.

        ValueError, before anything is added, as TableProfile.merge, and if the other has other tables.
        """
        if self.tables.keys() != other.tables.keys():
            raise ValueError(
                f"tables of profilers must be equal to merge them, got {', '.join(self.tables)} and"
                f" {', '.join(other.tables)}"
            )
        for name, profile in self.tables.items():
            profile.check_merge(other.tables[name])
        for name, profile in self.tables.items():
            profile.merge(other.tables[name])

    def results(self) -> dict[str, TableUse]:
        """Returns the use of each table; ValueError as TableProfile.result."""
        return {name: profile.result() for name, profile in self.tables.items()}


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
