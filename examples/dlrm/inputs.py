"""Sends the ids of a batch to the ranks that hold their rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist
from hashed import home_rows
from layout import ALL_DEVICES, Layout, TableShape
from world import World


class Bags(NamedTuple):
    """The lookups of a table by several samples.

    ids: rows of the table, or of a hashed table any from 0 on; int64, one for each lookup, sample after sample
    offsets: where each sample's ids begin, and their number at last; int64, one more than there are samples
    """

    ids: torch.Tensor
    offsets: torch.Tensor


class BadBatch(ValueError):
    """Ranks have batches that cannot be looked up; raised on all ranks of their replica group.

    The message names ranks and what is wrong.
    """


class Request(NamedTuple):
    """What a rank asks of a range of a table's rows.

    lengths: ids of each output
    ids: as of Bags, output after output
    outputs: which of the rank's outputs of the table these are, or parts of; each at most once
    """

    lengths: torch.Tensor
    ids: torch.Tensor
    outputs: slice | torch.Tensor


class Received(NamedTuple):
    """What a rank looks up in a range of a table's rows.

    lengths: ids of each output, for each source rank
    ids: ids of each source rank
    """

    lengths: list[torch.Tensor]
    ids: list[torch.Tensor]

    def bags(self, sources: list[int], first_row: int) -> Bags:
        """Returns the bags of all outputs, in an order of their ranks. Ids count from a first row."""
        lengths = torch.cat([self.lengths[source] for source in sources])
        ids = torch.cat([self.ids[source] for source in sources])
        offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=lengths.device)
        torch.cumsum(lengths, 0, out=offsets[1:])
        return Bags(ids - first_row if first_row else ids, offsets)


class Inputs(NamedTuple):
    """The lookups of a step. Ranges of rows are keyed by table and first row.

    Each sample has one output of a pooled table; each lookup has one of an unpooled table, as if it were a sample.

    samples: of each rank, those that were added included
    requests: of this rank, for each range of each table's rows
    received: of each range of which this rank has rows
    """

    samples: int
    requests: dict[tuple[str, int], Request]
    received: dict[tuple[str, int], Received]


def distribute(layout: Layout, world: World, samples: int, batch: dict[str, Bags]) -> Inputs:
    """Returns what this rank asks of the others, and what it looks up for them.

    Ranks may have batches of different sizes, and none at all: each has as many samples as the largest, at least one;
    those that are added have no ids. Of copies, the lookups are this rank's own.

    samples: number of this rank's samples
    batch: this rank's lookups, by table

    BadBatch on all ranks of the world if a rank's batch is wrong; nothing has changed there then.
    """
    problem = find_problem(layout.tables, samples, batch)
    wanted = [_ranges(layout, device) for device in range(world.size)]
    requests = {} if problem else _split(layout, batch)

    # One all-to-all of numbers: samples, whether the batch is wrong, and the ids of each range that the receiver has.
    numbers = [
        [0 if problem else samples, int(problem is not None)]
        + [0 if problem else len(requests[key].ids) for key in ranges]
        for ranges in wanted
    ]
    mine = wanted[world.rank]
    found = _all_to_all(world, [torch.tensor(n, device=world.device) for n in numbers], [2 + len(mine)] * world.size)
    headers = [header.tolist() for header in found]
    if any(header[1] for header in headers):
        problems: list[str | None] = [None] * world.size
        dist.all_gather_object(problems, problem, group=world.group)
        raise BadBatch("; ".join(f"rank {rank}: {text}" for rank, text in zip(world.ranks, problems) if text))
    most = max(1, *(header[0] for header in headers))

    # One all-to-all of lengths and ids. Each output of an unpooled table has one id: its lengths are known.
    pooled = {table.name for table in layout.tables if table.pooled}
    requests = {
        (table, row): request._replace(lengths=_padded(request.lengths, most)) if table in pooled else request
        for (table, row), request in requests.items()
    }
    nothing = torch.empty(0, dtype=torch.int64, device=world.device)
    sent = [
        torch.cat(
            [
                nothing,
                *(requests[table, row].lengths for table, row in ranges if table in pooled),
                *(requests[key].ids for key in ranges),
            ]
        )
        for ranges in wanted
    ]
    with_lengths = [(table, row) for table, row in mine if table in pooled]
    sizes = [[most] * len(with_lengths) + header[2:] for header in headers]
    contents = _all_to_all(world, sent, [sum(of_source) for of_source in sizes])
    received: dict[tuple[str, int], Received] = {key: Received([], []) for key in mine}
    for content, of_source in zip(contents, sizes):
        pieces = content.split(of_source)
        lengths = dict(zip(with_lengths, pieces))
        for key, ids in zip(mine, pieces[len(with_lengths) :]):
            received[key].lengths.append(lengths[key] if key in lengths else torch.ones_like(ids))
            received[key].ids.append(ids)
    for part in layout.of_scope("copies"):
        request = requests[part.table, part.row]
        received[part.table, part.row] = Received([request.lengths], [request.ids])
    return Inputs(most, requests, received)


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
            last = 2**63 - 1 if table.hashed else table.rows - 1
            if least < 0 or most > last:
                wrong = least if least < 0 else most
                return f'table "{table.name}" has id {wrong}; must be 0 to {"2^63 - 1" if table.hashed else last}'
    return None


def _ranges(layout: Layout, device: int) -> list[tuple[str, int]]:
    """Returns the ranges of rows whose ids are sent to a device."""
    return list(dict.fromkeys((part.table, part.row) for part in layout.held(device) if part.device != ALL_DEVICES))


def _split(layout: Layout, batch: dict[str, Bags]) -> dict[tuple[str, int], Request]:
    """Returns the lookups in each range of each table's rows."""
    found = {}
    for table in layout.tables:
        ids, offsets = batch[table.name]
        lengths, starts = offsets.diff() if table.pooled else torch.ones_like(ids), layout.row_starts(table.name)
        if len(starts) == 1:
            found[table.name, 0] = Request(lengths, ids, slice(None))
            continue
        rows = home_rows(ids, table.rows) if table.hashed else ids
        owners = torch.bucketize(rows, torch.tensor(starts[1:], device=ids.device), right=True)
        # Stable: the ids keep their order.
        order = owners.argsort(stable=True)
        counts = torch.bincount(owners, minlength=len(starts)).tolist()
        if table.pooled:
            samples = len(lengths)
            bags = torch.repeat_interleave(torch.arange(samples, device=ids.device), lengths)
            of_ranges = torch.bincount(owners * samples + bags, minlength=len(starts) * samples)
            requests = [
                Request(own, part, slice(None))
                for own, part in zip(of_ranges.view(len(starts), samples), ids[order].split(counts))
            ]
        else:
            requests = [Request(lengths[:n], ids[at], at) for n, at in zip(counts, order.split(counts))]
        found.update(zip(((table.name, start) for start in starts), requests))
    return found


def _padded(lengths: torch.Tensor, samples: int) -> torch.Tensor:
    return torch.nn.functional.pad(lengths, (0, samples - len(lengths)))


def _all_to_all(world: World, sent: list[torch.Tensor], sizes: list[int]) -> tuple[torch.Tensor, ...]:
    """Sends an int64 tensor to each rank; returns what each rank sent, of so many elements."""
    received = torch.empty(sum(sizes), dtype=torch.int64, device=world.device)
    dist.all_to_all_single(received, torch.cat(sent), sizes, [len(part) for part in sent], group=world.group)
    return received.split(sizes)
