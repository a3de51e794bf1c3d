"""Outputs of a step on their way from the devices that compute them to the ranks that asked, and gradients back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from inputs import Inputs
from layout import Block, Layout, Part
from world import OutputCollectives, Sizes, World


class OwnBlock(NamedTuple):
    """A column block that this rank sends.

    part: this rank's; None if it is left without rows
    columns: number of columns
    rows: number of outputs for each rank, in the order of the collectives' sources
    """

    part: Part | None
    columns: int
    rows: list[int]


class WantedBlock(NamedTuple):
    """A column block that this rank receives.

    table: whose outputs they are
    outputs: which of this rank's outputs of the table they are, or are parts of
    columns: of the table
    shape: number of outputs, and of columns
    """

    table: str
    outputs: slice | torch.Tensor
    columns: slice
    shape: tuple[int, int]


class OutputRoute:
    """The way of a step's outputs through the collectives of a scope. Messages are in one dimension.

    layout: of the running plan
    world: the ranks
    collectives: of the scope
    inputs: lookups of the step
    """

    def __init__(self, layout: Layout, world: World, collectives: OutputCollectives, inputs: Inputs):
        scope = collectives.scope
        blocks = [layout.blocks(scope, world.devices_of(scope, sender)) for sender in range(collectives.senders)]
        wanted = [[_wanted(block, inputs) for block in of_sender] for of_sender in blocks]
        self._collectives = collectives
        self._own = [_own(block, layout, world.rank, collectives, inputs) for block in blocks[collectives.sender]]
        self._wanted = [block for of_sender in wanted for block in of_sender]
        self._sizes = Sizes(
            [sum(own.rows[i] * own.columns for own in self._own) for i in range(len(collectives.sources))],
            [sum(math.prod(block.shape) for block in of_sender) for of_sender in wanted],
        )
        self._nothing = torch.zeros(0, device=world.device)

    def join(self, sums: dict[Part, torch.Tensor]) -> torch.Tensor:
        """Returns the sums of this rank's shards as a message: source after source, of each block after block."""
        blocks = [
            (sums[own.part].detach() if own.part else self._nothing.new_zeros(sum(own.rows), own.columns))
            for own in self._own
        ]
        by_source = zip(*(block.split(own.rows) for block, own in zip(blocks, self._own)))
        return self._cat(piece for pieces in by_source for piece in pieces)

    def forward(self, joined: torch.Tensor, outputs: dict[str, torch.Tensor]) -> None:
        """Sends what join() returned; adds what arrives to this rank's outputs, outputs x columns of each table."""
        found = self._collectives.forward(joined, self._sizes)
        pieces = found.split([math.prod(block.shape) for block in self._wanted])
        for block, piece in zip(self._wanted, pieces):
            # A cell of an unpooled table's outputs comes once; one of a pooled table is the sum of hot rows and others.
            outputs[block.table][block.outputs, block.columns] += piece.view(block.shape)

    def backward(self, gradients: dict[str, torch.Tensor]) -> torch.Tensor:
        """Sends the gradients of this rank's outputs, outputs x columns of each table; returns the message for split()."""
        pieces = (gradients[block.table][block.outputs, block.columns] for block in self._wanted)
        return self._collectives.backward(self._cat(pieces), self._sizes)

    def split(self, gradients: torch.Tensor) -> dict[Part, torch.Tensor]:
        """Returns the gradients of the sums of this rank's shards, from a message in the order of join()."""
        sources = range(len(self._collectives.sources))
        pieces = gradients.split([own.rows[i] * own.columns for i in sources for own in self._own])
        return {
            own.part: torch.cat(pieces[i :: len(self._own)]).view(-1, own.columns)
            for i, own in enumerate(self._own)
            if own.part
        }

    def _cat(self, pieces: Iterable[torch.Tensor]) -> torch.Tensor:
        """Returns tensors one after the other, in one dimension; there may be none."""
        return torch.cat([self._nothing, *(piece.reshape(-1) for piece in pieces)])


def _own(block: Block, layout: Layout, rank: int, collectives: OutputCollectives, inputs: Inputs) -> OwnBlock:
    for part in layout.parts[block.table]:
        of_scope = layout.scope(part) == collectives.scope
        if of_scope and part.column == block.column and part.is_on(rank):
            lengths = inputs.received[part.table, part.row].lengths
            return OwnBlock(part, block.columns, [len(lengths[source]) for source in collectives.sources])
    return OwnBlock(None, block.columns, [inputs.samples] * len(collectives.sources))


def _wanted(block: Block, inputs: Inputs) -> WantedBlock:
    request = inputs.requests[block.table, block.row]
    columns = slice(block.column, block.column + block.columns)
    return WantedBlock(block.table, request.outputs, columns, (len(request.lengths), block.columns))
