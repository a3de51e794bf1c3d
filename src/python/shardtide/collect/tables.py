"""Random embedding tables with skewed use."""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

# Affine permutations of this many rows stay below 2^63.
MOST_ROWS = 2**31

# As events allow.
MOST_GIVEN_ROWS = 2**36

# The reuse histogram is that of a batch of so many samples.
HISTOGRAM_BATCH = 65_536
HISTOGRAM_SHARES = 17

# Nearer to 0, the formulas would lose digits.
LEAST_FLATNESS = 1e-3


@dataclass(frozen=True)
class Table:
    """An embedding table and how a training job uses its rows.

    Rows in order of use have the density (x + offset)^-exponent, 0 <= x < rows: a continuous Zipf-Mandelbrot
    distribution. Its cumulative distribution has a closed form, and so has its inverse, so that the ids drawn follow
    `share` exactly.

    rows: 1 to 2^31
    pooling_factor: ids of a sample, on average
    exponent: 0 for uniform use; higher is more skewed
    offset: above 0; higher flattens the use of the most used rows
    """

    rows: int
    pooling_factor: float
    exponent: float
    offset: float

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_ROWS:
            raise ValueError(f"rows must be between 1 and 2^31, got {self.rows}")
        if not (self.pooling_factor > 0 and self.exponent >= 0 and self.offset > 0):
            raise ValueError(f"pooling_factor and offset must be above 0 and exponent at least 0, got {self}")

    def share(self, ranks: float) -> float:
        """Returns the share of lookups that fall on the most used `ranks` rows, 0 <= ranks <= rows."""
        flatness = 1 - self.exponent
        reach = math.log1p(ranks / self.offset)
        if flatness == 0:
            return reach / self.log_range
        return math.expm1(flatness * reach) / math.expm1(flatness * self.log_range)

    def rank(self, uniform: Any) -> Any:
        """Returns the positions in order of use, as fractions, below which these shares of the lookups fall.

        uniform: a tensor of float64 from 0 to 1, which is overwritten
        """
        flatness = 1 - self.exponent
        if flatness == 0:
            reach = uniform.mul_(self.log_range)
        else:
            reach = uniform.mul_(math.expm1(flatness * self.log_range)).log1p_().div_(flatness)
        return reach.expm1_().mul_(self.offset)

    @property
    def log_range(self) -> float:
        return math.log1p(self.rows / self.offset)

    def access_cdf(self) -> list[float]:
        """Returns the shares of lookups on the 1, 4, 16, ... most used rows while these are not all, then 1."""
        # 7 digits of each: the shares of few rows of a large table are far below 1.
        return [*(float(f"{self.share(ranks):.7g}") for ranks in cdf_ranks(self.rows)), 1.0]


class GivenTable:
    """A table of a workload, which says how lookups spread over rows.

    Between two of the ranks that the distribution names, the density is a power of the rank that continues what is on
    both sides.

    access_cdf: shares of the lookups that fall on the 1, 4, 16, ... most used rows while these are not all, then 1
    """

    def __init__(self, rows: int, pooling_factor: float, access_cdf: Sequence[float]):
        if not 1 <= rows <= MOST_GIVEN_ROWS:
            raise ValueError(f"rows must be between 1 and 2^36, got {rows}")
        if not pooling_factor > 0:
            raise ValueError(f"poolingFactor must be above 0, got {pooling_factor}")
        self._ends = [0.0, *map(float, cdf_ranks(rows)), float(rows)]
        self._shares = [0.0, *access_cdf]
        if len(self._shares) != len(self._ends) or self._shares != sorted(self._shares) or self._shares[-1] != 1:
            raise ValueError(
                f"accessCdf of {rows} rows must be {len(self._ends) - 1} rising shares, the last of them 1,"
                f" got {list(access_cdf)}"
            )
        self.rows = rows
        self.pooling_factor = pooling_factor
        self._flatness = self._flatnesses()

    def access_cdf(self) -> list[float]:
        return self._shares[1:]

    def share(self, ranks: float) -> float:
        i = min(bisect.bisect_right(self._ends, ranks), len(self._ends) - 1)
        begin, end, flatness = self._ends[i - 1], self._ends[i], self._flatness[i - 1]
        part = (ranks**flatness - begin**flatness) / (end**flatness - begin**flatness)
        return self._shares[i - 1] + (self._shares[i] - self._shares[i - 1]) * part

    def rank(self, uniform: Any) -> Any:
        """As of Table; uniform is not overwritten."""
        import torch

        tensors = (torch.tensor(numbers, dtype=torch.float64) for numbers in (self._ends, self._shares, self._flatness))
        ends, shares, flatnesses = (numbers.to(uniform.device) for numbers in tensors)
        i = torch.bucketize(uniform, shares, right=True).clamp_(1, len(self._ends) - 1)
        flatness = flatnesses[i - 1]
        begin, end = ends[i - 1].pow(flatness), ends[i].pow(flatness)
        part = (uniform - shares[i - 1]) / (shares[i] - shares[i - 1])
        return part.mul_(end - begin).add_(begin).pow_(1 / flatness)

    def part(self, first: int, last: int) -> GivenTable:
        """Returns rows first..last in order of use, last not included, with their lookups, as a table."""
        before, of_all = self.share(first), self.share(last) - self.share(first)
        shares = [min(1.0, (self.share(first + end) - before) / of_all) for end in cdf_ranks(last - first)]
        return GivenTable(last - first, self.pooling_factor * of_all, [*shares, 1.0])

    def _flatnesses(self) -> list[float]:
        """1 - exponent of each range of ranks: never 0, for which the formulas have no value."""
        ranges = list(zip(self._ends, self._ends[1:], self._shares, self._shares[1:]))
        density = [(of - before) / (end - begin) for begin, end, before, of in ranges]
        centre = [math.sqrt(max(begin, 0.5) * end) for begin, end, _, _ in ranges]
        found = [1.0]
        for low in range(len(ranges) - 1):
            high = min(low + 2, len(ranges) - 1)
            exponent = 0.0
            if min(density[low], density[high]) > 0:
                exponent = math.log(density[low] / density[high]) / math.log(centre[high] / centre[low])
            flatness = 1 - min(2.0, max(0.0, exponent))
            found.append(flatness if abs(flatness) > LEAST_FLATNESS else LEAST_FLATNESS)
        return found


AnyTable = Union[Table, GivenTable]


def cdf_ranks(rows: int) -> list[int]:
    """Returns the numbers of most used rows that an access CDF has shares of, but for all: 1, 4, 16, ... below rows."""
    return [4**k for k in range(rows.bit_length()) if 4**k < rows]


def draw_table(seed: int, index: int) -> Table:
    """Returns table `index` of a seed: 2 to 2^31 rows, log-uniform; 0.3 to 200 ids a sample; exponent 0 to 1.4."""
    draw = random.Random(f"{seed}/table/{index}")
    rows = round(2 ** draw.uniform(1, 31))
    pooling_factor = 1.0 if draw.random() < 0.4 else round(log_uniform(draw, 0.3, 200), 3)
    exponent = draw.uniform(0, 1.4)
    return Table(rows, pooling_factor, exponent, min(log_uniform(draw, 0.5, 1000), float(rows)))


def log_uniform(draw: random.Random, low: float, high: float) -> float:
    """Returns a number between low and high whose logarithm is uniform."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))
