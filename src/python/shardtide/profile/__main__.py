"""Profiles tables, of fixed rows and hash tables, from files of ids."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from shardtide import command
from shardtide.profile.files import DAY_SECONDS, Times, files_of, read
from shardtide.profile.footers import Figure, read_footers
from shardtide.profile.growth import TableGrowth
from shardtide.profile.lookups import feature_fields
from shardtide.profile.order import file_name
from shardtide.profile.profiler import Profiler, TableProfile, TableUse
from shardtide.profile.repeats import SIZES
from shardtide.profile.rows import DEFAULT_MEMORY_BYTES, ROW_ORDERS

PROGRESS_SECONDS = 5.0

UNIT_SECONDS = {"m": 60, "h": 3_600, "d": DAY_SECONDS}

# A last period of which the times cover less is incomplete.
COMPLETE = 0.9


def run(options: argparse.Namespace) -> None:
    """Reads all files, prints a table, and writes the fields of each table's TableSpec, and the order of its rows."""
    _check(options)
    if options.footers:
        return _footers(options)
    memory = options.memory_mib * 2**20
    profiler = Profiler(dict(options.rows), dict(options.feature), memory, options.growth, options.row_orders)
    if options.order:
        # What would fail later fails before the files are read.
        for name in profiler.tables:
            file_name(name)
        for name, rows in options.hot_rows:
            if name not in profiler.tables:
                raise ValueError(f"table of --hot-rows must be one of --rows, got {name}")
            profiler.tables[name].check_hot_rows(rows)
        options.order.mkdir(parents=True, exist_ok=True)
    periods = _Periods(options.period, options.time)
    _read_all(profiler, options.files, periods)
    uses, growths = profiler.results(), periods.growth(profiler)
    results: list[TableUse | TableGrowth] = [*uses.values(), *growths.values()]
    fields = {result.name: result.fields() for result in results}
    if options.output != "text":
        print(json.dumps(fields))
    elif uses:
        print_table([_HEADER, *(_line(use) for use in uses.values())])
    if options.output == "text" and growths:
        print("\n" if uses else "", end="")
        _print_growth(growths, periods.labels)
    if options.output == "text":
        print()
        print_table([_BATCH_HEADER, *map(_batch_line, results)])
    for result in results:
        for warning in result.warnings:
            print(warning, file=sys.stderr)
    if options.out:
        options.out.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    if options.order:
        for profile in profiler.tables.values():
            _write_order(profile, options.order, dict(options.hot_rows).get(profile.name))


def _footers(options: argparse.Namespace) -> None:
    """Prints what footers say of columns, and writes the fields of each table's TableSpec that they say exactly."""
    rows = dict(options.rows)
    features = dict(options.feature)
    features.update({table: table for table in rows if table not in features.values()})
    found = read_footers(options.files, features)
    figures = {name: column.figures() for name, column in found.items()}
    if options.output == "text":
        lines = [["column", "figure", "value", "how exact", "from"]]
        for name, of in figures.items():
            lines += [[name, what, *_figure(figure)] for what, figure in of.items()]
        print_table(lines)
    else:
        known = {name: {what: figure._asdict() for what, figure in of.items()} for name, of in figures.items()}
        print(json.dumps(known))
    print(
        "Footers do not know how ids repeat and where rows are hot: leave out --footers, and give --rows to measure it",
        file=sys.stderr,
    )
    if options.out:
        fields: dict[str, dict[str, float]] = {}
        for name, column in found.items():
            if column.lookups is not None and column.samples:
                fields.setdefault(features.get(name, name), {})[name] = column.lookups / column.samples
        specs = {
            table: {
                **({"rows": rows[table]} if table in rows else {}),
                "poolingFactor": sum(pooling.values()),
                **feature_fields(pooling),
            }
            for table, pooling in fields.items()
        }
        options.out.write_text(json.dumps(specs, indent=2) + "\n", encoding="utf-8")


def _figure(figure: Figure) -> list[str]:
    if figure.value is None:
        return ["unknown", "", ""]
    value = f"{figure.value:,}" if isinstance(figure.value, int) else f"{figure.value:,.3f}"
    return [value, figure.exactness, figure.source]


def _write_order(profile: TableProfile, folder: Path, hot_rows: int | None) -> None:
    profile.write_order(folder, hot_rows)
    known = profile.known_rows()
    if known < profile.rows:
        print(
            f"Table {profile.name} uses more rows than its memory can count: the first {known:,} rows of its order are"
            " its most used ones; others follow by their estimated use, then by id. Maybe give it more memory",
            file=sys.stderr,
        )


