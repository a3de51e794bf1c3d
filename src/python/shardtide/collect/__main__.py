"""Measures random sets of shards and collectives on these devices; devices of plans; and links between nodes."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shardtide import command
from shardtide.arguments import replacing
from shardtide.optimizers import DEFAULT, OPTIMIZERS, optimizer_name, supported

if TYPE_CHECKING:
    from shardtide.train.ranks import Ranks

T = TypeVar("T")

DEFAULT_BATCH_SIZES = {
    "cuda": [4_096, 8_192, 16_384, 32_768, 65_536, 131_072],
    "cpu": [256, 512, 1_024, 2_048, 4_096],
}

DEFAULT_CLUSTERS = [2, 4, 8, 16, 32, 64, 128]

NOT_COVERED = (
    "sets with more state or gradients than limits in options",
    "groups of devices that communicate at the same time as others",
)
# Repeated samples of an otherwise idle GPU differ by 0.2%.
MOST_NOISE_OF_GPU = 0.01

WITHOUT_CACHES = "cacheShare: all rows are in device memory"
WITHOUT_FBGEMM = "FBGEMM's table-batched operator: it is embedding_bag of PyTorch, a launch for each table"
ONE_DEVICE = "collectives: one device is measured; start several ranks with torchrun"

def run(arguments: argparse.Namespace) -> None:
    """Measures on a device, and with other ranks, which torch.distributed joins meanwhile."""
    # Imported here: bad options and a missing PyTorch are reported in one line.
    import torch
    import torch.distributed as distributed

    from shardtide.collect import machine
    from shardtide.train.ranks import local_size

    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = machine.device_of(arguments.device)
    if size > 1:
        if device.type == "cpu":
            torch.set_num_threads(max(1, (os.cpu_count() or 1) // local_size(size)))
        backend = "nccl" if device.type == "cuda" else "gloo"
        timeout = timedelta(seconds=arguments.timeout)
        distributed.init_process_group(backend, rank=rank, world_size=size, timeout=timeout)
    try:
        arguments.measure(arguments, device, size)
    except torch.cuda.OutOfMemoryError as e:
        raise MemoryError(f"{device} has too little free memory; end other programs on it. {e}") from None
    finally:
        if size > 1:
            distributed.destroy_process_group()


def _measure(arguments: argparse.Namespace, device: Any, size: int) -> None:
    from shardtide.collect import machine
    from shardtide.collect.collectives import MOST_BYTES, CollectiveMeter, group_shapes
    from shardtide.collect.measure import Meter, limits_of
    from shardtide.collect.run import Collector, Design
    from shardtide.collect.samples import SampleFolder
    from shardtide.collect.shapes import Limits
    from shardtide.collect.tables import draw_table
    from shardtide.train.ranks import Ranks, local_size

    if arguments.out is None:
        raise ValueError("--out must be given")
    began = time.monotonic()
    ranks = Ranks(timeout_seconds=arguments.timeout)
    groups = group_shapes(size, local_size(size))
    # Ranks that share a CPU share its memory.
    sharing = local_size(size) if device.type == "cpu" else 1
    least_free = min(ranks.gather(machine.free_bytes(device) // sharing))
    if arguments.memory_mib:
        least_free = min(least_free, arguments.memory_mib * 2**20)
    described = machine.describe(device)
    operator = _checked_operator(arguments.operator, arguments.optimizers, device)
    if arguments.cached and (operator != "fbgemm" or device.type != "cuda"):
        raise ValueError(f"--cached needs a GPU and --operator fbgemm, got {device.type} and {operator}")
    if arguments.unpooled and operator != "fbgemm":
        raise ValueError(f"--unpooled needs --operator fbgemm, got {operator}")
    host_bytes = min(ranks.gather(_host_bytes(arguments, size))) if arguments.cached else 0
    options: dict[str, Any] = {
        "seed": arguments.seed,
        "tables": arguments.tables,
        "batchSizes": arguments.batch_sizes or DEFAULT_BATCH_SIZES[device.type],
        "clusters": arguments.clusters,
        "ranks": size,
        "ranksPerNode": local_size(size),
        "device": described["device"],
        "operator": operator,
        "hardware": arguments.hardware,
        "optimizers": arguments.optimizers,
        "cached": arguments.cached,
        "unpooled": arguments.unpooled,
        "limits": asdict(limits_of(least_free, device.type, host_bytes)),
    }
    folder = _on_first(ranks, lambda: SampleFolder(arguments.out, options), ValueError)
    limits = ranks.from_first(folder.limits if folder else None)
    assert limits is not None
    run: dict[str, Any] = {
        **described,
        "begin": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "clocksAtBegin": machine.clocks(device),
        "firstSample": len(folder.compute) if folder else 0,
    }
    others = {WITHOUT_CACHES: not arguments.cached, ONE_DEVICE: not groups, WITHOUT_FBGEMM: operator != "fbgemm"}
    not_covered = [*NOT_COVERED, *(text for text, is_left_out in others.items() if is_left_out)]
    tables = [draw_table(arguments.seed, index) for index in range(arguments.tables)]
    if folder:
        # Written first: a killed run leaves the options, without which it cannot be continued.
        folder.write_info(run, not_covered)
        folder.write_tables(tables)
    shares = arguments.cached, arguments.unpooled
    sizes = options["batchSizes"], options["clusters"], groups, MOST_BYTES[device.type]
    design = Design(arguments.seed, tables, *sizes, arguments.optimizers, *shares)
    try:
        meter = Meter(device, limits, operator)
        run["copyGigabytesPerSecond"] = meter.copy_gigabytes_per_second()
        collectives = CollectiveMeter(ranks, groups, device, design.most_bytes) if groups else None
        Collector(design, ranks, meter, collectives, folder).run(arguments.minutes * 60, arguments.samples)
    finally:
        run["clocksAtEnd"] = machine.clocks(device)
        run["throttled"] = machine.throttled(device)
        run["seconds"] = round(time.monotonic() - began, 1)
        if folder:
            folder.write_info(run, not_covered)
            print("\n".join(_summary(arguments.out, folder.compute, run, device.type)), file=sys.stderr)


def _on_first(ranks: Ranks, make: Callable[[], T], error: type[Exception]) -> T | None:
    """Returns what rank 0 makes, None on the others; if it fails, all raise the error."""
    made, problem = None, None
    if ranks.rank == 0:
        try:
            made = make()
        except (ValueError, OSError) as e:
            problem = str(e)
    problem = ranks.from_first(problem)
    if problem:
        raise error(problem if ranks.rank == 0 else "rank 0 ended")
    return made


def _host_bytes(arguments: argparse.Namespace, size: int) -> int:
    from shardtide.collect import machine
    from shardtide.train.ranks import local_size

    if arguments.host_memory_mib:
        return int(arguments.host_memory_mib * 2**20)
    return machine.free_host_bytes() // local_size(size)


def _summary(out: Path, samples: Any, run: dict[str, Any], device_type: str) -> list[str]:
    """What rank 0 says at the end: where the samples are, and what makes them doubtful."""
    noise = samples.noise()
    difference = noise["medianRelativeDifference"] if noise else 0.0
    lines = [f"samples are in {out}" + (f"; measured again, they differ by {difference:.1%}" if noise else "")]
    if device_type == "cuda" and difference > MOST_NOISE_OF_GPU:
        doubt = "do other programs use this GPU? nvidia-smi lists them"
        lines.append(f"warning: that is more than {MOST_NOISE_OF_GPU:.0%}; {doubt}")
    if run["throttled"]:
        lowers = f"warning: the GPU lowers its clocks because of {', '.join(run['throttled'])}"
        lines.append(f"{lowers}; samples are slower than those of a GPU that is cooled well and has its power")
    if samples.not_queued:
        lines.append(
            f"warning: {samples.not_queued:,} samples are marked \"queued\":false: the host launched too slowly, or the"
            " operator waits for the GPU; their times include pauses"
        )
    skipped = samples.skipped
    if skipped:
        sample, why = next(iter(skipped.items()))
        lines.append(f"{len(skipped):,} sets could not be measured and were skipped, the first one, {sample}: {why}")
    return lines


def _checked_operator(name: str, optimizers: Sequence[str], device: Any) -> str:
    """Returns the operator `fbgemm` or `embedding_bag`. ValueError: it is not installed, or lacks an optimizer"""
    from shardtide.collect import machine

    operator = machine.operator_of(name)
    known = supported(operator, device.type)
    for optimizer in optimizers:
        if optimizer not in known:
            has = f"operator {operator} has no optimizer {optimizer} on {device.type}"
            raise ValueError(f"{has}; expected {', '.join(known)}")
    return operator


def _measure_links(arguments: argparse.Namespace, device: Any, size: int) -> None:
    from shardtide.collect import links
    from shardtide.train.ranks import Ranks

    ranks = Ranks(timeout_seconds=arguments.timeout)
    names = ranks.gather(arguments.node)
    links.check_nodes(names)
    with contextlib.ExitStack() as stack:

        def opened() -> Path:
            part = stack.enter_context(replacing(arguments.out))
            try:
                part.write_text("")
            except OSError as e:
                raise OSError(f"{arguments.out} cannot be written: {e.strerror}") from None
            return part

        part = _on_first(ranks, opened, OSError)
        meter = links.LinkMeter(ranks, device, (arguments.mib or links.MIB[device.type]) * 2**20)
        speeds = links.measure_links(ranks, meter, names, arguments.at_once)
        if part:
            part.write_text(links.to_json(names, speeds), encoding="utf-8")
            print("\n".join(links.summary(names, speeds)), file=sys.stderr)
            print(f"links are in {arguments.out}", file=sys.stderr)


def _measure_plans(arguments: argparse.Namespace, device: Any, size: int) -> None:
    from shardtide.collect import machine
    from shardtide.collect.measure import Meter, limits_of
    from shardtide.collect.plans import PlanMeter, read_plans, read_workloads, summary
    from shardtide.collect.samples import measured_with, write_info

    if size > 1:
        raise ValueError("plans are measured on one device; start it without torchrun")
    operator = _checked_operator(arguments.operator, [arguments.optimizer], device)
    workloads = read_workloads(arguments.workloads, supported(operator, device.type))
    files = read_plans(arguments.plans)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if any(arguments.out.iterdir()):
        raise ValueError(f"{arguments.out} is not empty; name another folder")
    free = machine.free_bytes(device)
    if arguments.memory_mib:
        free = min(free, arguments.memory_mib * 2**20)
    run: dict[str, Any] = {**machine.describe(device), "clocksAtBegin": machine.clocks(device)}
    meter = Meter(device, limits_of(free, device.type, _host_bytes(arguments, size)), operator)
    plan_meter = PlanMeter(meter, free, arguments.out, arguments.optimizer, arguments.seed)
    lines: list[dict[str, Any]] = []
    try:
        for workload in workloads:
            for file in files:
                lines.append(plan_meter.measure(workload, file))
                print(_plan_line(lines[-1]), file=sys.stderr)
    finally:
        info = {
            **measured_with(run, operator, arguments.hardware),
            "samples": {"compute": plan_meter.samples, "collectives": 0},
            "skipped": plan_meter.skipped,
            "noise": {"compute": plan_meter.noise()},
            "runs": [{**run, "clocksAtEnd": machine.clocks(device), "throttled": machine.throttled(device)}],
        }
        write_info(arguments.out, info)
    print(json.dumps({"plans": summary(lines), "noise": plan_meter.noise()}))


def _plan_line(line: dict[str, Any]) -> str:
    of = f"{line['task']}, {line['plans']}"
    if "slowest_ms" not in line:
        return f"{of}: not measured: {line['reason']}"
    everything = f"all {len(line['forward_ms'])} {line['sum_ms']:.3f} ms"
    return f"{of}: slowest device {line['slowest_ms']:.3f} ms, {everything}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measures the computation of random sets of embedding shards, and with several ranks their collectives, as"
        " samples of a cost model. The same command continues an interrupted run."
    )
    parser.epilog = "torchrun --nproc-per-node N -m shardtide.collect --out DIR measures on N devices."
    # How long ranks wait for each other: in a round, the fastest for the slowest.
    parser.set_defaults(measure=_measure, timeout=600.0, interrupted="; the same command continues")
    add, count = parser.add_argument, command.positive(int)
    add("--out", type=Path, metavar="DIR", help="folder of the samples")
    add("--minutes", type=command.positive(float), default=15.0, help="how long to measure (default: 15)")
    add("--samples", type=count, default=sys.maxsize, help="end at this many computations, earlier included")
    add("--seed", type=int, default=0, help="of tables, shards, ids and collectives (default: 0)")
    batch_sizes = "global batch sizes (default: powers of 2, 4096 to 131072 on a GPU, 256 to 4096 on a CPU)"
    add("--batch-sizes", type=count, nargs="+", metavar="B", help=batch_sizes)
    clusters = "numbers of devices to plan for, by which rows are split (default: powers of 2, 2 to 128)"
    add("--clusters", type=count, nargs="+", metavar="N", default=DEFAULT_CLUSTERS, help=clusters)
    optimizers = f"of the sets, each of which has one: {', '.join(OPTIMIZERS)} (default: {DEFAULT})"
    optimizer, share = command.checked(optimizer_name), command.checked(_share)
    add("--optimizers", type=optimizer, nargs="+", metavar="NAME", default=[DEFAULT], help=optimizers)
    unpooled = "share of the sets whose tables are unpooled, an output for each lookup, with FBGEMM (default: 0)"
    add("--unpooled", type=share, default=0.0, metavar="SHARE", help=unpooled)
    cached = "share of the sets that have shards with rows in host memory and a cache of them, on a GPU (default: 0)"
    add("--cached", type=share, default=0.0, metavar="SHARE", help=cached)
    add("--tables", type=command.checked(_tables), default=1_000, help="how many tables to draw (default: 1000)")
    _add_device(parser)
    _add_operator(parser)
    others = parser.add_subparsers(metavar="plans | links")
    _add_plans(others.add_parser("plans", help="the devices of given plans"))
    _add_links(others.add_parser("links", help="the bandwidth between nodes"))


def _add_plans(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Runs the shards of each device of given plans on one device, forward, backward and optimizer, and writes the"
        " times of the slowest device and of all. Collectives are not measured."
    )
    parser.epilog = (
        "./shardtide plan make -f F --out A writes plans; plan evaluate converts TorchRec's plans. The folder has"
        " plans.jsonl, and compute.jsonl and tables.jsonl, which ./shardtide model evaluate --samples reads."
    )
    parser.set_defaults(measure=_measure_plans, interrupted="; what was measured is written")
    add = parser.add_argument
    add("--workloads", type=Path, required=True, metavar="F", help="workloads, one a line")
    paths, plans = (lambda text: [Path(name) for name in text.split(",")]), "files of their plans, one a line"
    add("--plans", type=paths, required=True, metavar="A,B,...", help=plans)
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the results, new or empty")
    optimizer = f"of tables that name none: {', '.join(OPTIMIZERS)} (default: {DEFAULT})"
    add("--optimizer", type=command.checked(optimizer_name), metavar="NAME", default=DEFAULT, help=optimizer)
    add("--seed", type=int, default=0, help="of the ids (default: 0)")
    _add_device(parser)
    _add_operator(parser)


def _add_links(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measures the bandwidth between each pair of nodes, in both directions at once, and writes it as the links of a"
        " pool. Pairs are measured one after another, while all other nodes wait."
    )
    parser.epilog = (
        "On each node: torchrun --nnodes N --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint HOST"
        " -m shardtide.collect links --out FILE. Then: ./shardtide pool apply POOL .. --links FILE."
    )
    parser.set_defaults(measure=_measure_links, interrupted="; no links are written")
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="FILE", help="file of the links, on rank 0's node")
    node, name = "name of this node in the pool (default: its host name)", socket.gethostname()
    add("--node", type=command.checked(_node), metavar="NAME", default=name, help=node)
    mib = "MiB that two nodes send to each other at a time (default: 256 on a GPU, 64 on a CPU)"
    add("--mib", type=command.positive(int), help=mib)
    at_once = "pairs that are measured at a time, of different nodes: faster, but they may share links (default: 1)"
    add("--at-once", type=command.positive(int), default=1, metavar="N", help=at_once)
    timeout = "how long nodes wait for each other, also for a pair that is measured (default: 120)"
    add("--timeout", type=command.positive(float), default=120.0, metavar="SECONDS", help=timeout)
    _add_device(parser)


def _add_operator(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    operator = "FBGEMM's table-batched operator, or PyTorch's (default: FBGEMM's if fbgemm_gpu is installed)"
    add("--operator", choices=("auto", "fbgemm", "embedding_bag"), default="auto", help=operator)
    memory = "memory for samples on a device (default: what is free; of a CPU less)"
    add("--memory-mib", type=command.positive(int), help=memory)
    host_memory = "host memory for cached tables of a device (default: a quarter of what is free, at most 32 GiB, divided"
    host_memory += " among the devices of the node)"
    add("--host-memory-mib", type=command.positive(int), help=host_memory)
    add("--hardware", metavar="NAME", help="name of the hardware, for run-info.json")


def _add_device(parser: argparse.ArgumentParser) -> None:
    device = "cuda, cuda:N or cpu (default: this rank's GPU if there is one)"
    parser.add_argument("--device", default="auto", help=device)


def _node(text: str) -> str:
    # Not less strict than the planner, which would reject the pool.
    if not text.strip() or len(text) > 255 or not text.isprintable():
        raise ValueError(f"must have 1 to 255 characters, all of them printable, got {text!r}")
    return text


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(f"must be between 0 and 1, got {text}")
    return value


def _tables(text: str) -> int:
    # Of fewer tables none is held back.
    if int(text) < 10:
        raise ValueError(f"must be at least 10, got {text}")
    return int(text)


if __name__ == "__main__":
    command.main(name="collect")
