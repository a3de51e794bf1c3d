"""Shows plans: the latest of each workload, then each new one, until Ctrl-C."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from shardtide import command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_cluster(parser, timeout_seconds=30.0)


def run(options: argparse.Namespace) -> None:
    with command.log_of(options).reader("current-plans", key_field="workloadId") as plans:
        latest = {}
        for record in plans.all():
            latest[record.key] = record.value
        # The plan of a workload that was deleted is None.
        current = [plan for plan in latest.values() if plan is not None]
        for plan in sorted(current, key=lambda plan: plan["workloadId"]):
            command.show(options, text(plan), plan)
        out = sys.stdout if options.output == "text" else sys.stderr
        print(f"{len(current)} workloads; waiting for new plans", file=out, flush=True)
        while True:
            new = plans.poll()
            if new is not None:
                said = f"{new.key} was deleted" if new.value is None else text(new.value)
                command.show(options, said, {"workloadId": new.key} if new.value is None else new.value)


def text(plan: Mapping[str, Any]) -> str:
    devices = {shard["device"] for shard in plan["shards"]}
    # A copy, of which the device is -1, is on each.
    used = len(plan["deviceCosts"]) if -1 in devices else len(devices)
    groups = (plan.get("replication") or {}).get("groups", 1)
    return (
        f"{plan['workloadId']} generation {plan['generation']}: plan {plan['planId'][:12]},"
        f" {len(plan['shards'])} shards on {used} of {len(plan['deviceCosts'])} devices"
        f"{f' in each of {groups} replica groups' if groups > 1 else ''},"
        f" predicted {plan['predictedMs']:.3f} ms a step\n"
        f"  {plan['reason']}; {len(plan['moves'])} moves, {plan['movedBytes']:,} bytes"
    )


if __name__ == "__main__":
    command.main(name="plans")
