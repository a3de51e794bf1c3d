"""Converts what NeuroShard published: sharding tasks to workloads, and labelled samples of costs to a sample folder.

python examples/neuroshard/convert.py FILE --tables FILE --cluster FILE [--out FILE]
python examples/neuroshard/convert.py FOLDER [--tables FILE] --out FOLDER

**Tables**, table_configs.json: a list of objects with row, pooling_factor, bin_0 to bin_16 and perhaps dim, the number
of columns. **Tasks**: a text with a task a line, `id,id,... dim,dim,...`; an id is a position in the list of tables.

**Samples**, a folder: compute/data.txt, `index,index,... ms` a line, and comm_D/data.txt for D devices, `columns starts
forwards backwards` a line, each a list of D numbers, plain or as .gz. With dims, an index is a position in the list of
tables; without, in the list of all tables at 128 columns, then at 64, 32, 16, 8 and 4. samples.json may have the
batch_size, over all devices; it is 65,536 without.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import pathlib
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from shardtide.arguments import items, mapping, read_json, read_text

BATCH_SIZE = 65_536
WIDTHS = (128, 64, 32, 16, 8, 4)
BINS = 17
BYTES_PER_ELEMENT = 4


def tables(path: str | pathlib.Path) -> list[dict[str, Any]]:
    """Returns a table of each line of a file of workloads; each is named by its position.

    ValueError names the file, the table and what is expected; OSError.
    """
    found = []
    for place, config in enumerate(items(read_json(path), str(path), "tables")):
        name = f"{path}: table {place}"
        fields = mapping(config, name, "row, pooling_factor, bin_0 to bin_16")
        table: dict[str, Any] = {
            "name": str(place),
            "rows": _whole(fields.get("row"), f"{name}: row", 1),
            "columns": _whole(fields.get("dim", WIDTHS[0]), f"{name}: dim", 1),
            "poolingFactor": _number(fields.get("pooling_factor"), f"{name}: pooling_factor"),
        }
        if "bin_0" in fields:
            table["reuseHistogram"] = [_number(fields.get(f"bin_{k}"), f"{name}: bin_{k}") for k in range(BINS)]
        found.append(table)
    if not found:
        raise ValueError(f"{path} must be a list of tables, got none")
    return found


def tasks(path: str | pathlib.Path, known: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Returns the tables of each task; a table is named by its position in the task.

    known: tables()
    ValueError names the file, the line and what is expected; OSError.
    """
    found = []
    for where, parts in _lines(pathlib.Path(path), 2):
        ids, dims = ([_whole(text, where) for text in part.split(",")] for part in parts)
        if len(ids) != len(dims):
            raise ValueError(f"{where}: there must be as many ids as dims, got {len(ids)} and {len(dims)}")
        for table in ids:
            _check_index(table, len(known), where)
        found.append(
            [{**known[ids[i]], "name": str(i), "columns": dims[i]} for i in range(len(ids))],
        )
    if not found:
        raise ValueError(f'{path} must have lines of the form "id,id,... dim,dim,...", got none')
    return found


