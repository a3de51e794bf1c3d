"""Makes a TorchRec model follow the plans of a workload.

On every rank:

    first = torch.distributed.get_rank() == 0
    log = Log("kafka-1:9092", "http://schema-registry:8081") if first else None
    with PlanFollower(log, "feed-ranking", share=share) as plans:
        model = DistributedModelParallel(net, device=device, plan=to_sharding_plan(plans.start()))
        for step, batch in enumerate(batches):
            if step % 100 == 0:
                plans.follow(step, lambda running, wanted: reshard(model, running, wanted))
            ...

One rank reads plans, and sends all ranks the same plan between the same two steps. It reports which plan runs; the
planner counts the next plan's moves from that one.

Training never waits for Kafka or the schema registry after start(): plans are read and reports are sent in the
background. While Kafka is away, the model keeps its plan, and reports wait in a bounded buffer (TrainerReports).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from shardtide.torchrec import NotReshardable, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardtide.log import Log, PlanSubscriber, TrainerReports

logger = logging.getLogger("shardtide")

T = TypeVar("T")


def share(value: T) -> T:
    """Returns the value of rank 0 on all ranks of torch.distributed's default group; ignores it on the others."""
    import torch.distributed

    box = [value]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


class PlanFollower:
    """Which plan a model runs, and which it is to run next.

    log: a shardtide.log.Log on the rank that reads; None on all others
    workload: the workload that is trained
    share: returns the reading rank's value on all ranks; called on all ranks with picklable values. The default is for
        a single rank
    source: who reports, shown to people
    capacity: reports of each kind that wait at most while Kafka is away
    options: of shardtide.torchrec.describe, such as module and devices_per_node; reshardable is True by default

    running: the description of the plan that runs; empty before start()
    reports: the TrainerReports of the rank that reads; None on all others
    """

    def __init__(
        self,
        log: Log | None,
        workload: str,
        share: Callable[[Any], Any] = lambda value: value,
        source: str = "torchrec",
        capacity: int = 1000,
        **options: Any,
    ):
        self.running: dict[str, Any] = {}
        self.reports: TrainerReports | None = None
        self._plans: PlanSubscriber | None = None
        if log:
            # Only the rank that reads needs a client of Kafka.
            from shardtide.log import PlanSubscriber, TrainerReports

            self.reports = TrainerReports(log, workload, source, capacity=capacity)
            self._plans = PlanSubscriber(log, workload)
        self._share = share
        self._options = {"reshardable": True, **options}

    def start(self, step: int = 0, timeout_seconds: float = 60.0) -> dict[str, Any]:
        """Returns the description of the workload's plan, to shard a new model by. Call it on all ranks.

        Raises on all ranks what the reading rank met: LookupError if the workload has no plan; ConnectionError if Kafka
        or the registry does not answer in time; PermissionError; ValueError if TorchRec cannot run the plan.
        """
        found = self._share(self._first(timeout_seconds))
        if isinstance(found, Exception):
            raise found
        self.running = found
        if self.reports:
            self.reports.finished_moving(found["plan_id"], step)
        return found

    def follow(self, step: int, apply: Callable[[dict[str, Any], dict[str, Any]], object]) -> bool:
        """Goes to the newest plan if there is another one; returns whether the model runs another plan now.

        Call it on all ranks between the same two steps, after start().

        apply: makes the model go from one description to another. If it raises NotReshardable, the plan is reported as
            rejected with that reason, and the model keeps its plan
        """
        wanted = self._share(self._next(step))
        if wanted is None:
            return False
        try:
            apply(self.running, wanted)
        except NotReshardable as e:
            self._reject(wanted["plan_id"], step, str(e))
            return False
        self.running = wanted
        if self.reports:
            self.reports.finished_moving(wanted["plan_id"], step)
        return True

    def measured(
        self,
        step: int,
        steps: int,
        devices: list[dict[str, float]],
        collectives: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Reports what steps cost with the running plan; does nothing on ranks that do not read.

        One report every few seconds is enough. Arguments as TrainerReports.measured; ValueError if there is not one
        entry for each device of the plan.
        """
        if len(devices) != self.running["world_size"]:
            raise ValueError(f"devices must have {self.running['world_size']} entries, got {len(devices)}")
        if self.reports:
            self.reports.measured(self.running["plan_id"], step, steps, devices, collectives)

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Stops reading plans and sends the reports that wait, at most for a time; drops the rest."""
        if self._plans:
            self._plans.close()
        if self.reports:
            self.reports.close(timeout_seconds)

    def __enter__(self) -> PlanFollower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _first(self, timeout_seconds: float) -> dict[str, Any] | Exception | None:
        if not self._plans:
            return None
        try:
            return describe(self._plans.first(timeout_seconds), **self._options)
        except (OSError, LookupError, ValueError) as e:
            # The other ranks wait for a value.
            return e
        except Exception as e:
            return RuntimeError(str(e))

    def _next(self, step: int) -> dict[str, Any] | None:
        """Returns the description of the latest plan if it was not returned before and is not the one that runs."""
        plan = self._plans.take() if self._plans else None
        if plan is None or plan["planId"] == self.running["plan_id"]:
            return None
        try:
            return describe(plan, **self._options)
        except ValueError as e:
            self._reject(plan["planId"], step, str(e))
            return None

    def _reject(self, plan_id: str, step: int, reason: str) -> None:
        if self.reports:
            logger.warning("Plan %s is rejected at step %d: %s", plan_id, step, reason)
            self.reports.rejected(plan_id, step, reason)
