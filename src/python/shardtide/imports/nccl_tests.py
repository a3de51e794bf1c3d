"""Imports the output of nccl-tests, text or JSON, as samples of collectives.

Formats: src/util.cu and src/common.cu of github.com/NVIDIA/nccl-tests, to version 2.19.6 (JSON: --output_file).
"""

from __future__ import annotations

import json
import pathlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardtide.arguments import mapping, parse_json, read_text, replacing, shown

# Of programs. The size of each is that of the whole buffer: what a device sends in all, or of an all-gather receives.
COLLECTIVES = {
    "all_reduce_perf": "all_reduce",
    "alltoall_perf": "all_to_all",
    "reduce_scatter_perf": "reduce_scatter",
    "all_gather_perf": "all_gather",
}

_TYPES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "int", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}

_BEGINNING = re.compile(r"# nThread \d+ nGpus \d+ .*?(?:agg iters: (\d+).*)?")
_STARTING = re.compile(r"# Collective test starting: (\S+)")
_DEVICE = re.compile(r"#\s+Rank\s+(\d+)(?: Group\s+(\S+))? Pid\s+\d+ on\s+(\S+) device\s+\d+ \[[^]]*\] (.*)")
_COLUMNS = re.compile(r"#\s+size\s+count\s+.*")
_ROW = re.compile(r"\s*\d+\s+\d+\s+(?:%s)\s.*" % "|".join(_TYPES))
_END = re.compile(r"# Out of bounds values\s+: \d+ (\w+)")
_NEEDED = ("size", "count", "type", "time", "#wrong")


@dataclass
class _Run:
    """What a run says of itself, and its rows: each with what messages call it, and texts by column."""

    program: str = ""
    hosts: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    rows: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    at_once: int = 1
    ended: str = ""


