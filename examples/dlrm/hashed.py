"""Hash tables: which slot of a shard has the row of an id, of an open space of ids. Open addressing, in PyTorch."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from layout import Part, TableShape
from shards import Optimizer, Shard
from shardtide.train import ShardFill

# The key of a slot without an id; ids are 0 or more.
EMPTY = -1

# An id is in one of so many slots, from its home slot on: as max_probe of TorchRec's HashZchManagedCollisionModule.
PROBES = 128

# Ids that look for a slot to take at once: bounds the memory for their PROBES candidates each, to 16 MiB.
SEARCHING = 2**14

# More than an id is ever used.
MOST_USES = 2**50

# Elements of float32 that have the bits of an id, in messages.
ID_ELEMENTS = 2

# Fraction bits of a float32, which the draws of first weights have.
DRAWN_BITS = 24


def _signed(number: int) -> int:
    """Returns 64 bits as an int64 has them."""
    return number - 2**64 if number >= 2**63 else number


# Of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014; Vigna's constants).
GAMMA = _signed(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = _signed(0xBF58476D1CE4E5B9), _signed(0x94D049BB133111EB)


def splitmix64(numbers: torch.Tensor) -> torch.Tensor:
    """Returns 64 bits for each int64 that look random: the output of SplitMix64 for this state. It is a bijection."""
    mixed = numbers + GAMMA
    mixed = (mixed ^ _shifted(mixed, 30)) * FIRST_FACTOR
    mixed = (mixed ^ _shifted(mixed, 27)) * SECOND_FACTOR
    return mixed ^ _shifted(mixed, 31)


def home_rows(ids: torch.Tensor, slots: int) -> torch.Tensor:
    """Returns the row of each id in which it is looked for first: the upper 63 bits of its hash, modulo the slots.

    The shard that has this row has the id: in it, or in one of the PROBES - 1 slots behind it, in which the first slot
    of the shard follows its last one.

    slots: of the whole table
    """
    return _shifted(splitmix64(ids), 1) % slots


def first_weights(ids: torch.Tensor, columns: range, table: TableShape, seed: int) -> torch.Tensor:
    """Returns the weights that ids begin with: ids x columns, uniform between -1/sqrt(rows) and 1/sqrt(rows).

    A cell's weight follows from the seed, the table's name, the id and the column; not from the plan nor from the step.

    table: with the slots that it begins with
    """
    digest = hashlib.sha256(f"{seed}/{table.name}".encode()).digest()
    base = splitmix64(ids ^ _signed(int.from_bytes(digest[:8], "big")))
    steps = torch.arange(columns.start, columns.stop, device=ids.device) * GAMMA
    drawn = _shifted(splitmix64(base[:, None] + steps), 64 - DRAWN_BITS)
    bound = 1 / math.sqrt(table.rows)
    return drawn.float().mul_(2 * bound / 2**DRAWN_BITS).sub_(bound)


class Taken(NamedTuple):
    """The slots of the lookups of a step.

    slots: of each lookup
    fresh: slots that were given to new ids
    fresh_ids: the id of each of them
    """

    slots: torch.Tensor
    fresh: torch.Tensor
    fresh_ids: torch.Tensor


class Counts(NamedTuple):
    """What happened to the ids of a shard in some time.

    insertions: ids that got a slot, those that move with a plan left out
    evictions: ids that lost theirs
    collisions: lookups of ids that got no slot of their own, and shared their home slot
    """

    insertions: int = 0
    evictions: int = 0
    collisions: int = 0

    def plus(self, other: Counts) -> Counts:
        return Counts(*(mine + its for mine, its in zip(self, other)))


class SlotTable:
    """The ids of a shard's slots, and how often each was used.

    What it does depends on which ids a step looks up how often, not on their order. So parts of other columns with the
    same rows, which see the same lookups, have the same ids in the same slots.

    part: of a hashed table
    eviction: of a new id for which no slot is free: one of layout.EVICTIONS
    device: of keys and uses

    keys: id of each slot, EMPTY of those without one
    uses: lookups of the id of each slot, since it got the slot or, in a move, the slot before
    counts: since the last take_counts()
    """

    def __init__(self, part: Part, eviction: str | None, device: torch.device):
        assert part.slots
        self._first, self._slots, self._table_slots = part.row, part.rows, part.slots
        self._probes = min(PROBES, part.rows)
        self._evicts = eviction == "lfu"
        self.keys = torch.full((part.rows,), EMPTY, dtype=torch.int64, device=device)
        self.uses = torch.zeros(part.rows, dtype=torch.int64, device=device)
        self.counts = Counts()

    @property
    def ids(self) -> int:
        """Number of ids that have a slot."""
        return int((self.keys != EMPTY).sum())

    def take_counts(self) -> Counts:
        """Returns what happened since the last call."""
        found, self.counts = self.counts, Counts()
        return found

    def take(self, ids: torch.Tensor) -> Taken:
        """Counts lookups, and returns their slots. New ids get one.

        If all slots that may hold a new id are taken, it takes the place of the id among them that is used least, the
        nearest of several, unless this step uses it. Without eviction, or if the step uses all of them, it shares its
        home slot with the id there.

        ids: whose home rows the shard has
        """
        found, places, lookups = torch.unique(ids, return_inverse=True, return_counts=True)
        home = self._home(found)
        slots, fresh = self._probe(found, home, inserts=True)
        self.uses[fresh] = 0
        inserted, evicted = len(fresh), 0
        left = (slots < 0).nonzero().squeeze(1)
        if self._evicts and len(left):
            pinned = torch.zeros(self._slots, dtype=torch.bool, device=ids.device)
            pinned[slots[slots >= 0]] = True
            taken = self._replace(found, home, left, torch.full_like(found, MOST_USES), torch.zeros_like(found), pinned)
            slots = torch.where(taken < 0, slots, taken)
            evicted = int((taken >= 0).sum())
            fresh = torch.cat([fresh, taken[taken >= 0]])
            inserted += evicted
        owned = slots >= 0
        self.uses.index_add_(0, slots[owned], lookups[owned])
        collisions = int(lookups[~owned].sum())
        self.counts = self.counts.plus(Counts(inserted, evicted, collisions))
        slots = torch.where(owned, slots, home)
        return Taken(slots[places], fresh, self.keys[fresh])

    def find(self, ids: torch.Tensor) -> torch.Tensor:
        """Returns the slot of each id, -1 for those that have none. Changes nothing."""
        return self._probe(ids, self._home(ids), inserts=False)[0]

    def place(self, ids: torch.Tensor, uses: torch.Tensor) -> None:
        """Gives slots to ids that come from other shards. The table must have no ids.

        Where the slots are too few, ids are evicted, also without an eviction: an id that finds no slot takes the place
        of the one that is used least among those that may hold it, if that is used less. The order of the ids does not
        matter.

        ids: each once, of which the shard has the home rows
        uses: of each id
        """
        order = ids.argsort()
        order = order[uses[order].argsort(descending=True, stable=True)]
        ids, uses = ids[order], uses[order]
        home = self._home(ids)
        slots, _ = self._probe(ids, home, inserts=True)
        placed = slots >= 0
        self.uses[slots[placed]] = uses[placed]
        left = (~placed).nonzero().squeeze(1)
        if len(left):
            self._replace(ids, home, left, uses, uses, None)
        self.counts = self.counts.plus(Counts(evictions=len(ids) - self.ids))

    def going_to(self, part: Part) -> torch.Tensor:
        """Returns the slots, ascending, whose ids a part has, which may be of a table with other slots."""
        assert part.slots
        held = (self.keys != EMPTY).nonzero().squeeze(1)
        rows = home_rows(self.keys[held], part.slots)
        return held[(rows >= part.row) & (rows < part.row + part.rows)]

    def _home(self, ids: torch.Tensor) -> torch.Tensor:
        return home_rows(ids, self._table_slots) - self._first

    def _probe(self, ids: torch.Tensor, home: torch.Tensor, inserts: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the slot of each id, -1 for those that have none, and the slots that were given to new ids.

        All ids look at once, slot by slot. No slot between an id's home and its own is ever empty: the first empty one
        ends the search.

        ids: each once. If several want one empty slot, the first of them gets it
        """
        slots = torch.full_like(ids, -1)
        active = torch.arange(len(ids), device=ids.device)
        fresh = []
        for distance in range(self._probes):
            at = (home[active] + distance) % self._slots
            held = self.keys[at]
            found = held == ids[active]
            slots[active[found]] = at[found]
            goes_on = ~found
            empty = (held == EMPTY).nonzero().squeeze(1)
            if inserts:
                winners = empty[_first_of_each(at[empty])]
                self.keys[at[winners]] = ids[active[winners]]
                slots[active[winners]] = at[winners]
                fresh.append(at[winners])
                goes_on[winners] = False
            else:
                goes_on[empty] = False
            active = active[goes_on]
            if not len(active):
                break
        return slots, torch.cat(fresh) if fresh else slots[:0]

    def _replace(
        self,
        ids: torch.Tensor,
        home: torch.Tensor,
        left: torch.Tensor,
        limits: torch.Tensor,
        uses: torch.Tensor,
        pinned: torch.Tensor | None,
    ) -> torch.Tensor:
        """Puts ids in the place of those that are used least; returns the slots that they got, -1 for the others.

        left: positions of those that look for a slot; the first of several that want one gets it
        limits: who is used as often, or more, keeps its slot
        uses: of each id from now on
        pinned: slots that nobody may take; those that are taken become so. None if only limits count: an id may lose
            the slot that it got to another one of these ids
        """
        slots = torch.full_like(ids, -1)
        distances = torch.arange(self._probes, device=ids.device)
        for some in left.split(SEARCHING):
            while len(some):
                at = (home[some][:, None] + distances) % self._slots
                used = self.uses[at] if pinned is None else torch.where(pinned[at], MOST_USES, self.uses[at])
                rank = used * self._probes + distances
                least = rank.min(1).values
                possible = least // self._probes < limits[some]
                some, least, at = some[possible], least[possible], at[possible]
                victims = at.gather(1, (least % self._probes)[:, None]).squeeze(1)
                winners = _first_of_each(victims)
                taken, victims = some[winners], victims[winners]
                self.keys[victims], self.uses[victims] = ids[taken], uses[taken]
                if pinned is not None:
                    pinned[victims] = True
                slots[taken] = victims
                lost = torch.ones_like(some, dtype=torch.bool)
                lost[winners] = False
                some = some[lost]
        return slots


