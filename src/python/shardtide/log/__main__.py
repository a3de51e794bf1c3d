"""Shows plans: the latest of each workload, then each new one, until Ctrl-C.

python -m shardtide.log BOOTSTRAP_SERVERS REGISTRY_URL [--prefix TEXT] [--settings FILE]
"""

from __future__ import annotations

import argparse
import logging
import sys
from typing import Any

from confluent_kafka import KafkaException

from shardtide.arguments import mapping, read_json
from shardtide.log.log import Log


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


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m shardtide.log", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--prefix", default="shardtide.")
    parser.add_argument("--settings", help="JSON file: an object with settings of librdkafka, such as TLS and SASL")
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    try:
        settings = read_json(arguments.settings) if arguments.settings else {}
        mapping(settings, f"--settings {arguments.settings}", "settings of librdkafka")
        kafka = {"bootstrap.servers": arguments.bootstrap_servers, **settings}
        follow(Log(kafka, {"url": arguments.registry_url}, arguments.prefix))
    except (ValueError, LookupError, OSError, KafkaException) as e:
        sys.exit(f"shardtide.log: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
