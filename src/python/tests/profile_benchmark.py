"""Measures how many ids a second are profiled, and how far the access CDF and growth are from the exact ones.

python -B src/python/tests/profile_benchmark.py [MILLIONS_OF_IDS, 100 unless given]
"""

from __future__ import annotations

import math
import pathlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from shardtide.profile.__main__ import print_table
from shardtide.profile.growth import HashTableProfile
from shardtide.profile.profiler import TableProfile
from shardtide.profile.rows import BYTES_PER_ROW, DEFAULT_MEMORY_BYTES, RowUses
from shardtide.profile.statistics import access_cdf

if TYPE_CHECKING:
    from shardtide.profile.rows import Int64s

BATCH = 1_000_000

# Of the stream of a hash table, and the share of lookups of an id that no lookup before had.
PERIODS = 10
NEW_SHARE = 0.001


@dataclass(frozen=True)
class SkewedIds:
    """Random ids whose row of rank x, from 0, has the use (x + offset)^-exponent (Zipf and Mandelbrot).

    exponent 0 is even use. Rows of similar use lie apart.
    """

    rows: int
    exponent: float
    offset: float = 2.0

    def draw(self, draw: np.random.Generator, count: int) -> Int64s:
        """Returns so many ids, drawn by the inverse of the cumulative distribution, of a continuous rank."""
        reach = draw.random(count)
        log_range, flatness = math.log1p(self.rows / self.offset), 1 - self.exponent
        if flatness == 0:
            reach *= log_range
        else:
            reach = np.log1p(reach * math.expm1(flatness * log_range)) / flatness
        ranks = np.minimum((np.expm1(reach) * self.offset).astype(np.int64), self.rows - 1)
        stride = round(self.rows * 0.6180339887)
        while math.gcd(stride, self.rows) != 1:
            stride += 1
        ids: Int64s = ranks * np.int64(stride) % np.int64(self.rows)
        return ids


def exact_cdf(ids: Int64s, rows: int) -> list[float]:
    """Returns the access CDF of ids by sorting all of them."""
    ordered = np.sort(ids)
    begins = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    counts = np.sort(np.diff(begins, append=len(ids)))[::-1].astype(np.float64)
    return access_cdf(RowUses(counts, np.ones(len(counts)), 0.0), rows)


def benchmark(batches: int) -> Iterator[list[str]]:
    """Yields a header, and a line for each stream, of so many batches of a million ids.

    Seconds are those of one core, on which other programs do not count.
    """
    yield ["stream", "counts", "lookups", "used rows", "ids/s", "largest error", "its estimate"]
    streams = {
        "Zipf, exponent 1, 10 million rows": SkewedIds(10_000_000, 1.0),
        "Zipf, exponent 1, 1 billion rows": SkewedIds(1_000_000_000, 1.0),
        "Zipf, exponent 0.8, 1 billion rows": SkewedIds(1_000_000_000, 0.8),
        "even use, 1 billion rows": SkewedIds(1_000_000_000, 0.0),
    }
    for name, stream in streams.items():
        draw = np.random.default_rng(1)
        profile = TableProfile("table", stream.rows)
        ids = np.empty(batches * BATCH, np.int64)
        seconds = 0.0
        for batch in ids.reshape(batches, BATCH):
            batch[:] = stream.draw(draw, BATCH)
            began = time.process_time()
            profile.add(batch)
            seconds += time.process_time() - began
        use = profile.result()
        error = max(abs(a - b) for a, b in zip(use.access_cdf, exact_cdf(ids, stream.rows)))
        yield [
            name,
            "exact" if stream.rows * BYTES_PER_ROW <= DEFAULT_MEMORY_BYTES else "sketch",
            f"{use.lookups:,}",
            f"{use.used_rows:,}",
            f"{len(ids) / seconds / 1e6:.1f} million",
            f"{error:.4f}",
            f"{use.access_cdf_error:.4f}",
        ]


def growth_benchmark(batches: int) -> Iterator[list[str]]:
    """Yields a header, and a line for each stream of a hash table, of so many batches of a million ids, at least 2.

    Batches are divided among 10 periods, or as many as there are batches. Some lookups are of ids that are new, all
    others of ids that are older than the stream. Seconds as in `benchmark`.
    """
    yield ["hash table", "lookups", "ids", "ids/s", "error", "its estimate", "ids a period", "error", "hit share error"]
    rows = 100_000_000
    for name, exponent in (("Zipf, exponent 1", 1.0), ("Zipf, exponent 0.8", 0.8), ("even use", 0.0)):
        stream, draw = SkewedIds(rows, exponent), np.random.default_rng(1)
        fresh = int(BATCH * NEW_SHARE)
        seen = np.zeros(rows + batches * fresh, np.bool_)
        new_ids = np.zeros(min(PERIODS, batches), np.int64)
        ids = np.empty(batches * BATCH, np.int64)
        profile = HashTableProfile("table")
        seconds = 0.0
        for place, batch in enumerate(ids.reshape(batches, BATCH)):
            batch[:] = stream.draw(draw, BATCH)
            batch[:fresh] = rows + place * fresh + np.arange(fresh)
            period = place * len(new_ids) // batches
            new_ids[period] += len(np.unique(batch[~seen[batch]], return_counts=True)[0])
            seen[batch] = True
            began = time.process_time()
            profile.begin_period(period)
            profile.add(batch)
            seconds += time.process_time() - began
        began = time.process_time()
        growth = profile.result()
        seconds += time.process_time() - began
        last = float(np.median(new_ids[len(new_ids) - growth.growth_periods :]))
        exact = exact_cdf(ids, growth.ids)
        yield [
            name,
            f"{growth.lookups:,}",
            f"{growth.ids:,}",
            f"{len(ids) / seconds / 1e6:.1f} million",
            f"{abs(growth.ids / int(new_ids.sum()) - 1):.4f}",
            f"{growth.ids_error / growth.ids:.4f}",
            f"{growth.ids_per_day or 0:,.0f}",
            f"{abs((growth.ids_per_day or 0) / last - 1):.4f}",
            f"{max(abs(a - b) for a, b in zip(growth.hit_shares, exact)):.4f}",
        ]


def main(batches: int = 100) -> None:
    """Prints both tables, of so many batches of a million ids."""
    print_table(list(benchmark(batches)))
    print()
    print_table(list(growth_benchmark(batches)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
