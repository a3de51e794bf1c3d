"""What footers say of ids, beside full reads. Needs numpy and pyarrow; parts need polars, DuckDB, pyiceberg."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pathlib
import random
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from profile_command import CommandCase
import commands

try:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from shardtide.profile import files, footers
except ModuleNotFoundError as e:
    if e.name not in ("numpy", "pyarrow"):
        raise
    pa = None

try:
    import polars
except ModuleNotFoundError:
    polars = None

try:
    import duckdb
except ModuleNotFoundError:
    duckdb = None

ROWS = 3_000


def samples(ids=300):
    """A table of columns of ids of each kind, with nulls at each level."""
    draw, int64, pair = random.Random(5), pa.int64(), [("id", pa.int64()), ("weight", pa.float32())]

    def drawn():
        return None if draw.random() < 0.1 else draw.randrange(ids)

    lists = [None if draw.random() < 0.1 else [drawn() for _ in range(draw.randrange(4))] for _ in range(ROWS)]
    structs = [of and [{"id": id_, "weight": 0.5} for id_ in of] for of in lists]
    weights = [of and [(id_, 0.5) for id_ in {id_ or 0 for id_ in of}] for of in lists]
    required = pa.schema([pa.field("must", int64, nullable=False)])
    inside = pa.struct([("ids", pa.list_(int64)), ("at", pa.float32())])
    columns = {
        "one": pa.array([drawn() for _ in range(ROWS)], pa.uint32()),
        "lists": pa.array(lists, pa.list_(int64)),
        "nested": pa.array([of and [of, None, []] for of in lists], pa.list_(pa.list_(int64))),
        "weighted": pa.array(structs, pa.list_(pa.struct(pair))),
        "maps": pa.array(weights, pa.map_(int64, pa.float32())),
        "inside": pa.array([None if of == [None] else {"ids": of, "at": 0.5} for of in lists], inside),
    }
    table = pa.table(columns)
    must = pa.table({"must": range(ROWS)}, schema=required)
    return table.append_column(required.field("must"), must.column("must"))


@unittest.skipUnless(pa, "numpy or pyarrow is not installed")
class FootersTest(CommandCase):
    def check(self, path, expected_source=None):
        """Figures of a file equal those of a full read where they are exact, and bound them elsewhere."""
        found = footers.read_footers([path], ())
        self.assertEqual(list(found), pq.read_schema(path).names)
        with pq.ParquetFile(path) as file:
            groups = [file.read_row_group(group) for group in range(file.num_row_groups)]
        for name, column in found.items():
            bags = [files._bags_of(pa, path, name, group.column(name).combine_chunks()) for group in groups]
            lookups, of_groups = sum(bag.ids.size for bag in bags), [len(set(bag.ids.tolist())) for bag in bags]
            ids = len(set(np.concatenate([bag.ids for bag in bags]).tolist()))
            whole = pa.concat_tables(groups).column(name).to_pylist()
            whole = [of["ids"] if isinstance(of, dict) else of for of in whole]
            with self.subTest(path=path, column=name):
                self.assertEqual(column.samples, len(whole))
                for value, exact in (
                    (column.lookups, lookups),
                    (column.nulls, whole.count(None)),
                    (column.empties, whole.count([])),
                    (column.group_ids, of_groups),
                ):
                    self.assertIn(value, (None, exact))
                self.assertGreaterEqual(column.most_lookups, lookups)
                figures = column.figures()
                if column.group_ids is not None:
                    self.assertGreaterEqual(figures["ids"].value, ids)
                    self.assertLessEqual(figures["ids, lower bound"].value, ids)
                if expected_source is not None and column.lookups is not None and name != "must":
                    self.assertEqual(figures["lookups"].source, expected_source)
        return found

    def test_figures_are_those_of_a_full_read(self):
        path = self.folder / "day.parquet"
        for options in ({}, {"data_page_version": "2.0", "compression": "zstd"}, {"use_dictionary": False}):
            pq.write_table(samples(), path, row_group_size=1_100, **options)
            found = self.check(path, "definition levels")
            for name, column in found.items():
                self.assertIsNotNone(column.lookups, name)
                self.assertIsNotNone(column.nulls, name)
                is_coded = options.get("use_dictionary", True)
                self.assertEqual(column.group_ids is not None, is_coded, name)

    def test_without_size_statistics_nulls_are_counted_by_statistics(self):
        path = self.folder / "day.parquet"
        pq.write_table(samples(), path, row_group_size=1_100)
        with mock.patch.object(footers, "SIZES", 99):
            found = self.check(path, "num_values - null_count")
            self.assertEqual((found["lists"].nulls, found["lists"].empties), (None, None))
            self.assertEqual(found["one"].nulls, samples()["one"].null_count)
            # pyarrow counts nulls of structs in lists wrongly.
            figure = found["weighted"].figures()["lookups"]
            self.assertEqual((found["weighted"].lookups, figure.exactness), (None, "at most"))
            with mock.patch.object(footers, "NULLS", 99):
                found = self.check(path)
                self.assertEqual([name for name, column in found.items() if column.lookups is not None], ["must"])

    def test_dictionaries_that_were_given_up_say_nothing(self):
        path = self.folder / "day.parquet"
        pq.write_table(pa.table({"item": range(100_000)}), path, dictionary_pagesize_limit=4_096)
        self.assertIsNone(self.check(path)["item"].group_ids)

    @unittest.skipUnless(polars, "polars is not installed")
    def test_files_of_polars(self):
        table = polars.from_arrow(samples().drop_columns(["maps"]))
        table.write_parquet(self.path("day.parquet"), row_group_size=1_100)
        found = self.check(self.folder / "day.parquet")
        self.assertTrue(all(column.lookups is not None for column in found.values()))

    @unittest.skipUnless(duckdb, "duckdb is not installed")
    def test_files_of_duckdb(self):
        written = samples()
        duckdb.connect().execute(f"COPY (SELECT * FROM written) TO '{self.path('day.parquet')}' (FORMAT parquet)")
        found = self.check(self.folder / "day.parquet")
        self.assertEqual(len(written.column_names), len(found))
        self.assertTrue(all(column.lookups is not None for column in found.values()))

    def test_command_prints_figures_and_writes_what_is_exact(self):
        table = pa.table({"clicked": [[1, 2], [], None, [3]], "bought": [7, None, 8, 8]})
        for day in range(3):
            pq.write_table(table, self.path(f"{day}.parquet"))
        given = [str(self.folder), "--footers", "--rows", "item=100", "--feature", "clicked=item", "bought=item"]
        fields, printed, err = self.profile(*given)
        features = [{"name": "clicked", "poolingFactor": 0.75}, {"name": "bought", "poolingFactor": 0.75}]
        self.assertEqual(fields, {"item": {"rows": 100, "poolingFactor": 1.5, "features": features}})
        lines = [line.split("  ") for line in printed.splitlines()]
        lines = [[cell.strip() for cell in line if cell] for line in lines]
        self.assertEqual(lines[0], ["column", "figure", "value", "how exact", "from"])
        self.assertIn(["clicked", "lookups a sample", "0.750", "exact", "definition levels"], lines)
        self.assertIn(["clicked", "empty samples", "3", "exact", "definition levels"], lines)
        self.assertIn(["bought", "ids", "6", "at most", "dictionary pages of 3 row groups"], lines)
        self.assertIn(["bought", "ids, lower bound", "2", "at least", "dictionary pages of 3 row groups"], lines)
        self.assertIn(["bought", "ids of the table", "unknown"], lines)
        self.assertIn("Footers do not know how ids repeat and where rows are hot", err)
        found = json.loads(commands.run("profile", *given, "--output", "json")[0])
        nulls = {"value": 3, "exactness": "exact", "source": "definition levels"}
        self.assertEqual(found["clicked"]["null samples"], nulls)
        found = json.loads(commands.run("profile", self.path("?.parquet"), "--footers", "-o", "json")[0])
        self.assertEqual(list(found), ["clicked", "bought"])
        self.assertEqual(found["bought"]["samples"]["value"], 12)

    def test_iceberg_tables_need_pyiceberg(self):
        (self.folder / "metadata").mkdir()
        (self.folder / "metadata" / "v1.metadata.json").write_text("{}")
        with mock.patch.dict(sys.modules, {"pyiceberg.exceptions": None}):
            message = self.error(str(self.folder), "--footers")
        self.assertIn("is an Iceberg table, and needs pyiceberg: pip install pyiceberg", message)
        if importlib.util.find_spec("pyiceberg"):
            self.assertIn("is an Iceberg table that pyiceberg cannot read: ", self.error(str(self.folder), "--footers"))

    @unittest.skipUnless(importlib.util.find_spec("pyiceberg"), "pyiceberg is not installed")
    def test_iceberg_tables_have_their_live_files_and_sketches(self):
        from pyiceberg.catalog.sql import SqlCatalog
        from pyiceberg.table.statistics import StatisticsFile

        catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=self.folder.as_uri())
        catalog.create_namespace("of")
        rows = pa.table({"item": [[1, 2], [], [3]], "user": [1, 2, 2]})
        table = catalog.create_table("of.clicks", rows.schema)
        for _ in range(11):
            table.append(rows)
        table.overwrite(rows)
        table.append(rows)
        snapshot = table.current_snapshot().snapshot_id

        def blob(kind, field, ndv):
            of = {"snapshot-id": snapshot, "sequence-number": 1, "fields": [table.schema().find_field(field).field_id]}
            return {"type": kind, **of, "properties": {"ndv": ndv}}

        blobs = [blob("apache-datasketches-theta-v1", "user", "2"), blob("deletion-vector-v1", "user", "9")]
        blobs.append(blob("apache-datasketches-theta-v1", "item.element", "8"))
        sizes = {"file-size-in-bytes": 1, "file-footer-size-in-bytes": 1}
        with table.update_statistics() as update:
            at = {"snapshot-id": snapshot, "statistics-path": "stats.puffin"}
            update.set_statistics(StatisticsFile(**at, **sizes, **{"blob-metadata": blobs}))
        found = footers.read_footers([self.folder / "of" / "clicks"], ())
        self.assertEqual({name: column.table_ids for name, column in found.items()}, {"item": None, "user": 2})
        self.assertEqual((found["item"].samples, found["item"].lookups), (6, 6))
        table.append(rows)
        self.assertIsNone(footers.read_footers([self.folder / "of" / "clicks"], ())["user"].table_ids)

    def test_bad_files_are_named(self):
        columns = {"item": [[1]], "name": ["a"], "real": [[0.5]], "day": pa.array([1], pa.date32())}
        pq.write_table(pa.table({**columns, "both": [{"a": 1, "b": 2}]}), self.path("day.parquet"))
        whole = (self.folder / "day.parquet").read_bytes()
        for name, content in (
            ("short", whole[:-20]),
            ("tiny", b"PAR1"),
            ("empty", b""),
            ("secret", whole[:-4] + b"PARE"),
            ("wrong", whole[:-60] + b"\xff" * 50 + whole[-10:]),
            ("long", whole[:-8] + (10**6).to_bytes(4, "little") + b"PAR1"),
        ):
            (self.folder / f"{name}.parquet").write_bytes(content)
        (self.folder / "none").mkdir()
        for name, feature, message in (
            ("short.parquet", "item", "short.parquet must be a whole Parquet file: it does not end with a footer"),
            ("tiny.parquet", "item", "tiny.parquet must be a whole Parquet file"),
            ("empty.parquet", "item", "empty.parquet must be a whole Parquet file"),
            ("long.parquet", "item", "long.parquet must be a whole Parquet file"),
            ("secret.parquet", "item", "secret.parquet must have a footer that is not encrypted"),
            ("wrong.parquet", "item", "wrong.parquet must have an intact footer: "),
            ("x?.parquet", "item", "No such file or directory"),
            ("none", "item", "none must have .parquet, .npy, .npz files, got none"),
            ("day.parquet", "name", "Column name of {} must hold integers, or lists or maps of them, got BYTE_ARRAY"),
            ("day.parquet", "real", "Column real of {} must hold integers, or lists or maps of them, got DOUBLE"),
            ("day.parquet", "day", "Column day of {} must hold integers, or lists or maps of them, got INT32"),
            ("day.parquet", "both", "Column both of {} must hold integers, or lists or maps of them, got structs"),
            ("day.parquet", "user", "{} must have one of the features user, got item, name, real, day, both"),
        ):
            with self.subTest(name=name, feature=feature):
                message = message.format(self.path(name))
                self.assertIn(message, self.error(self.path(name), "--footers", "--rows", f"{feature}=9"))
        self.assertIn("a FILE is expected; --help says more", self.error("--footers"))
        with mock.patch.object(footers, "CHUNK", 99):
            message = f"Column item of {self.path('day.parquet')} must have metadata that is not encrypted, got none"
            self.assertIn(message, self.error(self.path("day.parquet"), "--footers", "--rows", "item=9"))

    def test_damaged_footers_are_errors_with_the_name(self):
        path, draw = self.folder / "day.parquet", random.Random(1)
        pq.write_table(samples(), path)
        whole = path.read_bytes()
        length = int.from_bytes(whole[-8:-4], "little")
        damaged = 0
        for _ in range(500):
            content = bytearray(whole)
            for _ in range(draw.randrange(1, 4)):
                content[-8 - draw.randrange(1, length)] = draw.randrange(256)
            path.write_bytes(content)
            try:
                with contextlib.suppress(OSError):
                    footers.read_footers([path], ())
            except ValueError as e:
                self.assertIn(str(path), str(e))
                damaged += 1
        self.assertGreater(damaged, 50)


if __name__ == "__main__":
    unittest.main()
