"""What the devices of given plans compute, measured one after the other on one device."""

from __future__ import annotations

import json
import random
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shardtide.arguments import json_lines
from shardtide.collect.measure import Meter
from shardtide.collect.run import attempt
from shardtide.collect.samples import append, noise_of, table_line, total_ms
from shardtide.collect.shapes import Shard
from shardtide.collect.tables import GivenTable

# Of so many sets the first one is measured again.
REPEATED_EACH = 10


class Workload(NamedTuple):
    """A line of a file of workloads, as `./shardtide plan make -f` reads it; batch_size is that of all devices."""

    task: str
    devices: int
    batch_size: int
    tables: dict[str, dict[str, Any]]


class PlanFile(NamedTuple):
    """Plans by task, and what their file is called."""

    name: str
    plans: dict[str, dict[str, Any]]


class TableList:
    """The tables of samples, each of which is the whole table of a workload or rows of one; lines of tables.jsonl."""

    def __init__(self) -> None:
        self.tables: list[GivenTable] = []
        self.lines: list[dict[str, Any]] = []
        self._index: dict[tuple[str, str, int, int], int] = {}

    def index(self, task: str, table: dict[str, Any], first: int, last: int) -> int:
        """Returns the position of rows first..last of a table in order of use, last not included."""
        key = (task, table["name"], first, last)
        if key not in self._index:
            whole = GivenTable(table["rows"], table["poolingFactor"], table["accessCdf"])
            is_whole = (first, last) == (0, whole.rows)
            found = whole if is_whole else whole.part(first, last)
            name = f"{task}/{table['name']}" + ("" if is_whole else f"[{first}:{last}]")
            self._index[key] = len(self.tables)
            self.tables.append(found)
            self.lines.append(table_line(name, found))
        return self._index[key]


def read_workloads(path: Path, optimizers: Sequence[str]) -> list[Workload]:
    """Reads workloads; ValueError if a line is none, or has tables that cannot be measured with these optimizers."""
    found = []
    for place, line in json_lines(path):
        try:
            cluster = line["cluster"]
            named = {"optimizer": cluster["optimizer"]} if "optimizer" in cluster else {}
            tables = {table["name"]: {**named, **table} for table in line["tables"]}
            for name, table in tables.items():
                if "accessCdf" not in table:
                    raise ValueError(f"table {name} has no accessCdf, by which ids are drawn")
                others = ", ".join(field for field in ("features", "idWeights") if table.get(field))
                if others:
                    must = f"table {name} must have one feature, whose ids have no weights, to be measured"
                    raise ValueError(f"{must}; got {others}")
                if table.get("optimizer", optimizers[0]) not in optimizers:
                    must = f"optimizer of table {name} must be one that is measured here, {', '.join(optimizers)}"
                    raise ValueError(f"{must}; got {table['optimizer']}")
            found.append(Workload(str(line["task"]), cluster["devices"], cluster["batchSize"], tables))
        except KeyError as e:
            raise ValueError(f"{place}: {e.args[0]} is missing") from None
        except (ValueError, TypeError) as e:
            raise ValueError(f"{place}: {e}") from None
    return found


def read_plans(paths: Sequence[Path]) -> list[PlanFile]:
    """Reads files of plans, one a line, as `./shardtide plan` writes them; ValueError: a line is none, or a file twice.

    A file is called by its name without .jsonl or .json; files of one such name by their paths.
    """
    names = [re.sub(r"(?<=.)\.jsonl?$", "", path.name) for path in paths]
    found = []
    for name, path in zip(names, paths):
        if paths.count(path) > 1:
            raise ValueError(f"files of plans must be different, got {path} twice")
        plans = {}
        for place, line in json_lines(path):
            if "task" not in line or "feasible" not in line:
                raise ValueError(f"{place}: must have task and feasible; ./shardtide plan writes such lines")
            plans[str(line["task"])] = line
        found.append(PlanFile(name if names.count(name) == 1 else str(path), plans))
    return found


