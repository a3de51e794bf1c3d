"""Random collectives of the devices that are there, and what they take."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as distributed

from shardtide.collect.measure import Stopwatch
from shardtide.collect.tables import log_uniform
from shardtide.train.meter import COLLECTIVES
from shardtide.train.ranks import Ranks

# Their names since PyTorch 2.13, which warns of the older ones.
reduce_scatter = getattr(distributed, "reduce_scatter_single", None) or distributed.reduce_scatter_tensor
all_gather = getattr(distributed, "all_gather_single", None) or distributed.all_gather_into_tensor

WARM_UPS = 3
REPETITIONS = 15

LEAST_BYTES = 256

# Of a whole buffer: larger ones take a CPU's gloo many milliseconds each.
MOST_BYTES = {"cuda": 2**29, "cpu": 2**24}

# So often a device of an all-to-all has nothing to send: it has no shards with all rows.
IDLE_SHARE = 0.05

BYTES_PER_ELEMENT = 4

# Processor time of a CPU before each collective, as of a step's computation. A scheduler lets ranks wait that have just
# computed: on 2 cores, a reduce-scatter of 256 KiB over 4 of them takes 7.5 ms after 5 to 20 ms of computation, 4 ms
# without.
BUSY_SECONDS = 0.005

BUSY_ELEMENTS = 2**20


@dataclass(frozen=True)
class GroupShape:
    """Ranks that take part in a collective, ascending, at least 2. per_node: how many share a node, the last one aside"""

    ranks: tuple[int, ...]
    per_node: int


@dataclass(frozen=True)
class CollectiveShape:
    """A collective to measure.
    elements: of float32; of an all-to-all what each device sends to each other one, by device; else of the whole buffer
        on a device, a multiple of the number of devices
    """

    name: str
    group: GroupShape
    elements: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        of: dict[str, Any] = {"devices": len(self.group.ranks), "devicesPerNode": self.group.per_node}
        sizes = [count * BYTES_PER_ELEMENT for count in self.elements]
        sent = {"bytesPerPeer": sizes} if self.name == "all_to_all" else {"bytes": sizes[0]}
        return {"collective": self.name, **of, **sent}


def group_shapes(size: int, local_size: int) -> list[GroupShape]:
    """Returns the groups that plans of the devices need: within the first node, of whole nodes, and one of each node.

    local_size: ranks of a node, which are consecutive
    """
    shapes = []
    on_node = min(size, local_size)
    for devices in sorted({*(2**k for k in range(1, on_node.bit_length())), on_node}):
        if devices >= 2:
            shapes.append(GroupShape(tuple(range(devices)), devices))
    for nodes in range(2, size // local_size + 1):
        shapes.append(GroupShape(tuple(range(nodes * local_size)), local_size))
        if local_size > 1:
            shapes.append(GroupShape(tuple(range(0, nodes * local_size, local_size)), 1))
    return shapes


def draw_collective(draw: random.Random, groups: Sequence[GroupShape], most_bytes: int) -> CollectiveShape:
    """Returns a collective of a random group, with a log-uniform size from 256 bytes to `most_bytes`."""
    name = draw.choice(COLLECTIVES)
    group = draw.choice(groups)
    devices = len(group.ranks)
    elements = round(log_uniform(draw, LEAST_BYTES, most_bytes) / BYTES_PER_ELEMENT)
    if name != "all_to_all":
        return CollectiveShape(name, group, (max(1, round(elements / devices)) * devices,))
    most = max(1, elements // devices)
    sizes = [0 if draw.random() < IDLE_SHARE else max(1, round(most * draw.uniform(0.2, 1))) for _ in group.ranks]
    return CollectiveShape(name, group, tuple(sizes) if any(sizes) else (most,) * devices)


class CollectiveMeter:
    """Measures collectives of the ranks of a job; all of them create it, and call its methods in the same order."""

    def __init__(self, ranks: Ranks, groups: Sequence[GroupShape], device: torch.device, most_bytes: int):
        self._ranks = ranks
        self._device = device
        self._groups = {group: distributed.new_group(list(group.ranks)) for group in groups}
        elements = most_bytes // BYTES_PER_ELEMENT + max((len(group.ranks) for group in groups), default=0)
        self._sent = torch.ones(elements, device=device)
        self._received = torch.ones(elements, device=device)
        self._token = torch.zeros(1, device=device)
        self._busy = torch.zeros(BUSY_ELEMENTS if device.type == "cpu" else 0)

    def measure(self, shape: CollectiveShape) -> list[float]:
        """Returns the ms on each device of the group, on all ranks: medians of repetitions that all begin together."""
        laps = []
        if self._ranks.rank in shape.group.ranks:
            laps = [self._lap(shape) for _ in range(WARM_UPS + REPETITIONS)][WARM_UPS:]
        found = self._ranks.gather(statistics.median(laps) if laps else 0.0)
        return [round(found[rank], 5) for rank in shape.group.ranks]

    def _lap(self, shape: CollectiveShape) -> float:
        group, devices = self._groups[shape.group], len(shape.group.ranks)
        me = shape.group.ranks.index(self._ranks.rank)
        if shape.name == "all_to_all":
            # To itself too, as in training: PyTorch copies that part.
            sends, receives = [shape.elements[me]] * devices, list(shape.elements)
            sent, received = self._sent[: sum(sends)], self._received[: sum(receives)]
        else:
            sent, received = self._sent[: shape.elements[0]], self._received[: shape.elements[0] // devices]
        self._compute()
        # Those who wait are woken before those who are waited for go on: on GPUs the device waits.
        distributed.all_reduce(self._token, group=group) if self._device.type == "cuda" else distributed.barrier(group)
        watch = Stopwatch(self._device, computes=False)
        if shape.name == "all_to_all":
            distributed.all_to_all_single(received, sent, receives, sends, group=group)
        elif shape.name == "reduce_scatter":
            reduce_scatter(received, sent, group=group)
        elif shape.name == "all_gather":
            all_gather(sent, received, group=group)
        else:
            distributed.all_reduce(sent, group=group)
        watch.lap()
        return watch.laps_ms()[0]

    def _compute(self) -> None:
        """Keeps a CPU busy for some time; a GPU runs a collective at once, whatever it did before."""
        end = time.thread_time() + BUSY_SECONDS
        while self._device.type == "cpu" and time.thread_time() < end:
            self._busy.add_(1)
