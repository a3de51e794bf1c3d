"""Random workloads, plans of them by a cost model, and what a step of a plan costs on these devices."""

from __future__ import annotations

import json
import os
import pathlib
import random
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from shardtide.collect.tables import draw_table
from shardtide.torchrec.lines import plan_record
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

TIMEOUT_SECONDS = 600


class Workload(NamedTuple):
    """Tables that are trained together.

    batch_size: samples of all ranks
    """

    name: str
    features: list[Feature]
    batch_size: int


def begin() -> tuple[World, Ranks]:
    """Joins the ranks that torchrun started."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if not cuda:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if cuda else "gloo")
    return World(int(os.environ["LOCAL_WORLD_SIZE"]), device, TIMEOUT_SECONDS), Ranks(TIMEOUT_SECONDS)


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


def cluster_of(workload: Workload, world: World, hardware: str) -> dict[str, Any]:
    """Returns the devices, as ClusterSpec has them."""
    return {
        "devices": world.size,
        "devicesPerNode": world.per_node,
        "memoryBytesPerDevice": MEMORY_BYTES,
        "batchSize": workload.batch_size,
        "hardware": hardware,
    }


def tables_of(workload: Workload) -> list[dict[str, Any]]:
    """Returns the tables, as TableSpec has them."""
    return [to_record(feature, 4.0) for feature in workload.features]


def offline(workloads: Sequence[Workload], world: World, model: str, hardware: str, folder: str) -> list[str]:
    """Writes the workloads into the folder; returns options of ./shardtide plan that name them and the model."""
    tasks = pathlib.Path(folder) / "workloads.jsonl"
    lines = [
        {"task": workload.name, "cluster": cluster_of(workload, world, hardware), "tables": tables_of(workload)}
        for workload in workloads
    ]
    write(tasks, lines)
    return ["--model", model, "-f", str(tasks)]


def planned(
    workloads: Sequence[Workload], world: World, program: str, options: Sequence[str], folder: str
) -> list[tuple[float, dict[str, Any]]]:
    """Plans with the options of offline(); returns the plans, each with its predicted milliseconds."""
    found = []
    out = f"{folder}/plans.jsonl"
    for workload, line in zip(workloads, run(program, ["make", *options, "--out", out], out)):
        if not line["feasible"]:
            raise ValueError(f"{workload.name} does not fit: {line['reason']}")
        shards = plan_record(line).record["shards"]
        found.append((line["predicted_ms"], baselines.plan_record(workload.name, shards, world.size)))
    return found


def write(path: pathlib.Path, lines: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(program: str, arguments: Sequence[str], out: str) -> list[dict[str, Any]]:
    """Runs ./shardtide plan; returns the lines that it wrote."""
    ended = subprocess.run([program, "plan", *arguments], capture_output=True, text=True)
    if ended.returncode:
        raise ValueError(f"{program} plan {arguments[0]} failed: {ended.stderr.strip()}")
    return [json.loads(line) for line in pathlib.Path(out).read_text().splitlines()]


class Job:
    """A workload in training, with any plan of it.

    every: of so many steps one is measured

    embeddings: goes from plan to plan
    """

    def __init__(self, workload: Workload, plan: Mapping[str, Any], world: World, seed: int, every: int = 1):
        shapes = [feature.shape for feature in workload.features]
        self.meter = StepMeter(world.device, every)
        self._workload, self._world, self._seed = workload, world, seed
        self.embeddings = ShardedEmbeddings(world, shapes, plan, Optimizer(LEARNING_RATE), seed, meter=self.meter)
        self._model = DenseModel(shapes, DENSE_FEATURES, seed).to(world.device)
        self._step = 0

    def go_to(self, plan: Mapping[str, Any]) -> None:
        """Goes to another plan."""
        self.embeddings.apply(self.embeddings.prepare(plan))

    def step(self) -> tuple[bool, float]:
        """Trains a step; returns whether it was measured, and its seconds without drawing the batch."""
        workload, world = self._workload, self._world
        samples = workload.batch_size // world.size
        batch = draw_batch(workload.features, samples, DENSE_FEATURES, self._seed, self._step, world.rank, world.device)
        self._step += 1
        begin = time.perf_counter()
        with self.meter.step() as measured:
            outputs = self.embeddings.forward(samples, batch.lookups)
            logits = self._model(batch.dense, outputs, batch.lookups)
            loss_of(logits, batch.labels, workload.batch_size).backward()
            self.embeddings.backward()
        self._model.zero_grad()
        return measured, time.perf_counter() - begin


def measure(
    workload: Workload, plans: Sequence[Mapping[str, Any]], world: World, ranks: Ranks, steps: int, seed: int
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