def device_sets(
    workload: Workload,
    plan: dict[str, Any],
    tables: TableList,
    optimizer: str,
    has_caches: bool = False,
    has_unpooled: bool = False,
) -> list[list[Shard]]:
    """Returns the shards of each device.

    Rows of a table are taken to be hashed: each part of them has the same share of the lookups.

    tables: to which those of the shards are added
    optimizer: of tables that name none
    has_caches, has_unpooled: whether cached shards, and unpooled ones, can be measured
    ValueError: the plan is of other tables, or has shards that cannot be measured
    """
    groups = plan["replica_groups"]["groups"] if "replica_groups" in plan else 1
    devices, batch_size = workload.devices // groups, workload.batch_size // groups
    sets: list[list[Shard]] = [[] for _ in range(devices)]
    for planned in plan["tables"]:
        name, shards = planned["name"], planned["shards"]
        if name not in workload.tables:
            raise ValueError(f"task {workload.task}: the plan has a table {name}, the workload does not")
        table = workload.tables[name]
        of = f"task {workload.task}: table {name} is"
        hot_rows = max((s["rows"] for s in shards if s["device"] is None and s["rows"] < table["rows"]), default=0)
        state, size = table.get("optimizer", optimizer), round(table.get("bytesPerElement", 4))
        pooled = table.get("pooled", True)
        if not (pooled or has_unpooled):
            raise ValueError(f"{of} unpooled, which is measured with FBGEMM only")
        for shard in shards:
            cache_share = shard.get("cache_share")
            if cache_share is not None and not has_caches:
                raise ValueError(f"{of} cached, which is measured on a GPU with FBGEMM only")
            if not shard["rows"]:
                continue
            if shard["device"] is None:
                rows = tables.index(workload.task, table, 0, shard["rows"])
                samples = max(1, batch_size // devices)
                copy = Shard(rows, shard["columns"], samples, 1, True, size, state, None, pooled)
                for of_device in sets:
                    of_device.append(copy)
                continue
            parts = len({s["row_offset"] for s in shards if s["column_offset"] == shard["column_offset"]})
            parts -= hot_rows > 0
            rows = tables.index(workload.task, table, hot_rows, table["rows"])
            part = Shard(rows, shard["columns"], batch_size, parts, False, size, state, cache_share, pooled)
            sets[shard["device"]].append(part)
    return sets


class PlanMeter:
    """Measures the device sets of plans, and writes them as samples; equal sets are measured once.

    folder: of compute.jsonl, tables.jsonl, repeats.jsonl and plans.jsonl, which are appended to
    optimizer: of tables that name none
    """

    def __init__(self, meter: Meter, free_bytes: int, folder: Path, optimizer: str, seed: int):
        self._meter = meter
        self._free_bytes = free_bytes
        self._folder = folder
        self._optimizer = optimizer
        self._seed = seed
        self._tables = TableList()
        self._measured: dict[tuple[Shard, ...], tuple[dict[str, Any] | None, str]] = {}
        self._pairs: list[tuple[float, float]] = []
        self.skipped: list[str] = []
        self.samples = 0

    def measure(self, workload: Workload, plans: PlanFile) -> dict[str, Any]:
        """Measures a workload's plan, and returns its line of plans.jsonl: forward and backward pass in ms."""
        line: dict[str, Any] = {"plans": plans.name, "task": workload.task}
        plan = plans.plans.get(workload.task, {"feasible": False, "reason": "there is no plan"})
        line["feasible"] = bool(plan["feasible"])
        if not plan["feasible"]:
            line["reason"] = plan.get("reason", "")
        else:
            can = self._meter.has_caches, self._meter.has_unpooled
            try:
                sets = device_sets(workload, plan, self._tables, self._optimizer, *can)
            except (KeyError, IndexError, TypeError) as e:
                no_plan = f"{plans.name}, task {workload.task}: not a plan of this workload as ./shardtide plan writes it"
                raise ValueError(f"{no_plan} ({type(e).__name__}: {e})") from None
            found = [self._set(shards) for shards in sets]
            failed = [f"device {i}: {why}" for i, (_, why) in enumerate(found) if why]
            if failed:
                line["reason"] = failed[0]
            else:
                taken = [of or {"forward_ms": 0.0, "backward_ms": 0.0} for of, _ in found]
                totals = [of["forward_ms"] + of["backward_ms"] for of in taken]
                line.update(slowest_ms=round(max(totals), 5), sum_ms=round(sum(totals), 5))
                line.update({name: [of[name] for of in taken] for name in ("forward_ms", "backward_ms")})
            if "predicted_ms" in plan:
                line["predicted_step_ms"] = plan["predicted_ms"]
        append(self._folder / "plans.jsonl", line)
        return line

    def noise(self) -> dict[str, float] | None:
        return noise_of(self._pairs)

    def _set(self, shards: Sequence[Shard]) -> tuple[dict[str, Any] | None, str]:
        # In one order, so that sets that differ by it only are one.
        key = tuple(sorted(shards, key=lambda shard: json.dumps(shard.to_json(), sort_keys=True)))
        if not key:
            return None, ""
        if key not in self._measured:
            line, why = self._measured[key] = attempt(lambda: self._sample(key, 0))
            if line is None:
                self.skipped.append(why)
                return line, why
            for table in self._tables.lines:
                append(self._folder / "tables.jsonl", table)
            self._tables.lines.clear()
            append(self._folder / "compute.jsonl", line)
            again = attempt(lambda: self._sample(key, 1))[0] if self.samples % REPEATED_EACH == 0 else None
            if again:
                self._pairs.append((total_ms(line), total_ms(again)))
                append(self._folder / "repeats.jsonl", {"compute": self.samples, "ms": total_ms(again)})
            self.samples += 1
        return self._measured[key]

    def _sample(self, shards: Sequence[Shard], again: int) -> dict[str, Any]:
        needs = [shard.needs(self._tables.tables[shard.table]) for shard in shards]
        needed = sum(need.weight_bytes + 4 * need.rows for need in needs)
        if needed > self._free_bytes:
            raise MemoryError(
                f"weights and optimizer state need {needed // 2**20:,} MiB, {self._free_bytes // 2**20:,} MiB are free"
            )
        on_host, host_bytes = sum(need.host_bytes for need in needs), self._meter.limits.host_bytes
        if on_host > host_bytes:
            raise MemoryError(
                f"cached tables need {on_host // 2**20:,} MiB of host memory, {host_bytes // 2**20:,} MiB may be taken;"
                " --host-memory-mib says how much"
            )
        ids = random.Random(f"{self._seed}/ids/{self.samples}/{again}").getrandbits(63)
        times = self._meter.measure(self._tables.tables, shards, ids)
        return {"shards": [shard.to_json() for shard in shards], **times.to_json()}


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns of each file of plans the slowest device relative to that of the best plan: a geometric mean.

    Only tasks all of whose plans were measured are compared.
    """
    by_task: dict[str, dict[str, float]] = {}
    for line in lines:
        if "slowest_ms" in line:
            by_task.setdefault(line["task"], {})[line["plans"]] = line["slowest_ms"]
    names = dict.fromkeys(line["plans"] for line in lines)
    compared = [of for of in by_task.values() if len(of) == len(names) and min(of.values()) > 0]
    found = []
    for name in names:
        relative = [of[name] / min(of.values()) for of in compared]
        mean = round(statistics.geometric_mean(relative), 4) if relative else None
        counts = {"measured": sum(name in of for of in by_task.values()), "compared": len(compared)}
        found.append({"plans": name, **counts, "slowest_relative_to_best": mean})
    return found
