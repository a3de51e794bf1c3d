"""The ranks of a job, their nodes, and the collectives that outputs of the embeddings go through."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any, ContextManager, Protocol

import torch
import torch.distributed as dist
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
        """Returns the devices that send as one in a scope: a device, a node, or all."""
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


class OutputCollectives(Protocol):
    """How the sums of a scope's shards get to the ranks of their samples, and the gradients back.

    A sender is a device, a node or all devices together. B: samples of a rank. w(s): columns of sender s.

    scope: device, node or cluster
    senders: number of senders
    sender: the one that this rank belongs to
    sources: all ranks, in the order that a device has their samples in
    """

    scope: str
    senders: int
    sender: int
    sources: list[int]

    def forward(self, sums: torch.Tensor, widths: list[int]) -> list[torch.Tensor]:
        """Returns the outputs of this rank's samples: B x w(s) of each sender s.

        sums: (ranks x B) x w(sender), of all ranks' samples in the order of sources; partial ones if rows are split
        widths: w of each sender
        """

    def backward(self, gradients: list[torch.Tensor]) -> torch.Tensor:
        """Returns the gradients of all ranks' samples: (ranks x B) x w(sender).

        gradients: of this rank's samples: B x w(s) for each sender s
        """


class DeviceCollectives:
    """All-to-all: each device has whole sums."""

    scope = "device"

    def __init__(self, world: World, meter: Meter):
        self._meter = meter
        self.senders, self.sender = world.size, world.rank
        self.sources = list(range(world.size))

    def forward(self, sums: torch.Tensor, widths: list[int]) -> list[torch.Tensor]:
        samples = len(sums) // len(self.sources)
        with self._meter.collective("all_to_all", "forward", "device"):
            return _exchange(sums, [samples * sums.shape[1]] * self.senders, [(samples, width) for width in widths])

    def backward(self, gradients: list[torch.Tensor]) -> torch.Tensor:
        samples, width = gradients[self.sender].shape
        sent = torch.cat([gradient.reshape(-1) for gradient in gradients])
        with self._meter.collective("all_to_all", "backward", "device"):
            received = _exchange(sent, [gradient.numel() for gradient in gradients], [(samples, width)] * self.senders)
        # One behind the other already.
        return torch.cat(received) if self.senders > 1 else received[0]


class NodeCollectives:
    """Reduce-scatter in the node, then all-to-all over the devices of one local rank."""

    scope = "node"

    def __init__(self, world: World, meter: Meter):
        self._world, self._meter = world, meter
        self.senders, self.sender = world.nodes, world.node
        # By local rank, so that each device of a node reduces the samples of its peers on all nodes.
        self.sources = [rank for local in range(world.per_node) for rank in range(local, world.size, world.per_node)]

    def forward(self, sums: torch.Tensor, widths: list[int]) -> list[torch.Tensor]:
        samples = len(sums) // len(self.sources)
        mine = sums.new_empty(samples * self.senders, sums.shape[1])
        with self._meter.collective("reduce_scatter", "forward", "node"):
            if sums.numel():
                reduce_scatter(mine, sums, group=self._world.node_group)
        if self.senders == 1:
            return [mine]
        with self._meter.collective("all_to_all", "forward", "node"):
            sizes = [samples * sums.shape[1]] * self.senders
            return _exchange(mine, sizes, [(samples, width) for width in widths], self._world.peer_group)

    def backward(self, gradients: list[torch.Tensor]) -> torch.Tensor:
        samples, width = gradients[self.sender].shape
        mine = gradients[0]
        if self.senders > 1:
            sent = torch.cat([gradient.reshape(-1) for gradient in gradients])
            sizes = [gradient.numel() for gradient in gradients]
            with self._meter.collective("all_to_all", "backward", "node"):
                mine = torch.cat(_exchange(sent, sizes, [(samples, width)] * self.senders, self._world.peer_group))
        found = mine.new_empty(len(mine) * self._world.per_node, width)
        with self._meter.collective("all_gather", "backward", "node"):
            if found.numel():
                all_gather(found, mine.contiguous(), group=self._world.node_group)
        return found


class ClusterCollectives:
    """Reduce-scatter over all devices."""

    scope = "cluster"

    def __init__(self, world: World, meter: Meter):
        self._meter = meter
        self.senders, self.sender = 1, 0
        self.sources = list(range(world.size))

    def forward(self, sums: torch.Tensor, widths: list[int]) -> list[torch.Tensor]:
        mine = sums.new_empty(len(sums) // len(self.sources), sums.shape[1])
        with self._meter.collective("reduce_scatter", "forward", "cluster"):
            reduce_scatter(mine, sums)
        return [mine]

    def backward(self, gradients: list[torch.Tensor]) -> torch.Tensor:
        found = gradients[0].new_empty(len(gradients[0]) * len(self.sources), gradients[0].shape[1])
        with self._meter.collective("all_gather", "backward", "cluster"):
            all_gather(found, gradients[0].contiguous())
        return found


def _exchange(
    sent: torch.Tensor, sizes: list[int], shapes: list[tuple[int, int]], group: Any = None
) -> list[torch.Tensor]:
    """Sends parts of a tensor, of so many elements, to each rank of a group; returns what each sends, in shapes."""
    received = [rows * columns for rows, columns in shapes]
    flat = sent.new_empty(sum(received))
    dist.all_to_all_single(flat, sent.reshape(-1), received, sizes, group=group)
    return [part.view(shape) for part, shape in zip(flat.split(received), shapes)]