def read(
    path: str, program: str | None = None, devices_per_node: int | None = None
) -> tuple[list[dict[str, Any]], str]:
    """Returns the samples of a file, lines of collectives.jsonl, and the name of its GPUs.

    Times are those out of place: TorchRec's all-to-alls, reduce-scatters and all-gathers have a buffer for each side.
    There are none if the program measures another collective. Rows of size 0 are left out: small sizes are rounded
    down to 16 bytes for each device.

    program: of COLLECTIVES, of text that does not name it, as before June 2025
    devices_per_node: in place of the devices of a host, where a node (all that NVLink connects) has several hosts

    ValueError names file, line, value and what is expected; OSError.
    """
    text = read_text(path)
    run = _of_json(mapping(parse_json(text, path), path, "a run"), path) if text[:1] == "{" else _of_text(text, path)
    name = run.program or program
    if not name:
        raise ValueError(f"{path} does not name its collective; give --collective, one of {', '.join(COLLECTIVES)}")
    of = next((each for each in COLLECTIVES if name.startswith(each)), None)
    members = [host for host, group in zip(run.hosts, run.groups) if group == run.groups[0]]
    kinds = sorted(set(run.devices))
    if run.at_once != 1:
        raise ValueError(f"{path}: -m must be 1, got {run.at_once}: operations at once do not take the time of one")
    if len(members) < 2:
        raise ValueError(f"{path}: a run must have 2 ranks or more, got {len(members)}; was it built without MPI=1?")
    if len(kinds) > 1:
        raise ValueError(f"{path}: ranks must have one kind of device, got {', '.join(kinds)}")
    if not run.rows:
        raise ValueError(f"{path} must have a row for each size, got none")
    per_node = devices_per_node or max(Counter(members).values())
    if not devices_per_node and len(set(members)) != -(-len(members) // per_node):
        counts = ", ".join(map(str, Counter(members).values()))
        raise ValueError(f"{path}: nodes must have as many ranks each, the last one maybe fewer, got {counts}")
    lines = [] if of is None else [_sample(COLLECTIVES[of], len(members), per_node, *row) for row in run.rows]
    return [line for line in lines if line is not None], kinds[0]


def _of_text(text: str, path: str) -> _Run:
    run, columns, began = _Run(), list[str](), 0
    for number, line in enumerate(text.splitlines(), 1):
        place, line = f"{path}, line {number}", line.rstrip()
        if found := _BEGINNING.fullmatch(line):
            if began:
                raise ValueError(f"{place}: a file must have one run, got a second one after that of line {began}")
            began, run.at_once = number, int(found[1] or 1)
        elif found := _STARTING.fullmatch(line):
            run.program = run.program or found[1]
        elif found := _DEVICE.fullmatch(line):
            if int(found[1]) != len(run.hosts):
                raise ValueError(f"{place}: ranks must be listed in order, expected {len(run.hosts)}, got {found[1]}")
            run.groups.append(found[2] or "0")
            run.hosts.append(found[3])
            run.devices.append(found[4])
        elif _COLUMNS.fullmatch(line):
            columns = line.split()[1:]
            if missing := [name for name in _NEEDED if name not in columns]:
                raise ValueError(f"{place}: columns must have {', '.join(missing)}, got {' '.join(columns)}")
        elif _ROW.fullmatch(line):
            values = line.split()
            if not len(columns) <= len(values) <= len(columns) + 2:  # A timestamp is two.
                raise ValueError(
                    f"{place}: a row must have the {len(columns)} columns of a header, got {len(values)}: it is cut, or"
                    " has no out-of-place times"
                )
            # The first of two columns of a name is out of place, and the other one in place.
            row = dict(reversed([*zip(columns, values)]))
            row["in place"] = dict(zip(columns, values))["#wrong"]
            run.rows.append((place, row))
        elif found := _END.fullmatch(line):
            run.ended = found[1]
    if not began:
        raise ValueError(f"{path} must be output of nccl-tests with a line '# nThread ..', got {shown(text[:60])}")
    if run.ended != "OK":
        got = run.ended or "none: it is cut"
        raise ValueError(f"{path} must end with '# Out of bounds values : 0 OK', got {got}")
    return run


def _of_json(file: Mapping[str, Any], path: str) -> _Run:
    def part(of: Any, name: str, kind: type) -> Any:
        if not isinstance(of, Mapping) or not isinstance(of.get(name), kind):
            raise ValueError(f"{path} must be JSON of nccl-tests, whose {name} is a {kind.__name__}, got {shown(of)}")
        return of[name]

    config, run = part(file, "config", dict), _Run()
    run.program = pathlib.PurePath(str(part(file, "args", list)[0])).name
    # The list has the first device of each process only, whatever it drives.
    for process in part(config, "devices", list):
        for _ in range(part(config, "nthreads", int) * part(config, "ngpus", int)):
            run.hosts.append(part(process, "hostname", str))
            run.groups.append(str(part(process, "group", int)))
            run.devices.append(part(process, "device_info", str))
    run.at_once = part(config, "aggregated_iterations", int)
    for number, result in enumerate(part(file, "results", list)):
        place = f"{path}, results[{number}]"
        out, inside = part(result, "out_of_place", object), part(result, "in_place", dict)
        if not isinstance(out, dict) or "time" not in out:
            raise ValueError(f"{place}: out_of_place must have a time, got {shown(out)}")
        wrong = [str(0 if of.get("nwrong") is None else of["nwrong"]) for of in (out, inside)]
        row = {name: str(result.get(name)) for name in ("size", "count", "type")}
        run.rows.append((place, {**row, "time": str(out["time"]), "#wrong": wrong[0], "in place": wrong[1]}))
    if part(part(file, "out_of_bounds", dict), "okay", str) != "true":
        raise ValueError(f"{path}: out_of_bounds must be okay, got {file['out_of_bounds']}")
    return run


def _sample(collective: str, devices: int, per_node: int, place: str, row: dict[str, str]) -> dict[str, Any] | None:
    """Returns the sample of a row; None if it is of no bytes."""
    try:
        size, count, us = int(row["size"]), int(row["count"]), float(row["time"])
        wrong = [float(row[name].replace("N/A", "0")) for name in ("#wrong", "in place")]
    except ValueError as e:
        raise ValueError(f"{place}: size, count, time and #wrong must be numbers: {e}") from None
    if any(wrong):
        raise ValueError(f"{place}: #wrong must be 0, got {max(wrong):g}: these links change what they carry")
    if not 0 < us < float("inf"):
        raise ValueError(f"{place}: time must be above 0, got {row['time']}")
    # Counts are those of an NCCL call: of a device, but for an all-reduce.
    expected = count * _TYPES.get(row["type"], 0) * (1 if collective == "all_reduce" else devices)
    if size != expected:
        counted = f"{count} {row['type']} of {devices} ranks"
        raise ValueError(f"{place}: size must be {expected}, {counted}, got {size}")
    if size == 0:
        return None
    group = {"collective": collective, "devices": devices, "devicesPerNode": per_node}
    ms = round(us / 1e3, 7)
    if collective == "all_to_all":
        return {**group, "bytesPerPeer": [size // devices] * devices, "ms": [ms] * devices}
    return {**group, "bytes": size, "ms": ms}


def write(
    files: Sequence[str],
    hardware: str,
    out: pathlib.Path,
    program: str | None = None,
    devices_per_node: int | None = None,
) -> list[str]:
    """Writes the samples of files as a folder, and returns notes on files that have none.

    ValueError and OSError as read(); ValueError if files are of several kinds of device, or none has samples.
    """
    notes, lines, sources = list[str](), list[str](), dict[str, str]()
    for file in files:
        samples, sources[file] = read(file, program, devices_per_node)
        lines += [json.dumps(sample) + "\n" for sample in samples]
        if not samples:
            notes.append(f"{file} is left out: its collective is none of {', '.join(COLLECTIVES.values())}")
    if len(set(sources.values())) > 1:
        raise ValueError(f"files must be of one kind of device, got {sources}")
    if not lines:
        raise ValueError(f"files must have collectives, got {'; '.join(notes)}")
    out.mkdir(parents=True, exist_ok=True)
    device, names = next(iter(sources.values())), [pathlib.PurePath(file).name for file in files]
    info = {"hardware": hardware, "device": device, "operator": "nccl-tests, out of place", "files": names}
    for name, content in (("collectives.jsonl", "".join(lines)), ("run-info.json", json.dumps(info, indent=2) + "\n")):
        with replacing(out / name) as written:
            written.write_text(content, encoding="utf-8")
    return notes
