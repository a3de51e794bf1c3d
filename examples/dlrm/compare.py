"""Measures what plans of a cost model are worth on these devices, against placements without one.

torchrun --nproc-per-node 2 examples/dlrm/compare.py --model torch.avro --hardware cpu-torch [options]

For each of several random workloads, ./shardtide plans with the model, and the plan is trained for some steps, in turns
with random, greedy and TorchRec-like table-wise placements. A step's cost is the one that trainers report: the maximum
over devices of computation and backward communication, plus that of forward communication, of the embeddings.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from shardtide.collect.tables import draw_table
from shardtide.torchrec import describe
from shardtide.train import Ranks, StepMeter

import baselines
from data import Feature, draw_batch, to_record
from embeddings import ShardedEmbeddings
from layout import TableShape
from model import DenseModel, loss_of
from shards import Optimizer
from world import World

DENSE_FEATURES = 13
LEARNING_RATE = 0.01
PLANNED = "planned"
# Of a device, as models for many devices have them.
LEAST_TABLES, MOST_TABLES = 2, 6
MOST_ROWS = 500_000
COLUMNS = (8, 16, 32, 64)
BATCH_SIZES = (1_024, 2_048, 4_096)
MEMORY_BYTES = 4 * 2**30

# A plan is measured in so many turns, between those of the others: a machine's moods meet all plans.
TURNS = 3

# The first steps after a move meet cold caches.
WARM_UPS = 2

OVERHEAD_STEPS = 400
MEASURED_EACH = 50


class Workload(NamedTuple):
    """Tables that are trained together.

    batch_size: samples of all ranks
    """

    name: str
    features: list[Feature]
    batch_size: int


class Measured(NamedTuple):
    """A plan of a workload: milliseconds of a step, medians of its turns.

    even_ms: with the measured computation and backward communication spread evenly over the devices
    """

    predicted_ms: float
    measured_ms: float
    even_ms: float


def draw_workload(seed: int, index: int, devices: int) -> Workload:
    """Returns 2 to 6 tables a device of shardtide.collect's distribution: few tables have most of the lookups.

    They have 8 to 64 columns, at most 500,000 rows and 0.3 to 200 skewed ids a sample.
    """
    draw = random.Random(f"{seed}/compare/{index}")
    features = []
    for i in range(draw.randint(LEAST_TABLES * devices, MOST_TABLES * devices)):
        table = draw_table(draw.getrandbits(63), i)
        rows = min(table.rows, MOST_ROWS)
        use = replace(table, rows=rows, offset=min(table.offset, float(rows)))
        features.append(Feature(TableShape(f"t{i}", rows, draw.choice(COLUMNS)), use))
    return Workload(f"w{index}", features, draw.choice(BATCH_SIZES))


def to_task(workload: Workload, world: World, hardware: str) -> dict[str, Any]:
    """Returns a line of the file that ./shardtide plan --workloads reads."""
    cluster = {
        "devices": world.size,
        "devicesPerNode": world.per_node,
        "memoryBytesPerDevice": MEMORY_BYTES,
        "batchSize": workload.batch_size,
        "hardware": hardware,
    }
    tables = [to_record(feature, 4.0) for feature in workload.features]
    return {"task": workload.name, "cluster": cluster, "tables": tables}


def plans_of(
    workloads: Sequence[Workload], world: World, options: argparse.Namespace
) -> list[dict[str, tuple[float, dict[str, Any]]]]:
    """Returns the plans of each workload, by strategy, with their predicted milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = pathlib.Path(folder) / "workloads.jsonl"
        write(tasks, [to_task(workload, world, options.hardware) for workload in workloads])
        shardtide = [options.shardtide, "plan", "--model", options.model, "--workloads", str(tasks)]
        planned = run([*shardtide, "--out", f"{folder}/plans.jsonl"], f"{folder}/plans.jsonl")
        found: list[dict[str, tuple[float, dict[str, Any]]]] = []
        for workload, line in zip(workloads, planned):
            if not line["feasible"]:
                raise ValueError(f"{workload.name} does not fit: {line['reason']}")
            found.append({PLANNED: (line["predicted_ms"], to_plan(workload.name, line, world.size))})
        for name, placements in placements_of(workloads, world.size, options.seed).items():
            given = [describe(plan, modules="", devices_per_node=world.per_node, device="cpu") for plan in placements]
            write(pathlib.Path(folder) / "given.jsonl", given)
            predict = ["--predict", f"{folder}/given.jsonl", "--out", f"{folder}/predicted.jsonl"]
            for plans, plan, line in zip(found, placements, run([*shardtide, *predict], f"{folder}/predicted.jsonl")):
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


