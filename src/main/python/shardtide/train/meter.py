"""Measures what the embeddings of a step cost on this rank: computation, and each collective."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import defaultdict
from typing import Any, Iterator, NamedTuple

from shardtide.train.ranks import Ranks

DIRECTIONS = ("forward", "backward")
COLLECTIVES = ("all_to_all", "reduce_scatter", "all_gather", "all_reduce")
SCOPES = ("device", "node", "cluster", "copies")


class Collective(NamedTuple):
    """A collective of a step, as avro/MeasuredCosts.avsc names it.

    collective: all_to_all, reduce_scatter, all_gather or all_reduce
    direction: forward or backward
    scope: whose shards: device, node, cluster or copies
    """

    collective: str
    direction: str
    scope: str


class StepCosts(NamedTuple):
    """What a step costs on each device, from several measured steps: the arguments of PlanFollower.measured.

    steps: number of measured steps
    devices: computeMs, forwardComputeMs, forwardCommMs and backwardCommMs of each device
    collectives: ms of each collective on each device
    """

    steps: int
    devices: list[dict[str, float]]
    collectives: list[dict[str, Any]]

    @property
    def ms(self) -> float:
        """A step's cost: max of computation and backward collectives, plus max of forward collectives.

        As plans count it: without idle time.
        """
        forward = [
            sum(c["ms"][i] for c in self.collectives if c["direction"] == "forward") for i in range(len(self.devices))
        ]
        return max(d["computeMs"] + d["backwardCommMs"] for d in self.devices) + max(forward)


def counts_by_thread() -> bool:
    """Returns whether PyTorch computes on the calling thread of a CPU only."""
    try:
        import torch
    except ModuleNotFoundError:
        return True
    return torch.get_num_threads() == 1


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

    In a measured step, all ranks wait for each other before each collective: its time then has no idle time. The wait
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
        self._cuda = device is not None and device.type == "cuda"
        self._device = device
        self._every = every
        self._by_thread = not self._cuda and counts_by_thread()
        self._count = 0
        self._measuring = False
        # Of each measured step: marks (kind, begin, end).
        self._steps: list[list[tuple[object, Any, Any]]] = []
        self._token: Any = None

    @contextlib.contextmanager
    def step(self) -> Iterator[bool]:
        """Surrounds a step; yields whether it is measured. A step that ends with an exception is not counted."""
        self._count += 1
        # The last of each `every`: the first steps warm up.
        if self._count % self._every:
            yield False
            return
        self._measuring = True
        self._steps.append([])
        try:
            yield True
        except BaseException:
            self._steps.pop()
            raise
        finally:
            self._measuring = False

    @contextlib.contextmanager
    def computation(self, direction: str) -> Iterator[None]:
        """Surrounds computation of the embeddings, forward or backward; a step may have several."""
        if not self._measuring:
            yield
            return
        if direction not in DIRECTIONS:
            raise ValueError(f"direction must be one of {', '.join(DIRECTIONS)}, got {direction}")
        begin = self._busy()
        yield
        self._steps[-1].append((direction, begin, self._busy()))

    @contextlib.contextmanager
    def collective(self, collective: str, direction: str, scope: str) -> Iterator[None]:
        """Surrounds a collective, which all ranks run. Names as in Collective."""
        if not self._measuring:
            yield
            return
        for name, value, known in (
            ("collective", collective, COLLECTIVES),
            ("direction", direction, DIRECTIONS),
            ("scope", scope, SCOPES),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value}")
        arrived = self._now()
        self._meet()
        begin = self._now()
        yield
        marks = self._steps[-1]
        if direction == "forward":
            marks.append(("idle", arrived, begin))
        marks.append((Collective(collective, direction, scope), begin, self._now()))

    def clear(self) -> None:
        """Forgets the measured steps, as they belong to another plan."""
        self._steps = []

    def costs(self, ranks: Ranks) -> StepCosts | None:
        """Returns what was measured since the last call, and forgets it. Called on all ranks after the same step.

        None if no step was measured. Of each quantity it is the median of the measured steps.
        """
        steps, self._steps = self._steps, []
        # A step that is being measured is not complete.
        if self._measuring:
            self._steps.append(steps.pop())
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

        devices = []
        for cost in found:
            forward, backward = cost.get("forward", 0.0), cost.get("backward", 0.0)
            device = {
                "computeMs": forward + backward,
                "forwardCommMs": total(cost, "forward") + cost.get("idle", 0.0),
                "backwardCommMs": total(cost, "backward"),
            }
            if 0 < forward < forward + backward:
                device["forwardComputeMs"] = forward
            devices.append(device)
        collectives = [{**key._asdict(), "ms": [cost[key] for cost in found]} for key in keys]
        return StepCosts(len(steps), devices, collectives)

    def _medians(self, steps: list[list[tuple[object, Any, Any]]]) -> dict[object, float]:
        if self._cuda and any(steps):
            # Events of a stream end in their order.
            [marks for marks in steps if marks][-1][-1][2].synchronize()
        totals: dict[object, list[float]] = defaultdict(lambda: [0.0] * len(steps))
        for i, marks in enumerate(steps):
            for key, begin, end in marks:
                totals[key][i] += begin.elapsed_time(end) if self._cuda else (end - begin) * 1e3
        return {key: statistics.median(values) for key, values in totals.items()}

    def _now(self) -> Any:
        if not self._cuda:
            return time.perf_counter()
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _busy(self) -> Any:
        """Returns a mark of the computing that was done so far."""
        if self._cuda or not self._by_thread:
            return self._now()
        return time.thread_time()

    def _meet(self) -> None:
        """Lets all ranks wait for each other; on GPUs the device waits."""
        import torch
        import torch.distributed as distributed

        if not distributed.is_initialized():
            return
        if self._cuda:
            if self._token is None:
                self._token = torch.zeros(1, device=self._device)
            distributed.all_reduce(self._token)
        else:
            distributed.barrier()