class _Periods:
    """Periods of the stream that is read: one for each file or folder given, or by the times of samples.

    seconds: length of a period; None if no table needs periods: all is in one
    column: of times, if samples have them
    """

    def __init__(self, seconds: int | None, column: str | None) -> None:
        self._seconds = seconds
        self.times = None if column is None or seconds is None else Times(column, seconds)
        # What each period is called: where its files are, or when it began.
        self.labels: list[str] = []
        self._first: int | None = None
        self._last_time = 0

    def begin_file(self, profiler: Profiler, given: Path) -> None:
        """Begins the period of a file or folder, if there are no times."""
        if self._seconds is not None and self.times is None:
            self.labels.append(str(given))
            profiler.begin_period(len(self.labels) - 1)

    def begin_part(self, profiler: Profiler, times: tuple[int, int]) -> None:
        """Begins the period of samples with these times, the first and the last; ValueError if it is an earlier one."""
        assert self.times is not None
        period = times[0] // self.times.seconds
        if self._first is None:
            self._first = period
        if period < self._first + len(self.labels) - 1:
            raise ValueError(
                f"times in column {self.times.column} must not go back to an earlier period, got {_utc(times[0])} after"
                f" {_utc(self._last_time)}: give files in the order of time, and sort their samples"
            )
        profiler.begin_period(period - self._first)
        while len(self.labels) <= period - self._first:
            self.labels.append(_utc((self._first + len(self.labels)) * self.times.seconds))
        self._last_time = max(self._last_time, times[1])

    def growth(self, profiler: Profiler) -> dict[str, TableGrowth]:
        """Returns the use of hash tables in these periods; ValueError if one has no lookups in a period."""
        if self._seconds is None:
            return {}
        for name, profile in profiler.hash_tables.items():
            for period in profile.periods_without_lookups():
                raise ValueError(
                    f"Table {name} has no lookups in the period {self.labels[period]}: its growth is unknown. Maybe"
                    " give the data of this period, or longer periods"
                )
        covered = 1.0 if self.times is None else (self._last_time % self._seconds + 1) / self._seconds
        return profiler.growth(self._seconds / DAY_SECONDS, covered >= COMPLETE)


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M")


def _read_all(profiler: Profiler, given: Sequence[Path], periods: _Periods) -> None:
    # Each file with what was given, before the first file of that.
    files = [(None if place else path, file) for path in given for place, file in enumerate(files_of(path))]
    sizes = [file.stat().st_size for _, file in files]
    began = shown = time.monotonic()
    counted = 0
    for index, (path, file) in enumerate(files):
        if path is not None:
            periods.begin_file(profiler, path)
        for part in read(file, profiler.features, periods.times):
            try:
                if part.times is not None:
                    periods.begin_part(profiler, part.times)
                profiler.add(part.batch)
            except ValueError as e:
                raise ValueError(f"{file}: {e}") from None
            counted += sum(ids.ids.size for ids in part.batch.values())
            now = time.monotonic()
            if now - shown >= PROGRESS_SECONDS:
                shown = now
                share = (sum(sizes[:index]) + part.done * sizes[index]) / max(1, sum(sizes))
                left = (now - began) * (1 - share) / share if share else 0.0
                print(f"{share:.0%}, {counted:,} ids, {left:.0f} s left", file=sys.stderr)
    seconds = max(1e-9, time.monotonic() - began)
    print(f"{counted:,} ids, {counted / seconds / 1e6:.1f} million a second", file=sys.stderr)


def _print_growth(growths: dict[str, TableGrowth], labels: Sequence[str]) -> None:
    """Prints a line for each hash table; then for each its periods, its hit shares, and its `storage` to publish."""
    header = ["hash table", "samples", "lookups", "pooling", "ids", "error", "new ids/day", "median of"]
    print_table([header, *(_growth_line(growth) for growth in growths.values())])
    for growth in growths.values():
        print(f"\n{growth.name}: new ids by period")
        lines = [["period", "lookups", "new ids", "error", "ids so far", "error"]]
        for period in growth.periods:
            lines.append(
                [
                    labels[period.period],
                    f"{period.lookups:,}",
                    f"{period.new_ids:,}",
                    _error(period.new_ids_error),
                    f"{period.ids:,}",
                    _error(period.ids_error),
                ]
            )
        print_table(lines)
        print(f"\n{growth.name}: share of lookups that find their id, by the ids that the table keeps")
        shares = zip(growth.capacities(), growth.hit_shares)
        print_table([["ids kept", "hit share"], *([f"{kept:,}", f"{share:.4f}"] for kept, share in shares)])
        print(f"\n{growth.name}: to publish\n" + json.dumps({"storage": growth.storage()}))


def _growth_line(growth: TableGrowth) -> list[str]:
    count = growth.growth_periods
    return [
        growth.name,
        f"{growth.samples:,}",
        f"{growth.lookups:,}",
        f"{growth.pooling_factor:.3f}",
        f"{growth.ids:,}",
        _error(growth.ids_error),
        "unknown" if growth.ids_per_day is None else f"{growth.ids_per_day:,.1f}",
        "-" if not count else f"last {count} periods" if count > 1 else "last period",
    ]


def _error(error: float) -> str:
    return f"{error:,.0f}" if error else "exact"


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


_BATCH_HEADER = ["distinct of", *(f"{size:,}" for size in SIZES), "samples", "runs", "hot block"]


