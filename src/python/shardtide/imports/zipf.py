"""How lookups spread over the rows of generated data."""

from __future__ import annotations

import math

from shardtide.arguments import shown
from shardtide.collect.tables import cdf_ranks

# Terms that are summed one by one; the formula for the others is then exact to 12 digits.
_SUMMED = 1_000


def zipf_cdf(rows: int, exponent: float) -> list[float]:
    """Returns the accessCdf of a table whose row of rank r, from 1, has the use r^-exponent.

    It has the shares of the lookups on the 1, 4, 16, ... most used rows while these are not all rows, then 1.

    exponent: 0 (even use) to 10

    Sums of r^-exponent are exact up to a rank of 1,000, and by the Euler-Maclaurin formula beyond. ValueError if a
    value is outside its range.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {shown(rows)}")
    if not 0 <= exponent <= 10:
        raise ValueError(f"the exponent of Zipf's law must be between 0 and 10, got {shown(exponent)}")
    total = _sum(rows, exponent)
    return [*(min(1.0, float(f"{_sum(rank, exponent) / total:.7g}")) for rank in cdf_ranks(rows)), 1.0]


def _sum(ranks: int, exponent: float) -> float:
    """Returns the sum of r^-exponent for r from 1 to ranks."""
    summed = math.fsum(r**-exponent for r in range(1, min(ranks, _SUMMED) + 1))
    if ranks <= _SUMMED:
        return summed
    first, last = float(_SUMMED), float(ranks)
    flatness = 1 - exponent
    integral = math.log(last / first) if flatness == 0 else (last**flatness - first**flatness) / flatness
    ends = (last**-exponent - first**-exponent) / 2
    slopes = -exponent * (last ** (-exponent - 1) - first ** (-exponent - 1)) / 12
    return summed + integral + ends + slopes
