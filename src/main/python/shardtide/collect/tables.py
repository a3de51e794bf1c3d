"""Random embedding tables with skewed use."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

# Affine permutations of this many rows stay below 2^63.
MOST_ROWS = 2**31


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

    @property
    def log_range(self) -> float:
        """ln((rows + offset) / offset)."""
        return math.log1p(self.rows / self.offset)

    def access_cdf(self) -> list[float]:
        """Returns the shares of lookups on the 1, 4, 16, ... most used rows while these are not all, then 1."""
        shares, ranks = [], 1
        while ranks < self.rows:
            # 7 digits of each: the shares of few rows of a large table are far below 1.
            shares.append(float(f"{self.share(ranks):.7g}"))
            ranks *= 4
        return [*shares, 1.0]


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