def _batch_line(use: TableUse | TableGrowth) -> list[str]:
    """Returns the shares of distinct ids by samples, of how many runs the last one is, and the load of a hot block."""
    shares = [f"{share.share:.4f}" for share in use.distinct_shares]
    spreads = use.row_spread.values() if isinstance(use, TableUse) else ()
    # Over the mean of all blocks, where the first of the orders cuts the table.
    hottest = next((f"{len(blocks) * max(blocks):.2f}" for blocks in spreads), "-")
    runs = f"{use.distinct_shares[-1].runs:,}" if shares else "-"
    return [use.name, *shares, *["-"] * (len(SIZES) - len(shares)), "", runs, hottest]


def print_table(lines: Sequence[Sequence[str]]) -> None:
    """Prints lines in columns, the first one aligned to the left."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        print("  ".join(cells).rstrip(), flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.set_defaults(interrupted="; no file is left incomplete")
    files = ".parquet, .npy or .npz files, folders of them, or Delta tables"
    add("files", type=Path, nargs="*", metavar="FILE", help=files)
    feature = "a feature (column) and the table that it looks up (default: one with the table's name)"
    hot_rows = "with --order: a table and its hot rows in a plan; other rows are spread (default: all by use)"
    pairs: tuple[tuple[str, str, Callable[[str], object], str], ...] = (
        ("--rows", "TABLE=ROWS", int, "a table and how many rows it has"),
        ("--feature", "FEATURE=TABLE", str, feature),
        ("--hot-rows", "TABLE=ROWS", int, hot_rows),
    )
    for option, form, value, text in pairs:
        add(option, type=_pair(form, value), nargs="+", action="extend", default=[], metavar=form, help=text)
    growth = "hash tables, without fixed rows: distinct ids, new ids by period, and hit shares"
    add("--growth", nargs="+", action="extend", default=[], metavar="TABLE", help=growth)
    period = (
        "with --growth: the time that each FILE or folder covers, in the order given, as 30m, 6h or 1d; with --time,"
        " the length of periods, which begin at multiples of it in UTC"
    )
    add("--period", type=command.checked(_seconds), metavar="LENGTH", help=period)
    of_samples = "with --growth: the column of Parquet files with the time of each sample (default: a FILE is a period)"
    add("--time", metavar="COLUMN", help=of_samples)
    add("--out", type=Path, metavar="FILE", help="JSON: fields of each table's TableSpec, by table")
    command.add_output(parser)
    only = "read no data, only footers of Parquet files or an Iceberg table: lookups, nulls, bounds of distinct ids"
    add("--footers", action="store_true", help=only)
    add("--order", type=Path, metavar="DIR", help="a file for each table with the rank of each row by use: TABLE.npy")
    memory = DEFAULT_MEMORY_BYTES // 2**20
    cuts = "how the trainer can cut tables by rows, with commas: " + ", ".join(ROW_ORDERS)
    add("--row-orders", type=lambda text: text.split(","), default=ROW_ORDERS[:1], metavar="ORDERS", help=cuts)
    add("--memory-mib", type=int, default=memory, help=f"memory of a table (default: {memory})")


def _check(options: argparse.Namespace) -> None:
    """ValueError if options do not go together."""
    if not (options.files and (options.rows or options.growth or options.footers)):
        tables = "" if options.footers else " and --rows TABLE=ROWS or --growth TABLE are"
        raise ValueError(f"a FILE{tables or ' is'} expected; --help says more")
    if options.footers and (options.growth or options.period or options.time or options.order):
        raise ValueError("--footers must come without --growth, --period, --time and --order, which need data")
    if bool(options.growth) != (options.period is not None):
        raise ValueError("--growth and --period must come together")
    if options.time is not None and not options.growth:
        raise ValueError("--time must come with --growth")
    if options.hot_rows and not options.order:
        raise ValueError("--hot-rows must come with --order")
    for what, pairs in (
        ("table of --rows and --growth", [*options.rows, *((name, None) for name in options.growth)]),
        ("feature of --feature", options.feature),
        ("table of --hot-rows", options.hot_rows),
    ):
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"each {what} must occur once, got {name} twice")


def _seconds(text: str) -> int:
    """Returns a length of time of minutes, hours or days, 1 minute to 366 days, in seconds."""
    match = re.fullmatch(r"([0-9]{1,6})([mhd])", text)
    seconds = int(match[1]) * UNIT_SECONDS[match[2]] if match else 0
    if not 60 <= seconds <= 366 * DAY_SECONDS:
        raise ValueError(f"must be between 1m and 366d, as 30m, 6h or 1d, got {text}")
    return seconds


def _pair(form: str, value: Callable[[str], object]) -> Callable[[str], tuple[str, object]]:
    def parse(text: str) -> tuple[str, object]:
        name, equals, number = text.rpartition("=")
        try:
            if name and equals and number:
                return name, value(number)
        except ValueError:
            pass
        raise ValueError(f"must be {form}, got {text}")

    return command.checked(parse)


if __name__ == "__main__":
    command.main(name="profile")
