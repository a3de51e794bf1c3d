"""Publishes two tables and a cluster, waits for their plan, and prints its shards.

python first_plan.py HOST:PORT REGISTRY_URL
"""

from __future__ import annotations

import sys

from shardtide.events import workload_change
from shardtide.log import Log, PlanSubscriber, Rejected, WorkloadPublisher

CLUSTER = {
    "devices": 4,
    "devicesPerNode": 4,
    "memoryBytesPerDevice": 16 * 2**30,
    "batchSize": 65536,
    "hardware": "h200",
}
TABLES = [
    {"name": "user", "rows": 20_000_000, "columns": 128, "poolingFactor": 2.0},
    {"name": "item", "rows": 3_000_000, "columns": 64, "poolingFactor": 30.0},
]


def main(bootstrap: str, registry: str) -> None:
    log = Log({"bootstrap.servers": bootstrap}, {"url": registry})
    changes = [{"cluster": CLUSTER}, *({"table": table} for table in TABLES)]
    outcome = WorkloadPublisher(log).publish_and_wait(workload_change("python-example", changes, "first_plan.py"))
    if isinstance(outcome, Rejected) or outcome.generation is None:
        sys.exit(f"No plan will follow: {outcome}")
    with PlanSubscriber(log, "python-example") as plans:
        plan = plans.get(outcome.generation, timeout=60)
    print(f"plan {plan['planId']}, predicted {plan['predictedMs']:.3f} ms a step")
    for shard in plan["shards"]:
        columns = f"columns {shard['columnOffset']} to {shard['columnOffset'] + shard['columns'] - 1}"
        rows = f"rows {shard['rowOffset']} to {shard['rowOffset'] + shard['rows'] - 1}"
        print(f"{shard['table']} {shard['kind'].lower()}: {columns}, {rows} on device {shard['device']}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: first_plan.py HOST:PORT REGISTRY_URL")
    main(*sys.argv[1:])
