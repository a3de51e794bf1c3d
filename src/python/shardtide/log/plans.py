"""Reads the plans of a workload in the background, with the rights of ./shardtide acls --role trainer."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from shardtide.log.log import Log
    from shardtide.log.records import Reader

logger = logging.getLogger("shardtide")

PLANS = "current-plans"

POLL_SECONDS = 0.2
RETRY_SECONDS = 1.0


class PlanSubscriber:
    """The latest plan of a workload, kept current by a background thread that outlives outages of Kafka.

    log: a shardtide.log.Log
    workload: whose plans
    """

    def __init__(self, log: Log, workload: str):
        self._log = log
        self._workload = workload
        # Guards all below.
        self._changed = threading.Condition()
        self._latest: dict[str, Any] | None = None
        self._taken: str | None = None
        self._caught_up = False
        self._deleted = False
        self._error: Exception | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read_all, name="shardtide-plans", daemon=True)
        self._thread.start()

    def take(self) -> dict[str, Any] | None:
        """Returns the latest ShardingPlan if it was not returned before, else None. Never waits."""
        with self._changed:
            if self._latest is None or self._latest["planId"] == self._taken:
                return None
            self._taken = self._latest["planId"]
            return self._latest

    def first(self, timeout_seconds: float) -> dict[str, Any]:
        """Waits until the topic was read once, and returns the workload's plan.

        LookupError if there is none; ConnectionError if the topic was not read in time; PermissionError.
        """
        with self._changed:
            if not self._wait(lambda: self._caught_up, timeout_seconds):
                raise self._error or ConnectionError(
                    f"The end of topic {self._log.prefix}{PLANS} was not reached within {timeout_seconds} s"
                )
            if self._latest is None:
                raise LookupError(
                    f"Workload {self._workload} has no plan on {self._log.prefix}{PLANS}; publish its tables and its"
                    " cluster first"
                )
            self._taken = self._latest["planId"]
            return self._latest

    def wait(self, generation: int, timeout_seconds: float) -> dict[str, Any]:
        """Waits for a plan of a generation or of a later one, and returns it.

        TimeoutError if there is none in time; LookupError if there is no topic; PermissionError.
        """
        with self._changed:
            if not self._wait(lambda: self._latest and self._latest["generation"] >= generation, timeout_seconds):
                raise self._error or TimeoutError(
                    f"Workload {self._workload} has no plan of generation {generation} after {timeout_seconds} s; check"
                    " that a planner runs and that the tables fit"
                )
            assert self._latest is not None
            self._taken = self._latest["planId"]
            return self._latest

    def _wait(self, ready: Callable[[], object], timeout_seconds: float) -> bool:
        """Waits until something is ready, but not if waiting does not help."""
        self._changed.wait_for(
            lambda: ready() or isinstance(self._error, (PermissionError, LookupError)), timeout_seconds
        )
        return bool(ready())

    @property
    def deleted(self) -> bool:
        """Whether the workload was deleted after a plan; its trainer may end, or keep the plan that runs."""
        with self._changed:
            return self._deleted

    @property
    def problem(self) -> str | None:
        """What keeps plans from being read; None while they are."""
        with self._changed:
            return None if self._error is None else str(self._error)

    def close(self, timeout_seconds: float = 1.0) -> None:
        """Stops reading; waits at most for a time until the connections are closed."""
        self._closing.set()
        self._thread.join(timeout_seconds)

    def __enter__(self) -> PlanSubscriber:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_all(self) -> None:
        while not self._closing.is_set():
            try:
                with self._log.reader(PLANS, key=self._workload, key_field="workloadId") as reader:
                    self._read(reader)
            except Exception as e:
                # Training goes on with the plan that runs, whatever it is.
                self._fail(e)
                self._closing.wait(RETRY_SECONDS)

    def _read(self, reader: Reader) -> None:
        newest = None
        deleted = False
        while not self._closing.is_set():
            try:
                record = reader.poll(POLL_SECONDS)
            except ConnectionError as e:
                # The reader still has the record, and reads it again.
                self._fail(e)
                self._closing.wait(RETRY_SECONDS)
                continue
            if record is not None:
                newest = record.value
                deleted = newest is None
            # A topic that is read again from its beginning may hold older plans before the latest.
            if reader.caught_up:
                with self._changed:
                    self._latest = newest
                    self._deleted = deleted
                    self._caught_up = True
                    self._error = None
                    self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        with self._changed:
            # An outage is logged once, though each of its errors has another text.
            if type(error) is not type(self._error):
                logger.warning("Plans of %s are not read: %s", self._workload, error)
            self._error = error
            self._changed.notify_all()
