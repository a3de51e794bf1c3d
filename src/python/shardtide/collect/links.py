"""The bandwidth between nodes, measured pair by pair, as the links of a pool."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import torch
import torch.distributed as distributed

from shardtide.collect.measure import Stopwatch
from shardtide.train.ranks import Ranks

WARM_UPS = 2
REPETITIONS = 9

# Of a message: it takes a link of 10 GB/s (CPU) or of 50 GB/s (GPU) 7 ms and 5 ms, far more than its latency.
MIB = {"cuda": 256, "cpu": 64}

# A matrix of links has no more nodes: io.shardtide.pool.NodeLinks.
MOST_NODES = 512

# Bandwidths are written with so many digits: repetitions differ by more.
DIGITS = 4

PROGRESS_SECONDS = 5.0

# By how much the bandwidths of a pair's directions may differ, as a share of the greater one, before it is said.
ONE_WAY = 0.2

T = TypeVar("T")


class LinkSpeed(NamedTuple):
    """Bandwidth from the first to the second node, and back, while both send, in 10^9 bytes a second."""

    there: float
    back: float

    @property
    def both_ways(self) -> float:
        return min(self.there, self.back)


def rounds_of_pairs(nodes: int, at_once: int) -> list[list[tuple[int, int]]]:
    """Returns all pairs of nodes in the order of measuring, so many at a time, of which none have a node in common."""
    # A round-robin tournament: the first node stays, the others go round. An odd node out has a bye.
    players: list[int | None] = [*range(nodes), *([None] if nodes % 2 else [])]
    rounds = []
    for _ in range(len(players) - 1):
        facing = zip(players[: len(players) // 2], reversed(players))
        pairs = sorted((min(a, b), max(a, b)) for a, b in facing if a is not None and b is not None)
        rounds += [pairs[i : i + at_once] for i in range(0, len(pairs), at_once)]
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def check_nodes(names: Sequence[str]) -> None:
    """Checks the names of the nodes, by rank; ValueError: too few or too many nodes, or two ranks have one name."""
    if not 2 <= len(names) <= MOST_NODES:
        remedy = "start one process on each node, for example with torchrun --nnodes N --nproc-per-node 1"
        raise ValueError(f"links are between 2 to {MOST_NODES} nodes, got {len(names)}; {remedy}")
    first: dict[str, int] = {}
    for rank, name in enumerate(names):
        if first.setdefault(name, rank) != rank:
            remedy = "start one process on each node (torchrun --nproc-per-node 1), or name nodes with --node"
            raise ValueError(f'ranks {first[name]} and {rank} are both on node "{name}"; {remedy}')


def to_json(names: Sequence[str], speeds: dict[tuple[int, int], LinkSpeed]) -> str:
    """Returns a PoolLinks in Avro's JSON encoding, a row of the matrix on each line."""
    matrix = [[0.0] * len(names) for _ in names]
    for (a, b), speed in speeds.items():
        matrix[a][b] = matrix[b][a] = float(f"{speed.both_ways:.{DIGITS}g}")
    rows = ",\n  ".join(json.dumps(row) for row in matrix)
    return (
        '{"withinRacks": 0.0, "betweenRacks": 0.0, "racks": [],\n'
        f' "nodes": {json.dumps(list(names))},\n "matrix": [\n  {rows}]}}\n'
    )


