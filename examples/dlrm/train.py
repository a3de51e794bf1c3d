"""Trains a small DLRM whose embedding tables follow the plans of Shardtide, on CPUs (gloo) or GPUs (NCCL).

torchrun --nproc-per-node 2 examples/dlrm/train.py BOOTSTRAP_SERVERS REGISTRY_URL [options]

Rank 0 publishes the tables and the cluster as a workload. All ranks train by its plan, go to each new plan between two
steps, and report what steps cost. With --grow-every, tables get more ids, so that new plans follow. With --hashed,
tables are hashed and get new ids; how full they are is reported too.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import logging
import os
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from caches import CacheUse, describe_misses
from checkpoints import load, save
from data import Feature, at_step, draw_batch, features, to_record
from embeddings import ShardedEmbeddings
from hashed import describe_fill
from layout import EVICTIONS
from model import DenseModel, loss_of
from replicas import describe_synchronization
from shards import Optimizer
from shardtide.arguments import read_json
from shardtide.log import Log
from shardtide.train import FillReporter, PlanFollower, Ranks, ReshardFailed, StepMeter
from shardtide.waves import move_waves
from workload import Workload
from world import World

DENSE_FEATURES = 13
PRINT_SECONDS = 2.0

# Norm of the dense gradients at most: when a feature gets twice the ids, its sums double from one step to the next, and
# products of sums with plain SGD would grow without end.
MOST_GRADIENT = 1.0

# ./shardtide demo has a cost model of the second; for the first, it begins with that and learns from the reports.
HARDWARE = {"cpu": "cpu", "cuda": "h200"}

# Of a GPU, what the dense model, activations and batches need.
RESERVED_SHARE = 0.2


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--prefix", default="shardtide.", help="of the topics")
    parser.add_argument("--settings", help="JSON file: an object with settings of librdkafka, such as TLS and SASL")
    parser.add_argument("--workload", default="dlrm")
    parser.add_argument("--hardware", help="whose cost model predicts (cpu; on GPUs h200)")
    parser.add_argument("--memory-gib", type=float, help="for shards on a device (8; of a GPU 80%% of its memory)")
    parser.add_argument(
        "--host-memory-gib", type=float, default=0.0, help="of each device, for cached tables (0: none)"
    )
    parser.add_argument("--devices-per-node", type=int, help="ranks of a node (those that torchrun starts)")
    parser.add_argument(
        "--replica-groups",
        type=int,
        nargs="+",
        metavar="R",
        help="numbers of replica groups that a plan may choose among (1); each trains on its part of the batch",
    )
    parser.add_argument(
        "--synchronize-every", type=int, metavar="STEPS", help="steps between two synchronizations of the groups (1)"
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=2048, help="samples of all ranks (2048)")
    parser.add_argument("--features", type=int, default=8, help="embedding tables (8)")
    parser.add_argument("--unpooled", type=int, default=0, help="further tables with an output for each lookup (0)")
    parser.add_argument("--hashed", type=int, default=0, metavar="N", help="the first N of the tables are hashed (0)")
    parser.add_argument(
        "--new-ids-per-step", type=int, default=100, help="ids that a step brings to each hashed table (100)"
    )
    parser.add_argument(
        "--eviction",
        choices=EVICTIONS,
        default="none",
        help="what new ids do in a full hashed table: share a slot, or take that of the id that is used least (none)",
    )
    parser.add_argument("--rows", type=int, default=200_000, help="of the largest table; its slots (200000)")
    parser.add_argument("--optimizer", choices=("adagrad", "sgd"), default="adagrad", help="of the embeddings")
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grow-every", type=int, default=0, help="steps after which a table's use changes (0: never)")
    parser.add_argument("--follow-every", type=int, default=10, help="steps between two looks for a plan (10)")
    parser.add_argument(
        "--in-waves", action="store_true", help="make one wave of a plan's moves between two steps, and train between them"
    )
    parser.add_argument("--measure-every", type=int, default=20, help="one step in so many is measured (20)")
    parser.add_argument("--report-every", type=int, default=100, help="steps between two reports (100)")
    parser.add_argument("--load", type=pathlib.Path, help="folder with a checkpoint to begin with")
    parser.add_argument("--save", type=pathlib.Path, help="folder for a checkpoint at the end")
    parser.add_argument("--timeout-seconds", type=float, default=60.0, help="how long ranks wait for each other (60)")
    found = parser.parse_args(arguments)
    for name in ("steps", "batch_size", "features", "rows", "follow_every", "measure_every", "report_every"):
        if getattr(found, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {getattr(found, name)}")
    for groups in found.replica_groups or ():
        if groups < 1:
            parser.error(f"--replica-groups must be at least 1, got {groups}")
    if found.synchronize_every is not None and found.synchronize_every < 1:
        parser.error(f"--synchronize-every must be at least 1, got {found.synchronize_every}")
    for name in ("unpooled", "hashed", "new_ids_per_step", "host_memory_gib"):
        if getattr(found, name) < 0:
            parser.error(f"--{name.replace('_', '-')} must be at least 0, got {getattr(found, name)}")
    if found.hashed > found.features + found.unpooled:
        parser.error(f"--hashed must be at most the {found.features + found.unpooled} tables, got {found.hashed}")
    if found.hashed and (found.load or found.save):
        parser.error("--load and --save must not be given with --hashed: checkpoints have no hashed tables")
    return found


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=options.timeout_seconds)
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timeout)
    logging.basicConfig(format="%(message)s")
    try:
        per_node = options.devices_per_node or int(os.environ["LOCAL_WORLD_SIZE"])
        train(options, World(per_node, device, options.timeout_seconds))
    except (ValueError, LookupError, OSError, ReshardFailed) as e:
        # On each rank: torchrun ends the others when the first one ends.
        print(f"dlrm: rank {dist.get_rank()}: {e}", file=sys.stderr, flush=True)
        # Without a farewell to ranks that may be gone.
        os._exit(1)
    dist.destroy_process_group()


def train(options: argparse.Namespace, world: World) -> None:
    if options.batch_size % world.size:
        raise ValueError(f"--batch-size must be a multiple of {world.size} ranks, got {options.batch_size}")
    first = world.rank == 0
    optimizer = Optimizer(options.learning_rate, options.optimizer == "adagrad")
    memory_bytes = int(options.memory_gib * 2**30) if options.memory_gib else default_memory(world.device)
    host_memory_bytes = int(options.host_memory_gib * 2**30)
    declared = features(
        options.features,
        options.rows,
        options.seed,
        options.unpooled,
        options.hashed,
        options.eviction,
        options.new_ids_per_step,
    )
    tables = [feature.shape for feature in declared]

    log = workload = None
    if first:
        settings = read_json(options.settings) if options.settings else {}
        log = Log({"bootstrap.servers": options.bootstrap_servers, **settings}, {"url": options.registry_url}, options.prefix)
        workload = Workload(log, options.workload)
    create(workload, options, declared, optimizer, world, memory_bytes, host_memory_bytes)

    meter = StepMeter(world.device, options.measure_every)
    with PlanFollower(log, options.workload, meter, "examples/dlrm", timeout_seconds=options.timeout_seconds) as plans:
        embeddings = ShardedEmbeddings(
            world, tables, plans.start(), optimizer, options.seed, memory_bytes, meter, host_memory_bytes
        )
        model = DenseModel(tables, DENSE_FEATURES, options.seed).to(world.device)
        begin = load(options.load, embeddings, tables, model) if options.load else 0
        dense_optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate)
        printer = Printer(plans)
        fills = FillReporter(plans, options.report_every)
        waves = functools.partial(move_waves, usable_bytes_per_device=memory_bytes)
        published = declared
        for step in range(begin, begin + options.steps):
            used = used_at(declared, step, options)
            changed = [feature for feature in used if feature not in published]
            if workload and changed:
                workload.change([to_record(f, 4.0 * optimizer.row_wise_adagrad) for f in changed])
            published = used
            if step % options.follow_every == 0:
                if options.in_waves and plans.follow_wave(step, embeddings, waves):
                    printer.waves(step, len(plans.waves_left))
                elif not options.in_waves and plans.follow(step, embeddings):
                    printer.moved(step)
            samples = options.batch_size // world.size
            batch = draw_batch(used, samples, DENSE_FEATURES, options.seed, step, world.rank, world.device, world.size)
            with meter.step():
                outputs = embeddings.forward(samples, batch.lookups)
                loss = loss_of(model(batch.dense, outputs, batch.lookups), batch.labels, options.batch_size)
                loss.backward()
                embeddings.backward()
                model.sum_gradients()
                # The same on all ranks: each has the sums of all.
                torch.nn.utils.clip_grad_norm_(model.parameters(), MOST_GRADIENT)
                dense_optimizer.step()
                dense_optimizer.zero_grad()
            if (step + 1) % options.report_every == 0:
                plans.report(step)
                printer.cached(embeddings.cache_use())
                printer.synchronized(plans.ranks.gather(embeddings.synchronization_ms()))
            filled = fills.step(embeddings.take_fills)
            if filled:
                printer.filled(filled)
            printer.step(step, loss * world.size)
        if options.save:
            save(options.save, embeddings, tables, model, begin + options.steps)
        printer.end()


def create(
    workload: Workload | None,
    options: argparse.Namespace,
    declared: list[Feature],
    optimizer: Optimizer,
    world: World,
    memory_bytes: int,
    host_memory_bytes: int,
) -> None:
    """Publishes the job on rank 0; raises what that met on all ranks."""
    problem = None
    if workload:
        cluster = {
            "devices": world.size,
            "memoryBytesPerDevice": memory_bytes,
            "hostMemoryBytesPerDevice": host_memory_bytes,
            "batchSize": options.batch_size,
            "devicesPerNode": world.per_node,
            "hardware": options.hardware or HARDWARE[world.device.type],
        }
        if options.replica_groups:
            cluster["replicaGroups"] = options.replica_groups
        if options.synchronize_every:
            cluster["synchronizationSteps"] = options.synchronize_every
        try:
            workload.create(cluster, [to_record(f, 4.0 * optimizer.row_wise_adagrad) for f in declared])
        except (ValueError, LookupError, OSError) as e:
            problem = f"{e}"
    problem = Ranks(options.timeout_seconds).from_first(problem)
    if problem:
        raise ValueError(problem)


def used_at(declared: list[Feature], step: int, options: argparse.Namespace) -> list[Feature]:
    """Returns the features as they are used at a step."""
    return [at_step(f, i, len(declared), step, options.grow_every) for i, f in enumerate(declared)]


def default_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory * (1 - RESERVED_SHARE))
    return 8 * 2**30


class Printer:
    """Prints on rank 0 how training goes, every few seconds."""

    def __init__(self, plans: PlanFollower):
        self._plans = plans
        self._at = time.monotonic()
        self._losses: list[Any] = []
        self._caches = self._synchronization = self._fill = ""

    def moved(self, step: int) -> None:
        self._caches = self._synchronization = ""
        if self._plans.reports:
            plan = self._plans.running
            print(f"step {step}: goes to plan {plan['planId'][:12]}, generation {plan['generation']}", flush=True)

    def waves(self, step: int, left: int) -> None:
        if left == 0:
            self.moved(step)
        elif self._plans.reports:
            print(f"step {step}: a wave of moves is finished, {left} left", flush=True)

    def cached(self, use: dict[str, CacheUse]) -> None:
        self._caches = describe_misses(use, self._plans.running)

    def synchronized(self, ms: Sequence[float | None]) -> None:
        self._synchronization = describe_synchronization(ms, self._plans.running)

    def filled(self, tables: Sequence[dict[str, Any]]) -> None:
        self._fill = describe_fill(tables)

    def step(self, step: int, loss: torch.Tensor) -> None:
        reports = self._plans.reports
        if not reports:
            return
        self._losses.append(loss.detach())
        seconds = time.monotonic() - self._at
        if seconds < PRINT_SECONDS:
            return
        mean = float(torch.stack(self._losses).mean())
        print(
            f"step {step}: loss {mean:.4f}, {seconds * 1e3 / len(self._losses):.1f} ms a step,"
            f" plan {self._plans.running['planId'][:12]}{self._caches}{self._synchronization}{self._fill},"
            f" reports: {self._counts()}",
            flush=True,
        )
        self._at, self._losses = time.monotonic(), []

    def end(self) -> None:
        if self._plans.reports:
            self._plans.reports.flush(5.0)
            print(f"end: reports: {self._counts()}", flush=True)

    def _counts(self) -> str:
        reports = self._plans.reports
        assert reports is not None
        text = f"{reports.sent} sent, {reports.waiting} waiting, {reports.dropped} dropped, {reports.failed} failed"
        return f"{text} ({reports.problem})" if reports.problem else text


if __name__ == "__main__":
    main(sys.argv[1:])
