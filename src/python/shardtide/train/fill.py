"""Collects how full the hashed tables of a job are, on all ranks, and reports it every so many steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from shardtide.events import check_fills
from shardtide.train.ranks import Ranks

if TYPE_CHECKING:
    from shardtide.train.follower import PlanFollower


class ShardFill(NamedTuple):
    """How full the slots are that this rank has of a table. Counts are since the report before, and at most 2^50.

    table: its name
    row_offset: first row of the shard, from 0; column parts with the same first row have the same ids
    slots: slots of the shard; one without any is not reported
    ids: distinct ids that it holds; more than slots if ids share them
    insertions: ids that it took in
    evictions: ids that it gave up
    collisions: lookups that found their slot taken by another id
    """

    table: str
    row_offset: int
    slots: int
    ids: int
    insertions: int = 0
    evictions: int = 0
    collisions: int = 0


def gather_fills(ranks: Ranks, shards: Iterable[ShardFill]) -> list[dict[str, Any]]:
    """Returns the hashed tables of all ranks as TrainerReports.fill takes them: by name, shards by rank and first row.

    Called on all ranks after the same step. Empty if no rank has a hashed table.

    ValueError if a count is out of range, on all ranks whichever has it: one alone would leave the others waiting.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for rank, held in enumerate(ranks.gather(list(shards))):
        for shard in (one for one in held if one.slots != 0):
            counts = {name: getattr(shard, name) for name in ShardFill._fields[2:]}
            tables.setdefault(shard.table, []).append({"rank": rank, "rowOffset": shard.row_offset, **counts})
    found: list[dict[str, Any]] = [
        {"table": name, "shards": sorted(tables[name], key=lambda shard: (shard["rank"], shard["rowOffset"]))}
        for name in sorted(tables)
    ]
    if found:
        check_fills(found)
    return found


class FillReporter:
    """Reports how full a job's hashed tables are, every so many steps; on every rank.

    plans: whose running plan the reports name, after start()
    every: steps between two reports, at least 1; a report gathers a few numbers from each rank
    """

    def __init__(self, plans: PlanFollower, every: int):
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        self._plans = plans
        self._every = every
        self._count = 0

    def step(self, take: Callable[[], Iterable[ShardFill]]) -> list[dict[str, Any]]:
        """Counts a step, reports if it is time, and returns what was gathered; on all ranks after the same step.

        take: returns the fill of this rank's shards, and counts from 0 again; called for a report only
        """
        self._count += 1
        if self._count % self._every:
            return []
        found = gather_fills(self._plans.ranks, take())
        if found and self._plans.reports:
            self._plans.reports.fill(self._plans.running["planId"], found)
        return found
