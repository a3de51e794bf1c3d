"""Converts plans for TorchRec, and TorchRec's plans: lines of JSON, from a file or standard input to standard output.

python -m shardtide.torchrec.convert [FILE] [--module PATH[=TABLE,...]]... [--unpooled TABLE]... [--reshardable]
    [--devices-per-node N] [--devices-per-host N] [--compute-kernel fused|dense] [--device cuda|cpu]

Lines of `./shardtide plan make --out` and of `plan watch -o jsonl` become descriptions, as describe() of
shardtide.torchrec.descriptions returns them; it explains the options, too. Of a workload's later plans of `plan watch`,
they have what changes for a model that runs the plan before: under "reshard" the id of that ("from"), and either
"plan" and "moved_elements", or why it must restart ("refused").

Descriptions, and what from_sharding_plan() returns, become lines for `./shardtide plan evaluate`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shardtide.arguments import mapping, parse_json
from shardtide.torchrec.changes import NotReshardable, changes
from shardtide.torchrec.descriptions import describe
from shardtide.torchrec.lines import is_description, to_line

# What Avro's JSON puts around a value that may be null.
_TYPES = {"string", "double", "boolean"}

_OF_LINES = ("tables", "replica_groups", "codecs")


def converted(lines: Iterable[str], source: str, **options: Any) -> Iterator[dict[str, Any]]:
    """Yields each line's plan in the other form; ValueError names the line of the source.

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


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m shardtide.torchrec.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", help="the plans, one a line (default: standard input)")
    parser.add_argument("--module", action="append", default=[], metavar="PATH[=TABLE,...]")
    parser.add_argument("--unpooled", action="append", default=[], metavar="TABLE")
    parser.add_argument("--reshardable", action="store_true")
    parser.add_argument("--devices-per-node", type=int, default=8, metavar="N")
    parser.add_argument("--devices-per-host", type=int, metavar="N")
    parser.add_argument("--compute-kernel", choices=("fused", "dense"), default="fused")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = vars(parser.parse_args())
    file = options.pop("file")
    try:
        modules = modules_of(options.pop("module"))
        with open(file, encoding="utf-8") if file else sys.stdin as lines:
            for plan in converted(lines, file or "standard input", modules=modules, **options):
                print(json.dumps(plan), flush=True)
    except (ValueError, OSError) as e:
        sys.exit(f"shardtide.torchrec.convert: {e}")


if __name__ == "__main__":
    main()
