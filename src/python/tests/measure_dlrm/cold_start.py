"""Measures what a planner learns of these devices if it has no model of them.

torchrun --nproc-per-node 2 src/python/tests/measure_dlrm/cold_start.py BOOTSTRAP_SERVERS REGISTRY_URL --hardware NAME [options]

The planner has no model for NAME and retrains models: ./shardtide demo, or run. Several random workloads are
published on this hardware; their first plans have the costs of the nearest hardware. Then they are trained in turns, by
the newest plan of each, and measured costs are reported. In the end, steps of three plans of each workload are measured,
in turns: the first one, the last one and, with --model, the plan of a model whose samples were collected on these
devices (shardtide.collect). A step's cost is the one that trainers report.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch.distributed as dist
from shardtide.arguments import read_json
from shardtide.log import Log, PlanSubscriber
from shardtide.train import PlanFollower, Ranks

from measuring import Job, Workload, begin, cluster_of, draw_workload, measure, offline, planned, tables_of

import workload
from world import World

if TYPE_CHECKING:
    from shardtide.records import ShardingPlan

SOURCE = "examples/dlrm"
PLAN_SECONDS = 60.0

# A model has learned all reports if no plan has followed for so long; a retraining takes seconds.
IDLE_SECONDS = 20.0

T = TypeVar("T")


class Plans(NamedTuple):
    """Plans of a workload.

    first: with the costs of other hardware
    last: after all reports
    collected: of a model of these devices; None if none is given
    """

    first: ShardingPlan
    last: ShardingPlan
    collected: dict[str, Any] | None


class Planner:
    """The planner's answers to workloads on new hardware; on rank 0 only."""

    def __init__(self, log: Log, hardware: str):
        self._log = log
        self._hardware = hardware

    def name(self, drawn: Workload) -> str:
        """Returns the workload's name in the log."""
        return f"{self._hardware}-{drawn.name}"

    def publish(self, workloads: Sequence[Workload], world: World) -> list[ShardingPlan]:
        """Publishes the workloads; returns their first plans. ValueError if the planner knows the hardware."""
        firsts = []
        for drawn in workloads:
            job = workload.Workload(self._log, self.name(drawn))
            job.create(cluster_of(drawn, world, self._hardware), tables_of(drawn))
            firsts.append(self.newest(drawn))
            if f"until {self._hardware} is measured" not in firsts[-1]["reason"]:
                raise ValueError(f"there is a model of {self._hardware} already; give another --hardware")
        return firsts

    def newest(self, drawn: Workload) -> ShardingPlan:
        """Returns the newest plan of a workload."""
        with PlanSubscriber(self._log, self.name(drawn)) as plans:
            return plans.get(timeout=PLAN_SECONDS)

    def settled(self, workloads: Sequence[Workload]) -> list[ShardingPlan]:
        """Waits until no plan has followed for a while; returns the newest plan of each workload."""
        found = [self.newest(drawn) for drawn in workloads]
        since = time.monotonic()
        while time.monotonic() - since < IDLE_SECONDS:
            time.sleep(1)
            now = [self.newest(drawn) for drawn in workloads]
            if [plan["planId"] for plan in now] != [plan["planId"] for plan in found]:
                found, since = now, time.monotonic()
        return found


def on_first(ranks: Ranks, world: World, call: Callable[[], T]) -> T:
    """Calls on rank 0 and returns the result on all; ends all ranks if it fails."""
    found: tuple[T | None, str | None] = (None, None)
    if world.rank == 0:
        try:
            found = (call(), None)
        except (ValueError, LookupError, OSError) as e:
            found = (None, str(e))
    result, problem = ranks.from_first(found) or (None, None)
    if result is None:
        sys.exit(f"cold_start: {problem}" if world.rank == 0 else 1)
    return result


def train(drawn: Workload, name: str, log: Log | None, world: World, ranks: Ranks, options: argparse.Namespace) -> int:
    """Trains a workload by its newest plan and reports; returns how many plans it has gone to."""
    plans = 1
    with PlanFollower(log, name, source=SOURCE, timeout_seconds=PLAN_SECONDS) as follower:
        job = Job(drawn, follower.start(), world, options.seed)
        for report in range(options.reports):
            for _ in range(options.steps):
                job.step()
            costs = job.meter.costs(ranks)
            assert costs is not None
            step = (report + 1) * options.steps
            follower.measured(step, costs.steps, costs.devices, costs.collectives)
            if follower.follow(step, job.embeddings):
                job.meter.clear()
                plans += 1
    return plans


