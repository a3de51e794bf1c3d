"""The ranks of a job, their nodes, and the collectives that outputs of the embeddings go through."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any, ContextManager, NamedTuple, Protocol

import torch
import torch.distributed as dist
from layout import ALL_DEVICES
from shardtide.collect.collectives import all_gather, reduce_scatter


class World:
    """The ranks of torch.distributed's default group (gloo or NCCL). Created on all ranks.

    devices_per_node: ranks of a node; consecutive ranks are on one node
    device: of this rank
    timeout_seconds: how long a rank waits for the others in collectives of a node; those of all ranks have the timeout
        that the default group was made with

    rank: of this process, from 0
    size: number of ranks
    per_node: ranks of a node; all of them if there are less than devices_per_node
    node: number of this rank's node, from 0
    local: number of this rank within its node, from 0
    nodes: number of nodes
    """

    def __init__(self, devices_per_node: int, device: torch.device, timeout_seconds: float = 60.0):
        if devices_per_node < 1:
            raise ValueError(f"devices_per_node must be at least 1, got {devices_per_node}")
        self.device = device
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.per_node = min(devices_per_node, self.size)
        self.node, self.local = divmod(self.rank, self.per_node)
        self.nodes = -(-self.size // self.per_node)
        self.node_group = self.peer_group = None
        # Plans for nodes of unequal sizes have no shards on nodes.
        if self.size % self.per_node == 0 and self.nodes > 1:
            timeout = datetime.timedelta(seconds=timeout_seconds)
            # All ranks make all groups, in one order.
            for node in range(self.nodes):
                ranks = list(range(node * self.per_node, (node + 1) * self.per_node))
                group = dist.new_group(ranks, timeout=timeout)
                if node == self.node:
                    self.node_group = group
            for local in range(self.per_node):
                ranks = list(range(local, self.size, self.per_node))
                group = dist.new_group(ranks, timeout=timeout)
                if local == self.local:
                    self.peer_group = group

    def devices_of(self, scope: str, sender: int) -> range:
        """Returns the devices that send as one in a scope: a device, a node, or all; of copies, ALL_DEVICES."""
        if scope == "copies":
            return range(ALL_DEVICES, 0)
        size = {"device": 1, "node": self.per_node}.get(scope, self.size)
        return range(sender * size, min((sender + 1) * size, self.size))

    def meet(self) -> None:
        """Returns when all ranks have called it."""
        token = torch.zeros(1, device=self.device)
        dist.all_reduce(token)
        token.item()


class Meter(Protocol):
    """What shardtide.train.StepMeter measures a step with."""

    def computation(self, direction: str) -> ContextManager[Any]: ...

    def collective(self, collective: str, direction: str, scope: str) -> ContextManager[Any]: ...


class NoMeter:
    """Measures nothing."""

    def computation(self, direction: str) -> ContextManager[Any]:
        return contextlib.nullcontext()

    def collective(self, collective: str, direction: str, scope: str) -> ContextManager[Any]:
        return contextlib.nullcontext()


class Sizes(NamedTuple):
    """Elements of a rank's messages in a collective.

    of_sources: what its sums have for each rank, in the order of sources
    of_senders: what its outputs have from each sender
    """

    of_sources: list[int]
    of_senders: list[int]


class OutputCollectives(Protocol):
    """How the sums of a scope's shards get to the ranks of their outputs, and the gradients back.

    A sender is a device, a node or all devices together.

    scope: device, node, cluster or copies
    senders: number of senders
    sender: the one that this rank belongs to
    sources: the ranks whose outputs a device computes, in the order that it has them in
    sent_bytes: what this rank has sent to other ranks in all-to-alls of outputs, since it began
    """

    scope: str
    senders: int
    sender: int
    sources: list[int]
    sent_bytes: int

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        """Returns the outputs of this rank, in one dimension, sender after sender.

        sums: in one dimension, source after source; partial ones if rows are split
        """

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        """Returns the gradients of this rank's sums, in one dimension, source after source.

        gradients: of this rank's outputs, in one dimension, sender after sender
        """


class DeviceCollectives:
    """All-to-all: each device has whole sums."""

    scope = "device"

    def __init__(self, world: World, meter: Meter):
        self._rank, self._meter = world.rank, meter
        self.senders, self.sender = world.size, world.rank
        self.sources = list(range(world.size))
        self.sent_bytes = 0

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        self.sent_bytes += (sums.numel() - sizes.of_sources[self._rank]) * sums.element_size()
        with self._meter.collective("all_to_all", "forward", "device"):
            return _all_to_all(sums, sizes.of_sources, sizes.of_senders)

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        with self._meter.collective("all_to_all", "backward", "device"):
            return _all_to_all(gradients, sizes.of_senders, sizes.of_sources)


class NodeCollectives:
    """Reduce-scatter in the node, then all-to-all over the devices of one local rank. All sources have equal sizes."""

    scope = "node"

    def __init__(self, world: World, meter: Meter):
        self._world, self._meter = world, meter
        self.senders, self.sender = world.nodes, world.node
        # By local rank, so that each device of a node reduces the samples of its peers on all nodes.
        self.sources = [rank for local in range(world.per_node) for rank in range(local, world.size, world.per_node)]
        self.sent_bytes = 0

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        mine = sums.new_empty(sums.numel() // self._world.per_node)
        with self._meter.collective("reduce_scatter", "forward", "node"):
            if sums.numel():
                reduce_scatter(mine, sums, group=self._world.node_group)
        if self.senders == 1:
            return mine
        own = sizes.of_sources[: self.senders]
        self.sent_bytes += (mine.numel() - own[self.sender]) * mine.element_size()
        with self._meter.collective("all_to_all", "forward", "node"):
            return _all_to_all(mine, own, sizes.of_senders, self._world.peer_group)

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        mine = gradients
        if self.senders > 1:
            own = sizes.of_sources[: self.senders]
            with self._meter.collective("all_to_all", "backward", "node"):
                mine = _all_to_all(gradients, sizes.of_senders, own, self._world.peer_group)
        found = mine.new_empty(mine.numel() * self._world.per_node)
        with self._meter.collective("all_gather", "backward", "node"):
            if found.numel():
                all_gather(found, mine, group=self._world.node_group)
        return found


class ClusterCollectives:
    """Reduce-scatter over all devices. All sources have equal sizes."""

    scope = "cluster"

    def __init__(self, world: World, meter: Meter):
        self._meter = meter
        self.senders, self.sender = 1, 0
        self.sources = list(range(world.size))
        self.sent_bytes = 0

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        mine = sums.new_empty(sums.numel() // len(self.sources))
        with self._meter.collective("reduce_scatter", "forward", "cluster"):
            reduce_scatter(mine, sums)
        return mine

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        found = gradients.new_empty(gradients.numel() * len(self.sources))
        with self._meter.collective("all_gather", "backward", "cluster"):
            all_gather(found, gradients)
        return found


class CopyCollectives:
    """None: each device has a copy, and computes its own outputs only."""

    scope = "copies"

    def __init__(self) -> None:
        self.senders, self.sender = 1, 0
        # The lookups of a copy are those of one rank.
        self.sources = [0]
        self.sent_bytes = 0

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        return sums

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        return gradients


def _all_to_all(sent: torch.Tensor, sizes: list[int], received: list[int], group: Any = None) -> torch.Tensor:
    """Sends parts of a tensor, of so many elements, to each rank of a group; returns what each sends, of so many."""
    found = sent.new_empty(sum(received))
    dist.all_to_all_single(found, sent, received, sizes, group=group)
    return found
