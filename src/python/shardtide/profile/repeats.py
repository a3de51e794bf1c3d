"""How many of a batch's lookups are of different ids, by the size of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shardtide.collect.tables import HISTOGRAM_BATCH
from shardtide.profile.rows import hashes

if TYPE_CHECKING:
    from shardtide.profile.bags import Bags
    from shardtide.profile.rows import Int64s, UInt64s

# Samples of a run; the last is the batch of the reuse histogram.
SIZES = tuple(4**power for power in range(1, 9))

# Of so many samples the first ones are measured: sorting the ids of all takes longer than counting them.
PERIOD = 32 * SIZES[-1]

# Bytes of memory for a lookup of a run: its key, and others while keys are sorted and compared.
BYTES_PER_LOOKUP = 128

# Of a key: the place of a sample, below 65,536.
LAST_BITS = np.uint64(SIZES[-1] - 1)


class DistinctShare(NamedTuple):
    """The part of lookups that is left if each id of some consecutive samples is looked up once.

    samples: a power of 4
    share: distinct ids over lookups, above 0 and at most 1, of all runs of so many samples together
    runs: how many
    """

    samples: int
    share: float
    runs: int


class Repeats:
    """Counts the distinct ids of runs of 4, 16, ..., 65,536 consecutive samples of a stream.

    Of each 2^21 samples, the first 65,536 are divided into runs of each size. If their lookups need more than the
    memory, only the first 16,384 are from then on, and so forth. How a stream is divided into parts changes nothing.
    Ids are told apart by 48 bits of a hash.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._most = memory_bytes // BYTES_PER_LOOKUP
        self._longest = SIZES[-1]
        self._samples = 0
        # Of lookups that are not counted yet, 48 bits of the id's hash, and 16 of the sample's place among 2^21.
        self._waiting: list[UInt64s] = []
        # Runs, lookups and distinct ids by size.
        self._sums = np.zeros((3, len(SIZES)), np.int64)

    def add(self, parts: Sequence[Bags]) -> None:
        """Counts what features look up for the same samples."""
        begin, samples = 0, parts[0].samples
        # Of a large batch, so many at once.
        step = max(1, self._most * samples // max(1, sum(part.ids.size for part in parts)))
        while begin < samples:
            place = self._samples % PERIOD
            measured = place < self._longest
            end = min(samples, begin + (min(self._longest - place, step) if measured else PERIOD - place))
            if measured:
                places = np.arange(place, place + end - begin, dtype=np.uint64)
                for part in parts:
                    at = part.offsets(begin, end)
                    keys = hashes(part.ids[at[0] : at[-1]].astype(np.int64, copy=False))
                    self._waiting.append(keys << np.uint64(16) | np.repeat(places, np.diff(at)))
            self._samples += end - begin
            begin = end
            while self._longest > SIZES[0] and sum(map(len, self._waiting)) > self._most:
                self._longest //= 4
                keys = np.concatenate(self._waiting)
                self._waiting = [keys[keys & LAST_BITS < self._longest]]
            if measured and self._samples % PERIOD >= self._longest:
                self._sums, self._waiting = self._all_sums(), []

    def merge(self, other: Repeats) -> None:
        """Adds the runs of another part of the stream."""
        self._sums += other._all_sums()
        self._longest = min(self._longest, other._longest)

    def shares(self, pooling_factor: float, rows: float) -> list[DistinctShare]:
        """Returns the share of each size of which a run has lookups, the smallest first.

        Runs may have more or less lookups than `pooling_factor` says of a sample: with so many, shares are those of at
        least one id and at most `rows`.
        """
        found: list[DistinctShare] = []
        for size, (runs, lookups, ids) in zip(SIZES, self._all_sums().T.tolist()):
            if lookups and size <= self._longest:
                # Of all runs, longer ones have no larger share; those that are measured may end earlier.
                share = min(float(f"{ids / lookups:.7g}"), found[-1].share if found else 1.0)
                mean = size * pooling_factor
                share = min(max(share, min(1.0, 1 / mean)), rows / mean)
                found.append(DistinctShare(size, share, runs))
        return found

    def _all_sums(self) -> Int64s:
        """Returns the sums, with those of lookups that are not counted yet: of a run that ends early, shorter ones."""
        sums, begin, done = self._sums.copy(), 0, min(self._longest, self._samples % PERIOD or PERIOD)
        keys = np.concatenate((np.empty(0, np.uint64), *self._waiting))
        for size in reversed(SIZES[: SIZES.index(self._longest) + 1] if self._waiting else ()):
            end = done // size * size
            places = keys & LAST_BITS
            sums += _sums(keys if end - begin == done else keys[(begin <= places) & (places < end)], end - begin, size)
            begin = end
        return sums


def _sums(keys: UInt64s, samples: int, longest: int) -> Int64s:
    """Returns runs, lookups and distinct ids by size, up to the longest, of so many samples, a multiple of it."""
    keys.sort()
    # Of an id and the next same one, the places of their samples differ in these bits: none beyond those of a run.
    differ = keys[1:] ^ keys[:-1]
    differ = differ[differ <= LAST_BITS]
    sums = np.zeros((3, len(SIZES)), np.int64)
    for column, size in enumerate(SIZES[: SIZES.index(longest) + 1]):
        sums[:, column] = samples // size, len(keys), len(keys) - np.count_nonzero(differ < size)
    return sums
