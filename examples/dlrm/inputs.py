"""Sends the ids of a batch to the ranks that hold their rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist
from layout import ALL_DEVICES, Layout, TableShape
from world import World


class Bags(NamedTuple):
    """The lookups of a table by several samples.

    ids: rows of the table, int64, one for each lookup, sample after sample
    offsets: where each sample's ids begin, and their number at last; int64, one more than there are samples
    """

    ids: torch.Tensor
    offsets: torch.Tensor


class BadBatch(ValueError):
    """Ranks have batches that cannot be looked up; raised on all ranks. The message names ranks and what is wrong."""


class Received(NamedTuple):
    """What a rank looks up of a table.

    lengths: ids of each sample, for each source rank
    ids: ids of each source rank
    """

    lengths: list[torch.Tensor]
    ids: list[torch.Tensor]

    def bags(self, sources: list[int], first_row: int) -> Bags:
        """Returns the bags of all samples, in an order of their ranks. Ids count from a first row."""
        lengths = torch.cat([self.lengths[source] for source in sources])
        ids = torch.cat([self.ids[source] for source in sources])
        offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=lengths.device)
        torch.cumsum(lengths, 0, out=offsets[1:])
        return Bags(ids - first_row if first_row else ids, offsets)


def distribute(layout: Layout, world: World, samples: int, batch: dict[str, Bags]) -> tuple[int, dict[str, Received]]:
    """Returns the samples of each rank, and what this rank looks up of the tables that it has parts of.

    Ranks may have batches of different sizes, and none at all: each has as many samples as the largest, at least one;
    those that are added have no ids. Of copies, the ids are this rank's own.

    samples: number of this rank's samples
    batch: this rank's lookups, by table

    BadBatch on all ranks if a rank's batch is wrong; nothing has changed then.
    """
    problem = find_problem(layout.tables, samples, batch)
    wanted = [_split_tables(layout, device) for device in range(world.size)]
    parts = {} if problem else _split(layout, batch)

    # One all-to-all of numbers: samples, whether the batch is wrong, and the ids of each table that the receiver has.
    numbers = [
        [0 if problem else samples, int(problem is not None)]
        + [0 if problem else len(parts[table][block].ids[0]) for table, block in tables]
        for tables in wanted
    ]
    mine = wanted[world.rank]
    found = _all_to_all(world, [torch.tensor(n, device=world.device) for n in numbers], [2 + len(mine)] * world.size)
    headers = [header.tolist() for header in found]
    if any(header[1] for header in headers):
        problems: list[str | None] = [None] * world.size
        dist.all_gather_object(problems, problem)
        raise BadBatch("; ".join(f"rank {rank}: {text}" for rank, text in enumerate(problems) if text))
    most = max(1, *(header[0] for header in headers))

    # One all-to-all of lengths and ids.
    messages = [[parts[table][block] for table, block in tables] for tables in wanted]
    nothing = torch.empty(0, dtype=torch.int64, device=world.device)
    sent = [
        torch.cat([nothing, *(_padded(m.lengths[0], most) for m in message), *(m.ids[0] for m in message)])
        for message in messages
    ]
    received = _all_to_all(world, sent, [most * len(mine) + sum(header[2:]) for header in headers])
    found_tables = {table: Received([], []) for table, _ in mine}
    for header, content in zip(headers, received):
        pieces = content.split([most] * len(mine) + header[2:])
        for (table, _), lengths, ids in zip(mine, pieces, pieces[len(mine) :]):
            found_tables[table].lengths.append(lengths)
            found_tables[table].ids.append(ids)
    for copied in layout.of_scope("copies"):
        ids, offsets = batch[copied.name]
        found_tables[copied.name] = Received([_padded(offsets.diff(), most)], [ids])
    return most, found_tables


def find_problem(tables: tuple[TableShape, ...], samples: int, batch: dict[str, Bags]) -> str | None:
    """Returns what is wrong with a rank's batch; None if nothing is."""
    unknown = sorted(batch.keys() - {table.name for table in tables})
    if unknown:
        return f'the batch has lookups of table "{unknown[0]}", which the model does not have'
    for table in tables:
        if table.name not in batch:
            return f'the batch has no lookups of table "{table.name}"; expected ids, which may be empty'
        ids, offsets = batch[table.name]
        if any(part.dtype != torch.int64 or part.ndim != 1 for part in (ids, offsets)):
            return f'table "{table.name}" has ids or offsets that are not int64 in one dimension'
        if len(offsets) != samples + 1:
            return f'table "{table.name}" has {len(offsets)} offsets; must be {samples + 1}, for {samples} samples'
        if offsets[0] != 0 or offsets[-1] != len(ids) or bool((offsets.diff() < 0).any()):
            return f'table "{table.name}" has offsets that do not rise from 0 to {len(ids)}, its number of ids'
        if len(ids):
            least, most = (int(bound) for bound in ids.aminmax())
            if least < 0 or most >= table.rows:
                wrong = least if least < 0 else most
                return f'table "{table.name}" has id {wrong}; must be 0 to {table.rows - 1}'
    return None


def _split_tables(layout: Layout, device: int) -> list[tuple[str, int]]:
    """Returns the tables whose ids are sent to a device, and which block of their rows it has."""
    found = (
        (part.table, part.device % layout.row_devices(part.table))
        for part in layout.held(device)
        if part.device != ALL_DEVICES
    )
    return list(dict.fromkeys(found))


def _split(layout: Layout, batch: dict[str, Bags]) -> dict[str, list[Received]]:
    """Returns the lookups of each table in each block of its rows."""
    found = {}
    for table in layout.tables:
        ids, offsets = batch[table.name]
        lengths, blocks = offsets.diff(), layout.row_devices(table.name)
        if blocks == 1:
            found[table.name] = [Received([lengths], [ids])]
            continue
        samples = len(lengths)
        owners = ids // -(-table.rows // blocks)
        bags = torch.repeat_interleave(torch.arange(samples, device=ids.device), lengths)
        counts = torch.bincount(owners * samples + bags, minlength=blocks * samples).view(blocks, samples)
        # Stable: each sample's ids keep their order.
        sorted_ids = ids[owners.argsort(stable=True)].split(counts.sum(1).tolist())
        found[table.name] = [Received([own], [part]) for own, part in zip(counts, sorted_ids)]
    return found


def _padded(lengths: torch.Tensor, samples: int) -> torch.Tensor:
    return torch.nn.functional.pad(lengths, (0, samples - len(lengths)))


def _all_to_all(world: World, sent: list[torch.Tensor], sizes: list[int]) -> tuple[torch.Tensor, ...]:
    """Sends an int64 tensor to each rank; returns what each rank sent, of so many elements."""
    received = torch.empty(sum(sizes), dtype=torch.int64, device=world.device)
    dist.all_to_all_single(received, torch.cat(sent), sizes, [len(part) for part in sent])
    return received.split(sizes)