class HashedShard(Shard):
    """A part of a hashed table on this device, whose rows are its slots.

    Ids that are new to it get a slot when they are first looked up, and begin with first_weights() and no state.

    slots: which slot has which id
    """

    def __init__(self, part: Part, table: TableShape, optimizer: Optimizer, device: torch.device, seed: int):
        super().__init__(part, optimizer, device)
        self.slots = SlotTable(part, table.eviction, device)
        self._table = table
        self._seed = seed

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """Returns the sums of the rows of each sample, and gives slots to new ids."""
        taken = self.slots.take(ids)
        columns = range(self.part.column, self.part.column + self.part.columns)
        self.weight[taken.fresh] = first_weights(taken.fresh_ids, columns, self._table, self._seed)
        if self.momentum is not None:
            self.momentum[taken.fresh] = 0
        return super().forward(taken.slots, offsets)

    def take_fill(self) -> ShardFill:
        """Returns how full it is, and what happened since the last call."""
        part = self.part
        return ShardFill(part.table, part.row, part.rows, self.slots.ids, *self.slots.take_counts())

    def cut_slots(self, slots: torch.Tensor, columns: range) -> torch.Tensor:
        """Returns the weights of slots and columns of the table, with the state and the bits of the ids behind them."""
        cells = [self.weight[slots, columns.start - self.part.column : columns.stop - self.part.column]]
        if self.momentum is not None:
            cells.append(self.momentum[slots, None])
        cells.append(self.slots.keys[slots, None].view(torch.float32))
        return torch.cat(cells, 1)

    def paste_slots(self, columns: range, cells: torch.Tensor) -> None:
        """Takes what cut_slots() returned, for the ids that it has; the state as paste() does."""
        slots = self.slots.find(cells[:, -ID_ELEMENTS:].contiguous().view(torch.int64).squeeze(1))
        cells, slots = cells[slots >= 0], slots[slots >= 0]
        own_columns = slice(columns.start - self.part.column, columns.stop - self.part.column)
        self.weight[slots, own_columns] = cells[:, : len(columns)]
        if self.momentum is not None:
            self.momentum[slots] += cells[:, len(columns)] * (len(columns) / self.part.columns)


def describe_fill(tables: Sequence[dict[str, Any]]) -> str:
    """Returns how full the fullest hashed table is, and what happened to ids of all, for a line of text; empty of none.

    tables: as shardtide.train.gather_fills returns them
    """
    shares: list[tuple[float, str]] = []
    evictions = collisions = 0
    for table in tables:
        # Parts of other columns have the same ids.
        shards = {shard["rowOffset"]: shard for shard in table["shards"]}.values()
        shares.append((sum(s["ids"] for s in shards) / sum(s["slots"] for s in shards), table["table"]))
        evictions += sum(shard["evictions"] for shard in shards)
        collisions += sum(shard["collisions"] for shard in shards)
    if not shares:
        return ""
    share, name = max(shares)
    return f", {name} is {share:.1%} full, {evictions} evictions, {collisions} collisions"


def _first_of_each(values: torch.Tensor) -> torch.Tensor:
    """Returns the positions of the first of each value."""
    order = values.argsort(stable=True)
    ordered = values[order]
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return order[first]


def _shifted(numbers: torch.Tensor, bits: int) -> torch.Tensor:
    """Returns 64 bits moved to the right, with zeros on the left."""
    return (numbers >> bits) & ((1 << (64 - bits)) - 1)
