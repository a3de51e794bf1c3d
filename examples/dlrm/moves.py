"""Moves a table's weights and optimizer state from the shards of one layout to those of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from hashed import ID_ELEMENTS, Counts, HashedShard
from layout import ALL_DEVICES, Part, TableShape, common, overlap
from shards import BYTES_PER_ELEMENT, SLOT_BYTES, Optimizer, Shard
from world import World

# Elements that a device has under way at most, each way.
ELEMENTS_UNDER_WAY = 4 * 2**20

# Ranges of rows that a device gets from another one at most: hot rows, and some of all others.
RANGES = 2


class Transfer(NamedTuple):
    """Cells that go from a shard on one device to a shard on another, or on the same.

    rows: of the table; of a hashed one, positions among the slots of the old part whose ids the new part has
    """

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
    _send(
        transfers(old, new, places),
        table,
        optimizer.row_wise_adagrad,
        world,
        lambda transfer, rows: held[transfer.old].cut(rows, transfer.columns),
        lambda transfer, rows, cells: found[transfer.new].paste(rows, transfer.columns, cells),
    )
    # Nobody frees what another rank has not received.
    world.meet()
    return found


def move_hashed(
    table: TableShape,
    old: Sequence[Part],
    new: Sequence[Part],
    held: dict[Part, HashedShard],
    world: World,
    optimizer: Optimizer,
    create: Callable[[Part], HashedShard],
) -> dict[Part, HashedShard]:
    """Returns this rank's new shards of a hashed table; as move(), but each id goes to the part that has its home row.

    First ids and their uses are sent, so that each new part gives slots to all its ids at once: in which slots they are
    does not depend on where they come from. Then weights and states follow. What happened to ids since the last report
    goes to the parts with the table's first rows.

    held: this rank's old shards, at least
    create: returns a new shard without ids
    """
    found = {part: create(part) for part in new if part.is_on(world.rank)}
    pairs = [
        (before, part, columns)
        for part in new
        for before in old
        if (columns := common(before.column, before.columns, part.column, part.columns))
    ]
    chosen = {
        (before, part): held[before].slots.going_to(part) for before, part, _ in pairs if before.is_on(world.rank)
    }
    # Of the old parts with the same rows, which have the same ids, the first one counts.
    firsts = list({before.row: before for before in reversed(old)}.values())
    counts = [held[before].slots.counts for before in firsts if before.is_on(world.rank)]
    numbers = torch.tensor(
        [*(sum(each) for each in zip(Counts(), *counts)), *(len(chosen.get(pair[:2], ())) for pair in pairs)],
        device=world.device,
    )
    dist.all_reduce(numbers, group=world.group)
    happened = Counts(*numbers[: len(Counts())].tolist())
    planned = [
        Transfer(before.device, part.device, before, part, range(size), columns)
        for (before, part, columns), size in zip(pairs, numbers[len(Counts()) :].tolist())
    ]
    for part, arrived in _send_ids(planned, chosen, held, world).items():
        found[part].slots.place(*arrived)
    for part, shard in found.items():
        if part.row == 0:
            shard.slots.counts = shard.slots.counts.plus(happened)
    _send(
        planned,
        table,
        optimizer.row_wise_adagrad + ID_ELEMENTS,
        world,
        lambda transfer, rows: held[transfer.old].cut_slots(
            chosen[transfer.old, transfer.new][rows.start : rows.stop], transfer.columns
        ),
        lambda transfer, rows, cells: found[transfer.new].paste_slots(transfer.columns, cells),
    )
    world.meet()
    return found


def _send_ids(
    planned: Sequence[Transfer],
    chosen: dict[tuple[Part, Part], torch.Tensor],
    held: dict[Part, HashedShard],
    world: World,
) -> dict[Part, tuple[torch.Tensor, torch.Tensor]]:
    """Sends the ids of each new part to its device; returns those of this rank's parts, with their uses.

    An id comes from one old part, though parts of other columns have it too.
    """
    once: dict[tuple[Part, int], Transfer] = {}
    for transfer in planned:
        once.setdefault((transfer.new, transfer.old.row), transfer)
    ordered = sorted(once.values(), key=lambda transfer: (transfer.source, transfer.target))
    nothing = torch.empty(0, dtype=torch.int64, device=world.device)
    sent = [nothing]
    for transfer in ordered:
        if transfer.source == world.rank:
            slots, table = chosen[transfer.old, transfer.new], held[transfer.old].slots
            sent += [table.keys[slots], table.uses[slots]]
    arriving = [transfer for transfer in ordered if transfer.target == world.rank]
    received = nothing.new_empty(sum(2 * len(transfer.rows) for transfer in arriving))
    dist.all_to_all_single(
        received,
        torch.cat(sent),
        [sum(2 * len(t.rows) for t in arriving if t.source == rank) for rank in range(world.size)],
        [sum(2 * len(t.rows) for t in ordered if (t.source, t.target) == (world.rank, r)) for r in range(world.size)],
        group=world.group,
    )
    pieces = received.split([len(transfer.rows) for transfer in arriving for _ in range(2)])
    found = {}
    for part in dict.fromkeys(transfer.new for transfer in arriving):
        own = [i for i, transfer in enumerate(arriving) if transfer.new == part]
        found[part] = (torch.cat([pieces[2 * i] for i in own]), torch.cat([pieces[2 * i + 1] for i in own]))
    return found


def _send(
    planned: Sequence[Transfer],
    table: TableShape,
    extra: int,
    world: World,
    cut: Callable[[Transfer, range], torch.Tensor],
    paste: Callable[[Transfer, range, torch.Tensor], None],
) -> None:
    """Sends rows of the transfers, some of each at a time.

    extra: elements of a row's message beside its columns
    cut: returns rows of a transfer from this rank's old shard
    paste: takes them into the new one
    """
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
                cells = cut(transfer, rows).to(world.device)
                if transfer.target != world.rank:
                    operations.append(dist.P2POp(dist.isend, cells, world.ranks[transfer.target], world.group))
            else:
                cells = torch.empty(len(rows), len(transfer.columns) + extra, device=world.device)
                operations.append(dist.P2POp(dist.irecv, cells, world.ranks[transfer.source], world.group))
            if transfer.target == world.rank:
                arriving.append((transfer, rows, cells))
        for work in dist.batch_isend_irecv(operations) if operations else ():
            work.wait()
        # In one order on all ranks, so that copies get the same bits.
        for transfer, rows, cells in arriving:
            paste(transfer, rows, cells)


def bytes_under_way(table: TableShape, devices: int) -> int:
    """Returns the bytes that a device needs at most for what it sends and what it receives, beside its shards.

    Of a hashed table, the ids of all its slots may come at once, and each row is sent with its id.

    table: of a hashed one, with the slots that it moves from
    """
    rows = min(RANGES * _rows_under_way(table, devices), table.rows)
    extra = 1 + (ID_ELEMENTS if table.hashed else 0)
    of_ids = 2 * table.rows * SLOT_BYTES if table.hashed else 0
    return 2 * rows * (table.columns + extra) * devices * BYTES_PER_ELEMENT + of_ids


def _rows_under_way(table: TableShape, devices: int) -> int:
    """Returns the rows of each transfer that are sent at once."""
    return max(1, ELEMENTS_UNDER_WAY // (table.columns + 1) // devices // RANGES)
