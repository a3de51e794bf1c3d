"""python -m shardtide.collect: measures random sets of shards on this device until the time is up."""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from shardtide.collect.measure import Meter, Times
    from shardtide.collect.samples import SampleFolder
    from shardtide.collect.shapes import Shard
    from shardtide.collect.tables import Table

DEFAULT_BATCH_SIZES = {
    "cuda": [4_096, 8_192, 16_384, 32_768, 65_536, 131_072],
    "cpu": [256, 512, 1_024, 2_048, 4_096],
}

PROGRESS_SECONDS = 5.0

NOT_COVERED = (
    "collectives: one device is measured",
    "cacheShare: all rows are in device memory",
    "FBGEMM's table-batched operator: the operator is torch.nn.functional.embedding_bag, a launch for each table",
    "sets with more state or gradients than limits in options",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command with these arguments, those of the process unless given."""
    options = _parse(arguments)
    try:
        _collect(options)
    except ModuleNotFoundError as e:
        if e.name != "torch":
            raise
        sys.exit("shardtide.collect: PyTorch is not installed; https://pytorch.org/get-started says how to install it")
    except (ValueError, OSError, MemoryError) as e:
        sys.exit(f"shardtide.collect: {e}")
    except KeyboardInterrupt:
        sys.exit("shardtide.collect: interrupted; the same command continues")


def _collect(arguments: argparse.Namespace) -> None:
    """Adds samples to a folder until the minutes are over or there are enough."""
    # Imported here: bad options and a missing PyTorch are reported in one line.
    import torch

    from shardtide.collect import machine
    from shardtide.collect.measure import Meter, limits_of
    from shardtide.collect.samples import SampleFolder
    from shardtide.collect.tables import draw_table

    began = time.monotonic()
    device = machine.device_of(arguments.device)
    machine_info = machine.describe(device)
    options = {
        "seed": arguments.seed,
        "tables": arguments.tables,
        "batchSizes": arguments.batch_sizes or DEFAULT_BATCH_SIZES[device.type],
        "device": machine_info["device"],
        "limits": asdict(limits_of(machine.free_bytes(device), device.type)),
    }
    folder = SampleFolder(arguments.out, options)
    run = {
        **machine_info,
        "begin": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "clocksAtBegin": machine.clocks(device),
        "firstSample": folder.samples,
    }
    # Written first: a killed run leaves the options, without which it cannot be continued.
    folder.write_info(run, NOT_COVERED)
    tables = [draw_table(arguments.seed, index) for index in range(arguments.tables)]
    folder.write_tables(tables)
    try:
        meter = Meter(device, folder.limits)
        run["copyGigabytesPerSecond"] = meter.copy_gigabytes_per_second()
        _measure(folder, meter, tables, options["batchSizes"], arguments)
    except torch.cuda.OutOfMemoryError as e:
        raise MemoryError(f"{arguments.device} has too little free memory; end other programs on it. {e}") from None
    finally:
        run["clocksAtEnd"] = machine.clocks(device)
        run["seconds"] = round(time.monotonic() - began, 1)
        folder.write_info(run, NOT_COVERED)


def _measure(
    folder: SampleFolder,
    meter: Meter,
    tables: Sequence[Table],
    batch_sizes: Sequence[int],
    arguments: argparse.Namespace,
) -> None:
    from shardtide.collect.samples import is_held_back
    from shardtide.collect.shapes import draw_shards

    indices = range(len(tables))
    trained = [index for index in indices if not is_held_back(index)]
    held_back = [index for index in indices if is_held_back(index)]

    def measure(sample: int, attempt: int) -> tuple[Sequence[Shard], Times]:
        draw = random.Random(f"{arguments.seed}/sample/{sample}")
        eligible = [trained, held_back] if is_held_back(sample) else [trained]
        shards = draw_shards(draw, tables, eligible, batch_sizes, folder.limits)
        seed = random.Random(f"{arguments.seed}/ids/{sample}/{attempt}").getrandbits(63)
        return shards, meter.measure(tables, shards, seed)

    first, began = folder.samples, time.monotonic()
    end, shown = began + arguments.minutes * 60, began
    while folder.samples < arguments.samples and time.monotonic() < end:
        repeated = folder.due_repeat()
        if repeated is None:
            folder.add(*measure(folder.samples, 0))
        else:
            folder.add_repeat(repeated, measure(repeated, 1)[1])
        now = time.monotonic()
        if now - shown >= PROGRESS_SECONDS:
            shown = now
            left = end - now
            if folder.samples > first:
                left = min(left, (arguments.samples - folder.samples) * (now - began) / (folder.samples - first))
            print(f"{folder.samples} samples, {max(0, round(left))} s left", file=sys.stderr)
    print(f"{folder.samples} samples in {arguments.out}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exits with one line; --help shows the usage."""
        self.exit(2, f"shardtide.collect: {message}\n")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m shardtide.collect",
        description="Measures the computation of random sets of embedding shards on one device, as samples of a cost"
        " model. The same command continues an interrupted run.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the samples")
    parser.add_argument("--minutes", type=_positive(float), default=15.0, help="how long to measure (default: 15)")
    parser.add_argument(
        "--samples", type=_positive(int), default=sys.maxsize, help="end at this many samples, earlier runs' included"
    )
    parser.add_argument("--seed", type=int, default=0, help="of tables, shards and ids (default: 0)")
    parser.add_argument("--device", default="auto", help="cuda, cuda:N or cpu (default: the GPU if there is one)")
    parser.add_argument(
        "--batch-sizes",
        type=_positive(int),
        nargs="+",
        metavar="B",
        help="global batch sizes (default: powers of 2, 4096 to 131072 on a GPU, 256 to 4096 on a CPU)",
    )
    parser.add_argument("--tables", type=_tables, default=1_000, help="how many tables to draw (default: 1000)")
    return parser.parse_args(arguments)


def _positive(number: Callable[[str], float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = number(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
        return value

    parse.__name__ = number.__name__
    return parse


def _tables(text: str) -> int:
    # Of fewer tables none is held back.
    if int(text) < 10:
        raise argparse.ArgumentTypeError(f"must be at least 10, got {text}")
    return int(text)


if __name__ == "__main__":
    main()
