"""The ranks of a job, their nodes, and the collectives that outputs of the embeddings go through."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any, ContextManager, NamedTuple, Protocol

import torch
import torch.distributed as dist
from layout import ALL_DEVICES
from shardtide.collect.collectives import all_gather, reduce_scatter
from shardtide.train.replication import ONE_GROUP, Replication


class World:
    """The ranks of torch.distributed's default group (gloo or NCCL), or one of its replica groups.

    Created on all ranks.

    devices_per_node: ranks of a node; consecutive ranks are on one node
    device: of this rank
    timeout_seconds: how long a rank waits for the others in collectives of a node or a replica group; those of all
        ranks have the timeout that the default group was made with
    replication: the replica groups; this is the one that this process belongs to

    rank: of this process, from 0; in a replica group the number of its device
    size: number of ranks
    ranks: these ranks in the default group, in order
    group: their process group; None is the default group
    replicas: process group of the ranks that are the same device, one of each replica group; None if there is one group
    per_node: ranks of a node; all of them if there are less than devices_per_node
    node: number of this rank's node, from 0
    local: number of this rank within its node, from 0
    nodes: number of nodes
    """

    def __init__(
        self,
        devices_per_node: int,
        device: torch.device,
        timeout_seconds: float = 60.0,
        replication: Replication = ONE_GROUP,
    ):
        if devices_per_node < 1:
            raise ValueError(f"devices_per_node must be at least 1, got {devices_per_node}")
        self.device = device
        self._devices_per_node = devices_per_node
        self._timeout_seconds = timeout_seconds
        self._divided: dict[tuple[int, str], World] = {}
        ranks = dist.get_world_size()
        groups = [replication.ranks_of(group, ranks) for group in range(replication.groups)]
        group, self.rank = replication.place_of(dist.get_rank(), ranks)
        self.ranks = groups[group]
        self.size = len(self.ranks)
        self.per_node = replication.per_node(ranks, devices_per_node)
        self.node, self.local = divmod(self.rank, self.per_node)
        self.nodes = -(-self.size // self.per_node)
        self.group = self.replicas = None
        if len(groups) > 1:
            self.group = self._own(groups)
            self.replicas = self._own([list(same) for same in zip(*groups)])
        self.node_group = self.peer_group = self.group
        # Plans for nodes of unequal sizes have no shards on nodes.
        if self.size % self.per_node == 0 and self.nodes > 1:
            firsts = range(0, self.size, self.per_node)
            self.node_group = self._own([of[first : first + self.per_node] for of in groups for first in firsts])
            self.peer_group = self._own([of[local :: self.per_node] for of in groups for local in range(self.per_node)])
        # NCCL connects ranks in their first collective. Moves are between some of them.
        self.meet()

    def divided(self, replication: Replication) -> World:
        """Returns this process's replica group. Called on all ranks, of the world that is all of them.

        Groups are made once, as a later plan may have the same.
        """
        if replication.groups == 1:
            return self
        if replication.grouping not in self._divided:
            self._divided[replication.grouping] = World(
                self._devices_per_node, self.device, self._timeout_seconds, replication
            )
        return self._divided[replication.grouping]

    def devices_of(self, scope: str, sender: int) -> range:
        """Returns the devices that send as one in a scope: a device, a node, or all; of copies, ALL_DEVICES."""
        if scope == "copies":
            return range(ALL_DEVICES, 0)
        size = {"device": 1, "node": self.per_node}.get(scope, self.size)
        return range(sender * size, min((sender + 1) * size, self.size))

    def meet(self) -> None:
        """Returns when all ranks have called it."""
        token = torch.zeros(1, device=self.device)
        dist.all_reduce(token, group=self.group)
        token.item()

    def _own(self, groups: list[list[int]]) -> Any:
        """Makes process groups; returns the one that this process belongs to."""
        timeout = datetime.timedelta(seconds=self._timeout_seconds)
        # All ranks make all groups, in one order.
        made = {tuple(ranks): dist.new_group(ranks, timeout=timeout) for ranks in groups}
        return next(group for ranks, group in made.items() if dist.get_rank() in ranks)


class Meter(Protocol):
    """What shardtide.train.StepMeter measures a step with."""

    def computation(self, direction: str) -> ContextManager[Any]: ...

    def collective(self, collective: str, direction: str, scope: str, group: Any = None) -> ContextManager[Any]: ...


class NoMeter:
    """Measures nothing."""

    def computation(self, direction: str) -> ContextManager[Any]:
        return contextlib.nullcontext()

    def collective(self, collective: str, direction: str, scope: str, group: Any = None) -> ContextManager[Any]:
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
        self._rank, self._group, self._meter = world.rank, world.group, meter
        self.senders, self.sender = world.size, world.rank
        self.sources = list(range(world.size))
        self.sent_bytes = 0

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        self.sent_bytes += (sums.numel() - sizes.of_sources[self._rank]) * sums.element_size()
        with self._meter.collective("all_to_all", "forward", "device", self._group):
            return _all_to_all(sums, sizes.of_sources, sizes.of_senders, self._group)

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        with self._meter.collective("all_to_all", "backward", "device", self._group):
            return _all_to_all(gradients, sizes.of_senders, sizes.of_sources, self._group)


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
        with self._meter.collective("reduce_scatter", "forward", "node", self._world.group):
            if sums.numel():
                reduce_scatter(mine, sums, group=self._world.node_group)
        if self.senders == 1:
            return mine
        own = sizes.of_sources[: self.senders]
        self.sent_bytes += (mine.numel() - own[self.sender]) * mine.element_size()
        with self._meter.collective("all_to_all", "forward", "node", self._world.group):
            return _all_to_all(mine, own, sizes.of_senders, self._world.peer_group)

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        mine = gradients
        if self.senders > 1:
            own = sizes.of_sources[: self.senders]
            with self._meter.collective("all_to_all", "backward", "node", self._world.group):
                mine = _all_to_all(gradients, sizes.of_senders, own, self._world.peer_group)
        found = mine.new_empty(mine.numel() * self._world.per_node)
        with self._meter.collective("all_gather", "backward", "node", self._world.group):
            if found.numel():
                all_gather(found, mine, group=self._world.node_group)
        return found


class ClusterCollectives:
    """Reduce-scatter over all devices. All sources have equal sizes."""

    scope = "cluster"

    def __init__(self, world: World, meter: Meter):
        self._group, self._meter = world.group, meter
        self.senders, self.sender = 1, 0
        self.sources = list(range(world.size))
        self.sent_bytes = 0

    def forward(self, sums: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        mine = sums.new_empty(sums.numel() // len(self.sources))
        with self._meter.collective("reduce_scatter", "forward", "cluster", self._group):
            reduce_scatter(mine, sums, group=self._group)
        return mine

    def backward(self, gradients: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        found = gradients.new_empty(gradients.numel() * len(self.sources))
        with self._meter.collective("all_gather", "backward", "cluster", self._group):
            all_gather(found, gradients, group=self._group)
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


def _all_to_all(sent: torch.Tensor, sizes: list[int], received: list[int], group: Any) -> torch.Tensor:
    """Sends parts of a tensor, of so many elements, to each rank of a group; returns what each sends, of so many."""
    found = sent.new_empty(sum(received))
    dist.all_to_all_single(found, sent, received, sizes, group=group)
    return found