def collected_plans(workloads: Sequence[Workload], world: World, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Returns the plans of --model."""
    with tempfile.TemporaryDirectory() as folder:
        command = offline(workloads, world, options.model, options.model_hardware, folder)
        return [plan for _, plan in planned(workloads, world, options.shardtide, command, folder)]


def show(drawn: Workload, plans: Plans, measured: Sequence[float]) -> str:
    """Returns a line of the table."""
    first, last = measured[:2]
    error = abs(plans.last["predictedMs"] / last - 1)
    line = f"{drawn.name:<9}{len(drawn.features):>7}{drawn.batch_size:>7}{first:>11.2f}{last:>11.2f}"
    line += f"{measured[2]:>14.2f}" if plans.collected else ""
    line += f"{error:>9.0%}{last / first:>13.3f}"
    return line + (f"{last / measured[2]:>17.3f}" if plans.collected else "")


def head(collected: bool) -> str:
    line = f"{'workload':<9}{'tables':>7}{'batch':>7}{'first ms':>11}{'last ms':>11}"
    line += f"{'collected ms':>14}" if collected else ""
    return line + f"{'error':>9}{'last / first':>13}" + (f"{'last / collected':>17}" if collected else "")


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def summary(all_measured: Sequence[Sequence[float]]) -> list[str]:
    """Returns the means over workloads."""
    names = ("the first", "", "the collected model's")
    return [
        f"last plan, in relation to {names[other]}: {geometric_mean(ratios):.3f} (geometric mean),"
        f" {max(ratios):.3f} at most"
        for other in (0, 2)[: len(all_measured[0]) - 1]
        for ratios in [[measured[1] / measured[other] for measured in all_measured]]
    ]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--hardware", required=True, help="a name that the planner has no model of")
    parser.add_argument("--prefix", default="shardtide.", help="of the topics")
    parser.add_argument("--settings", help="JSON file: an object with settings of librdkafka, such as TLS and SASL")
    parser.add_argument("--model", help="bundle of a model that was collected on these devices")
    parser.add_argument("--model-hardware", help="its hardware")
    parser.add_argument("--shardtide", default="./shardtide", help="the program, for --model (./shardtide)")
    parser.add_argument("--workloads", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=4, help="how often each workload is trained (4)")
    parser.add_argument("--reports", type=int, default=4, help="of each workload in a round (4)")
    parser.add_argument("--steps", type=int, default=10, help="measured steps of a report, and of a turn (10)")
    parser.add_argument("--seed", type=int, default=0)
    found = parser.parse_args(arguments)
    for name in ("workloads", "rounds", "reports", "steps"):
        if getattr(found, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(found, name)}")
    if (found.model is None) != (found.model_hardware is None):
        parser.error("--model and --model-hardware must be given together")
    return found


def main(arguments: Sequence[str]) -> None:
    options = parse(arguments)
    world, ranks = begin()
    drawn = [draw_workload(options.seed, index, world.size) for index in range(options.workloads)]
    log = None
    if world.rank == 0:
        settings = read_json(options.settings) if options.settings else {}
        log = Log({"bootstrap.servers": options.bootstrap_servers, **settings}, {"url": options.registry_url}, options.prefix)
    planner = Planner(log, options.hardware) if log else None
    collected: Sequence[dict[str, Any] | None] = [None] * len(drawn)
    if options.model:
        collected = on_first(ranks, world, lambda: collected_plans(drawn, world, options))
    firsts = on_first(ranks, world, lambda: planner.publish(drawn, world) if planner else [])
    if world.rank == 0:
        print(firsts[0]["reason"], flush=True)
    for round_number in range(1, options.rounds + 1):
        begun = time.monotonic()
        plans = [train(w, f"{options.hardware}-{w.name}", log, world, ranks, options) for w in drawn]
        if world.rank == 0:
            seconds = time.monotonic() - begun
            print(
                f"round {round_number}: {sum(plans) - len(drawn)} new plans while training, {seconds:.0f} s", flush=True
            )
    lasts = on_first(ranks, world, lambda: planner.settled(drawn) if planner else [])
    if world.rank == 0:
        print(lasts[0]["reason"])
        print(head(options.model is not None), flush=True)
    all_measured = []
    for w, found in zip(drawn, (Plans(*plans) for plans in zip(firsts, lasts, collected))):
        compared = [plan for plan in found if plan is not None]
        all_measured.append([ms for ms, _ in measure(w, compared, world, ranks, options.steps, options.seed)])
        if world.rank == 0:
            print(show(w, found, all_measured[-1]), flush=True)
    if world.rank == 0:
        print("\n".join(summary(all_measured)), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
