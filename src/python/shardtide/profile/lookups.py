"""What all profiles of tables have in common: checked batches, and lookups and samples of each feature."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shardtide.arguments import check_text, one_of, texts
from shardtide.collect.tables import HISTOGRAM_BATCH
from shardtide.profile.bags import Bags, bags
from shardtide.profile.repeats import DistinctShare, Repeats
from shardtide.profile.rows import LEAST_MEMORY_BYTES, PART
from shardtide.profile.statistics import batch_histogram

if TYPE_CHECKING:
    from shardtide.profile.rows import Int64s, RowCounts, RowSketch, RowUses

MOST_POOLING = 1_000_000
LONGEST_NAME = 255

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class StreamUse:
    """How a stream of batches used a table.

    lookups: of all features
    pooling_factor: mean lookups of a sample, of all features together
    feature_pooling: mean lookups of a sample, by feature
    samples: of the feature that has fewest
    reuse_histogram: how often a batch of 65,536 samples uses the rows that it uses: 17 shares of rows, used once, 2, 3
        to 4, 5 to 8, ... times; empty of fewer samples
    distinct_shares: distinct ids over lookups of 4, 16, ..., 65,536 consecutive samples, all features together; empty
        without lookups, and if features do not come together
    """

    name: str
    lookups: int
    pooling_factor: float
    feature_pooling: Mapping[str, float]
    samples: int
    reuse_histogram: list[float]
    distinct_shares: list[DistinctShare]

    @property
    def warnings(self) -> list[str]:
        """What makes the profile less than it could be, in sentences."""
        found = []
        if self.lookups and not self.distinct_shares:
            found.append(
                f"The distinct ids of a batch of table {self.name} are unknown: it takes 4 samples, and files or"
                " batches with all features of the table"
            )
        if self.lookups and not self.reuse_histogram:
            found.append(
                f"Table {self.name} has {self.samples} samples; a reuse histogram needs {HISTOGRAM_BATCH:,}: it is left"
                " out"
            )
        return found

    def fields(self) -> dict[str, Any]:
        """Returns the fields of a TableSpec that the stream tells.

        poolingFactor, reuseHistogram, distinctShare; and features, if several share the table: each with the cluster's
        batch size, and samples that do not repeat.
        """
        return {
            "poolingFactor": self.pooling_factor,
            "reuseHistogram": list(self.reuse_histogram),
            "distinctShare": [{"samples": share.samples, "share": share.share} for share in self.distinct_shares],
            **feature_fields(self.feature_pooling),
        }


class StreamProfile:
    """Counts lookups and samples of one table, which one or several features share.

    name: 1 to 255 characters, no control characters
    features: those that look up this table; by default one with the table's name
    memory_bytes: of the counts, at least 2^24

    ValueError for other values.
    """

    _counter: RowCounts | RowSketch

    # Two profiles merge if they are equal in these.
    _MERGED: tuple[str, ...] = ("name", "memory_bytes")

    def __init__(self, name: str, features: Iterable[str] | None, memory_bytes: int) -> None:
        if not (isinstance(name, str) and name.strip() and len(name) <= LONGEST_NAME) or _CONTROL.search(name):
            raise ValueError(
                f"table name must have 1 to {LONGEST_NAME} characters, no control characters, got {name!r}"
            )
        check_text(name, "table name")
        if not is_integer(memory_bytes) or memory_bytes < LEAST_MEMORY_BYTES:
            raise ValueError(f"memory_bytes must be at least {LEAST_MEMORY_BYTES}, got {memory_bytes!r}")
        self.name = name
        self.memory_bytes = int(memory_bytes)
        self._lookups = dict.fromkeys((name,) if features is None else texts(features, "features", "names"), 0)
        self._samples = dict.fromkeys(self._lookups, 0)
        self._repeats = Repeats(self.memory_bytes)
        if not self._lookups:
            raise ValueError(f"table {name} must have a feature, got none")

    @property
    def features(self) -> list[str]:
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

        ValueError, before anything is counted, as `bags`, if the table lacks the feature, and if the table cannot have
        an id.
        """
        if feature is None:
            if len(self._lookups) > 1:
                raise ValueError(f"feature must be one of {', '.join(self._lookups)}, got none")
            (feature,) = self._lookups
        batch = bags(ids, lengths=lengths, offsets=offsets, samples=samples)
        self.check(feature, batch)
        self.count({feature: batch})

    def check(self, feature: str, batch: Bags) -> None:
        """ValueError if the table lacks the feature or cannot have an id."""
        one_of(feature, self._lookups, f"feature of table {self.name}")
        self._check_ids(feature, batch)

    def count(self, batches: Mapping[str, Bags]) -> None:
        """Counts batches of features that `check` has passed.

        Repeats of ids are counted where all features of the table come together, for equally many samples.
        """
        for feature, batch in batches.items():
            for begin in range(0, batch.ids.size, PART):
                # Those of 64 bits without a sign become negative from 2^63 on: they stay different.
                self._count_ids(batch.ids[begin : begin + PART].astype(np.int64, copy=False))
            self._lookups[feature] += batch.ids.size
            self._samples[feature] += batch.samples
        if len(batches) == len(self._lookups) and len({batch.samples for batch in batches.values()}) == 1:
            self._repeats.add(list(batches.values()))

    def check_merge(self, other: StreamProfile) -> None:
        for what in self._MERGED:
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

    def _merge_lookups(self, other: StreamProfile) -> None:
        self._repeats.merge(other._repeats)
        for feature in self._lookups:
            self._lookups[feature] += other._lookups[feature]
            self._samples[feature] += other._samples[feature]

    def _use(self, uses: RowUses, rows: float) -> dict[str, Any]:
        """Returns the fields of StreamUse of a table with so many rows.

        ValueError if a feature has no samples, or all have too many lookups.
        """
        for feature, samples in self._samples.items():
            if not samples:
                raise ValueError(
                    f"Table {self.name} has no samples of feature {feature}: its pooling factor is unknown"
                )
        pooling = {feature: lookups / self._samples[feature] for feature, lookups in self._lookups.items()}
        total = sum(pooling.values())
        if total > MOST_POOLING:
            raise ValueError(f"Lookups a sample of table {self.name} must be at most 1,000,000, got {total}")
        lookups, samples = sum(self._lookups.values()), min(self._samples.values())
        return {
            "name": self.name,
            "lookups": lookups,
            "pooling_factor": total,
            "feature_pooling": pooling,
            "samples": samples,
            "reuse_histogram": batch_histogram(uses, lookups, total, samples),
            "distinct_shares": self._repeats.shares(total, rows),
        }

    def _check_ids(self, feature: str, batch: Bags) -> None:
        """ValueError if the table cannot have an id; all integers of numpy have at most 64 bits."""

    def _count_ids(self, ids: Int64s) -> None:
        """Counts ids that are legal."""
        self._counter.add(ids)


def feature_fields(feature_pooling: Mapping[str, float]) -> dict[str, Any]:
    """Returns the field `features` of a TableSpec; without fields if there is only one feature."""
    if len(feature_pooling) < 2:
        return {}
    return {"features": [{"name": name, "poolingFactor": lookups} for name, lookups in feature_pooling.items()]}


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, of Python or numpy, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
