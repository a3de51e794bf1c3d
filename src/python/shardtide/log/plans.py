"""Reads the plans of a workload in the background, with the rights of ./shardtide rights --role trainer."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Callable, cast

from shardtide.arguments import Closing
from shardtide.deprecation import deprecated
from shardtide.errors import NotFound, TimedOut, Unreachable

if TYPE_CHECKING:
    from shardtide.log.log import Log
    from shardtide.log.records import Reader
    from shardtide.records import ShardingPlan

logger = logging.getLogger("shardtide")

PLANS = "current-plans"

POLL_SECONDS = 0.2
RETRY_SECONDS = 1.0


class PlanSubscriber(Closing):
    """The latest plan of a workload, kept current by a background thread that outlives outages of Kafka.

    deleted: whether the workload was deleted after a plan; its trainer may end, or keep the plan that runs
    """

    def __init__(self, log: Log, workload: str):
        self._log = log
        self._workload = workload
        # Guards all below.
        self._changed = threading.Condition()
        self._latest: ShardingPlan | None = None
        self._taken: str | None = None
        self._caught_up = False
        self.deleted = False
        self._error: Exception | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read_all, name="shardtide-plans", daemon=True)
        self._thread.start()

    def poll(self, timeout: float = 0.0) -> ShardingPlan | None:
        """Returns the latest plan that was not returned before; None if none comes within so many seconds."""
        with self._changed:
            self._changed.wait_for(self._is_new, timeout)
            return self._returned() if self._is_new() else None

    def get(self, generation: int | None = None, timeout: float | None = None) -> ShardingPlan:
        """Returns the workload's plan, once the topic was read to its end.

        generation: waits for a plan of this generation or of a later one
        timeout: the longest wait, in seconds; that of the log unless given

        NotFound if there is no topic, or no plan and no generation is waited for; TimedOut if the generation has none
        in time; Unreachable if the topic was not read in time; AccessDenied.
        """
        seconds = self._log.timeout_seconds if timeout is None else timeout
        topic = self._log.prefix + PLANS
        with self._changed:
            if generation is None:
                if not self._wait(lambda: self._caught_up, seconds):
                    raise self._error or Unreachable(f"The end of topic {topic} was not reached within {seconds} s")
                if self._latest is None:
                    none = f"Workload {self._workload} has no plan on {topic}"
                    raise NotFound(f"{none}; publish its tables and its cluster first")
            elif not self._wait(lambda: self._latest and self._latest["generation"] >= generation, seconds):
                none = f"Workload {self._workload} has no plan of generation {generation} after {seconds} s"
                raise self._error or TimedOut(f"{none}; check that a planner runs and that the tables fit")
            return self._returned()

    @deprecated("poll()")
    def take(self) -> ShardingPlan | None:
        """Version 0.2.0's name of poll()."""
        return self.poll()

    @deprecated("get(timeout=...)")
    def first(self, timeout_seconds: float) -> ShardingPlan:
        """Version 0.2.0's name of get()."""
        return self.get(timeout=timeout_seconds)

    @deprecated("get(generation, timeout)")
    def wait(self, generation: int, timeout_seconds: float) -> ShardingPlan:
        """Version 0.2.0's name of get()."""
        return self.get(generation, timeout_seconds)

    def _is_new(self) -> bool:
        return self._latest is not None and self._latest["planId"] != self._taken

    def _returned(self) -> ShardingPlan:
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
    def problem(self) -> str | None:
        """What keeps plans from being read; None while they are."""
        return None if self._error is None else str(self._error)

    def close(self, timeout_seconds: float = 1.0) -> None:
        """Stops reading; waits at most for a time until the connections are closed."""
        self._closing.set()
        self._thread.join(timeout_seconds)

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
        newest: ShardingPlan | None = None
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
                newest = cast('ShardingPlan | None', record.value)
                deleted = newest is None
            # A topic that is read again from its beginning may hold older plans before the latest.
            if reader.caught_up:
                with self._changed:
                    self._latest = newest
                    self.deleted = deleted
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
