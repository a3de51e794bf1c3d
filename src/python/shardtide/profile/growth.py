"""Profiles of hash tables, which have ids of 64 bits and no fixed rows: distinct ids, their growth, and hit shares."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from shardtide.collect.tables import cdf_ranks
from shardtide.profile.lookups import StreamProfile, StreamUse, is_integer
from shardtide.profile.rows import ALL_HASHES, BYTES_PER_ENTRY, DEFAULT_MEMORY_BYTES, RowSketch, find, is_below
from shardtide.profile.statistics import access_cdf

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import TypeAlias

    from shardtide.profile.rows import Int64s

    Int32s: TypeAlias = npt.NDArray[np.int32]

# Bytes of an entry of the sketch, and of half an id with its first period: 12, and as many while ids are added.
BYTES_PER_ID = BYTES_PER_ENTRY + 12

# More than an hour each for ten years.
MOST_PERIODS = 100_000

# Growth is that of so many last periods: with periods of a day a whole week, as days of a week differ.
GROWTH_PERIODS = 7

# New ids that fall to less than this part are worth a warning.
FALLING = 0.9

# A standard error of the hit shares that is worth a warning.
LARGE_ERROR = 0.005


class FirstPeriods:
    """In which period each id was first seen, of a sample of all ids: those whose hash is below a threshold.

    The threshold begins above all hashes, and is halved while there are more than `capacity` ids (adaptive sampling:
    Flajolet, Computing 43, 1990). So the sample depends on nothing but the ids and their first periods: not on their
    order within a period, on batches, or on what was merged with what. Up to `capacity` distinct ids, all are in it.

    A sketch of totals, such as HyperLogLog (Flajolet, Fusy, Gandouet and Meunier, AofA 2007), takes less memory. But
    new ids would be the difference of two of its totals, with the error of the totals.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ids: Int64s = np.empty(0, np.int64)
        self._periods: Int32s = np.empty(0, np.int32)
        self._threshold = ALL_HASHES

    def add(self, ids: Int64s, periods: Int32s, threshold: int) -> None:
        """Adds another sample: different ids in ascending order, each with a period; the earliest of an id counts.

        threshold: that of the other sample, which has all ids with a hash below it. More than `capacity` ids must have
            a hash below twice the threshold, as in samples of RowSketch and FirstPeriods of at least this capacity:
            this sample would have come to it by itself.
        """
        self._lower(min(self._threshold, threshold))
        below = is_below(ids, self._threshold)
        ids, periods = ids[below], periods[below]
        at, new = find(self._ids, ids)
        known = at[~new]
        self._periods[known] = np.minimum(self._periods[known], periods[~new])
        self._periods = np.insert(self._periods, at[new], periods[new])
        self._ids = np.insert(self._ids, at[new], ids[new])
        while len(self._ids) > self._capacity:
            self._lower(self._threshold // 2)

    def merge(self, other: FirstPeriods) -> None:
        self.add(other._ids, other._periods, other._threshold)

    def _lower(self, threshold: int) -> None:
        if threshold < self._threshold:
            self._threshold = threshold
            below = is_below(self._ids, threshold)
            self._ids, self._periods = self._ids[below], self._periods[below]

    @property
    def ids_per_sampled(self) -> int:
        """How many ids each of the sample stands for: 1 if all are in it, else a power of two."""
        return ALL_HASHES // self._threshold

    def new_ids(self) -> Counter[int]:
        """Returns how many ids were first seen in each period; estimates unless all ids are in the sample."""
        periods, sampled = np.unique(self._periods, return_counts=True)
        return Counter(dict(zip(periods.tolist(), (sampled * self.ids_per_sampled).tolist())))


def standard_error(ids: int, ids_per_sampled: int) -> float:
    """Returns the standard error of a number of ids of which one in `ids_per_sampled` is in a sample; 0 if all are.

    Each id is in the sample with probability s = 1 / ids_per_sampled. The estimate from n sampled ids is n / s, its
    standard deviation sqrt(n (1 - s)) / s.
    """
    return math.sqrt(ids * (ids_per_sampled - 1))


@dataclass(frozen=True)
class GrowthPeriod:
    """What a period of a stream looked up.

    period: its number, as `begin_period` was told
    lookups: of all features
    new_ids: ids that no earlier period has
    new_ids_error: standard error of new_ids; 0 if exact
    ids: distinct ids so far
    ids_error: standard error of ids; 0 if exact
    """

    period: int
    lookups: int
    new_ids: int
    new_ids_error: float
    ids: int
    ids_error: float


@dataclass(frozen=True)
class TableGrowth(StreamUse):
    """How a stream of batches used a hash table.

    ids: distinct ids
    ids_error: standard error of ids; 0 if exact
    periods: from the first one with lookups to the current one
    ids_per_day: new ids a day: the median of the new ids of the last growth_periods periods, divided by the days of a
        period; None with fewer than 2 complete periods
    growth_periods: how many periods ids_per_day is of: half of the complete ones, at most 7; only the last one can be
        incomplete
    previous_ids_per_day: the same of as many periods before these, the very first left out; None if there are none
    is_last_complete: whether the last period was said to be complete
    hit_shares: share of the lookups that find their id if the table keeps the 1, 4, 16, ... 4^k most used ids while
        4^k < ids, then 1
    hit_shares_error: standard error of the entries of hit_shares against the counts of this stream, at its worst entry;
        0 if exact
    minus_ones: lookups of the id -1, which is 2^64 - 1, if no other id is below 0, else 0
    """

    ids: int
    ids_error: float
    periods: list[GrowthPeriod]
    ids_per_day: float | None
    growth_periods: int
    previous_ids_per_day: float | None
    is_last_complete: bool
    hit_shares: list[float]
    hit_shares_error: float
    minus_ones: int = 0

    @property
    def warnings(self) -> list[str]:
        """What makes the profile less than it could be, in sentences."""
        found = []
        if self.ids_per_day is None:
            complete = len(self.periods) - (not self.is_last_complete)
            found.append(f"The growth of table {self.name} is unknown: it takes 2 complete periods, got {complete}")
        elif not self.is_last_complete:
            found.append(f"The last period of table {self.name} is incomplete: it is not in ids a day")
        if self.ids_per_day is not None and self.previous_ids_per_day is not None:
            if self.ids_per_day < FALLING * self.previous_ids_per_day:
                found.append(
                    f"New ids of table {self.name} still fall, from {self.previous_ids_per_day:,.0f} to"
                    f" {self.ids_per_day:,.0f} a day: some of them are older than the stream, and the table grows more"
                    " slowly: profile a longer stream"
                )
        if self.hit_shares_error > LARGE_ERROR:
            found.append(
                f"The hit shares of table {self.name} have a standard error of {self.hit_shares_error:.4f}:"
                " give it more memory"
            )
        if self.minus_ones:
            found.append(
                f"Table {self.name} has the id -1 in {self.minus_ones:,} lookups, and no other id below 0: where it"
                " stands for no id, leave it out"
            )
        return [*found, *super().warnings]

    def capacities(self) -> list[int]:
        """Returns how many ids the table keeps for each of hit_shares: 1, 4, 16, ..., then all."""
        return [*cdf_ranks(self.ids), self.ids]

    def storage(self) -> dict[str, Any]:
        """Returns the fields of a table's `storage`: ids, idsPerDay unless it is unknown, and hitShares."""
        growth = {} if self.ids_per_day is None else {"idsPerDay": self.ids_per_day}
        return {"ids": self.ids, **growth, "hitShares": list(self.hit_shares)}

    def fields(self) -> dict[str, Any]:
        """Returns the fields of a TableSpec that the stream tells: as StreamUse, and storage.

        How many rows the table has is the publisher's choice.
        """
        return {"storage": self.storage(), **super().fields()}


class HashTableProfile(StreamProfile):
    """Counts the lookups of one hash table, and which ids are new in each period of the stream.

    A period is a part of the stream of some length, such as a day. The first one, 0 unless `begin_period` says another,
    begins with the first batch. Takes at most `memory_bytes`, and some megabytes beside them for the batch at hand. Can
    be pickled: each process that reads a part of the stream, or some of its periods, has its own, and one merges them.

    Ids are integers of up to 64 bits; those below 0, as half of all hashes are, are the ids of the same bits without a
    sign. `RowSketch` counts lookups by id. Ids, new ids and hit shares are exact while at most half of its capacity of
    memory_bytes / 204 ids are used: 328,965 with the default. Beyond, they are estimates. The standard error of ids is
    at most 0.25% then, and falls with the square root of memory. Arguments and ValueError as StreamProfile.
    """

    def __init__(
        self, name: str, features: Iterable[str] | None = None, memory_bytes: int = DEFAULT_MEMORY_BYTES
    ) -> None:
        super().__init__(name, features, memory_bytes)
        capacity = self.memory_bytes // BYTES_PER_ID
        self._counter: RowSketch = RowSketch(capacity)
        # The sketch keeps no fewer ids in its own sample, so all that belong to this one are there.
        self._first = FirstPeriods(capacity // 2)
        self._period = 0
        self._period_lookups: Counter[int] = Counter()
        # Lookups of ids of 64 bits with a sign.
        self._minus_ones = 0
        self._below_zero = 0

    def _count_ids(self, ids: Int64s) -> None:
        super()._count_ids(ids)
        if len(ids) and ids.min() < 0:
            self._minus_ones += int(np.count_nonzero(ids == -1))
            self._below_zero += int(np.count_nonzero(ids < 0))
        self._period_lookups[self._period] += len(ids)

    def begin_period(self, period: int) -> None:
        """Says that what is added from now on belongs to a period, from 0 to 99,999; the current one goes on.

        ValueError if it is before the current one, and for other values.
        """
        self.check_period(period)
        if period != self._period:
            self._see_new_ids()
            self._period = int(period)

    def check_period(self, period: int) -> None:
        """ValueError if `begin_period` would refuse the period."""
        if not is_integer(period) or not 0 <= period < MOST_PERIODS:
            raise ValueError(
                f"period of table {self.name} must be an integer between 0 and {MOST_PERIODS - 1}, got {period!r}"
            )
        # Nothing to go back behind: a process may begin with any period.
        if self._period_lookups and period < self._period:
            raise ValueError(
                f"period of table {self.name} must be at least {self._period}, the current one, got {period}: add the"
                " stream in the order of time"
            )

    def _see_new_ids(self) -> None:
        if self._period in self._period_lookups:
            ids, threshold = self._counter.sampled()
            self._first.add(ids, np.full(len(ids), self._period, np.int32), threshold)

    def merge(self, other: HashTableProfile) -> None:
        """Adds the counts of another part of the stream, of the same or other periods, before or after these.

        Ids, new ids and growth are those of the whole stream. Hit shares are if both parts and their sum are exact;
        else the uncertainties of the parts add up. ValueError as TableProfile.merge.
        """
        self.check_merge(other)
        self._see_new_ids()
        other._see_new_ids()
        self._counter.merge(other._counter)
        self._first.merge(other._first)
        self._period = max(self._period, other._period)
        self._period_lookups += other._period_lookups
        self._minus_ones += other._minus_ones
        self._below_zero += other._below_zero
        self._merge_lookups(other)

    def result(self, period_days: float = 1.0, is_last_complete: bool = True) -> TableGrowth:
        """Returns the use of the table so far; more can be added afterwards.

        period_days: length of a period, above 0 and at most 36,600
        is_last_complete: whether the stream has all of its last period, which growth leaves out otherwise

        ValueError for another length, if a feature has no samples, or more than 1,000,000 lookups a sample, and for
        periods_without_lookups.
        """
        if not 0 < period_days <= 36_600:
            raise ValueError(f"period_days must be above 0 and at most 36600, got {period_days!r}")
        uses = self._counter.uses()
        use = self._use(uses, math.inf)
        periods = self._periods()
        complete = periods if is_last_complete else periods[:-1]
        count = min(GROWTH_PERIODS, len(complete) // 2)
        return TableGrowth(
            **use,
            ids=periods[-1].ids,
            ids_error=periods[-1].ids_error,
            periods=periods,
            ids_per_day=_new_ids_per_day(complete[len(complete) - count :], period_days),
            growth_periods=count,
            # All ids of the very first period are new.
            previous_ids_per_day=_new_ids_per_day(
                complete[max(1, len(complete) - 2 * count) : len(complete) - count], period_days
            ),
            is_last_complete=is_last_complete,
            hit_shares=access_cdf(uses, periods[-1].ids),
            hit_shares_error=uses.error,
            minus_ones=self._minus_ones if self._minus_ones == self._below_zero else 0,
        )

    def periods_without_lookups(self) -> list[int]:
        """Returns the periods without lookups, after the first one that has some, up to the current one."""
        first = min(self._period_lookups, default=self._period + 1)
        return [period for period in range(first, self._period + 1) if period not in self._period_lookups]

    def _periods(self) -> list[GrowthPeriod]:
        self._see_new_ids()
        if not self._period_lookups:
            raise ValueError(f"Table {self.name} has no lookups: its ids and their growth are unknown")
        for period in self.periods_without_lookups():
            raise ValueError(
                f"Table {self.name} has no lookups in period {period}: its growth is unknown. Maybe give the data of"
                " this period, or longer periods"
            )
        each, new_ids_of = self._first.ids_per_sampled, self._first.new_ids()
        found, ids = [], 0
        for period in sorted(self._period_lookups):
            new_ids = new_ids_of[period]
            ids += new_ids
            found.append(
                GrowthPeriod(
                    period=period,
                    lookups=self._period_lookups[period],
                    new_ids=new_ids,
                    new_ids_error=standard_error(new_ids, each),
                    ids=ids,
                    ids_error=standard_error(ids, each),
                )
            )
        return found


def _new_ids_per_day(periods: list[GrowthPeriod], period_days: float) -> float | None:
    return median(period.new_ids for period in periods) / period_days if periods else None
