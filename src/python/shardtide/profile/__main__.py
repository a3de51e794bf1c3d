"""python -m shardtide.profile: profiles tables from files of ids."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from shardtide.profile.benchmark import benchmark
from shardtide.profile.files import read
from shardtide.profile.order import file_name
from shardtide.profile.profiler import Profiler, TableProfile, TableUse
from shardtide.profile.rows import DEFAULT_MEMORY_BYTES

PROGRESS_SECONDS = 5.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command with these arguments, those of the process unless given."""
    options = _parse(arguments)
    try:
        if options.benchmark:
            _print_table(list(benchmark(options.batches)))
        else:
            _profile(options)
    except (ValueError, OSError, MemoryError) as e:
        sys.exit(f"shardtide.profile: {e}")
    except KeyboardInterrupt:
        sys.exit("shardtide.profile: interrupted; no file is left incomplete")


def _profile(options: argparse.Namespace) -> None:
    """Reads all files, prints a table, and writes the fields of each table's TableSpec, and the order of its rows."""
    profiler = Profiler(dict(options.rows), dict(options.feature), options.memory_mib * 2**20)
    if options.order:
        # What would fail later fails before the files are read.
        for name in profiler.tables:
            file_name(name)
        for name, rows in options.hot_rows:
            if name not in profiler.tables:
                raise ValueError(f"table of --hot-rows must be one of --rows, got {name}")
            profiler.tables[name].check_hot_rows(rows)
        options.order.mkdir(parents=True, exist_ok=True)
    _read_all(profiler, options.files)
    uses = profiler.results()
    _print_table([_HEADER, *(_line(use) for use in uses.values())])
    for use in uses.values():
        for warning in use.warnings:
            print(warning, file=sys.stderr)
    if options.out:
        fields = {name: use.fields() for name, use in uses.items()}
        options.out.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    if options.order:
        for profile in profiler.tables.values():
            _write_order(profile, options.order, dict(options.hot_rows).get(profile.name))


def _write_order(profile: TableProfile, folder: Path, hot_rows: int | None) -> None:
    profile.write_order(folder, hot_rows)
    known = profile.known_rows()
    if known < profile.rows:
        print(
            f"Table {profile.name} uses more rows than its memory can count: the first {known:,} rows of its order are"
            " its most used ones; others follow by their estimated use, then by id. Maybe give it more memory",
            file=sys.stderr,
        )


def _read_all(profiler: Profiler, files: Sequence[Path]) -> None:
    sizes = [path.stat().st_size for path in files]
    began = shown = time.monotonic()
    counted = 0
    for index, path in enumerate(files):
        for done, batch in read(path, profiler.features):
            try:
                profiler.add(batch)
            except ValueError as e:
                raise ValueError(f"{path}: {e}") from None
            counted += sum(ids.ids.size for ids in batch.values())
            now = time.monotonic()
            if now - shown >= PROGRESS_SECONDS:
                shown = now
                share = (sum(sizes[:index]) + done * sizes[index]) / max(1, sum(sizes))
                left = (now - began) * (1 - share) / share if share else 0.0
                print(f"{share:.0%}, {counted:,} ids, {left:.0f} s left", file=sys.stderr)
    seconds = max(1e-9, time.monotonic() - began)
    print(f"{counted:,} ids, {counted / seconds / 1e6:.1f} million a second", file=sys.stderr)


_HEADER = ["table", "rows", "samples", "lookups", "pooling", "used rows", "lookups/row", "top 1", "top 1024", "error"]


def _line(use: TableUse) -> list[str]:
    # The entry of 4^5 rows, or all of a smaller table.
    top = use.access_cdf[min(5, len(use.access_cdf) - 1)] if use.access_cdf else None
    return [
        use.name,
        f"{use.rows:,}",
        f"{use.samples:,}",
        f"{use.lookups:,}",
        f"{use.pooling_factor:.3f}",
        f"{use.used_rows:,}",
        f"{use.lookups_per_used_row:.1f}",
        "-" if top is None else f"{use.access_cdf[0]:.4f}",
        "-" if top is None else f"{top:.4f}",
        f"{use.access_cdf_error:.4f}" if use.access_cdf_error else "exact",
    ]


def _print_table(lines: Sequence[Sequence[str]]) -> None:
    """Prints lines in columns, the first one aligned to the left."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        print("  ".join(cells).rstrip(), flush=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exits with one line; --help shows the usage."""
        self.exit(2, f"shardtide.profile: {message}\n")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m shardtide.profile",
        description="Measures how lookups spread over the rows of tables: pooling factor, access CDF and reuse"
        " histogram, from files of ids.",
    )
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help=".parquet, .npy or .npz files")
    _add_pairs(parser, "--rows", "TABLE=ROWS", int, "a table and how many rows it has")
    feature = "a feature (column) and the table that it looks up (default: one with the table's name)"
    _add_pairs(parser, "--feature", "FEATURE=TABLE", str, feature)
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON: fields of each table's TableSpec, by table")
    parser.add_argument(
        "--order", type=Path, metavar="DIR", help="a file for each table with the rank of each row by use: TABLE.npy"
    )
    hot_rows = "with --order: a table and its hot rows in a plan; other rows are spread (default: all by use)"
    _add_pairs(parser, "--hot-rows", "TABLE=ROWS", int, hot_rows)
    parser.add_argument(
        "--memory-mib", type=int, default=DEFAULT_MEMORY_BYTES // 2**20, help="memory of a table (default: 128)"
    )
    parser.add_argument("--benchmark", action="store_true", help="measure speed and error on random ids, without files")
    parser.add_argument("--batches", type=int, default=100, help="millions of ids of the benchmark (default: 100)")
    options = parser.parse_args(arguments)
    if options.benchmark and (options.files or options.rows or options.batches < 1):
        parser.error("--benchmark must come without files and --rows, and with --batches of at least 1")
    if not options.benchmark and not (options.files and options.rows):
        parser.error("a FILE and --rows TABLE=ROWS are expected; --help says more")
    if options.hot_rows and not options.order:
        parser.error("--hot-rows must come with --order")
    for what, pairs in (
        ("table of --rows", options.rows),
        ("feature of --feature", options.feature),
        ("table of --hot-rows", options.hot_rows),
    ):
        _check_unique(parser, what, [name for name, _ in pairs])
    return options


def _add_pairs(parser: _Parser, option: str, form: str, value: Callable[[str], object], help_text: str) -> None:
    """Adds an option that is given any number of pairs."""
    pair = _pair(form, value)
    parser.add_argument(option, type=pair, nargs="+", action="extend", default=[], metavar=form, help=help_text)


def _check_unique(parser: _Parser, what: str, names: Iterable[str]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            parser.error(f"each {what} must occur once, got {name} twice")
        seen.add(name)


def _pair(form: str, value: Callable[[str], object]) -> Callable[[str], tuple[str, object]]:
    def parse(text: str) -> tuple[str, object]:
        name, equals, number = text.rpartition("=")
        try:
            if not (name and equals and number):
                raise ValueError
            return name, value(number)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {form}, got {text}") from None

    return parse


if __name__ == "__main__":
    main()
