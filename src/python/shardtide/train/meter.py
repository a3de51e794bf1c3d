"""Measures what the embeddings of a step cost on this rank: computation, and each collective."""

from __future__ import annotations

import contextlib
import statistics
from collections import defaultdict
from typing import Any, Iterator, NamedTuple, Sequence

from shardtide.arguments import one_of
from shardtide.train.clock import Clock
from shardtide.train.ranks import Ranks

DIRECTIONS = ("forward", "backward")
COLLECTIVES = ("all_to_all", "reduce_scatter", "all_gather", "all_reduce")
SCOPES = ("device", "node", "cluster", "copies")


class Collective(NamedTuple):
    """A collective of a step, as avro/MeasuredCosts.avsc names it: one of COLLECTIVES, of DIRECTIONS, of SCOPES."""

    collective: str
    direction: str
    scope: str


class StepCosts(NamedTuple):
    """What a step costs on each device, from so many measured steps: the arguments of PlanFollower.measured."""

    steps: int
    devices: list[dict[str, float]]
    collectives: list[dict[str, Any]]

    @property
    def ms(self) -> float:
        """A step's cost, as plans count it: max of computation and backward collectives, plus max of forward ones."""
        forward = [of["ms"] for of in self.collectives if of["direction"] == "forward"]
        most = max(sum(ms[i] for ms in forward) for i in range(len(self.devices)))
        return most + max(device["computeMs"] + device["backwardCommMs"] for device in self.devices)


class _Span(NamedTuple):
    """Work of a step between two marks of a clock: forward or backward computation, idle time, or a Collective."""

    kind: object
    clock: Clock
    begin: Any
    end: Any


class StepMeter:
    """Measures one step in many; all others run as if it were not there.

        meter = StepMeter(device)
        for batch in batches:
            with meter.step():
                with meter.computation("forward"):
                    sums = lookups(batch)
                with meter.collective("all_to_all", "forward", "device"):
                    outputs = exchange(sums)
                ...

    In a measured step, ranks wait for each other before each collective: its time then has no idle time. The wait
    before a forward collective is idle time, which counts as forward communication. On GPUs the waiting is done by the
    device and times are those of CUDA events, so that a step is never synchronised with the host. On CPUs, collectives
    are timed by the clock, and computation by the thread's processor time, as ranks may share cores; by the clock too
    if PyTorch uses several threads.

    All ranks measure the same steps. Overhead: one step in `every` is longer by its waits.

    device: a torch.device; None is the CPU
    every: of so many steps one is measured, at least 1
    """

    def __init__(self, device: Any = None, every: int = 50):
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        self._device = device
        self._every = every
        self._computing = Clock(device, computes=True)
        self._elapsed = Clock(device, computes=False)
        self._count = 0
        # Of each measured step, and of the one that is being measured.
        self._steps: list[list[_Span]] = []
        self._current: list[_Span] | None = None
        self._token: Any = None

    @property
    def measuring(self) -> bool:
        """Whether a step is being measured."""
        return self._current is not None

    @contextlib.contextmanager
    def step(self) -> Iterator[bool]:
        """Surrounds a step; yields whether it is measured. A step that ends with an exception is not counted."""
        self._count += 1
        # The last of each `every`: the first steps warm up.
        if self._count % self._every:
            yield False
            return
        self._current = []
        try:
            yield True
            self._steps.append(self._current)
        finally:
            self._current = None

    @contextlib.contextmanager
    def computation(self, direction: str) -> Iterator[None]:
        """Surrounds computation of the embeddings, forward or backward; a step may have several."""
        spans = self._current
        if spans is None:
            yield
            return
        one_of(direction, DIRECTIONS, "direction")
        begin = self._computing.now()
        yield
        spans.append(_Span(direction, self._computing, begin, self._computing.now()))

    @contextlib.contextmanager
    def collective(self, collective: str, direction: str, scope: str, group: Any = None) -> Iterator[None]:
        """Surrounds a collective. Names as in Collective.

        group: process group of the ranks that run it, or of more that wait for each other before it: a replica group;
            None is all ranks
        """
        spans = self._current
        if spans is None:
            yield
            return
        one_of(collective, COLLECTIVES, "collective")
        one_of(direction, DIRECTIONS, "direction")
        one_of(scope, SCOPES, "scope")
        clock = self._elapsed
        arrived = clock.now()
        self._meet(group)
        begin = clock.now()
        yield
        if direction == "forward":
            spans.append(_Span("idle", clock, arrived, begin))
        spans.append(_Span(Collective(collective, direction, scope), clock, begin, clock.now()))

    def clear(self) -> None:
        """Forgets the measured steps, as they belong to another plan."""
        self._steps = []

    def costs(self, ranks: Ranks, devices: Sequence[int] | None = None) -> StepCosts | None:
        """Returns the medians of what was measured since the last call, and forgets it; None if no step was measured.

        Called on all ranks after the same step. devices: the ranks whose costs these are, in the order of the plan's
        devices: of one replica group; None is all
        """
        steps, self._steps = self._steps, []
        if not steps:
            return None
        mine = self._medians(steps)
        found = ranks.gather(mine)
        keys = sorted({key for cost in found for key in cost if isinstance(key, Collective)})
        for rank, cost in enumerate(found):
            absent = [key for key in keys if key not in cost]
            if absent:
                raise ValueError(f"Rank {rank} did not measure {' '.join(absent[0])}, which other ranks did")

        def total(cost: dict[object, float], direction: str) -> float:
            return sum(cost[key] for key in keys if key.direction == direction)

        if devices is not None:
            found = [found[rank] for rank in devices]
        of_devices = []
        for cost in found:
            forward, backward = cost.get("forward", 0.0), cost.get("backward", 0.0)
            device = {
                "computeMs": forward + backward,
                "forwardCommMs": total(cost, "forward") + cost.get("idle", 0.0),
                "backwardCommMs": total(cost, "backward"),
            }
            if 0 < forward < forward + backward:
                device["forwardComputeMs"] = forward
            of_devices.append(device)
        collectives = [{**key._asdict(), "ms": [cost[key] for cost in found]} for key in keys]
        return StepCosts(len(steps), of_devices, collectives)

    def _medians(self, steps: list[list[_Span]]) -> dict[object, float]:
        totals: dict[object, list[float]] = defaultdict(lambda: [0.0] * len(steps))
        for i, spans in enumerate(steps):
            for span in spans:
                totals[span.kind][i] += span.clock.ms(span.begin, span.end)
        return {kind: statistics.median(values) for kind, values in totals.items()}

    def _meet(self, group: Any) -> None:
        """Lets the ranks of a group wait for each other; on GPUs the device waits."""
        import torch
        import torch.distributed as distributed

        if not distributed.is_initialized():
            return
        if self._elapsed.cuda:
            if self._token is None:
                self._token = torch.zeros(1, device=self._device)
            distributed.all_reduce(self._token, group=group)
        else:
            distributed.barrier(group)
