"""Measures what plans of a cost model are worth on these devices, against placements without one.

torchrun --nproc-per-node 2 src/python/tests/measure_dlrm/compare.py --model torch.avro --hardware cpu-torch [options]

For each of several random workloads, ./shardtide plans with the model, and the plan is trained for some steps, in turns
with random, greedy and TorchRec-like table-wise placements. A step's cost is the one that trainers report: the maximum
over devices of computation and backward communication, plus that of forward communication, of the embeddings.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch.distributed as dist
from shardtide.torchrec.descriptions import describe

import baselines
from measuring import Job, Workload, begin, draw_workload, measure, offline, planned, run, write
from world import World

PLANNED = "planned"
OVERHEAD_STEPS = 400
MEASURED_EACH = 50


class Measured(NamedTuple):
    """A plan of a workload: milliseconds of a step, medians of its turns.

    even_ms: with the measured computation and backward communication spread evenly over the devices
    """

    predicted_ms: float
    measured_ms: float
    even_ms: float


def plans_of(
    workloads: Sequence[Workload], world: World, options: argparse.Namespace
) -> list[dict[str, tuple[float, dict[str, Any]]]]:
    """Returns the plans of each workload, by strategy, with their predicted milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        shardtide = offline(workloads, world, options.model, options.hardware, folder)
        found = [{PLANNED: plan} for plan in planned(workloads, world, options.shardtide, shardtide, folder)]
        for name, placements in placements_of(workloads, world.size, options.seed).items():
            given = [describe(plan, modules="", devices_per_node=world.per_node, device="cpu") for plan in placements]
            write(pathlib.Path(folder) / "given.jsonl", given)
            predict = ["evaluate", *shardtide, "--plans", f"{folder}/given.jsonl", "--out", f"{folder}/predicted.jsonl"]
            predicted = run(options.shardtide, predict, f"{folder}/predicted.jsonl")
            for plans, plan, line in zip(found, placements, predicted):
                plans[name] = (line["predicted_ms"], plan)
    return found


def placements_of(workloads: Sequence[Workload], devices: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Returns the plans of each strategy, for all workloads."""
    loads = {"size-greedy": baselines.size, "lookup-greedy": baselines.lookups, "TorchRec-like": baselines.torchrec}
    found = {
        "random": [
            baselines.plan_of(w.name, w.features, baselines.random_devices(w.features, devices, seed + i), devices)
            for i, w in enumerate(workloads)
        ]
    }
    for name, load in loads.items():
        found[name] = [
            baselines.plan_of(w.name, w.features, baselines.greedy(w.features, devices, load), devices)
            for w in workloads
        ]
    return found


def meter_overhead(workload: Workload, plan: Mapping[str, Any], world: World, seed: int) -> float:
    """Returns by which share of its time a step that is measured takes longer: every other one is."""
    job = Job(workload, plan, world, seed, every=2)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(OVERHEAD_STEPS):
        measured, took = job.step()
        seconds[measured].append(took)
    return statistics.median(seconds[True]) / statistics.median(seconds[False]) - 1


def show(name: str, found: dict[str, Measured], workload: Workload) -> str:
    """Returns a line of the table: measured milliseconds, and those of the others in relation to the plan's."""
    planned = found[PLANNED].measured_ms
    ratios = "".join(f"{planned / m.measured_ms:>15.2f}" for strategy, m in found.items() if strategy != PLANNED)
    error = abs(found[PLANNED].predicted_ms / planned - 1)
    return f"{name:<9}{len(workload.features):>7}{workload.batch_size:>7}{planned:>11.2f}{error:>9.0%}{ratios}"


def summary(all_found: Sequence[dict[str, Measured]]) -> list[str]:
    """Returns the means over workloads."""
    others = [name for name in all_found[0] if name != PLANNED]
    best = [f[PLANNED].measured_ms / min(f[name].measured_ms for name in others) for f in all_found]
    even = [min(f[n].even_ms for n in others) / min(f[n].measured_ms for n in others) for f in all_found]
    errors = [abs(m.predicted_ms / m.measured_ms - 1) for f in all_found for m in f.values()]
    means = {name: statistics.mean(f[PLANNED].measured_ms / f[name].measured_ms for f in all_found) for name in others}
    return [
        f"planned, in relation to the best other placement of each workload: {statistics.mean(best):.3f} on average,"
        f" {max(best):.3f} at most",
        f"the others with an even load, in relation to the best of them: {statistics.mean(even):.3f} on average",
        "planned, in relation to: " + ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()),
        f"predicted against measured step, {len(errors)} plans that were never measured before:"
        f" {statistics.mean(errors):.1%} mean error, {statistics.median(errors):.1%} median",
    ]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="bundle of a cost model of these devices")
    parser.add_argument("--hardware", required=True, help="the model's hardware")
    parser.add_argument("--shardtide", default="./shardtide", help="the program (./shardtide)")
    parser.add_argument("--workloads", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10, help="measured steps of each of three turns of a plan (10)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    options = parse(arguments)
    world, ranks = begin()
    workloads = [draw_workload(options.seed, index, world.size) for index in range(options.workloads)]
    plans, problem = None, None
    if world.rank == 0:
        try:
            plans = plans_of(workloads, world, options)
        except (ValueError, OSError) as e:
            problem = f"compare: {e}"
    plans, problem = ranks.from_first((plans, problem)) or (None, None)
    if plans is None:
        sys.exit(problem if world.rank == 0 else 1)
    if world.rank == 0:
        heads = "".join(f"{name:>15}" for name in plans[0] if name != PLANNED)
        print(f"{'':<34}{'error of':>9}   measured planned / measured ...")
        print(f"{'workload':<9}{'tables':>7}{'batch':>7}{'planned ms':>11}{'predict':>9}{heads}", flush=True)
    all_found = []
    for workload, found in zip(workloads, plans):
        times = measure(workload, [plan for _, plan in found.values()], world, ranks, options.steps, options.seed)
        all_found.append({name: Measured(found[name][0], *ms) for name, ms in zip(found, times)})
        if world.rank == 0:
            print(show(workload.name, all_found[-1], workload), flush=True)
    longer = meter_overhead(workloads[0], plans[0][PLANNED][1], world, options.seed)
    if world.rank == 0:
        print("\n".join(summary(all_found)))
        print(
            f"a measured step of {workloads[0].name} is {longer:.1%} longer: {longer / MEASURED_EACH:.2%} of all time,"
            f" if one step in {MEASURED_EACH} is measured",
            flush=True,
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