def write_samples(folder: pathlib.Path, table_file: str | None, out: pathlib.Path) -> None:
    """Writes the sample folder of a folder of samples.

    A computation has the sum of forward and backward only. A line of comm_D is a forward and a backward all-to-all of D
    devices on one node; the time until the last device begins is subtracted from the forward one.

    table_file: table_configs.json; None: that in compute/, in the folder or in its parent
    ValueError names the file, the line and what is expected; OSError.
    """
    batch_size = _batch_size(folder / "samples.json")
    known = tables(table_file or _find_tables(folder))
    compute = _computations(folder / "compute/data.txt", known, batch_size)
    collectives = []
    named = [re.fullmatch(r"comm_(\d{1,5})", path.name) for path in folder.iterdir()]
    for devices in sorted(int(name.group(1)) for name in named if name):
        collectives += _collectives(folder / f"comm_{devices}/data.txt", devices, batch_size)
    if not compute and not collectives:
        raise ValueError(f"{folder} must have compute/data.txt or comm_D/data.txt, plain or .gz")
    own = ("name", "rows", "poolingFactor", "reuseHistogram")
    files = {
        "tables.jsonl": [
            {**{name: table[name] for name in own if name in table}, "reuseBatchSize": batch_size} for table in known
        ],
        "compute.jsonl.gz": compute,
        "collectives.jsonl.gz": collectives,
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        content = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
        (out / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


def _find_tables(folder: pathlib.Path) -> pathlib.Path:
    for place in (folder / "compute", folder, folder.resolve().parent):
        if (place / "table_configs.json").is_file():
            return place / "table_configs.json"
    raise ValueError(f"{folder} must have table_configs.json, or its parent; else give --tables")


def _batch_size(path: pathlib.Path) -> int:
    if not path.exists():
        return BATCH_SIZE
    size = mapping(read_json(path), str(path), "batch_size").get("batch_size")
    return _whole(size, f"{path}: batch_size", 1)


def _computations(path: pathlib.Path, known: list[dict[str, Any]], batch_size: int) -> list[dict[str, Any]]:
    widths = WIDTHS if all(table["columns"] == WIDTHS[0] for table in known) else (0,)
    found = []
    for where, parts in _lines(path, 2):
        shards = []
        for text in parts[0].split(","):
            index = _whole(text, where, 0)
            _check_index(index, len(known) * len(widths), where)
            width, table = divmod(index, len(known))
            columns = widths[width] or known[table]["columns"]
            shards.append({"table": table, "columns": columns, "samples": batch_size})
        found.append({"shards": shards, "ms": _numbers(parts[1], where)[0]})
    return found


def _collectives(path: pathlib.Path, devices: int, batch_size: int) -> list[dict[str, Any]]:
    found = []
    for where, parts in _lines(path, 4):
        columns, starts = (_numbers(part, where, is_cost=False) for part in parts[:2])
        forward, backward = (_numbers(part, where) for part in parts[2:])
        if not devices == len(columns) == len(starts) == len(forward) == len(backward):
            raise ValueError(f"{where}: there must be four lists of {devices} numbers, got {' '.join(parts)}")
        common = {
            "collective": "all_to_all",
            "devices": devices,
            "devicesPerNode": devices,
            "bytesPerPeer": [own * batch_size / devices * BYTES_PER_ELEMENT for own in columns],
        }
        # At least a thousandth of the cost remains, since the clocks of devices may differ.
        last = max(starts)
        transfer = [max(ms / 1000, ms - (last - start)) for ms, start in zip(forward, starts)]
        found.append({**common, "direction": "forward", "ms": transfer})
        found.append({**common, "direction": "backward", "ms": backward})
    return found


def _lines(path: pathlib.Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Yields the place and the parts of each line that is not blank, of a file or its .gz; none if there is neither."""
    zipped = path.with_name(path.name + ".gz")
    if path.is_file() and zipped.is_file():
        raise ValueError(f"{path} must be there once, got {zipped.name} too")
    if zipped.is_file():
        try:
            text = gzip.decompress(zipped.read_bytes()).decode("utf-8")
        except (EOFError, ValueError, zlib.error) as e:
            raise ValueError(f"{zipped} must be complete and intact, of UTF-8: {e}") from None
    elif path.is_file():
        text = read_text(path)
    else:
        return
    for number, line in enumerate(text.split("\n"), 1):
        parts = line.split()
        if parts:
            where = f"{path}, line {number}"
            if len(parts) != count:
                raise ValueError(f"{where}: must have {count} parts, got {len(parts)}")
            yield where, parts


def _check_index(index: int, count: int, where: str) -> None:
    if index >= count:
        raise ValueError(f"{where}: an index of a table must be from 0 and below {count}, got {index}")


def _numbers(text: str, where: str, is_cost: bool = True) -> list[float]:
    """Returns the numbers of a list: costs above 0, others from 0."""
    found = [_number(part, where) for part in text.split(",")]
    for number in found:
        if number < 0 or (is_cost and number == 0):
            raise ValueError(f"{where}: must be {'above' if is_cost else 'at least'} 0, got {number:g}")
    return found


def _whole(value: Any, name: str, least: int = 0) -> int:
    number = _number(value, name)
    if number != int(number) or number < least:
        raise ValueError(f"{name}: must be a whole number of at least {least}, got {value}")
    return int(number)


def _number(value: Any, name: str) -> float:
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ValueError(f"{name}: must be a number, got {value!r}")
    return number


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="a file of tasks, or a folder of samples")
    parser.add_argument("--tables", help="table_configs.json; of samples by default that in the folder or its parent")
    parser.add_argument("--cluster", help="JSON: the cluster of the workloads; of tasks only")
    parser.add_argument("--out", type=pathlib.Path, help="file of workloads (default: stdout), or sample folder")
    options = parser.parse_args(arguments)
    is_folder = options.source.is_dir()
    needed = ("out",) if is_folder else ("tables", "cluster")
    for name in needed:
        if getattr(options, name) is None:
            parser.error(f"--{name} must be given with {options.source}")
    if is_folder and options.cluster is not None:
        parser.error(f"--cluster must be given with a file of tasks only, got {options.source}")
    try:
        if is_folder:
            write_samples(options.source, options.tables, options.out)
            return
        cluster = dict(mapping(read_json(options.cluster), options.cluster, "the fields of a cluster"))
        found = tasks(options.source, tables(options.tables))
        lines = [{"task": str(place), "cluster": cluster, "tables": task} for place, task in enumerate(found)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        sys.stdout.write(text) if options.out is None else options.out.write_text(text, encoding="utf-8")
    except (ValueError, OSError) as e:
        sys.exit(f"convert: {e}")


if __name__ == "__main__":
    main()
