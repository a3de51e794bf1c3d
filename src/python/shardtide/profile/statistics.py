"""What a cost model reads from the uses of rows: the access CDF and the reuse histogram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shardtide.collect.tables import HISTOGRAM_BATCH, HISTOGRAM_SHARES, cdf_ranks

if TYPE_CHECKING:
    from shardtide.profile.rows import Floats, RowUses

# Up to so many uses, their distribution is summed exactly; beyond, it is close to a normal one.
EXACT_USES = 64


def access_cdf(uses: RowUses, rows: int) -> list[float]:
    """Returns the shares of the lookups on the 1, 4, 16, ... most used rows while these are not all `rows`, then 1.

    Empty if there were no lookups.
    """
    if not len(uses.counts):
        return []
    row_sums = np.concatenate(([0.0], np.cumsum(uses.rows)))
    sums = np.concatenate(([0.0], np.cumsum(uses.rows * uses.counts)))
    shares = np.interp(cdf_ranks(rows), row_sums, sums / sums[-1])
    return [*(min(1.0, float(f"{share:.7g}")) for share in shares), 1.0]


def batch_histogram(uses: RowUses, lookups: int, pooling_factor: float, samples: int) -> list[float]:
    """Returns the expected reuse histogram of a batch of 65,536 samples of a stream; empty if the stream has fewer.

    lookups, pooling_factor, samples: of the whole stream, of a table's features together
    """
    if samples < HISTOGRAM_BATCH:
        return []
    # Of the lookups of the stream, these are in a batch.
    return reuse_histogram(uses, min(1.0, HISTOGRAM_BATCH * pooling_factor / lookups) if lookups else 1.0)


def reuse_histogram(uses: RowUses, part: float) -> list[float]:
    """Returns the expected reuse histogram of a batch with `part` of the lookups, above 0 and at most 1.

    Share k is of the used rows that are used more than 2^(k-1) and at most 2^k times, the last one of those used more.
    The batch is a random part of the stream: of the c lookups of a row it has a binomial number. If the stream's
    lookups are independent, these are exactly the uses in any batch of it; were c divided by the number of batches
    taken for a row's true rate (a Poisson distribution), rows looked up once in a short stream would seem to be
    reused. Empty if there were no lookups.
    """
    if not len(uses.counts):
        return []
    limits = [0, *(2**k for k in range(HISTOGRAM_SHARES - 1))]
    more = _more_uses(np.rint(uses.counts), part, limits)
    expected = [float(uses.rows @ probabilities) for probabilities in more]
    used = [max(0.0, some - fewer) for some, fewer in zip(expected, [*expected[1:], 0.0])]
    total = sum(used)
    return [round(share / total, 7) for share in used]


def _more_uses(counts: Floats, part: float, limits: list[int]) -> list[Floats]:
    """Returns the probabilities that more than each limit of `counts` lookups are in a part of them."""
    if part >= 1:
        return [(counts > limit).astype(np.float64) for limit in limits]
    means = counts * part
    deviations = np.sqrt(means * (1 - part))
    # Of exactly `uses` lookups. An underflow to 0 is one of the whole lower tail.
    probability = np.exp(counts * math.log1p(-part))
    at_most = probability.copy()
    uses = 0
    result = []
    for limit in limits:
        if limit <= EXACT_USES:
            while uses < limit:
                probability *= (counts - uses) / (uses + 1) * (part / (1 - part))
                np.maximum(probability, 0.0, out=probability)
                at_most += probability
                uses += 1
            more = 1 - at_most
        else:
            scores = (limit + 0.5 - means) / (deviations * math.sqrt(2))
            more = np.array([math.erfc(score) / 2 for score in scores])
        result.append(np.where(counts <= limit, 0.0, np.clip(more, 0.0, 1.0)))
    return result
