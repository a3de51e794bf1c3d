"""Converts plans for TorchRec, and plans of TorchRec for `./shardtide plan evaluate`: lines of JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shardtide import command
from shardtide.arguments import mapping, parse_json
from shardtide.torchrec.changes import NotReshardable, changes
from shardtide.torchrec.descriptions import describe
from shardtide.torchrec.lines import is_description, to_line

# What Avro's JSON puts around a value that may be null.
_TYPES = {"string", "double", "boolean"}

_OF_LINES = ("tables", "replica_groups", "codecs")


def converted(lines: Iterable[str], source: str, **options: Any) -> Iterator[dict[str, Any]]:
    """Yields each line's plan in the other form; ValueError names the line of the source.

    A workload's later plan of the log has "reshard": the id of the plan before ("from"), and what changes for a model that
    runs that ("plan", "moved_elements"), or why it must restart ("refused").

    options: of describe()
    """
    latest: dict[str, dict[str, Any]] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        place = f"{source}, line {number}"
        plan = mapping(parse_json(text, place), place, "a plan")
        try:
            if is_description(plan):
                yield to_line(plan)
            elif plan.get("feasible") is False:
                yield dict(plan)
            elif "tables" in plan:
                others = {field: value for field, value in plan.items() if field not in _OF_LINES}
                yield {**others, **describe(plan, **options)}
            else:
                found = describe(_plain(plan), **options)
                running = latest.get(found["workload"])
                latest[found["workload"]] = found
                yield {**found, **({"reshard": _reshard(running, found)} if running else {})}
        except ValueError as e:
            raise ValueError(f"{place}: {e}") from None


def _plain(value: Any) -> Any:
    """Returns a record that is in Avro's JSON without the types of its unions."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        plain = {name: _plain(one) for name, one in value.items()}
        return next(iter(plain.values())) if len(plain) == 1 and plain.keys() <= _TYPES else plain
    return value


def _reshard(running: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"from": running["plan_id"], **changes(running, wanted)}
    except NotReshardable as e:
        return {"from": running["plan_id"], "refused": e.problems}


def modules_of(texts: Sequence[str]) -> str | dict[str, str] | None:
    """Returns the module of all tables, or of each one, of PATH or several PATH=TABLE,TABLE; None of no text."""
    if len(texts) < 2 and not any("=" in text for text in texts):
        return texts[0] if texts else None
    modules: dict[str, str] = {}
    for text in texts:
        path, _, tables = text.partition("=")
        for table in tables.split(","):
            if not table:
                raise ValueError(f"--module must be PATH=TABLE,TABLE,... for each of several, got {text!r}")
            if modules.setdefault(table, path) != path:
                raise ValueError(f'Table "{table}" is in modules "{modules[table]}" and "{path}"; must be in one')
    return modules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    lines = "lines that ./shardtide plan make --out or plan watch -o jsonl wrote become descriptions for TorchRec; those"
    lines += " of descriptions, and of from_sharding_plan(), lines for plan evaluate (default: standard input)"
    add("file", nargs="?", help=lines)
    path = "of the collection in the model; of several PATH=TABLE,TABLE,... each; may be repeated"
    add("--module", action="append", default=[], metavar="PATH", help=path)
    add("--unpooled", action="append", default=[], metavar="TABLE", help="a table of an EmbeddingCollection; may be repeated")
    moves = "only plans between which a running model can go: DistributedModelParallel.reshard moves columns only"
    add("--reshardable", action="store_true", help=moves)
    add("--devices-per-node", type=int, default=8, metavar="N", help="as the cluster has them (8)")
    add("--devices-per-host", type=int, metavar="N", help="where a node spans several hosts")
    kernel = "of tables in device memory that are not data_parallel and name none (fused)"
    add("--compute-kernel", choices=("fused", "dense"), default="fused", help=kernel)
    add("--device", choices=("cuda", "cpu"), default="cuda", help="kind of the devices (cuda)")


def run(options: argparse.Namespace) -> None:
    of_plans = ("unpooled", "reshardable", "devices_per_node", "devices_per_host", "compute_kernel", "device")
    fields = {name: getattr(options, name) for name in of_plans}
    with open(options.file, encoding="utf-8") if options.file else sys.stdin as lines:
        for plan in converted(lines, options.file or "standard input", modules=modules_of(options.module), **fields):
            print(json.dumps(plan), flush=True)


if __name__ == "__main__":
    command.main(name="convert")
