"""Measures rounds of samples on all ranks until the time is up."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from shardtide.collect.collectives import CollectiveMeter, GroupShape, draw_collective
from shardtide.collect.measure import Meter
from shardtide.optimizers import DEFAULT
from shardtide.collect.samples import SampleFolder, is_held_back
from shardtide.collect.shapes import draw_caches, draw_shards
from shardtide.collect.tables import AnyTable
from shardtide.train.ranks import Ranks

# Computations that a rank measures in a round: the slowest rank ends it.
SETS_PER_RANK = 8

# Computations for each collective: the former have more to learn of.
SETS_PER_COLLECTIVE = 4

PROGRESS_SECONDS = 5.0

# A run ends when so many computations fail one after the other.
MOST_FAILURES = 8


@dataclass(frozen=True)
class Design:
    """What is drawn: the same on all ranks, and again when a run is continued.

    clusters: numbers of devices of the clusters that are planned
    groups: of devices that take part in collectives; none if there is one device
    most_bytes: of a collective's buffer
    cached, unpooled: shares of the sets that have cached shards, and whose shards are unpooled
    """

    seed: int
    tables: Sequence[AnyTable]
    batch_sizes: Sequence[int]
    clusters: Sequence[int]
    groups: Sequence[GroupShape]
    most_bytes: int
    optimizers: Sequence[str] = (DEFAULT,)
    cached: float = 0.0
    unpooled: float = 0.0


@dataclass
class Collector:
    """Measures samples on all ranks; rank 0 writes them. _folder: on rank 0 where samples go; None on the others"""

    _design: Design
    _ranks: Ranks
    _meter: Meter
    _collectives: CollectiveMeter | None
    _folder: SampleFolder | None

    def __post_init__(self) -> None:
        indices = range(len(self._design.tables))
        self._trained = [index for index in indices if not is_held_back(index)]
        self._held_back = [index for index in indices if is_held_back(index)]
        self._failures = 0

    def run(self, seconds: float, most: int) -> None:
        """Measures until the time is up, or there are so many computations; all ranks end together."""
        began = shown = time.monotonic()
        first = len(self._folder.compute) if self._folder else 0
        while True:
            todo = self._ranks.from_first(self._todo(began + seconds, most))
            if not todo:
                break
            self._round(*todo)
            now = time.monotonic()
            if self._folder and now - shown >= PROGRESS_SECONDS:
                shown = now
                left = began + seconds - now
                if len(self._folder.compute) > first:
                    rate = (len(self._folder.compute) - first) / (now - began)
                    left = min(left, (most - len(self._folder.compute)) / rate)
                self._say(f"{max(0, round(left))} s left")
        self._say("done")

    def _say(self, what: str) -> None:
        if self._folder:
            counts = f"{len(self._folder.compute):,} computations, {len(self._folder.collectives):,} collectives"
            print(f"{counts}; {what}", file=sys.stderr)

    def _todo(self, end: float, most: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
        """Returns the next computations and collectives, each with its attempt; None if it is over."""
        if self._folder is None or len(self._folder.compute) >= most or time.monotonic() >= end:
            return None
        count = min(SETS_PER_RANK * self._ranks.size, most - len(self._folder.compute))
        of_collectives = max(1, count // SETS_PER_COLLECTIVE) if self._collectives else 0
        return self._folder.compute.next(count), self._folder.collectives.next(of_collectives)

    def _round(self, sets: Sequence[tuple[int, int]], collectives: Sequence[tuple[int, int]]) -> None:
        mine = sets[self._ranks.rank :: self._ranks.size]
        found = self._ranks.gather([attempt(lambda: self._compute(*sample)) for sample in mine])
        for i, (sample, repeat) in enumerate(sets):
            line, why = found[i % self._ranks.size][i // self._ranks.size]
            self._failures = self._failures + 1 if why else 0
            if self._failures >= MOST_FAILURES:
                raise MemoryError(f"the last {MOST_FAILURES} computations failed; the last one: {why}")
            if self._folder and line:
                self._folder.compute.add(line, sample if repeat else None)
            elif self._folder and not repeat:
                self._folder.compute.skip(why)
        for sample, repeat in collectives:
            line = self._collective(sample)
            if self._folder:
                self._folder.collectives.add(line, sample if repeat else None)

    def _compute(self, sample: int, repeat: int) -> dict[str, Any]:
        design = self._design
        draw = random.Random(f"{design.seed}/sample/{sample}")
        eligible = [self._trained, self._held_back] if is_held_back(sample) else [self._trained]
        # Drawn apart: sets without caches are those of a run without them.
        caches = draw_caches(random.Random(f"{design.seed}/caches/{sample}"), design.cached)
        pooled = random.Random(f"{design.seed}/unpooled/{sample}").random() >= design.unpooled
        sizes = design.batch_sizes, self._meter.limits, design.clusters
        shards = draw_shards(draw, design.tables, eligible, *sizes, design.optimizers, caches, pooled)
        ids = random.Random(f"{design.seed}/ids/{sample}/{repeat}").getrandbits(63)
        times = self._meter.measure(design.tables, shards, ids)
        return {"shards": [shard.to_json() for shard in shards], **times.to_json()}

    def _collective(self, sample: int) -> dict[str, Any]:
        assert self._collectives is not None
        draw = random.Random(f"{self._design.seed}/collective/{sample}")
        shape = draw_collective(draw, self._design.groups, self._design.most_bytes)
        ms = self._collectives.measure(shape)
        # All devices of the other collectives end together, but for their clocks.
        return {**shape.to_json(), "ms": ms if shape.name == "all_to_all" else round(statistics.mean(ms), 5)}


def attempt(measure: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any] | None, str]:
    """Returns the line of a sample, or None and why it could not be measured. RuntimeError: the device is broken."""
    try:
        return measure(), ""
    except (RuntimeError, MemoryError, AssertionError) as e:
        # torch.cuda.OutOfMemoryError is a RuntimeError; FBGEMM checks its arguments by assertions.
        why = (str(e).strip() or type(e).__name__).splitlines()[0]
    if torch.cuda.is_initialized():
        # Raises an error after a failed kernel, as everything then does.
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    return None, why
