"""Shows plans; with --tour, also does all that a publisher and a trainer do.

python -m shardtide.log BOOTSTRAP_SERVERS REGISTRY_URL [--prefix TEXT] [--settings FILE] [--tour]

Without --tour it shows the latest plan of each workload, then each new one, until Ctrl-C. The tour publishes a small
workload "python-tour", adopts its plan, reports measured costs, publishes a wrong change, and deletes the workload. The
tour needs the rights of a publisher and of a trainer.
"""

from __future__ import annotations

import argparse
import logging
import sys
from typing import Any

from confluent_kafka import KafkaException

from shardtide.arguments import mapping, read_json
from shardtide.events import workload_change
from shardtide.log.log import Log
from shardtide.log.plans import PlanSubscriber
from shardtide.log.publisher import Accepted, Rejected, WorkloadPublisher
from shardtide.log.reports import TrainerReports

TOUR = "python-tour"
PLAN_SECONDS = 60
REPORT_SECONDS = 30


def follow(log: Log) -> None:
    """Shows the latest plan of each workload, then new ones as they come."""
    with log.reader("current-plans", key_field="workloadId") as plans:
        latest = {}
        for record in plans.all():
            latest[record.key] = record.value
        # The plan of a workload that was deleted is None.
        current = [plan for plan in latest.values() if plan is not None]
        for plan in sorted(current, key=lambda plan: plan["workloadId"]):
            show(plan)
        print(f"{len(current)} workloads; waiting for new plans", flush=True)
        while True:
            new = plans.poll()
            if new is not None and new.value is None:
                print(f"{new.key} was deleted", flush=True)
            elif new is not None and new.value is not None:
                show(new.value)


def show(plan: dict[str, Any]) -> None:
    """Shows a plan in two lines."""
    devices = {shard["device"] for shard in plan["shards"]}
    # A copy, of which the device is -1, is on each.
    used = len(plan["deviceCosts"]) if -1 in devices else len(devices)
    groups = (plan.get("replication") or {}).get("groups", 1)
    print(
        f"{plan['workloadId']} generation {plan['generation']}: plan {plan['planId'][:12]},"
        f" {len(plan['shards'])} shards on {used} of {len(plan['deviceCosts'])} devices"
        f"{f' in each of {groups} replica groups' if groups > 1 else ''},"
        f" predicted {plan['predictedMs']:.3f} ms a step"
    )
    print(f"  {plan['reason']}; {len(plan['moves'])} moves, {plan['movedBytes']:,} bytes", flush=True)


def change(*changes: dict[str, Any]) -> dict[str, Any]:
    """Returns a WorkloadChange of the tour's workload."""
    return workload_change(TOUR, changes, "shardtide.log")


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


def planned(plans: PlanSubscriber, outcome: Accepted | Rejected) -> dict[str, Any]:
    """Waits for the plan of an accepted change."""
    if isinstance(outcome, Rejected) or outcome.generation is None:
        raise ValueError(f"No plan will follow: {outcome}")
    return plans.wait(outcome.generation, PLAN_SECONDS)


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
    with PlanSubscriber(log, TOUR) as plans, TrainerReports(log, TOUR, "shardtide.log") as reports:
        # A publisher sets the tables and the cluster, and gets the outcome.
        tables = [table("users", 2_000_000, 64, 20.0), table("items", 500_000, 32, 40.0)]
        outcome = publisher.publish_and_wait(change(cluster(2), *tables))
        plan = planned(plans, outcome)
        show(plan)

        # A trainer adopts the plan. Until it adopts another one, each new plan starts from this one.
        reports.adopted(plan["planId"], step=100)
        reports.flush(REPORT_SECONDS)
        print(f"adopted {plan['planId'][:12]} at step 100")
        for rows in (4_000_000, 6_000_000):
            outcome = publisher.publish_and_wait(change(table("users", rows, 64, 20.0)))
            plan = planned(plans, outcome)
            show(plan)
            print(f"follows {plan['previousPlanId'][:12]}")

        # It adopts the newest, and reports what steps cost. A real one measures; the tour repeats the prediction.
        reports.adopted(plan["planId"], step=200)
        names = ("computeMs", "forwardCommMs", "backwardCommMs")
        costs = [{name: cost[name] for name in names} for cost in plan["deviceCosts"]]
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


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m shardtide.log", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--prefix", default="shardtide.")
    parser.add_argument("--settings", help="JSON file: an object with settings of librdkafka, such as TLS and SASL")
    parser.add_argument("--tour", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    try:
        settings = read_json(arguments.settings) if arguments.settings else {}
        mapping(settings, f"--settings {arguments.settings}", "settings of librdkafka")
        log = Log(arguments.bootstrap_servers, arguments.registry_url, arguments.prefix, settings)
        if arguments.tour:
            tour(log)
        else:
            follow(log)
    except (ValueError, LookupError, OSError, KafkaException) as e:
        sys.exit(f"shardtide.log: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