def to_plan(name: str, line: dict[str, Any], devices: int) -> dict[str, Any]:
    """Returns a plan that ./shardtide plan wrote."""
    shards = [
        {
            "table": table["name"],
            "kind": shard["kind"].upper(),
            "columnOffset": shard["column_offset"],
            "columns": shard["columns"],
            "rowOffset": shard["row_offset"],
            "rows": shard["rows"],
            "device": -1 if shard["device"] is None else shard["device"],
        }
        for table in line["tables"]
        for shard in table["shards"]
    ]
    return baselines.plan_record(name, shards, devices)


def write(path: pathlib.Path, lines: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(command: Sequence[str], out: str) -> list[dict[str, Any]]:
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise ValueError(f"{command[0]} {command[1]} failed: {ended.stderr.strip()}")
    return [json.loads(line) for line in pathlib.Path(out).read_text().splitlines()]


class Job:
    """A workload in training, with any plan of it.

    every: of so many steps one is measured
    """

    def __init__(self, workload: Workload, plan: dict[str, Any], world: World, seed: int, every: int = 1):
        shapes = [feature.shape for feature in workload.features]
        self.meter = StepMeter(world.device, every)
        self._workload, self._world, self._seed = workload, world, seed
        self._embeddings = ShardedEmbeddings(world, shapes, plan, Optimizer(LEARNING_RATE), seed, meter=self.meter)
        self._model = DenseModel(shapes, DENSE_FEATURES, seed).to(world.device)
        self._step = 0

    def go_to(self, plan: dict[str, Any]) -> None:
        """Goes to another plan."""
        self._embeddings.apply(self._embeddings.prepare(plan))

    def step(self) -> tuple[bool, float]:
        """Trains a step; returns whether it was measured, and its seconds without drawing the batch."""
        workload, world = self._workload, self._world
        samples = workload.batch_size // world.size
        batch = draw_batch(workload.features, samples, DENSE_FEATURES, self._seed, self._step, world.rank, world.device)
        self._step += 1
        begin = time.perf_counter()
        with self.meter.step() as measured:
            outputs = self._embeddings.forward(samples, batch.lookups)
            logits = self._model(batch.dense, outputs, batch.lookups)
            loss_of(logits, batch.labels, workload.batch_size).backward()
            self._embeddings.backward()
        self._model.zero_grad()
        return measured, time.perf_counter() - begin


def measure(
    workload: Workload, plans: Sequence[dict[str, Any]], world: World, ranks: Ranks, steps: int, seed: int
) -> list[tuple[float, float]]:
    """Returns the milliseconds of a step with each plan, and with an even load: the medians of its turns."""
    job = Job(workload, plans[0], world, seed)
    found: list[list[tuple[float, float]]] = [[] for _ in plans]
    for _ in range(TURNS):
        for times, plan in zip(found, plans):
            job.go_to(plan)
            for _ in range(WARM_UPS):
                job.step()
            job.meter.clear()
            for _ in range(steps):
                job.step()
            costs = job.meter.costs(ranks)
            assert costs is not None
            busy = [device["computeMs"] + device["backwardCommMs"] for device in costs.devices]
            times.append((costs.ms, costs.ms - max(busy) + statistics.mean(busy)))
    return [(statistics.median(ms), statistics.median(even)) for ms, even in (zip(*times) for times in found)]


def meter_overhead(workload: Workload, plan: dict[str, Any], world: World, seed: int) -> float:
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
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if not cuda:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if cuda else "gloo")
    world = World(int(os.environ["LOCAL_WORLD_SIZE"]), device, 600)
    ranks = Ranks(600)
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