class LinkMeter:
    """Measures links between the ranks of a job, one on each node; all of them create it.

    message_bytes: what two nodes send to each other at a time
    ConnectionError: the backend does not connect all ranks
    """

    def __init__(self, ranks: Ranks, device: torch.device, message_bytes: int):
        self._rank = ranks.rank
        self._device = device
        self._message_bytes = message_bytes
        self._sent = torch.ones(message_bytes, dtype=torch.uint8, device=device)
        self._received = torch.zeros(message_bytes, dtype=torch.uint8, device=device)
        # NCCL creates its communicator in the first call, which needs all ranks; pairs use it afterwards.
        problems = ranks.gather(_attempt(lambda: distributed.all_reduce(torch.zeros(1, device=device)))[1])
        for rank, problem in enumerate(problems):
            if problem:
                raise ConnectionError(f"rank {rank}: {problem}")

    def gigabytes_per_second(self, pair: tuple[int, int]) -> float:
        """Returns the bandwidth from the other node of the pair while this one sends as well; both ranks call this."""
        other = pair[1] if pair[0] == self._rank else pair[0]
        laps = [self._lap(other) for _ in range(WARM_UPS + REPETITIONS)]
        return self._message_bytes / statistics.median(laps[WARM_UPS:]) / 1e6

    def _lap(self, other: int) -> float:
        # One byte first, so that both begin together: on GPUs the device waits.
        for work in self._exchange(other, 1):
            work.wait()
        watch = Stopwatch(self._device, computes=False)
        # Of gloo two, the receive first; of NCCL one for both.
        received, *sent = self._exchange(other, self._message_bytes)
        received.wait()
        watch.lap()
        for work in sent:
            work.wait()
        return watch.laps_ms()[0]

    def _exchange(self, other: int, size: int) -> list[distributed.Work]:
        receive = distributed.P2POp(distributed.irecv, self._received[:size], other)
        send = distributed.P2POp(distributed.isend, self._sent[:size], other)
        return distributed.batch_isend_irecv([receive, send])


def measure_links(
    ranks: Ranks, meter: LinkMeter, names: Sequence[str], at_once: int
) -> dict[tuple[int, int], LinkSpeed]:
    """Measures all pairs of nodes, so many at once, and returns the bandwidths by pair, on all ranks.

    names: of the nodes, by rank
    ConnectionError: two nodes cannot communicate
    """
    began = shown = time.monotonic()
    rounds = rounds_of_pairs(len(names), at_once)
    total = sum(map(len, rounds))
    speeds: dict[tuple[int, int], LinkSpeed] = {}
    for pairs in rounds:
        mine = next((pair for pair in pairs if ranks.rank in pair), None)
        found = ranks.gather(_attempt(lambda: meter.gigabytes_per_second(mine) if mine else None))
        for a, b in pairs:
            received = []
            for rank, other in ((b, a), (a, b)):
                speed, problem = found[rank]
                if speed is None:
                    raise ConnectionError(f"nodes {names[rank]} and {names[other]}: {problem}")
                received.append(speed)
            speeds[a, b] = LinkSpeed(*received)
        now = time.monotonic()
        if ranks.rank == 0 and (now - shown >= PROGRESS_SECONDS or len(speeds) == total):
            shown = now
            left = (now - began) * (total - len(speeds)) / len(speeds)
            a, b = pairs[-1]
            last = f"{names[a]} and {names[b]}: {speeds[a, b].both_ways:.3g} GB/s"
            print(f"{len(speeds):,} of {total:,} pairs, {left:.0f} s left; {last}", file=sys.stderr)
    return speeds


def _attempt(communicate: Callable[[], T]) -> tuple[T | None, str | None]:
    """Returns the result and what prevented it: other ranks wait for both."""
    try:
        return communicate(), None
    except RuntimeError as e:
        return None, str(e)


def summary(names: Sequence[str], speeds: dict[tuple[int, int], LinkSpeed]) -> list[str]:
    """Returns lines for people: the range of the bandwidths, and the pair whose directions differ most."""
    ordered = sorted(speeds, key=lambda pair: speeds[pair].both_ways)
    slow, fast = (f"{speeds[a, b].both_ways:.3g} GB/s ({names[a]} and {names[b]})" for a, b in (ordered[0], ordered[-1]))
    middle = statistics.median(speed.both_ways for speed in speeds.values())
    lines = [f"{len(names)} nodes, {len(speeds):,} pairs: {slow} to {fast}, median {middle:.3g} GB/s"]
    a, b = min(speeds, key=lambda pair: speeds[pair].both_ways / max(speeds[pair].there, speeds[pair].back))
    there, back = speeds[a, b].there, speeds[a, b].back
    if min(there, back) < (1 - ONE_WAY) * max(there, back):
        lines.append(
            f"directions differ, the smaller one counts; most: {names[a]} to {names[b]} {there:.3g} GB/s,"
            f" back {back:.3g} GB/s"
        )
    return lines
