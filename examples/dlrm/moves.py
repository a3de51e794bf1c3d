"""Moves a table's weights and optimizer state from the shards of one layout to those of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from layout import ALL_DEVICES, Part, TableShape, overlap
from shards import BYTES_PER_ELEMENT, Optimizer, Shard
from world import World

# Elements that a device has under way at most, each way.
ELEMENTS_UNDER_WAY = 4 * 2**20

# Ranges of rows that a device gets from another one at most: hot rows, and some of all others.
RANGES = 2


class Transfer(NamedTuple):
    """Cells that go from a shard on one device to a shard on another, or on the same."""

    source: int
    target: int
    old: Part
    new: Part
    rows: range
    columns: range


def only_caches_change(old: Sequence[Part], new: Sequence[Part]) -> bool:
    """Returns whether the parts of a table differ in the sizes of their caches only, so that no row moves."""

    def of_any_size(parts: Sequence[Part]) -> list[Part]:
        return [part if part.cache_share is None else part._replace(cache_share=1.0) for part in parts]

    return of_any_size(old) == of_any_size(new)


def transfers(old: Sequence[Part], new: Sequence[Part], places: Sequence[int]) -> list[Transfer]:
    """Returns how each new part of a table is filled from the old ones, in an order that is the same on all ranks.

    A device that has a copy fills its new parts from it.

    places: which device of the new parts each device of the old ones becomes
    """
    found = []
    for target, place in enumerate(places):
        for part in new:
            for before in old if part.is_on(place) else ():
                common = overlap(before, part)
                if common:
                    source = target if before.device == ALL_DEVICES else before.device
                    found.append(Transfer(source, target, before, part, *common))
    return found


def move(
    table: TableShape,
    old: Sequence[Part],
    new: Sequence[Part],
    held: dict[Part, Shard],
    world: World,
    optimizer: Optimizer,
    device: torch.device,
    places: Sequence[int],
) -> dict[Part, Shard]:
    """Returns this rank's new shards of a table, filled; the old ones stay as they are. Called on all ranks.

    old, new: all parts of the table
    held: this rank's old shards
    world: the ranks of the old parts: shards move within a replica group
    device: of the new shards
    places: which device of the new parts each rank of the world becomes

    RuntimeError on the ranks that are left if one does not send or receive, after the time of the process group.
    """
    for part in old:
        if part.is_on(world.rank):
            held[part].flush()
    found = {part: Shard(part, optimizer, device) for part in new if part.is_on(places[world.rank])}
    planned = transfers(old, new, places)
    step = _rows_under_way(table, world.size)
    # A replica group may be left without rows of the table: other devices have them.
    for first in range(0, max((len(transfer.rows) for transfer in planned), default=0), step):
        operations: list[dist.P2POp] = []
        arriving: list[tuple[Transfer, range, torch.Tensor]] = []
        for transfer in planned:
            rows = transfer.rows[first : first + step]
            if not rows or world.rank not in (transfer.source, transfer.target):
                continue
            if world.rank == transfer.source:
                cells = held[transfer.old].cut(rows, transfer.columns).to(world.device)
                if transfer.target != world.rank:
                    operations.append(dist.P2POp(dist.isend, cells, world.ranks[transfer.target], world.group))
            else:
                width = len(transfer.columns) + optimizer.row_wise_adagrad
                cells = torch.empty(len(rows), width, device=world.device)
                operations.append(dist.P2POp(dist.irecv, cells, world.ranks[transfer.source], world.group))
            if transfer.target == world.rank:
                arriving.append((transfer, rows, cells))
        for work in dist.batch_isend_irecv(operations) if operations else ():
            work.wait()
        # In one order on all ranks, so that copies get the same bits.
        for transfer, rows, cells in arriving:
            found[transfer.new].paste(rows, transfer.columns, cells)
    # Nobody frees what another rank has not received.
    world.meet()
    return found


def bytes_under_way(table: TableShape, devices: int) -> int:
    """Returns the bytes that a device needs at most for what it sends and what it receives, beside its shards."""
    rows = min(RANGES * _rows_under_way(table, devices), table.rows)
    return 2 * rows * (table.columns + 1) * devices * BYTES_PER_ELEMENT


def _rows_under_way(table: TableShape, devices: int) -> int:
    """Returns the rows of each transfer that are sent at once."""
    return max(1, ELEMENTS_UNDER_WAY // (table.columns + 1) // devices // RANGES)
