"""The folder of samples: appended line by line, so that an interrupted run loses none of them.

tables.jsonl              a table a line
train/compute.jsonl       a set of shards and its times a line
train/collectives.jsonl   a collective and its times a line
valid/                    the same, held back; also of tables that no set of train/ has
repeats.jsonl             what was measured again: {"compute": 40, "ms": 1.2}; samples from 0
skipped.jsonl             what could not be measured: {"compute": 17, "why": ..}
run-info.json             options, machine, and what the repeats say of noise
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shardtide.arguments import read_json, replacing
from shardtide.collect.ids import reuse_histogram
from shardtide.collect.measure import MOST_REPETITIONS, REPETITIONS
from shardtide.collect.shapes import Limits
from shardtide.collect.tables import AnyTable

# Of so many samples the last one is held back, and so is the last one of so many tables.
HELD_BACK_EACH = 10

# What options were before they could be given.
ADDED_OPTIONS = {"cached": 0.0, "unpooled": 0.0}

# Of so many samples the first one is measured again, after so many others.
REPEATED_EACH = 10
REPEATED_AFTER = 50


def is_held_back(index: int) -> bool:
    """Whether a sample, or a table, is for validation only."""
    return index % HELD_BACK_EACH == HELD_BACK_EACH - 1


class Samples:
    """The samples of one kind, compute or collectives, in a folder, in the order of measuring.

    repeats, skipped: lines of what was measured again, and of what could not be; then why, by sample
    not_queued: of how many samples a GPU may have waited for launches
    """

    def __init__(
        self, folder: Path, kind: str, repeats: Sequence[dict[str, Any]], skipped: Sequence[dict[str, Any]] = ()
    ):
        self._folder = folder
        self._kind = kind
        self.skipped = {line[kind]: str(line["why"]) for line in skipped if kind in line}
        self.not_queued = 0
        self._totals: list[float | None] = []
        self._read_totals()
        self._again = {line[kind]: float(line["ms"]) for line in repeats if kind in line}

    def __len__(self) -> int:
        return len(self._totals)

    def add(self, line: dict[str, Any], again: int | None = None) -> None:
        """Appends the next sample, or the second measurement of one."""
        if again is not None:
            self._again[again] = total_ms(line)
            append(self._folder / "repeats.jsonl", {self._kind: again, "ms": self._again[again]})
            return
        append(self._folder / _split(len(self)) / f"{self._kind}.jsonl", line)
        self._note(line)

    def skip(self, why: str) -> None:
        """Leaves out the next sample."""
        append(self._folder / "skipped.jsonl", {self._kind: len(self), "why": why})
        self.skipped[len(self)] = why
        self._totals.append(None)

    def next(self, count: int) -> list[tuple[int, int]]:
        """Returns the next samples, each with its attempt, and which one should be measured again now, if any."""
        due = range(0, len(self) - REPEATED_AFTER, REPEATED_EACH)
        again = [(of, 1) for of in due if of not in self._again and of not in self.skipped]
        return [*((len(self) + i, 0) for i in range(count)), *again[:1]] if count else []

    def noise(self) -> dict[str, float] | None:
        return noise_of([(self._totals[i] or ms, ms) for i, ms in self._again.items()])

    def _read_totals(self) -> None:
        lines = {split: read_lines(self._folder / split / f"{self._kind}.jsonl") for split in ("train", "valid")}
        while len(self) in self.skipped or lines[_split(len(self))]:
            self._note(None if len(self) in self.skipped else lines[_split(len(self))].pop(0))
        if any(lines.values()):
            raise ValueError(f"{self._folder} lacks {self._kind} samples between others; was a file of it shortened?")

    def _note(self, line: dict[str, Any] | None) -> None:
        self._totals.append(None if line is None else total_ms(line))
        self.not_queued += line is not None and line.get("queued") is False


class SampleFolder:
    """The samples that a folder holds, and what was measured of them again.

    options: what the samples depend on; a folder has one set of options, and keeps the `limits` of its first run
    ValueError: the folder has samples of other options, or a line that cannot be read
    """

    def __init__(self, path: Path, options: dict[str, Any]):
        self._path = path
        self._options = dict(options)
        for folder in ("train", "valid"):
            (path / folder).mkdir(parents=True, exist_ok=True)
        self._runs = self._earlier_runs()
        repeats = read_lines(path / "repeats.jsonl")
        self.compute = Samples(path, "compute", repeats, read_lines(path / "skipped.jsonl"))
        self.collectives = Samples(path, "collectives", repeats)

    @property
    def limits(self) -> Limits:
        return Limits(**self._options["limits"])

    def write_tables(self, tables: Sequence[AnyTable]) -> None:
        present = len(read_lines(self._path / "tables.jsonl"))
        for index, table in list(enumerate(tables))[present:]:
            append(self._path / "tables.jsonl", table_line(f"t{index}", table))

    def write_info(self, run: dict[str, Any], not_covered: Sequence[str]) -> None:
        """Replaces run-info.json by one with this run as its last."""
        compute, collectives = self.compute, self.collectives
        info = {
            **measured_with(run, self._options["operator"], self._options["hardware"]),
            "options": self._options,
            "samples": {"compute": len(compute) - len(compute.skipped), "collectives": len(collectives)},
            "skipped": compute.skipped,
            "notQueued": compute.not_queued,
            "noise": {"compute": compute.noise(), "collectives": collectives.noise()},
            "notCovered": list(not_covered),
            "runs": [*self._runs, run],
        }
        write_info(self._path, info)

    def _earlier_runs(self) -> list[dict[str, Any]]:
        path = self._path / "run-info.json"
        if not path.exists():
            return []
        info = read_json(path)
        earlier = info["options"]
        for name, value in self._options.items():
            was = earlier.get(name, ADDED_OPTIONS.get(name))
            if name != "limits" and was != value:
                has = f"{self._path} has samples with {name} {was}, not {value}"
                raise ValueError(f"{has}; name another folder, or give the same options")
        # The free memory varies from run to run; the samples drawn must not.
        self._options["limits"] = earlier["limits"]
        return list(info["runs"])


def total_ms(line: dict[str, Any]) -> float:
    """Returns the milliseconds of a sample: of a collective the longest of its devices."""
    if "forward_ms" in line:
        return float(line["forward_ms"] + line["backward_ms"])
    return float(max(line["ms"]) if isinstance(line["ms"], list) else line["ms"])


def noise_of(pairs: Sequence[tuple[float, float]]) -> dict[str, float] | None:
    """Returns how far two measurements, in ms, lie apart, as shares of their mean; None if there are none."""
    apart = [abs(first - again) / ((first + again) / 2) for first, again in pairs]
    if not apart:
        return None
    median, mean = (round(of(apart), 5) for of in (statistics.median, statistics.mean))
    return {"repeatedSamples": len(apart), "medianRelativeDifference": median, "meanRelativeDifference": mean}


def measured_with(run: dict[str, Any], operator: str, hardware: str | None) -> dict[str, Any]:
    """Returns what was measured and how, as the first fields of run-info.json. run: with what machine.describe says"""
    is_gpu = "driver" in run
    return {
        "hardware": hardware,
        **{name: run.get(name) for name in ("device", "driver", "torch")},
        "operator": operator,
        "clock": "queued" if is_gpu else "idle",
        "repetitions": {"least": REPETITIONS, "most": MOST_REPETITIONS["cuda" if is_gpu else "cpu"]},
    }


def write_info(folder: Path, info: dict[str, Any]) -> None:
    """Replaces run-info.json, whole or not at all."""
    with replacing(folder / "run-info.json") as written:
        written.write_text(json.dumps(info, indent=2) + "\n")


def table_line(name: str, table: AnyTable) -> dict[str, Any]:
    return {
        "name": name,
        "rows": table.rows,
        "poolingFactor": table.pooling_factor,
        "reuseHistogram": reuse_histogram(table),
        "accessCdf": table.access_cdf(),
    }


def append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads all lines, and cuts off a last one that an interrupted run left unfinished; none if there is no file."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    lines = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except ValueError:
            raise ValueError(f"{path}, line {number} is not JSON") from None
    return lines


def _split(sample: int) -> str:
    return "valid" if is_held_back(sample) else "train"
