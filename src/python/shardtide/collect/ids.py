"""Ids with a table's skew, and how often a batch of them uses a row."""

from __future__ import annotations

import math

import torch

from shardtide.collect.tables import HISTOGRAM_BATCH, HISTOGRAM_SHARES, AnyTable

# Rows beyond these are taken in blocks, within which their use differs by 3% at most.
SINGLE_RANKS = 512
BLOCK_GROWTH = 1.02


def draw_ranks(table: AnyTable, lookups: int, generator: torch.Generator) -> torch.Tensor:
    """Returns the ranks of looked up rows in order of use, from 0, on the generator's device."""
    uniform = torch.rand(lookups, dtype=torch.float64, device=generator.device, generator=generator)
    return table.rank(uniform).long().clamp_(0, table.rows - 1)


def draw_ids(table: AnyTable, lookups: int, devices: int, generator: torch.Generator) -> torch.Tensor:
    """Returns the ids that a device looks up in its part of the rows, as int64 on the generator's device.

    Each run of `devices` ranks is one row of the part, as on the average device that rows are hashed to. Rows of
    similar use lie apart in memory.
    """
    rows = -(-table.rows // devices)
    ranks = draw_ranks(table, lookups, generator)
    if devices > 1:
        ranks = ranks.div_(devices, rounding_mode="floor")
    return ranks.mul_(_stride(rows)).remainder_(rows)


def most_used(table: AnyTable, first: int, last: int, devices: int, device: torch.device) -> torch.Tensor:
    """Returns the ids of rows first..last of a part in order of use, last not included, as `draw_ids` numbers them."""
    rows = -(-table.rows // devices)
    return torch.arange(first, last, device=device).mul_(_stride(rows)).remainder_(rows)


def draw_offsets(table: AnyTable, samples: int, lookups: int, devices: int, generator: torch.Generator) -> torch.Tensor:
    """Returns where each sample's ids begin, and their number at last, as int64: random if a sample has several."""
    device = generator.device
    if table.pooling_factor == 1 and devices == 1:
        return torch.arange(samples + 1, device=device)
    owners = torch.randint(samples, (lookups,), device=device, generator=generator)
    offsets = torch.zeros(samples + 1, dtype=torch.int64, device=device)
    torch.cumsum(torch.bincount(owners, minlength=samples), 0, out=offsets[1:])
    return offsets


def reuse_histogram(table: AnyTable) -> list[float]:
    """Returns the expected reuse histogram of a batch of 65,536 samples.

    Share k is of the used rows that are used more than 2^(k-1) and at most 2^k times, the last one of those used
    more. A row's uses have a Poisson distribution.
    """
    ends = [float(rank) for rank in range(min(SINGLE_RANKS, table.rows) + 1)]
    while ends[-1] < table.rows:
        ends.append(min(float(table.rows), math.ceil(ends[-1] * BLOCK_GROWTH)))
    cdf = torch.tensor([table.share(end) for end in ends], dtype=torch.float64)
    widths = torch.tensor(ends, dtype=torch.float64).diff()
    uses = HISTOGRAM_BATCH * table.pooling_factor * cdf.diff() / widths
    rows = [float(widths @ _more_uses(uses, most)) for most in (0, *(2**k for k in range(HISTOGRAM_SHARES - 1)))]
    used = [more - most for more, most in zip(rows, [*rows[1:], 0.0])]
    return [round(max(0.0, share) / rows[0], 7) for share in used]


def _more_uses(uses: torch.Tensor, most: int) -> torch.Tensor:
    """Probabilities that rows with these expected uses are used more than `most` times."""
    probabilities: torch.Tensor = torch.special.gammainc(torch.full_like(uses, most + 1), uses)
    return probabilities


def _stride(rows: int) -> int:
    """Returns a number coprime to `rows` near the golden section of it: its multiples visit all rows, far apart."""
    stride = max(1, round(rows * 0.6180339887))
    while math.gcd(stride, rows) != 1:
        stride += 1
    return stride
