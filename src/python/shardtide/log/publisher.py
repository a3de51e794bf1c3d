"""Publishes changes of workloads and waits for their outcome, with the rights of ./shardtide rights --role publisher."""

from __future__ import annotations

import contextlib
import time
import uuid
from dataclasses import dataclass
from typing import Any, NamedTuple

from shardtide.errors import TimedOut
from shardtide.events import check_distinct
from shardtide.log.log import Log
from shardtide.log.records import Group, Reader

CHANGES = "workload-changes"
PREDICTIONS = "cost-predictions"
REJECTIONS = "rejected-events"

# The planner's consumer group that reads CHANGES.
PLANNER_GROUP = "workload"

POLL_SECONDS = 0.05
GROUP_SECONDS = 0.25


class Accepted(NamedTuple):
    """The change was applied.

    generation: the workload's new one; None while the workload has no cluster
    costs_of: the hardware whose costs the planner predicts, if that is not the cluster's: until that is measured
    """

    generation: int | None
    costs_of: str | None = None


class Rejected(NamedTuple):
    """No part of the change was applied.

    reason: a code, such as INVALID_COLUMNS; DUPLICATE_EVENT for an eventId that was applied before
    message: what is wrong, and what is expected
    """

    reason: str
    message: str


class WorkloadPublisher:
    """Publishes WorkloadChange records.

    An applied change of a workload with a cluster is followed by a record on cost-predictions that names the event, a
    wrong one by a record on rejected-events that names its place in the log. A change of a workload without a cluster
    is followed by nothing; it was accepted if the planner has read past it and rejected nothing.
    """

    def __init__(self, log: Log):
        self._log = log

    def publish(self, change: dict[str, Any]) -> tuple[int, int]:
        """Publishes a change and returns its partition and offset; errors as Log.publish.

        ValueError if the change does not match its schema, with the field; or if two changes are of one table, or of the
        cluster. After a ConnectionError, publish the same change again: an eventId is applied once. It is a UUID, as a
        uuid.UUID or a text in any of its forms.
        """
        change = _checked(change)
        return self._log.publish(CHANGES, change["workloadId"], change)

    def publish_and_wait(self, change: dict[str, Any], timeout_seconds: float = 60.0) -> Accepted | Rejected:
        """Publishes a change and returns its outcome.

        TimeoutError if there is none in time: the planner is busy or does not run, and may still apply the change. All
        waits for Kafka end then; an answer of the registry may take 5 s longer.
        """
        end = time.monotonic() + timeout_seconds
        # A change that does not match its schema fails before anything is read or published.
        change = _checked(change)
        self._log.encode(CHANGES, change)
        workload = change["workloadId"]
        with contextlib.ExitStack() as stack:
            # Created before the change is published, so that no record after it is missed.
            predictions = stack.enter_context(
                self._log.reader(PREDICTIONS, new_only=True, key=workload, until=end, event_id=change["eventId"])
            )
            rejections = stack.enter_context(self._log.reader(REJECTIONS, new_only=True, key=workload, until=end))
            group = stack.enter_context(self._log.group(PLANNER_GROUP, until=end))
            partition, offset = self._log.publish(CHANGES, workload, change, until=end)
            place = {"topic": self._log.prefix + CHANGES, "partition": partition, "offset": offset}
            outcome = _Outcome(change["eventId"], place, predictions, rejections, group)
            while time.monotonic() < end:
                found = outcome.poll()
                if found is not None:
                    return found
        raise TimedOut(
            f"No outcome within {timeout_seconds} s of the change at partition {partition}, offset {offset} of"
            f" {self._log.prefix}{CHANGES}; check that a planner runs"
        )


def _checked(change: dict[str, Any]) -> dict[str, Any]:
    """Returns a change of distinct parts, with its eventId in the form that the planner answers with: lower case."""
    check_distinct(change)
    if "eventId" not in change:
        return change
    try:
        return {**change, "eventId": str(uuid.UUID(str(change["eventId"])))}
    except ValueError as e:
        raise ValueError(f"eventId must be a UUID such as {uuid.uuid4()}, got {change['eventId']!r}") from e


@dataclass
class _Outcome:
    _event_id: str
    _place: dict[str, Any]
    _predictions: Reader
    _rejections: Reader
    _group: Group

    def __post_init__(self) -> None:
        self._ends: tuple[dict[int, int], dict[int, int]] | None = None
        self._group_at = time.monotonic() + GROUP_SECONDS

    def poll(self) -> Accepted | Rejected | None:
        record = self._predictions.poll(POLL_SECONDS)
        if record is not None and record.value is not None and str(record.value["eventId"]) == self._event_id:
            return Accepted(record.value["generation"], record.value.get("costsOf"))
        # Only one of the two waits: a burst of predictions is read without pauses.
        record = self._rejections.poll(POLL_SECONDS if record is None else 0)
        if record is not None and record.value is not None and record.value["source"] == self._place:
            return Rejected(record.value["reason"], record.value["message"])
        if self._ends is None and time.monotonic() >= self._group_at:
            self._read_group()
        readers = self._predictions, self._rejections
        is_past = self._ends is not None and all(reader.is_past(ends) for reader, ends in zip(readers, self._ends))
        return Accepted(None) if is_past else None

    def _read_group(self) -> None:
        """Reads where the planner's topics end, once the planner has read past the change."""
        committed = self._group.committed(CHANGES, self._place["partition"])
        if committed is not None and committed > self._place["offset"]:
            # Open transactions included: the group's offset can be visible before the records of its transaction.
            self._ends = (self._predictions.ends(), self._rejections.ends())
        self._group_at = time.monotonic() + GROUP_SECONDS
