"""Measures what the order of ranks is worth between two racks: real processes, gloo, and a network that is shaped.

sudo python src/python/tests/measure_dlrm/racks.py [--nodes 8] [--order rack-by-rack] [options]

Linux only, as root, with the commands ip and tc. Each node is a network namespace with one process. The namespace of a
rack has a bridge for its nodes; one link joins the two bridges. tc's token bucket filter limits each link, in both
directions: that of a node to --megabits, the one between the racks to a quarter of it. The nodes n00, n01 and so on are
in turns in the two racks, so that ranks in the order of names are the worst case. The ring all-reduce of gloo, the one
of dense gradients, an all-to-all, and a step of examples/dlrm's trainer are timed in that order and in --order, in turns.
The trainer has a copy of a table of --mebibytes on each node, and one more table on each. All namespaces are deleted in
the end.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

RACKS = ("east", "west")
UPLINK_SHARE = 4

# Larger than a segment that the kernel has not split yet; a queue that TCP does not overflow.
BURST_BYTES = 131_072
QUEUE_BYTES = 4_194_304
GIGA = 1e9

TIMED = ("all_reduce", "all_to_all", "training_step")
BATCH_SIZE = 512
COLUMNS = 32
ROWS = 10_000


def names(nodes: int) -> list[str]:
    """Returns the names of nodes, ascending."""
    return [f"n{node:02}" for node in range(nodes)]


def rack(name: str) -> str:
    """Returns the rack of a node: they take turns."""
    return RACKS[int(name[1:]) % len(RACKS)]


def orders(nodes: int, order: str) -> dict[str, list[str]]:
    """Returns the orders of ranks to compare."""
    by_name = names(nodes)
    chosen = sorted(by_name, key=lambda name: (rack(name), name)) if order == "rack-by-rack" else order.split(",")
    if sorted(chosen) != by_name:
        raise SystemExit(f"order must have each of {','.join(by_name)} once, got {order}")
    return {"by name": by_name, "chosen": chosen}


def ring_seconds(ranks: Sequence[str], size: int, node_rate: float) -> float:
    """Predicts a ring all-reduce, without latencies; the links that cross between the racks share theirs.

    ranks: names of nodes in the order of ranks
    size: bytes of the buffer
    node_rate: bytes a second of a node's link
    """
    following = [*ranks[1:], ranks[0]]
    crossings = sum(rack(a) == RACKS[0] != rack(b) for a, b in zip(ranks, following))
    rate = min(node_rate, node_rate / UPLINK_SHARE / crossings) if crossings else node_rate
    return 2 * (len(ranks) - 1) / len(ranks) * size / rate


class Network:
    """Namespaces of two racks and their nodes. Use it in a with statement."""

    def __init__(self, nodes: int, megabits: int):
        self._prefix = f"shardtide-{os.getpid()}-"
        self._nodes = names(nodes)
        self._megabits = megabits
        self._made: list[str] = []

    def __enter__(self) -> Network:
        try:
            for at in RACKS:
                self._add(at)
                _run("ip", "-n", self._prefix + at, "link", "add", "bridge", "type", "bridge")
                _run("ip", "-n", self._prefix + at, "link", "set", "bridge", "up")
            self._join(RACKS[0], "uplink", RACKS[1], "uplink", self._megabits // UPLINK_SHARE)
            for at in RACKS:
                _run("ip", "-n", self._prefix + at, "link", "set", "uplink", "master", "bridge")
            for number, node in enumerate(self._nodes):
                self._add(node)
                self._join(node, "fabric", rack(node), node, self._megabits)
                _run("ip", "-n", self._prefix + rack(node), "link", "set", node, "master", "bridge")
                _run("ip", "-n", self._prefix + node, "addr", "add", f"10.77.0.{number + 1}/24", "dev", "fabric")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def command(self, node: str, arguments: Sequence[str]) -> list[str]:
        """Returns the command that runs another one on a node."""
        return ["ip", "netns", "exec", self._prefix + node, *arguments]

    def close(self) -> None:
        """Deletes the namespaces, and with them all links."""
        while self._made:
            subprocess.run(["ip", "netns", "del", self._made.pop()], check=False)

    def _add(self, name: str) -> None:
        _run("ip", "netns", "add", self._prefix + name)
        self._made.append(self._prefix + name)
        _run("ip", "-n", self._prefix + name, "link", "set", "lo", "up")

    def _join(self, one: str, its: str, other: str, others: str, megabits: int) -> None:
        end = ["type", "veth", "peer", "name", others, "netns", self._prefix + other]
        _run("ip", "-n", self._prefix + one, "link", "add", its, *end)
        for name, device in ((one, its), (other, others)):
            _run("ip", "-n", self._prefix + name, "link", "set", device, "up")
            shape = ["tbf", "rate", f"{megabits}mbit", "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES)]
            _run("tc", "-n", self._prefix + name, "qdisc", "add", "dev", device, "root", *shape)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()}")


def node_main(node: str, folder: pathlib.Path, options: argparse.Namespace) -> None:
    """Runs a node: one rank, another one in each order. The first rank prints a line of JSON for each time."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "fabric"
    elements = options.mebibytes * 2**20 // 4
    buffer = torch.zeros(elements)
    received = torch.empty(elements)
    for turn in range(options.turns):
        for name, ranks in orders(options.nodes, options.order).items():
            store = f"file://{folder}/{turn}-{name.replace(' ', '-')}"
            dist.init_process_group("gloo", init_method=store, rank=ranks.index(node), world_size=len(ranks))
            run: dict[str, Callable[[], Any]] = {
                "all_reduce": lambda: dist.all_reduce(buffer),
                "all_to_all": lambda: dist.all_to_all_single(received, buffer),
                "training_step": trainer(options),
            }
            for timed in TIMED:
                for repetition in range(options.repetitions + 1):
                    dist.barrier()
                    begin = time.perf_counter()
                    run[timed]()
                    seconds = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
                    dist.all_reduce(seconds, dist.ReduceOp.MAX)
                    # The first one opens TCP's window.
                    if repetition and ranks[0] == node:
                        line = {"timed": timed, "order": name, "seconds": seconds.item()}
                        print(json.dumps(line), flush=True)
            dist.barrier()
            dist.destroy_process_group()


