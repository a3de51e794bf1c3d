"""Batches of skewed ids with labels that follow from them.

A batch depends on the seed, the step, the rank and, with new ids, the number of ranks only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from hashed import splitmix64
from inputs import Bags
from layout import TableShape
from shards import SLOT_BYTES
from shardtide.collect.ids import draw_ids, draw_offsets, draw_ranks, reuse_histogram
from shardtide.collect.tables import Table

# How many times more ids a feature has while it has more.
GROWTH = 2.0

# Ids are 0 or more: of the 64 bits that look random, one is left out.
LARGEST_ID = 2**63 - 1

# Numbers of ids that a feature of a hashed table has at most.
MOST_IDS = 2**40


class Feature(NamedTuple):
    """A feature of the model with an embedding table of its own.

    shape: of the table
    use: how lookups spread over its rows, and how many there are; rows of an unpooled table are in order of use. Of a
        hashed table, over the ids that there are at step 0
    new_ids: of a hashed table, how many ids each step looks up for the first time; later ids are used less
    """

    shape: TableShape
    use: Table
    new_ids: int = 0


class Batch(NamedTuple):
    """The samples of a rank at a step.

    dense: samples x dense features
    lookups: of each table
    labels: 0 or 1 for each sample, float32
    """

    dense: torch.Tensor
    lookups: dict[str, Bags]
    labels: torch.Tensor


def features(
    count: int, rows: int, seed: int, unpooled: int = 0, hashed: int = 0, eviction: str = "none", new_ids: int = 0
) -> list[Feature]:
    """Returns features of different sizes: the skew and the number of ids of each has its own law.

    count: number of features with pooled tables
    rows: of the largest table of both; the others have 1/2, 1/4 ... 1/128 of it
    unpooled: number of further features with unpooled tables, which have more ids
    hashed: number of the first features whose tables are hashed; at step 0 there are half as many ids as slots
    eviction: of hashed tables
    new_ids: of each hashed table, that a step looks up for the first time

    ValueError if there are less features than hashed ones.
    """
    if hashed > count + unpooled:
        raise ValueError(f"hashed tables must be at most {count + unpooled}, as there are tables, got {hashed}")
    found = []
    for i in range(count + unpooled):
        draw = torch.Generator().manual_seed(seed * 1009 + i)
        exponent = 0.4 + float(torch.rand(1, generator=draw))
        pooling_factor = (1.0, 2.0, 4.0, 8.0, 16.0)[int(torch.randint(5, (1,), generator=draw))]
        pooled = i < count
        if not pooled:
            pooling_factor = max(8.0, 2 * pooling_factor)
        number = i if pooled else i - count
        name = f"feature_{number}" if pooled else f"sequence_{number}"
        shape = TableShape(name, max(2, rows >> (number % 8)), (16, 32, 64)[number % 3], pooled)
        use = Table(shape.rows, pooling_factor, round(exponent, 3), 1.0)
        if i < hashed:
            shape = shape._replace(eviction=eviction)
            found.append(Feature(shape, replace(use, rows=shape.rows // 2), new_ids))
        else:
            found.append(Feature(shape, use))
    return found


def at_step(feature: Feature, index: int, count: int, step: int, grow_every: int) -> Feature:
    """Returns a feature as it is used at a step: every so often the next one gets twice the ids, or as many as before.

    index, count: of the feature, and of all features
    grow_every: steps between two changes; 0 for never
    """
    changes = (step // grow_every + count - 1 - index) // count if grow_every else 0
    grown = feature.use.pooling_factor * (GROWTH if changes % 2 else 1)
    return feature._replace(use=replace(feature.use, pooling_factor=grown))


def to_record(feature: Feature, bytes_per_row: float) -> dict[str, object]:
    """Returns a feature's table as a TableSpec record.

    bytes_per_row: of the optimizer's state
    """
    use = replace(feature.use, rows=feature.shape.rows)
    record: dict[str, object] = {
        "name": feature.shape.name,
        "rows": feature.shape.rows,
        "columns": feature.shape.columns,
        "poolingFactor": feature.use.pooling_factor,
        "reuseHistogram": reuse_histogram(use),
        "accessCdf": use.access_cdf(),
        "optimizerBytesPerRow": bytes_per_row,
        "pooled": feature.shape.pooled,
    }
    if feature.shape.hashed:
        record["storage"] = {"slotBytes": float(SLOT_BYTES), "eviction": feature.shape.eviction}
        # The trainer has no caches of hashed tables.
        record["constraints"] = {"mayBeCached": False}
    return record


def draw_batch(
    features: Sequence[Feature],
    samples: int,
    dense: int,
    seed: int,
    step: int,
    rank: int,
    device: torch.device,
    ranks: int = 1,
) -> Batch:
    """Returns a batch of a rank.

    features: as they are at the step
    dense: number of dense features
    ranks: number of ranks, which share the new ids of hashed tables
    """
    generator = torch.Generator(device).manual_seed(((seed * 1_000_003 + step) * 65_537 + rank) % 2**63)
    numbers = torch.randn(samples, dense, device=device, generator=generator)
    score = numbers.mean(1) * math.sqrt(dense)
    lookups = {}
    for i, feature in enumerate(features):
        shape, use = feature.shape, feature.use
        count = round(samples * use.pooling_factor)
        if shape.hashed:
            ids = _draw_open_ids(feature, i, count, step, rank, ranks, generator)
        else:
            # Plans with hot rows expect the order of use.
            ids = draw_ids(use, count, 1, generator) if shape.pooled else draw_ranks(use, count, generator)
        offsets = draw_offsets(use, samples, count, 1, generator)
        lookups[shape.name] = Bags(ids, offsets)
        score += 2 * _mean(_liking(ids, i), offsets)
    labels = (torch.rand(samples, device=device, generator=generator) < torch.sigmoid(score)).float()
    return Batch(numbers, lookups, labels)


def _draw_open_ids(
    feature: Feature, index: int, count: int, step: int, rank: int, ranks: int, generator: torch.Generator
) -> torch.Tensor:
    """Returns ids of a hashed table: known ones, after this rank's share of the step's new ids, if there is room."""
    known = feature.use.rows + step * feature.new_ids
    numbers = draw_ranks(replace(feature.use, rows=known), count, generator)
    new = torch.arange(known + rank, known + feature.new_ids, ranks, device=numbers.device)[:count]
    numbers[: len(new)] = new
    return splitmix64(numbers + index * MOST_IDS) & LARGEST_ID


def _liking(ids: torch.Tensor, feature: int) -> torch.Tensor:
    """Returns what a row adds to a sample's score: a number between -1 and 1 that looks random."""
    return torch.sin((ids % 65_521).float() * 12.9898 + feature)


def _mean(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Returns the mean of each sample's values, 0 of none."""
    sums = torch.zeros(len(values) + 1, dtype=torch.float64, device=values.device)
    torch.cumsum(values, 0, dtype=torch.float64, out=sums[1:])
    lengths = offsets.diff()
    return ((sums[offsets[1:]] - sums[offsets[:-1]]) / lengths.clamp(min=1)).float()
