"""Publishes the tables and the cluster of the job, and each change of a table, without training having to wait."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from typing import Any

from shardtide.events import workload_change
from shardtide.log import Log, PlanSubscriber, Rejected, WorkloadPublisher

logger = logging.getLogger("dlrm")

PLAN_SECONDS = 60.0


class Workload:
    """A workload that this job publishes; on rank 0 only.

    log: where it is published
    name: of the workload
    """

    def __init__(self, log: Log, name: str):
        self._log = log
        self._name = name
        self._publisher = WorkloadPublisher(log)
        self._changes: queue.Queue[list[dict[str, Any]]] = queue.Queue()
        threading.Thread(target=self._publish_all, name="dlrm-workload", daemon=True).start()

    def create(self, cluster: dict[str, Any], tables: Sequence[dict[str, Any]]) -> None:
        """Publishes tables and cluster, and waits until there is a plan for them.

        ValueError if they are rejected; TimeoutError if there is no plan in time; ConnectionError.
        """
        changes = [{"cluster": cluster}, *({"table": table} for table in tables)]
        outcome = self._publisher.publish_and_wait(self._change(changes), PLAN_SECONDS)
        if isinstance(outcome, Rejected):
            raise ValueError(f"Workload {self._name} is rejected: {outcome.reason}: {outcome.message}")
        if outcome.costs_of:
            logger.warning("Plans have the costs of %s until %s is measured", outcome.costs_of, cluster["hardware"])
        with PlanSubscriber(self._log, self._name) as plans:
            plans.get(outcome.generation or 1, PLAN_SECONDS)

    def change(self, tables: Sequence[dict[str, Any]]) -> None:
        """Publishes changed tables in the background."""
        self._changes.put([{"table": table} for table in tables])

    def _publish_all(self) -> None:
        while True:
            changes = self._changes.get()
            try:
                outcome = self._publisher.publish_and_wait(self._change(changes), PLAN_SECONDS)
                if isinstance(outcome, Rejected):
                    logger.warning("A change is rejected: %s: %s", outcome.reason, outcome.message)
            except Exception as e:
                # Training goes on; the planner does not know of the change.
                logger.warning("A change is not published: %s", e)

    def _change(self, changes: list[dict[str, Any]]) -> dict[str, Any]:
        return workload_change(self._name, changes, "examples/dlrm")
