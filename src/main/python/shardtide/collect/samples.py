"""The folder of samples: appended line by line, so that an interrupted run loses none of them.

tables.jsonl            a table a line
train/compute.jsonl     a set of shards and its times a line
valid/compute.jsonl     sets held back, also of tables that no set of train/ has
repeats.jsonl           sets that were measured again: {"sample": 40, "forward_ms": .., ..}; samples from 0
run-info.json           options, machine, and what the repeats say of noise
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shardtide.collect.ids import reuse_histogram
from shardtide.collect.measure import Times
from shardtide.collect.shapes import Limits, Shard
from shardtide.collect.tables import Table

# Of so many samples the last one is held back, and so is the last one of so many tables.
HELD_BACK_EACH = 10

# Of so many samples the first one is measured again, after so many others.
REPEATED_EACH = 10
REPEATED_AFTER = 50


def is_held_back(index: int) -> bool:
    """Whether a sample, or a table, is for validation only."""
    return index % HELD_BACK_EACH == HELD_BACK_EACH - 1


class SampleFolder:
    """The samples that a folder holds, and what was measured of them again.

    options: what the samples depend on; a folder has one set of options, and keeps the `limits` of its first run
    ValueError: the folder has samples of other options, or a line that cannot be read
    OSError: the folder cannot be written
    """

    def __init__(self, path: Path, options: dict[str, Any]):
        self._path = path
        self._options = dict(options)
        for folder in ("train", "valid"):
            (path / folder).mkdir(parents=True, exist_ok=True)
        self._runs = self._earlier_runs()
        self.totals_ms = self._read_totals()
        self._repeats: list[dict[str, Any]] = _read_lines(path / "repeats.jsonl")

    @property
    def limits(self) -> Limits:
        """What the sets of this folder may need."""
        return Limits(**self._options["limits"])

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.totals_ms)

    def write_tables(self, tables: Sequence[Table]) -> None:
        """Appends the tables that the folder lacks."""
        present = len(_read_lines(self._path / "tables.jsonl"))
        for index, table in list(enumerate(tables))[present:]:
            line = {
                "name": f"t{index}",
                "rows": table.rows,
                "poolingFactor": table.pooling_factor,
                "reuseHistogram": reuse_histogram(table),
                "accessCdf": table.access_cdf(),
            }
            _append(self._path / "tables.jsonl", line)

    def add(self, shards: Sequence[Shard], times: Times) -> None:
        """Appends the next sample."""
        line = {"shards": [shard.to_json() for shard in shards], **asdict(times)}
        _append(self._path / _split(self.samples) / "compute.jsonl", line)
        self.totals_ms.append(times.forward_ms + times.backward_ms)

    def due_repeat(self) -> int | None:
        """Returns which sample should be measured again now, None if none."""
        due = REPEATED_EACH * len(self._repeats)
        return due if due + REPEATED_AFTER < self.samples else None

    def add_repeat(self, sample: int, times: Times) -> None:
        """Appends the second measurement of a sample."""
        line = {"sample": sample, **asdict(times)}
        _append(self._path / "repeats.jsonl", line)
        self._repeats.append(line)

    def noise(self) -> dict[str, float] | None:
        """Returns how far forward + backward of two measurements lie apart, as shares; None if none was repeated."""
        apart = []
        for repeat in self._repeats:
            first, second = self.totals_ms[repeat["sample"]], repeat["forward_ms"] + repeat["backward_ms"]
            apart.append(abs(first - second) / ((first + second) / 2))
        if not apart:
            return None
        return {
            "repeatedSamples": len(apart),
            "medianRelativeDifference": round(statistics.median(apart), 5),
            "meanRelativeDifference": round(statistics.mean(apart), 5),
        }

    def write_info(self, run: dict[str, Any], not_covered: Sequence[str]) -> None:
        """Replaces run-info.json by one with this run as its last."""
        info = {
            "options": self._options,
            "samples": self.samples,
            "noise": self.noise(),
            "notCovered": list(not_covered),
            "runs": [*self._runs, run],
        }
        written = self._path / "run-info.json.part"
        written.write_text(json.dumps(info, indent=2) + "\n")
        os.replace(written, self._path / "run-info.json")

    def _earlier_runs(self) -> list[dict[str, Any]]:
        path = self._path / "run-info.json"
        if not path.exists():
            return []
        info = json.loads(path.read_text())
        earlier = info["options"]
        for name, value in self._options.items():
            if name != "limits" and earlier.get(name) != value:
                raise ValueError(
                    f"{self._path} has samples with {name} {earlier.get(name)}, not {value};"
                    " name another folder, or give the same options"
                )
        # The free memory varies from run to run; the samples drawn must not.
        self._options["limits"] = earlier["limits"]
        return list(info["runs"])

    def _read_totals(self) -> list[float]:
        """Reads what samples took, in the order of measuring."""
        lines = {split: _read_lines(self._path / split / "compute.jsonl") for split in ("train", "valid")}
        totals: list[float] = []
        while lines[split := _split(len(totals))]:
            line = lines[split].pop(0)
            totals.append(line["forward_ms"] + line["backward_ms"])
        if any(lines.values()):
            raise ValueError(f"{self._path} lacks samples between others; was a file of it shortened?")
        return totals


def _split(sample: int) -> str:
    return "valid" if is_held_back(sample) else "train"


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads all lines, and cuts off a last one that an interrupted run left unfinished."""
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
