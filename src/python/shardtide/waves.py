"""The moves of a plan in waves that yield to training: they take a share of each device's link, and steps go on.

A function of the plan and the settings alone; io.shardtide.plan.MoveWaves in Java returns the same. It needs neither
PyTorch nor Kafka's client.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from shardtide.records import Move, MoveStep, ShardingPlan

# A quarter of the link: steps take at most 4/3 times as long meanwhile. With a step that communicates for half its time
# and a plan that gains 5%, the time lost to slower steps and to the later gain is within 3% of the least at any share
# from a quarter to a half; the smallest of these disturbs steps least.
LINK_SHARE = 0.25

# Collectives keep a tenth of the link at least.
MOST_LINK_SHARE = 0.9

EVERY_DEVICE = -1
BYTES_PER_MS = 1e6


class MoveWave(NamedTuple):
    """Tables whose moves are made together.

    When the wave is finished, all its tables are sharded as in the new plan, and those of later waves still as before.

    tables: their names, those first whose moves gain most
    steps: the moves, each with move (its place in the plan's moves, from 0) and stage (DIRECT, TO_HOST, FROM_HOST): in
        any order and at once, or in this order if stops_training
    total_bytes: bytes that are sent, to all devices together; what goes through a host counts twice
    stops_training: whether no step may run while the shards move: they go through host memory, or come from a device
        that is gone
    duration_ms: how long the transfers take. If each move is sent evenly over this time, no device sends or receives
        faster than it may
    lost_ms: how much longer training takes because of the wave: steps are slower during the transfers, or stop, and stop
        while shards change places at the end
    """

    tables: list[str]
    steps: list[MoveStep]
    total_bytes: int
    stops_training: bool
    duration_ms: float
    lost_ms: float


class MoveWaves(NamedTuple):
    """The waves of a plan, in order; none if nothing moves.

    step_ms: predicted step of the plan
    slowed_step_ms: the same while shards move: collectives wait for the device whose link moves share most
    """

    waves: list[MoveWave]
    step_ms: float
    slowed_step_ms: float

    @property
    def duration_ms(self) -> float:
        """How long all transfers take, one wave after another."""
        return _sum(wave.duration_ms for wave in self.waves)

    @property
    def lost_ms(self) -> float:
        """How much longer training takes because of all waves."""
        return _sum(wave.lost_ms for wave in self.waves)


def move_waves(
    plan: ShardingPlan,
    link_share: float = LINK_SHARE,
    usable_bytes_per_device: int | Sequence[int] | None = None,
    longest_ms: float = math.inf,
) -> MoveWaves:
    """Returns the waves of a plan's moves from the plan that its previousPlanId names.

    All moves of a table are in one wave, so that a table is sharded in one way at any time. A shard that moves exists
    twice until its wave is finished, and no device is above its memory at any time. A device may receive if it has room
    for all that it will hold and has yet to send, or if everything has left it that leaves before in the plan's
    moveOrder. Where full devices block one another, the tables that they wait for move in that order while training
    stops.

    Waves are as few as memory and longest_ms allow, because each ends with a stop. Tables with the largest explained gain
    per byte come first. Before them come tables with parts on devices that are gone, without which no step can run.

    link_share: share of each device's link that moves may take, sending and receiving alike; above 0 to 0.9
    usable_bytes_per_device: device memory for shards, of each device or, where memoryBytesByDevice of the cluster names
        some, one number for each rank: its memory less reservedMemoryBytesPerDevice; if it is None, devices count as
        having no more than the plan's fullest one needs
    longest_ms: how long the transfers of a wave may take, above 0; the moves of one table may take longer
    """
    if not 0 < link_share <= MOST_LINK_SHARE:
        raise ValueError(f"link_share must be above 0 to {MOST_LINK_SHARE}, got {link_share}")
    if not longest_ms > 0:
        raise ValueError(f"longest_ms must be above 0, got {longest_ms}")
    return _Partition(plan, link_share, _usable_bytes(plan, usable_bytes_per_device), longest_ms).waves()


def _ranks(plan: ShardingPlan) -> int:
    replication = plan.get("replication")
    return len(plan["deviceCosts"]) * (replication["groups"] if replication else 1)


def _usable_bytes(plan: ShardingPlan, given: int | Sequence[int] | None) -> list[int]:
    ranks = _ranks(plan)
    if given is None:
        return ranks * [max((cost["memoryBytes"] for cost in plan["deviceCosts"]), default=0)]
    usable = ranks * [given] if isinstance(given, int) else list(given)
    if len(usable) != ranks:
        raise ValueError(f"usable_bytes_per_device must have a number for each of {ranks} ranks, got {len(usable)}")
    if min(usable, default=1) < 1:
        raise ValueError(f"usable_bytes_per_device must be at least 1, got {min(usable)}")
    return usable


class _Partition:
    """Divides the moves of a plan into waves; single-use. WavePartition.java says why devices keep to their memory."""

    def __init__(self, plan: ShardingPlan, link_share: float, usable_bytes: list[int], longest_ms: float):
        self._plan = plan
        self._moves = plan["moves"]
        self._order = plan["moveOrder"]
        self._costs = plan["deviceCosts"]
        self._link_share = link_share
        self._longest_ms = longest_ms
        replication: Mapping[str, Any] = plan.get("replication") or {}
        self._groups: int = replication.get("groups", 1)
        self._strided = replication.get("layout") == "STRIDED"
        self._synchronization_ms = replication.get("synchronizationMs", 0.0) / replication.get("synchronizationSteps", 1)
        self._ranks = _ranks(plan)
        self._usable_bytes = usable_bytes
        self._slowed_step_ms = self._slowed(1 / (1 - link_share))
        by_table: dict[str, list[int]] = {}
        for m, move in enumerate(self._moves):
            by_table.setdefault(move["table"], []).append(m)
        # The moves of each table that has yet to move, the largest gain per byte first.
        self._open = {table: by_table[table] for table in self._by_gain(by_table)}
        # Where in the plan's order each move leaves its device, and arrives.
        self._departs = {step["move"]: s for s, step in enumerate(self._order) if step["stage"] != "FROM_HOST"}
        self._arrives = {step["move"]: s for s, step in enumerate(self._order) if step["stage"] != "TO_HOST"}
        self._find_leaving()

    def waves(self) -> MoveWaves:
        waves = []
        if not self._order and self._open:
            # The replica groups change: all tables move, through a checkpoint.
            waves.append(self._stopped_steps(list(self._open), [_direct(m) for m in range(len(self._moves))]))
            self._open.clear()
        lost = [table for table in self._open if any(self._is_gone(self._moves[m]) for m in self._open[table])]
        if lost:
            waves.append(self._finish(self._stopped(lost)))
        while self._open:
            tables = self._next()
            in_order = (self._moves[step["move"]]["table"] for step in self._order)
            stopped = [] if tables else [next(table for table in in_order if table in self._open)]
            waves.append(self._finish(self._yielding(tables) if tables else self._stopped(stopped)))
        return MoveWaves(waves, self._plan["predictedMs"], self._slowed_step_ms)

    def _by_gain(self, by_table: dict[str, list[int]]) -> list[str]:
        gains: dict[str, float] = collections.defaultdict(float)
        for explanation in self._plan["explanations"]:
            gains[explanation["table"]] += max(0.0, explanation["gainMs"])
        sizes = {table: max(1, sum(self._moves[m]["bytes"] for m in moves)) for table, moves in by_table.items()}
        return sorted(by_table, key=lambda table: -gains[table] / sizes[table])

    def _find_leaving(self) -> None:
        self._leaving: list[list[int]] = [[] for _ in range(self._ranks)]
        for moves in self._open.values():
            for m in moves:
                move = self._moves[m]
                # Who sends copies keeps its own.
                if EVERY_DEVICE not in (move["fromDevice"], move["toDevice"]) and not self._is_gone(move):
                    self._leaving[move["fromDevice"]].append(m)
        self._leaving_bytes = [sum(self._moves[m]["bytes"] for m in moves) for moves in self._leaving]
        self._first_leaving = [min((self._departs[m] for m in moves), default=math.inf) for moves in self._leaving]

    def _finish(self, wave: MoveWave) -> MoveWave:
        for table in wave.tables:
            del self._open[table]
        self._find_leaving()
        return wave

    def _is_gone(self, move: Move) -> bool:
        return bool(move["fromDevice"] >= self._ranks)

    def _next(self) -> list[str]:
        """Returns the tables of the next wave that yields; none if full devices block one another."""
        tables: list[str] = []
        load = [0] * 2 * self._ranks
        for table, moves in self._open.items():
            if self._may_move(moves):
                self._add(moves, load, 1)
                if not tables or self._transfer_ms(load) <= self._longest_ms:
                    tables.append(table)
                else:
                    self._add(moves, load, -1)
        return tables

    def _may_move(self, moves: list[int]) -> bool:
        arrivals = ((m, device) for m in moves for device in self._receivers(self._moves[m]))
        return all(self._has_room(device) or self._first_leaving[device] > self._arrives[m] for m, device in arrivals)

    def _has_room(self, device: int) -> bool:
        holds = self._costs[self._position(device)]["memoryBytes"]
        return bool(holds + self._leaving_bytes[device] <= self._usable_bytes[device])

    def _yielding(self, tables: list[str]) -> MoveWave:
        steps = [_direct(m) for m in sorted(m for table in tables for m in self._open[table])]
        load = [0] * 2 * self._ranks
        self._add([step["move"] for step in steps], load, 1)
        duration_ms = self._transfer_ms(load)
        slow_ms = 0.0
        if self._slowed_step_ms > 0:
            slow_ms = duration_ms * (1 - self._plan["predictedMs"] / self._slowed_step_ms)
        return MoveWave(tables, steps, self._bytes(steps), False, duration_ms, slow_ms + self._stop_ms(steps))

    def _stopped(self, tables: list[str]) -> MoveWave:
        """Returns a wave of tables and all that have to make room for them."""
        together = dict.fromkeys(tables)
        to_follow = collections.deque(tables)
        while to_follow:
            for m in self._open[to_follow.popleft()]:
                full = [device for device in self._receivers(self._moves[m]) if not self._has_room(device)]
                for before in (before for device in full for before in self._leaving[device]):
                    table = self._moves[before]["table"]
                    if self._departs[before] < self._arrives[m] and table not in together:
                        together[table] = None
                        to_follow.append(table)
        steps = [step for step in self._order if self._moves[step["move"]]["table"] in together]
        return self._stopped_steps(list(together), steps)

    def _stopped_steps(self, tables: list[str], steps: list[MoveStep]) -> MoveWave:
        """The moves are made one after another, as the search prices them."""
        duration_ms = self._bytes(steps) / (self._gigabytes_per_second() * BYTES_PER_MS)
        return MoveWave(tables, steps, self._bytes(steps), True, duration_ms, duration_ms + self._stop_ms(steps))

    def _add(self, moves: list[int], load: list[int], sign: int) -> None:
        """Adds moves to what each rank sends, and after that what each receives."""
        for m in moves:
            move = self._moves[m]
            receivers = self._receivers(move)
            if not self._is_gone(move):
                # Of copies that all devices have, the first one sends.
                load[max(0, move["fromDevice"])] += sign * move["bytes"]
            for device in receivers:
                load[self._ranks + device] += sign * (move["bytes"] // len(receivers))

    def _receivers(self, move: Move) -> list[int]:
        if move["toDevice"] != EVERY_DEVICE:
            return [move["toDevice"]]
        source = move["fromDevice"]
        others = (device for device in range(self._ranks) if device != source)
        return [device for device in others if self._group(device) == self._group(source)]

    def _group(self, rank: int) -> int:
        if self._groups == 1:
            return 0
        return rank % self._groups if self._strided else rank // len(self._costs)

    def _position(self, rank: int) -> int:
        return rank // self._groups if self._strided else rank % len(self._costs)

    def _gigabytes_per_second(self) -> float:
        return float(self._plan["settings"]["moveGigabytesPerSecond"])

    def _transfer_ms(self, load: list[int]) -> float:
        """Returns how long the device takes that sends or receives most, in one direction."""
        return max(load, default=0) / (self._link_share * self._gigabytes_per_second() * BYTES_PER_MS)

    def _stop_ms(self, steps: list[MoveStep]) -> float:
        """Returns how long training stops while the shards of a wave change places."""
        settings = self._plan["settings"]
        moves = sum(step["stage"] != "TO_HOST" for step in steps)
        return float(settings["reshardMs"] + moves * settings["moveOverheadMs"])

    def _bytes(self, steps: list[MoveStep]) -> int:
        return sum(self._moves[step["move"]]["bytes"] for step in steps)

    def _slowed(self, times: float) -> float:
        """Returns the predicted step if all collectives take so many times as long."""
        starts = [cost["computeMs"] + cost["backwardCommMs"] for cost in self._costs]
        last_start_ms = max(starts, default=0.0)
        slowed_start_ms = max((cost["computeMs"] + cost["backwardCommMs"] * times for cost in self._costs), default=0.0)
        forward = [cost["forwardCommMs"] - (last_start_ms - start) for cost, start in zip(self._costs, starts)]
        slowed_ms = slowed_start_ms + (max(0.0, *forward) + self._synchronization_ms) * times
        return float(max(self._plan["predictedMs"], slowed_ms))




def _direct(move: int) -> MoveStep:
    return {"move": move, "stage": "DIRECT"}


def _sum(values: Any) -> float:
    """Adds in the order of the values; sum() of newer Pythons compensates for rounding, Java does not."""
    total = 0.0
    for value in values:
        total += value
    return total
