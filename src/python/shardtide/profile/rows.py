"""Counts how often each row of a table is looked up: exactly, or with a sketch where there are too many rows.

Both have a bound on memory, and both merge: counts of two parts of a stream are counts of the stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import TypeAlias

    Int64s: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]
    Flags: TypeAlias = npt.NDArray[np.bool_]
    UInt64s: TypeAlias = npt.NDArray[np.uint64]

# Bytes of a counter of each row.
BYTES_PER_ROW = 8

# Bytes of a row in the sketch: 24 of three numbers, 16 of ids that wait, and for a moment copies while rows are added.
BYTES_PER_ENTRY = 192

LEAST_MEMORY_BYTES = 2**24

# Exact up to 16,777,216 rows; beyond, a sketch of 699,050 rows.
DEFAULT_MEMORY_BYTES = 2**27

# All hashes are below: every row is in the sample.
ALL_HASHES = 2**64

# Ids are counted in parts of so many, so that a large batch needs no more memory than a small one.
PART = 2**19

# Ranks are given in parts of so many, for the same reason; a part takes some arrays of its size.
RANKS_PART = 2**17

# How trainers cut a table into blocks: of neighbours, equally many but in the last ones, as TorchRec; by the id modulo
# their number; by its hash, as `hashes`, modulo that.
ROW_ORDERS = ("contiguous", "round_robin", "hashed")
BLOCKS = 64

# Counts that are tried as the one from which rows stand for themselves.
TRIED_COUNTS = 100


@dataclass(frozen=True)
class RowUses:
    """Rows grouped by use, the most used first.

    counts: lookups of each row of a group
    rows: how many rows the group has; estimates need not be whole
    error: standard error of the share of all lookups that falls on the most used rows, at its worst; 0 if exact
    """

    counts: Floats
    rows: Floats
    error: float


class RowCounts:
    """A counter for each row: exact, 8 bytes a row."""

    def __init__(self, rows: int) -> None:
        self._counts = np.zeros(rows, np.int64)

    def add(self, ids: Int64s) -> None:
        """Counts ids, which must be rows."""
        np.add.at(self._counts, ids, 1)

    def merge(self, other: RowCounts) -> None:
        self._counts += other._counts

    def uses(self) -> RowUses:
        counts, rows = [], []
        for begin in range(0, len(self._counts), PART):
            part = self._counts[begin : begin + PART]
            of_part = np.unique(part[part > 0], return_counts=True)
            counts.append(of_part[0].astype(np.float64))
            rows.append(of_part[1].astype(np.float64))
        return _grouped(np.concatenate(counts), np.concatenate(rows), 0.0)

    def blocks(self, order: str) -> Int64s:
        """Returns the lookups of each block that a trainer makes of the rows in an order, as `blocks_of`."""
        rows = len(self._counts)
        sums = np.zeros(min(BLOCKS, rows), np.int64)
        if order == "contiguous":
            begins = np.arange(0, rows, -(-rows // len(sums)))
            sums[: len(begins)] = np.add.reduceat(self._counts, begins)
            return sums
        for begin in range(0, rows, PART):
            part = self._counts[begin : begin + PART]
            blocks = blocks_of(np.arange(begin, begin + len(part)), order, rows)
            sums += np.bincount(blocks, part, len(sums)).astype(np.int64)
        return sums

    def ranks(self, rows: int) -> Iterator[Int64s]:
        """Yields the rank of use of each of all rows, in parts; rank 0 is the most used row, ties are in row order."""
        uses = self.uses()
        counts = np.concatenate((-uses.counts, [0.0]))
        # The rank of the next row of each count.
        next_ranks = np.concatenate(([0], np.cumsum(uses.rows.astype(np.int64))))
        for begin in range(0, rows, RANKS_PART):
            group = np.searchsorted(counts, -self._counts[begin : begin + RANKS_PART])
            order = np.argsort(group, kind="stable")
            sizes = np.bincount(group, minlength=len(counts))
            ranks = np.empty(len(group), np.int64)
            ranks[order] = np.arange(len(group)) + np.repeat(next_ranks - np.cumsum(sizes) + sizes, sizes)
            next_ranks += sizes
            yield ranks

    def known_rows(self, rows: int) -> int:
        """Returns how many of the first ranks are surely those of the most used rows: all."""
        return rows


class RowSketch:
    """Counts of the rows that matter, at most `capacity` of them; exact until the stream has used that many rows.

    Beyond, it keeps two kinds of rows:

    - a sample of all rows: those whose hash is below a threshold, which is halved whenever the sample fills half of the
      capacity. A row of the sample is in it from its first lookup, so its count is exact, and each stands for
      1 / (share of hashes below the threshold) rows;
    - the most used other rows, as Space-Saving keeps them (Metwally, Agrawal and El Abbadi, ICDT 2005), in rounds: when
      the capacity is exceeded, the least used are dropped until a quarter of the capacity is left. A row that comes
      (back) later may have been looked up before, at most as often as the most used row that was dropped: this is its
      uncertainty.

    So all rows are there that were looked up more often than the most used dropped one. From some count on, rows
    stand for themselves; below it those of the sample stand for all, scaled to the lookups that are left. This count
    is the one with the least error, which the counts tell: the variance of the sample's part (Horvitz and Thompson,
    1952) beside half of the uncertainties above, and of the rows that may be on either side. It holds for every order
    of the ids. Ids are counted in rounds of twice the capacity, and when uses are asked for; how they are divided into
    batches changes nothing.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._rows: Int64s = np.empty(0, np.int64)
        self._counts: Int64s = np.empty(0, np.int64)
        self._uncertain: Int64s = np.empty(0, np.int64)
        self._threshold = ALL_HASHES
        self._dropped = 0
        self._counted = 0
        self._waiting: Int64s = np.empty(2 * capacity, np.int64)
        self._waiting_ids = 0

    def add(self, ids: Int64s) -> None:
        while len(ids):
            begin = self._waiting_ids
            now = ids[: len(self._waiting) - begin]
            self._waiting[begin : begin + len(now)] = now
            self._waiting_ids += len(now)
            ids = ids[len(now) :]
            if self._waiting_ids == len(self._waiting):
                self._count_waiting()

    def merge(self, other: RowSketch) -> None:
        self._count_waiting()
        other._count_waiting()
        _, only_here = find(other._rows, self._rows)
        self._uncertain[only_here] += other._missed(self._rows[only_here], other._dropped)
        dropped = self._dropped
        self._insert(other._rows, other._counts, other._uncertain)
        self._counted += other._counted
        self._threshold = min(self._threshold, other._threshold)
        self._dropped = max(self._dropped, dropped + other._dropped)
        self._prune()

    def sampled(self) -> tuple[Int64s, int]:
        """Returns the rows of the sample in ascending order, and the threshold of their hashes.

        They are all rows with a hash below it that were looked up. Rows below twice the threshold are more than half of
        the capacity.
        """
        self._count_waiting()
        return self._rows[self._in_sample(self._rows)], self._threshold

    def uses(self) -> RowUses:
        """Returns the rows that were looked up, estimated if there were too many."""
        self._count_waiting()
        sampled = self._in_sample(self._rows)
        share = self._threshold / ALL_HASHES
        estimates = self._counts + self._uncertain / 2
        least, error = self._least_known(estimates, sampled, share)
        known = estimates >= least
        others = self._counts[sampled & ~known].astype(np.float64)
        left = self._counted - estimates[known].sum()
        # At least itself: the estimates of known rows can exceed all lookups by a little.
        scale = max(1.0, left / others.sum()) if len(others) else 1.0
        counts = np.concatenate((estimates[known], others))
        rows = np.concatenate((np.ones(len(counts) - len(others)), np.full(len(others), scale)))
        return _grouped(counts, rows, error)

    def ranks(self, rows: int) -> Iterator[Int64s]:
        """Yields ranks as RowCounts.ranks, of the rows that are here by estimate; all others follow in row order."""
        by_use = self._by_use()
        ranks_here = np.empty(len(by_use), np.int64)
        ranks_here[by_use] = np.arange(len(by_use))
        for begin in range(0, rows, RANKS_PART):
            end = min(begin + RANKS_PART, rows)
            first, last = np.searchsorted(self._rows, [begin, end])
            here = self._rows[first:last] - begin
            others = np.ones(end - begin, np.int64)
            others[here] = 0
            # After all rows that are here, and after those before that are not.
            ranks = np.cumsum(others) + (len(by_use) + begin - int(first) - 1)
            ranks[here] = ranks_here[first:last]
            yield ranks

    def known_rows(self, rows: int) -> int:
        """Returns how many of the first ranks are surely those of the most used rows; all if the counts are exact."""
        by_use = self._by_use()
        if self._threshold == ALL_HASHES:
            return rows
        counts, most = self._counts[by_use], (self._counts + self._uncertain)[by_use]
        # The most that a later row can have been used: a row that is here, or one that was dropped.
        later = np.append(np.maximum.accumulate(most[::-1])[::-1][1:], 0)
        known = np.flatnonzero(np.minimum.accumulate(counts) >= np.maximum(later, self._dropped))
        return int(known[-1]) + 1 if len(known) else 0

    def _by_use(self) -> Int64s:
        """Returns the places of the rows that are here, the most used row first by estimate, ties in row order."""
        self._count_waiting()
        return np.argsort(-(self._counts + self._uncertain / 2), kind="stable")

    def _least_known(self, estimates: Floats, sampled: Flags, share: float) -> tuple[float, float]:
        """Returns the count from which rows stand for themselves, and the standard error of the result."""
        if self._threshold == ALL_HASHES:
            return 0.0, 0.0
        exact = np.sort(self._counts[sampled]).astype(np.float64)
        spread = np.concatenate(([0.0], np.cumsum(exact**2))) * ((1 - share) / share**2)
        doubt = self._uncertain > 0
        lowest, middle = self._counts[doubt], estimates[doubt]
        highest = 2 * middle - lowest
        tried = self._dropped + np.geomspace(1, max(2.0, 2 * float(estimates.max())), TRIED_COUNTS)
        best = (math.inf, 0.0)
        for least in tried:
            # Rows surely above are off by half of their uncertainty, others on the wrong side by half of all they have.
            above = lowest >= least
            either = (highest >= least) & ~above
            bias = float((middle - lowest)[above].sum()) + float(middle[either].sum()) / 2
            square = float(spread[np.searchsorted(exact, least)]) + bias**2
            best = min(best, (square, float(least)))
        return best[1], math.sqrt(best[0]) / max(1, self._counted)

    def _count_waiting(self) -> None:
        ids = self._waiting[: self._waiting_ids]
        if not len(ids):
            return
        ids.sort()
        begins = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
        rows = ids[begins]
        counts = np.diff(begins, append=len(ids))
        del begins
        self._counted += len(ids)
        self._waiting_ids = 0
        self._insert(rows, counts, np.broadcast_to(np.int64(0), rows.shape))

    def _insert(self, rows: Int64s, counts: Int64s, uncertain: Int64s) -> None:
        """Adds counts of rows, in ascending order."""
        at, new = find(self._rows, rows)
        known = ~new
        at = at[known]
        self._counts[at] += counts[known]
        self._uncertain[at] += uncertain[known]
        rows, counts, uncertain = rows[new], counts[new], uncertain[new]
        # Rows that are dropped meanwhile are not among those that follow: these miss what was dropped before.
        dropped = self._dropped
        for begin in range(0, len(rows), self._capacity // 2):
            part = slice(begin, begin + self._capacity // 2)
            self._insert_new(rows[part], counts[part], uncertain[part] + self._missed(rows[part], dropped))
            self._prune()

    def _insert_new(self, rows: Int64s, counts: Int64s, uncertain: Int64s) -> None:
        """Adds rows that are not here, in ascending order."""
        worthy = self._in_sample(rows) | (counts + uncertain > self._dropped)
        rows, counts, uncertain = rows[worthy], counts[worthy], uncertain[worthy]
        total = len(self._rows) + len(rows)
        place = np.searchsorted(self._rows, rows) + np.arange(len(rows))
        old = np.ones(total, np.bool_)
        old[place] = False

        def mixed(before: Int64s, added: Int64s) -> Int64s:
            result = np.empty(total, np.int64)
            result[place] = added
            result[old] = before
            return result

        self._uncertain = mixed(self._uncertain, uncertain)
        self._counts = mixed(self._counts, counts)
        self._rows = mixed(self._rows, rows)

    def _missed(self, rows: Int64s, dropped: int) -> Int64s:
        """Returns how many lookups there may have been of rows that are not here, by the most that was dropped."""
        return np.where(self._in_sample(rows), 0, dropped)

    def _prune(self) -> None:
        if len(self._rows) <= self._capacity:
            return
        hashed = hashes(self._rows)
        sampled = hashed <= np.uint64(self._threshold - 1)
        while np.count_nonzero(sampled) > self._capacity // 2:
            self._threshold //= 2
            sampled = hashed <= np.uint64(self._threshold - 1)
        most = self._counts + self._uncertain
        others = most[~sampled]
        surplus = len(others) - self._capacity // 4
        if surplus > 0:
            # All rows that tie are dropped: which ones stay does not depend on their order.
            limit = int(np.partition(others, surplus - 1)[surplus - 1])
            # Rows that have just left the sample can be used less than those dropped before.
            self._dropped = max(self._dropped, limit)
            keep = sampled | (most > limit)
            self._rows = self._rows[keep]
            self._counts = self._counts[keep]
            self._uncertain = self._uncertain[keep]

    def _in_sample(self, rows: Int64s) -> Flags:
        return is_below(rows, self._threshold)


def row_counter(rows: int, memory_bytes: int) -> RowCounts | RowSketch:
    """Returns what counts the rows of a table within so many bytes, at least 2^24: exactly if they suffice."""
    if rows * BYTES_PER_ROW <= memory_bytes:
        return RowCounts(rows)
    return RowSketch(memory_bytes // BYTES_PER_ENTRY)


def blocks_of(ids: Int64s, order: str, rows: int) -> Int64s:
    """Returns the block of each id, of 64 or, if they are fewer, `rows`, as one of ROW_ORDERS cuts a table."""
    count = min(BLOCKS, rows)
    if order == "contiguous":
        return ids // -(-rows // count)
    return ids % count if order == "round_robin" else (hashes(ids) % np.uint64(count)).astype(np.int64)


def find(rows: Int64s, wanted: Int64s) -> tuple[Int64s, Flags]:
    """Returns where wanted rows are or belong among rows, both in ascending order, and which are not there."""
    at = np.searchsorted(rows, wanted).astype(np.int64, copy=False)
    if not len(rows):
        return at, np.ones(len(wanted), np.bool_)
    return at, rows[np.minimum(at, len(rows) - 1)] != wanted


def is_below(rows: Int64s, threshold: int) -> Flags:
    """Returns which rows have a hash below a threshold, 1 to 2^64."""
    if threshold == ALL_HASHES:
        return np.ones(len(rows), np.bool_)
    below: Flags = hashes(rows) <= np.uint64(threshold - 1)
    return below


def hashes(rows: Int64s) -> UInt64s:
    """Returns the same hashes of 64 bits in every process: splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = rows.astype(np.uint64)
    mixed += np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _grouped(counts: Floats, rows: Floats, error: float) -> RowUses:
    unique, group = np.unique(counts, return_inverse=True)
    together = np.bincount(group, weights=rows, minlength=len(unique)).astype(np.float64)
    return RowUses(unique[::-1], together[::-1], error)
