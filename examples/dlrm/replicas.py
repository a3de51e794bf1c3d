"""Keeps replica groups equal: averages weights and optimizer state over them, as TorchRec's DMPCollection.sync."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from layout import Layout
from shards import Shard
from shardtide.train.clock import Clock
from world import World

# Elements of host memory that are on the device at once, at most.
ELEMENTS_AT_ONCE = 4 * 2**20

# So many of the last synchronizations are measured.
MEASURED = 100


class Replicas:
    """The shards of one device of a plan, which each replica group has; does nothing if there is one group.

    world: this rank's group
    layout: of the running plan
    """

    def __init__(self, world: World, layout: Layout):
        self._world = world
        self._every = layout.replication.synchronization_steps
        self._clock = Clock(world.device, computes=False)
        # Steps since the last synchronization.
        self._steps = 0
        self._spans: collections.deque[tuple[Any, Any]] = collections.deque(maxlen=MEASURED)

    def follow(self, layout: Layout) -> None:
        """Goes to a plan with the same groups, which may synchronize them more or less often."""
        self._every = layout.replication.synchronization_steps

    def count_step(self, shards: Iterable[Shard]) -> None:
        """Counts a step, and synchronizes if it is time. Called on all ranks."""
        self._steps += 1
        if self._steps >= self._every:
            self.synchronize(shards)

    def synchronize(self, shards: Iterable[Shard]) -> None:
        """Averages the shards over the groups, unless they were averaged after the last step. Called on all ranks.

        shards: of this rank, in the order of the layout; afterwards they have the same bits in all groups
        """
        if self._world.replicas is None or not self._steps:
            return
        self._steps = 0
        # The time has no idle time: ranks wait for each other before it.
        dist.all_reduce(torch.zeros(1, device=self._world.device), group=self._world.replicas)
        begin = self._clock.now()
        for shard in shards:
            shard.flush()
            for tensor in shard.tensors:
                # The rows of a cached shard are in host memory.
                rows = max(1, ELEMENTS_AT_ONCE // tensor[:1].numel())
                for some in tensor.split(rows) if shard.cache else [tensor]:
                    self._average(some)
            shard.reload()
        self._spans.append((begin, self._clock.now()))

    def ms(self) -> float | None:
        """Returns how long a synchronization takes on this rank, the median of the last ones; None without any."""
        return statistics.median(self._clock.ms(*span) for span in self._spans) if self._spans else None

    def _average(self, tensor: torch.Tensor) -> None:
        # Each tensor alone, so that the copies of a group get the same bits, whatever shards a rank has beside them.
        on_device = tensor.to(self._world.device)
        dist.all_reduce(on_device, group=self._world.replicas)
        tensor.copy_(on_device.div_(dist.get_world_size(self._world.replicas)))


def describe_synchronization(ms: Sequence[float | None], plan: Mapping[str, Any]) -> str:
    """Returns how long a synchronization takes, and what the plan predicts, for a line of text; empty without any.

    ms: of each rank; the slowest one counts
    """
    known = [of_rank for of_rank in ms if of_rank is not None]
    if not known:
        return ""
    replication = plan["replication"]
    steps = replication["synchronizationSteps"]
    return (
        f", synchronization {max(known):.1f} ms every {'step' if steps == 1 else f'{steps} steps'}"
        f" (predicted {replication['synchronizationMs']:.1f})"
    )
