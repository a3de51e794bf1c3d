"""Sends a trainer's reports to the planner in the background: training never waits for Kafka."""

from __future__ import annotations

import collections
import datetime
import logging
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from shardtide.arguments import Closing
from shardtide.events import check_fills

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shardtide.log.log import Log
    from shardtide.log.records import Sender

logger = logging.getLogger("shardtide")

STATUS = "plan-status"
COSTS = "measured-costs"
FILLS = "table-fills"

# The registry is asked again after this pause.
RETRY_SECONDS = 1.0

# A report that waits longer is logged.
QUIET_SECONDS = 2.0

# A send that is cancelled ends well within this time.
STOP_SECONDS = 1.0


# The planner rejects a report of fill that is not later than the one before it.
LEAST_INTERVAL = datetime.timedelta(milliseconds=1)


class TrainerReports(Closing):
    """Which plan a trainer runs, what its steps cost, and how full its hashed tables are.

    Every call returns at once. A background thread sends the reports in order, statuses before costs and costs before
    fills, and tries again while Kafka or the registry is away. Each kind has a buffer of its own: where it is full, the
    oldest report is dropped, logged and counted.

    source: who reports, shown to people
    run: name of this run of the trainer; steps count within a run. Use another one after each start
    capacity: reports of each kind that wait at most, at least 1

    sent: number of reports that Kafka has acknowledged
    dropped: number of those that were dropped: a buffer was full, or time was up when this was closed
    failed: number of those that can never be sent: a right or a topic is missing, or a value is not of its schema
    problem: what kept the last report from being sent; None after a report was sent
    """

    def __init__(self, log: Log, workload: str, source: str = "torchrec", run: str | None = None, capacity: int = 1000):
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self._log = log
        self._workload = workload
        self._source = source
        self._run = run or str(uuid.uuid4())
        self._capacity = capacity
        # Guards all below.
        self._changed = threading.Condition()
        # The first of them that is not empty is sent from next.
        self._buffers: dict[str, collections.deque[dict[str, Any]]] = {
            topic: collections.deque() for topic in (STATUS, COSTS, FILLS)
        }
        # Of the last report of fill.
        self._fills = 0
        self._filled_at = datetime.datetime.min.replace(tzinfo=datetime.timezone.utc)
        # What each kind failed with last, until a report of it is sent.
        self._failures: dict[str, str] = {}
        self._sending = False
        self._closing = False
        self.sent = 0
        self.dropped = 0
        self.failed = 0
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._send_all, name="shardtide-reports", daemon=True)
        self._thread.start()

    def adopted(self, plan_id: str, step: int) -> None:
        """Reports that the plan runs from this step on, or that shards are being moved for it."""
        self._status("ADOPTED", plan_id, step)

    def finished_moving(self, plan_id: str, step: int, wave: int = 1, waves: int = 1) -> None:
        """Reports that the shards of a wave are in their places, and all if it is the last one; implies adopted.

        wave: number of the wave, from 1 to waves
        waves: in how many waves the trainer makes the plan's moves; 1 if all move at once
        """
        if not 1 <= wave <= waves:
            raise ValueError(f"wave must be between 1 and its waves, got wave {wave} of {waves}")
        # Planners of 0.2.0 and older do not know these fields.
        of_waves = {"wave": wave, "waves": waves} if waves > 1 else {}
        self._status("FINISHED_MOVING", plan_id, step, None, **of_waves)

    def rejected(self, plan_id: str, step: int, reason: str) -> None:
        """Reports that the plan will not run: the planner's next plan starts from the one that runs."""
        self._status("REJECTED", plan_id, step, reason)

    def measured(
        self,
        plan_id: str,
        step: int,
        steps: int,
        devices: list[dict[str, float]],
        collectives: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Reports what steps cost.

        step: the last step that was measured, from 0; report a step once in a run
        steps: number of steps that the costs are taken from, at least 1
        devices: one dict for each device, in order, with computeMs, forwardCommMs and backwardCommMs: milliseconds a
            step, at least 0; computeMs is 0 on a device without tables. forwardComputeMs may be added: the forward part
            of computeMs, above 0 and below it
        collectives: durations of the step's collectives if they are measured apart, one dict for each, with the fields
            of shardtide.train.meter.Collective and ms: a duration for each device, without the time until all devices
            have begun. backwardCommMs of a device is the sum of its backward ones, forwardCommMs at least that of its
            forward ones
        """
        if steps < 1:
            raise ValueError(f"steps must be at least 1, got {steps}")
        value = {
            "measurementId": f"{self._source}/{self._run}/{step}",
            "workloadId": self._workload,
            "planId": plan_id,
            "run": self._run,
            "step": step,
            "steps": steps,
            "devices": devices,
            "collectives": list(collectives),
            "source": self._source,
            "measuredAt": _now(),
        }
        self._add(COSTS, value)

    def fill(self, plan_id: str, tables: Sequence[Mapping[str, Any]]) -> None:
        """Reports how full hashed tables are, after every so many steps.

        Each report has an id of its own, and a later time than the one before. Where a report is dropped, its
        insertions, evictions and collisions are in no other one. A planner without growth.enabled=true has no topic for
        them: they fail, and are counted as failed.

        plan_id: of the plan that runs, shown to people
        tables: one dict for each table, at least one, with the fields of TableFill in avro/FillReport.avsc. Column parts
            of a shard have the same rowOffset, and count once

        ValueError if there are no tables, a table is there twice or has no shards, or slots or a count is out of range.
        """
        check_fills(tables)
        with self._changed:
            self._fills += 1
            # The clock may be coarse, or be set back.
            self._filled_at = max(_now(), self._filled_at + LEAST_INTERVAL)
            value = {
                "reportId": f"{self._source}/{self._run}/fill/{self._fills}",
                "workloadId": self._workload,
                "planId": plan_id,
                "run": self._run,
                "source": self._source,
                "measuredAt": self._filled_at,
                "tables": list(tables),
            }
            self._add(FILLS, value)

    @property
    def waiting(self) -> int:
        """Number of reports that are not sent yet."""
        with self._changed:
            return self._count_waiting()

    def flush(self, timeout_seconds: float) -> bool:
        """Waits until no report waits, at most for a time; returns whether none does."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count_waiting() == 0, timeout_seconds)

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Sends what waits, at most for a time, and drops the rest; one that is on its way may still arrive."""
        self.flush(timeout_seconds)
        with self._changed:
            if not self._closing:
                self._closing = True
                if self._count_waiting():
                    self._drop(self._count_waiting(), "it is closed")
                for buffer in self._buffers.values():
                    buffer.clear()
                self._sending = False
                self._changed.notify_all()
        # A request to the registry may be under way; it is not waited for.
        self._thread.join(STOP_SECONDS)

    def _status(self, status: str, plan_id: str, step: int, reason: str | None = None, **waves: int) -> None:
        value = {
            "workloadId": self._workload,
            "planId": plan_id,
            "status": status,
            "step": step,
            "reason": reason,
            "source": self._source,
            "run": self._run,
            "occurredAt": _now(),
            **waves,
        }
        self._add(STATUS, value)

    def _add(self, topic: str, value: dict[str, Any]) -> None:
        with self._changed:
            if self._closing:
                self._drop(1, "it is closed")
                return
            buffer = self._buffers[topic]
            if len(buffer) == self._capacity:
                buffer.popleft()
                self._drop(1, f"{self._capacity} wait for {topic}")
            buffer.append(value)
            self._changed.notify_all()

    def _drop(self, count: int, reason: str) -> None:
        before = self.dropped
        self.dropped += count
        # At 1, 2, 4, 8 ...: an outage of days logs few lines.
        if before.bit_length() < self.dropped.bit_length():
            problem = self.problem or ""
            logger.warning("Dropped a report to the planner, %d so far: %s. %s", self.dropped, reason, problem)

    def _count_waiting(self) -> int:
        return sum(len(buffer) for buffer in self._buffers.values()) + self._sending

    def _send_all(self) -> None:
        sender = self._log.sender(None)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or any(self._buffers.values()))
                if self._closing:
                    return
                topic = next(topic for topic, buffer in self._buffers.items() if buffer)
                value = self._buffers[topic].popleft()
                self._sending = True
            self._send(sender, topic, value)

    def _send(self, sender: Sender, topic: str, value: dict[str, Any]) -> None:
        """Sends a report, and tries again until that is done, it fails for ever, or this is closed."""
        quiet_until = time.monotonic() + QUIET_SECONDS

        def cancelled() -> bool:
            if time.monotonic() > quiet_until:
                self._wait_for(self._log.broker_problem)
            return self._closing

        while True:
            sent, retry, failed = False, False, False
            try:
                sent = sender.send(topic, self._workload, value, cancelled) is not None
            except ConnectionError as e:
                retry = True
                self._wait_for(str(e))
            except Exception as e:
                # Whatever it is, the reports after this one may be good.
                failed = True
                absent = topic == FILLS and isinstance(e, LookupError)
                self._fail(topic, f"{e}. Maybe the planner runs without growth.enabled=true" if absent else str(e))
            with self._changed:
                if self._closing:
                    # It was counted as dropped.
                    return
                if retry:
                    self._changed.wait_for(lambda: self._closing, RETRY_SECONDS)
                    continue
                if sent:
                    self.problem = None
                    self._failures.pop(topic, None)
                self.sent += sent
                self.failed += failed
                self._sending = False
                self._changed.notify_all()
                return

    def _wait_for(self, problem: str | None) -> None:
        """Logs why reports wait: an outage once, though each of its errors has another text."""
        if problem is None:
            return
        with self._changed:
            if self.problem is None:
                logger.warning("Reports to the planner wait: %s", problem)
            self.problem = problem

    def _fail(self, topic: str, problem: str) -> None:
        """Logs why a report can never be sent: once for a kind, though reports of other kinds are sent between."""
        with self._changed:
            if self._failures.get(topic) != problem:
                logger.warning("Reports to the planner fail: %s", problem)
            self._failures[topic] = problem
            self.problem = problem


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
