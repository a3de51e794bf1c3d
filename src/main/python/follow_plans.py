"""Follows plans; with --tour, also says all that a publisher and a trainer can say.

follow_plans.py BOOTSTRAP_SERVERS REGISTRY_URL [--prefix TEXT] [--settings FILE] [--tour]

Without --tour it shows the latest plan of each workload, then each new one, until it is ended. The tour publishes a
small workload "python-tour", adopts its plan, measures it, and makes a mistake.
"""

import argparse
import datetime
import json
import uuid

from shardtide_log import Log

TOUR = "python-tour"

# Steps count within a run: each start of a trainer is another one.
RUN = str(uuid.uuid4())


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def follow(log):
    """Shows the latest plan of each workload, then new ones as they come."""
    with log.reader("current-plans") as plans:
        latest = {}
        for record in plans.all():
            latest[record.key] = record.value
        for workload in sorted(latest):
            show(latest[workload])
        print(f"{len(latest)} workloads; waiting for new plans", flush=True)
        while True:
            record = plans.poll()
            if record is not None:
                show(record.value)


def show(plan):
    """Shows a plan in two lines."""
    devices = {shard["device"] for shard in plan["shards"]}
    print(
        f"{plan['workloadId']} generation {plan['generation']}: plan {plan['planId'][:12]},"
        f" {len(plan['shards'])} shards on {len(devices)} of {len(plan['deviceCosts'])} devices,"
        f" predicted {plan['predictedMs']:.3f} ms a step"
    )
    print(f"  {plan['reason']}; {len(plan['moves'])} moves, {plan['movedBytes']:,} bytes", flush=True)


def change(*changes):
    """Returns a WorkloadChange; its changes are applied together or not at all."""
    return {
        "eventId": str(uuid.uuid4()),
        "workloadId": TOUR,
        "occurredAt": now(),
        "source": "follow_plans.py",
        "changes": list(changes),
    }


def table(name, rows, columns, pooling_factor):
    return {"table": {"name": name, "rows": rows, "columns": columns, "poolingFactor": pooling_factor}}


def cluster(devices):
    return {
        "cluster": {
            "devices": devices,
            "memoryBytesPerDevice": 8 * 2**30,
            "batchSize": 65536,
            "devicesPerNode": 8,
            "hardware": "simulated",
        }
    }


def adopted(plan, step):
    """Returns the PlanStatus of a trainer that runs a plan from a step on."""
    return {
        "workloadId": plan["workloadId"],
        "planId": plan["planId"],
        "status": "ADOPTED",
        "step": step,
        "source": "follow_plans.py",
        "run": RUN,
        "occurredAt": now(),
    }


def measured(plan, step, devices):
    """Returns MeasuredCosts: one entry per device of the plan, in the order of their numbers."""
    return {
        "measurementId": str(uuid.uuid4()),
        "workloadId": plan["workloadId"],
        "planId": plan["planId"],
        "run": RUN,
        "step": step,
        "steps": 100,
        "devices": devices,
        "source": "follow_plans.py",
        "measuredAt": now(),
    }


def tour(log):
    # A publisher says what there is, and is told what becomes of it.
    kind, plan = log.ask(change(cluster(2), table("users", 2_000_000, 64, 20.0), table("items", 500_000, 32, 40.0)))
    if kind != "plan":
        raise SystemExit(f"{kind}: {plan}")
    show(plan)

    # A trainer adopts the plan. Until it adopts another one, each new plan begins at this one.
    log.publish("plan-status", TOUR, adopted(plan, step=100))
    print(f"adopted {plan['planId'][:12]} at step 100")
    for rows in (4_000_000, 6_000_000):
        _, plan = log.ask(change(table("users", rows, 64, 20.0)))
        show(plan)
        print(f"follows {plan['previousPlanId'][:12]}")

    # It adopts the newest, and reports what steps cost. A real one measures; the tour repeats the prediction.
    log.publish("plan-status", TOUR, adopted(plan, step=200))
    costs = [{name: cost[name] for name in ("computeMs", "forwardCommMs", "backwardCommMs")} for cost in plan["deviceCosts"]]
    log.publish("measured-costs", TOUR, measured(plan, step=300, devices=costs))
    print(f"measured {plan['planId'][:12]} up to step 300")

    # A wrong change is not applied, and its answer says why.
    kind, event = log.ask(change(table("queries", 1_000, 30, 1.0)))
    print(f"{kind} {event['reason']}: {event['message']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--prefix", default="shardtide.")
    parser.add_argument("--settings", help="JSON: an object with settings of librdkafka, such as those for TLS and SASL")
    parser.add_argument("--tour", action="store_true")
    arguments = parser.parse_args()
    settings = {}
    if arguments.settings:
        with open(arguments.settings, encoding="utf-8") as file:
            settings = json.load(file)
    log = Log(arguments.bootstrap_servers, arguments.registry_url, arguments.prefix, settings)
    if arguments.tour:
        tour(log)
    else:
        follow(log)


if __name__ == "__main__":
    main()