def trainer(options: argparse.Namespace) -> Callable[[], Any]:
    """Returns what trains a step: gradients of the copies are all-reduced, outputs of the others go all to all."""
    import torch
    from shardtide.collect.tables import Table

    from baselines import plan_of, plan_record
    from data import Feature
    from layout import TableShape
    from measuring import Job, Workload
    from world import World

    def feature(name: str, rows: int) -> Feature:
        return Feature(TableShape(name, rows, COLUMNS), Table(rows, 1.0, 0.0, 1.0))

    copied = feature("copied", options.mebibytes * 2**20 // (4 * COLUMNS))
    whole = [feature(f"t{device}", ROWS) for device in range(options.nodes)]
    shards = plan_of("racks", [copied, *whole], [-1, *range(options.nodes)], options.nodes)["shards"]
    shards[0]["kind"] = "DATA_PARALLEL"
    plan = plan_record("racks", shards, options.nodes)
    world = World(1, torch.device("cpu"), options.timeout)
    return Job(Workload("racks", [copied, *whole], BATCH_SIZE), plan, world, 0).step


def measure(options: argparse.Namespace, folder: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Yields what the nodes print."""
    with Network(options.nodes, options.megabits) as network:
        running = []
        for node in names(options.nodes):
            command = [sys.executable, __file__, *sys.argv[1:], "--node", node, "--folder", str(folder)]
            running.append(subprocess.Popen(network.command(node, command), stdout=subprocess.PIPE, text=True))
        try:
            for process in running:
                out, _ = process.communicate(timeout=options.timeout)
                if process.returncode:
                    raise SystemExit(f"a node ended with {process.returncode}")
                yield from (json.loads(line) for line in out.splitlines() if line.startswith("{"))
        finally:
            for process in running:
                process.kill()


def main() -> None:
    """Measures, and prints medians and ratios as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=8, help="nodes, an even number from 4 to 64 (default 8)")
    parser.add_argument("--order", default="rack-by-rack", help="names in the order of ranks, as an allocation has them")
    parser.add_argument("--megabits", type=int, default=200, help="rate of a node's link, Mbit/s (default 200)")
    parser.add_argument("--mebibytes", type=int, default=8, help="size of the buffer, MiB (default 8)")
    parser.add_argument("--repetitions", type=int, default=3, help="of each of the three in a turn (default 3)")
    parser.add_argument("--turns", type=int, default=3, help="turns of both orders (default 3)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for all (default 900)")
    parser.add_argument("--node", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.nodes % 2 or not 4 <= options.nodes <= 64:
        parser.error(f"--nodes must be an even number from 4 to 64, got {options.nodes}")
    if options.node:
        node_main(options.node, options.folder, options)
        return
    ranks = orders(options.nodes, options.order)
    with tempfile.TemporaryDirectory() as folder:
        lines = list(measure(options, pathlib.Path(folder)))
    rate = options.megabits * 1e6 / 8
    result: dict[str, Any] = {
        "nodes": options.nodes,
        "bytes": options.mebibytes * 2**20,
        "node_gigabytes_per_second": rate / GIGA,
        "between_racks_gigabytes_per_second": rate / UPLINK_SHARE / GIGA,
        "order": ranks["chosen"],
    }
    for timed in TIMED:
        median, spread = {}, {}
        for name in ranks:
            times = [line["seconds"] for line in lines if (line["timed"], line["order"]) == (timed, name)]
            median[name] = statistics.median(times)
            spread[name] = [round(min(times), 4), round(max(times), 4)]
        result[timed] = {
            "median_seconds": {name: round(value, 4) for name, value in median.items()},
            "least_and_most_seconds": spread,
            "times_as_fast": round(median["by name"] / median["chosen"], 2),
        }
    predicted = {name: ring_seconds(order, options.mebibytes * 2**20, rate) for name, order in ranks.items()}
    result["predicted_ring"] = {
        "seconds": {name: round(value, 4) for name, value in predicted.items()},
        "times_as_fast": round(predicted["by name"] / predicted["chosen"], 2),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
