"""Does all that a publisher and a trainer do, on a small workload "python-tour".

python tour.py HOST:PORT REGISTRY_URL PREFIX

It publishes tables, adopts their plan, reports measured costs, publishes a wrong change, and deletes the workload. It
needs the rights of a publisher and of a trainer.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shardtide.events import workload_change
from shardtide.log import Accepted, Log, PlanSubscriber, Rejected, TrainerReports, WorkloadPublisher
from shardtide.log.__main__ import text

if TYPE_CHECKING:
    from shardtide.records import ShardingPlan

TOUR = "python-tour"
PLAN_SECONDS = 60
REPORT_SECONDS = 30


def change(*changes: dict[str, Any]) -> dict[str, Any]:
    """Returns a WorkloadChange of the tour's workload."""
    return workload_change(TOUR, changes, "tour.py")


def table(name: str, rows: int, columns: int, pooling_factor: float) -> dict[str, Any]:
    """Returns the change that adds or replaces a table."""
    return {"table": {"name": name, "rows": rows, "columns": columns, "poolingFactor": pooling_factor}}


def cluster(devices: int) -> dict[str, Any]:
    """Returns the change that sets a cluster of simulated devices."""
    return {
        "cluster": {
            "devices": devices,
            "memoryBytesPerDevice": 8 * 2**30,
            "batchSize": 65536,
            "devicesPerNode": 8,
            "hardware": "simulated",
        }
    }


def planned(plans: PlanSubscriber, outcome: Accepted | Rejected) -> ShardingPlan:
    """Waits for the plan of an accepted change."""
    if isinstance(outcome, Rejected) or outcome.generation is None:
        raise ValueError(f"No plan will follow: {outcome}")
    return plans.get(outcome.generation, PLAN_SECONDS)


def all_to_alls(costs: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Returns the durations of both all-to-alls: of the forward one, without the time until the last device begins."""
    begin = [cost["computeMs"] + cost["backwardCommMs"] for cost in costs]
    ms = {
        "forward": [cost["forwardCommMs"] - (max(begin) - own) for cost, own in zip(costs, begin)],
        "backward": [cost["backwardCommMs"] for cost in costs],
    }
    return [
        {"collective": "all_to_all", "direction": direction, "scope": "device", "ms": durations}
        for direction, durations in ms.items()
    ]


def tour(log: Log) -> None:
    """Publishes, follows plans and reports, as a publisher and a trainer do."""
    publisher = WorkloadPublisher(log)
    with PlanSubscriber(log, TOUR) as plans, TrainerReports(log, TOUR, "tour.py") as reports:
        # A publisher sets the tables and the cluster, and gets the outcome.
        tables = [table("users", 2_000_000, 64, 20.0), table("items", 500_000, 32, 40.0)]
        outcome = publisher.publish_and_wait(change(cluster(2), *tables))
        plan = planned(plans, outcome)
        print(text(plan), flush=True)

        # A trainer adopts the plan. Until it adopts another one, each new plan starts from this one.
        reports.adopted(plan["planId"], step=100)
        reports.flush(REPORT_SECONDS)
        print(f"adopted {plan['planId'][:12]} at step 100")
        for rows in (4_000_000, 6_000_000):
            outcome = publisher.publish_and_wait(change(table("users", rows, 64, 20.0)))
            plan = planned(plans, outcome)
            print(text(plan), flush=True)
            print(f"follows {str(plan['previousPlanId'])[:12]}")

        # It adopts the newest, and reports what steps cost. A real one measures; the tour repeats the prediction.
        reports.adopted(plan["planId"], step=200)
        names = ("computeMs", "forwardCommMs", "backwardCommMs")
        predicted: list[Mapping[str, Any]] = [*plan["deviceCosts"]]
        costs = [{name: cost[name] for name in names} for cost in predicted]
        reports.measured(plan["planId"], step=300, steps=100, devices=costs, collectives=all_to_alls(costs))
        if not reports.flush(REPORT_SECONDS):
            raise ConnectionError(f"{reports.waiting} reports were not sent: {reports.problem}")
        if reports.failed:
            raise PermissionError(reports.problem)
        print(f"measured {plan['planId'][:12]} up to step 300")

        # A wrong change is not applied, and its outcome gives the reason.
        outcome = publisher.publish_and_wait(change(table("queries", 1_000, 30, 1.0)))
        if isinstance(outcome, Rejected):
            print(f"rejected {outcome.reason}: {outcome.message}")

        # The workload is deleted, with its tables and its plans.
        outcome = publisher.publish_and_wait(change({"reason": "the tour is over"}))
        if isinstance(outcome, Accepted):
            print(f"deleted by generation {outcome.generation}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: tour.py HOST:PORT REGISTRY_URL PREFIX")
    tour(Log({"bootstrap.servers": sys.argv[1]}, {"url": sys.argv[2]}, sys.argv[3]))
