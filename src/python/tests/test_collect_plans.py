"""python -m shardtide.collect plans: the devices of given plans, measured on this device."""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

import commands
from shardtide.collect.plans import read_workloads
from shardtide.collect.shapes import Limits, Shard
from shardtide.collect.tables import Table

try:
    import torch

    from shardtide.collect import plans
except ModuleNotFoundError:
    torch = None


def table(name, rows, columns=16, **fields):
    """A table as a file of workloads has it."""
    cdf = Table(rows, 2.0, 1.0, 1.0).access_cdf()
    return {"name": name, "rows": rows, "columns": columns, "poolingFactor": 2.0, "accessCdf": cdf, **fields}


def shard(kind, device, rows, row_offset=0, column_offset=0, cache_share=None):
    """A shard of 16 columns as a file of plans has it."""
    return {
        "kind": kind,
        "column_offset": column_offset,
        "columns": 16,
        "row_offset": row_offset,
        "rows": rows,
        "device": device,
        "cache_share": cache_share,
    }


@unittest.skipUnless(torch, "PyTorch is not installed")
class PlansTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, *lines):
        path = self.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(path)

    def workload(self, *tables):
        """A file of a workload with a batch of 64 on two devices."""
        cluster = {"devices": 2, "devicesPerNode": 2, "memoryBytesPerDevice": 2**30, "batchSize": 64}
        return self.write("workloads.jsonl", {"task": "w", "cluster": cluster, "tables": tables})

    def plan(self, name, *tables, **fields):
        """A file of a plan; each of its tables is the name and the shards."""
        planned = [{"name": table, "shards": shards} for table, *shards in tables]
        line = {"task": "w", "feasible": True, "predicted_ms": 0.5, "tables": planned, **fields}
        return self.write(f"{name}.jsonl", line)

    def measure(self, workloads, *files, options=()):
        """Runs the command, and returns its summary and the lines of plans.jsonl."""
        out = tempfile.mkdtemp(dir=self.folder)
        arguments = ["plans", "--workloads", workloads, "--plans", ",".join(files), "--out", out]
        self.out = pathlib.Path(out)
        said, _ = commands.run("collect", *arguments, "--device", "cpu", "--operator", "embedding_bag", *options)
        return json.loads(said), self.lines("plans.jsonl")

    def lines(self, name):
        return [json.loads(line) for line in (self.out / name).read_text().splitlines()]

    def samples(self):
        """The sets measured, each in the order of tables."""
        return [sorted(line["shards"], key=lambda shard: shard["table"]) for line in self.lines("compute.jsonl")]

    def test_devices_of_plans_are_measured_and_compared(self):
        workloads = self.workload(table("a", 100), table("b", 40), table("c", 9, bytesPerElement=2))
        beside = ["b", shard("table_wise", 1, 40)], ["c", shard("data_parallel", None, 9)]
        whole = self.plan("whole", ["a", shard("table_wise", 0, 100)], *beside)
        halves = shard("row_wise", 0, 50), shard("row_wise", 1, 50, row_offset=50)
        summary, lines = self.measure(workloads, whole, self.plan("rows", ["a", *halves], *beside))
        self.assertEqual([(line["plans"], line["task"]) for line in lines], [("whole", "w"), ("rows", "w")])
        for line in lines:
            totals = [sum(pair) for pair in zip(line["forward_ms"], line["backward_ms"])]
            self.assertEqual(len(totals), 2)
            self.assertAlmostEqual(line["slowest_ms"], max(totals), places=4)
            self.assertAlmostEqual(line["sum_ms"], sum(totals), places=4)
            self.assertEqual(line["predicted_step_ms"], 0.5)
        self.assertEqual([of["plans"] for of in summary["plans"]], ["whole", "rows"])
        self.assertEqual(min(of["slowest_relative_to_best"] for of in summary["plans"]), 1.0)
        self.assertEqual(summary["noise"]["repeatedSamples"], 1)
        # Samples, in a folder that every command with --samples reads.
        names = [of["name"] for of in self.lines("tables.jsonl")]
        self.assertEqual(sorted(names), ["w/a", "w/b", "w/c"])
        a, c = names.index("w/a"), names.index("w/c")
        of_a = {"table": a, "columns": 16, "samples": 64}
        of_c = {"table": c, "columns": 16, "samples": 32, "replicated": True, "bytesPerElement": 2}
        self.assertEqual(len(self.samples()), 4)
        for shards in ([of_a, of_c], [{**of_a, "rowShare": 0.5}, of_c]):
            self.assertIn(sorted(shards, key=lambda shard: shard["table"]), self.samples())
        info = json.loads((self.out / "run-info.json").read_text())
        self.assertEqual((info["samples"]["compute"], info["operator"], info["clock"]), (4, "embedding_bag", "idle"))

    def test_files_are_told_apart_by_all_of_their_names(self):
        workloads = self.workload(table("a", 10))
        planned = ["a", shard("table_wise", 0, 10)]
        (self.folder / "old").mkdir()
        files = [self.plan(name, planned) for name in ("ours.v1", "ours.v2", "same", "old/same")]
        summary, lines = self.measure(workloads, *files)
        self.assertEqual([line["plans"] for line in lines], ["ours.v1", "ours.v2", files[2], files[3]])
        self.assertEqual(
            [(of["plans"], of["measured"]) for of in summary["plans"]], [(line["plans"], 1) for line in lines]
        )
        with self.assertRaises(commands.Ended) as ended:
            self.measure(workloads, files[0], files[0])
        self.assertIn("files of plans must be different, got ", ended.exception.message)

    def test_equal_devices_are_measured_once(self):
        workloads = self.workload(table("a", 100, columns=32))
        halves = ["a", *(shard("column_wise", i, 100, column_offset=16 * i) for i in range(2))]
        self.measure(workloads, self.plan("one", halves), self.plan("two", halves))
        self.assertEqual(len(self.samples()), 1)

    def test_hot_rows_are_a_table_of_their_own(self):
        workloads = self.workload(table("a", 100))
        parts = shard("data_parallel", None, 10), shard("table_wise", 0, 90, row_offset=10)
        self.measure(workloads, self.plan("hot", ["a", *parts]))
        tables = self.lines("tables.jsonl")
        self.assertEqual({(of["name"], of["rows"]) for of in tables}, {("w/a[0:10]", 10), ("w/a[10:100]", 90)})
        self.assertAlmostEqual(sum(of["poolingFactor"] for of in tables), 2.0, places=5)

    def test_replica_groups_share_the_batch(self):
        workloads = self.workload(table("a", 100))
        plan = self.plan("groups", ["a", shard("table_wise", 0, 100)], replica_groups={"groups": 2})
        _, lines = self.measure(workloads, plan)
        self.assertEqual(len(lines[0]["forward_ms"]), 1)
        self.assertEqual(self.samples(), [[{"table": 0, "columns": 16, "samples": 32}]])

    def test_cached_shards_keep_their_share(self):
        tables = {"a": table("a", 100), "b": table("b", 40)}
        shards = [shard("row_wise", i, 50, row_offset=50 * i, cache_share=0.25) for i in range(2)]
        planned = [{"name": "a", "shards": shards}, {"name": "b", "shards": [shard("data_parallel", None, 40)]}]
        workload = plans.Workload("w", 2, 64, tables)
        sets = plans.device_sets(workload, {"tables": planned}, plans.TableList(), "adagrad", has_caches=True)
        self.assertEqual([of.cache_share for of in sets[0]], [0.25, None])
        self.assertEqual(sets[0], sets[1])
        with self.assertRaisesRegex(ValueError, "table a is cached, which is measured on a GPU with FBGEMM only"):
            plans.device_sets(workload, {"tables": planned}, plans.TableList(), "adagrad")

    def test_too_little_host_memory_is_said(self):
        tables = plans.TableList()
        index = tables.index("w", table("a", 1_000_000), 0, 1_000_000)
        meter = mock.Mock(limits=Limits(0, 0, 0, host_bytes=10 * 2**20))
        plan_meter = plans.PlanMeter(meter, 2**30, self.folder, "adagrad", 0)
        plan_meter._tables = tables
        with self.assertRaisesRegex(MemoryError, "cached tables need 61 MiB of host memory, 10 MiB may be taken"):
            plan_meter._sample([Shard(index, 16, 64, cache_share=0.1, optimizer="sgd")], 0)
        self.assertFalse(meter.measure.called)

    def test_a_plan_that_cannot_be_measured_is_named(self):
        workloads = self.workload(table("big", 10_000_000), table("a", 10))
        big = self.plan("big", ["big", shard("table_wise", 0, 10_000_000)], ["a", shard("table_wise", 1, 10)])
        none = self.write("none.jsonl", {"task": "w", "feasible": False, "reason": "too large"})
        _, lines = self.measure(workloads, big, none, options=("--memory-mib", "200"))
        self.assertIn("weights and optimizer state need 648 MiB, 200 MiB are free", lines[0]["reason"])
        self.assertNotIn("slowest_ms", lines[0])
        self.assertEqual((lines[1]["feasible"], lines[1]["reason"]), (False, "too large"))

    def test_a_table_without_an_optimizer_has_the_clusters(self):
        cluster = {"devices": 1, "batchSize": 64, "optimizer": "sgd"}
        tables = [table("a", 10), table("b", 10, optimizer="adagrad")]
        path = self.write("w.jsonl", {"task": "w", "cluster": cluster, "tables": tables})
        (workload,) = read_workloads(pathlib.Path(path), ["rowwise_adagrad", "sgd", "adagrad"])
        self.assertEqual([t["optimizer"] for t in workload.tables.values()], ["sgd", "adagrad"])

    def test_bad_input_is_one_line(self):
        good = self.plan("good", ["a", shard("table_wise", 0, 10)])
        cached = self.plan("cached", ["a", shard("table_wise", 0, 10, cache_share=0.1)])
        a = table("a", 10)
        without = {name: value for name, value in a.items() if name != "accessCdf"}
        latin = self.folder / "latin.jsonl"
        latin.write_bytes(b'{"task":"caf\xe9"}\n')
        for of, plan, message in (
            (a, str(latin), "latin.jsonl, line 1: must be UTF-8, got byte 0xe9"),
            (a, cached, "task w: table a is cached, which is measured on a GPU with FBGEMM only"),
            ({**a, "pooled": False}, good, "task w: table a is unpooled, which is measured with FBGEMM only"),
            (without, good, "line 1: table a has no accessCdf, by which ids are drawn"),
            ({**a, "idWeights": "given"}, good, "table a must have one feature, whose ids have no weights"),
            ({**a, "features": [{"name": "f", "poolingFactor": 1}]}, good, "to be measured; got features"),
            ({**a, "optimizer": "adam"}, good, "must be one that is measured here, sgd, rowwise_adagrad; got adam"),
            (table("b", 10), good, "task w: the plan has a table a, the workload does not"),
            (a, self.plan("far", ["a", shard("table_wise", 5, 10)]), "far, task w: not a plan of this workload"),
            (a, self.plan("bare", ["a", {"device": 0}]), "bare, task w: not a plan of this workload"),
            (a, self.write("text.jsonl", 7), "line 1 must be an object, got 7"),
            (a, self.write("other.jsonl", {"task": "w"}), "must have task and feasible"),
        ):
            with self.subTest(message), self.assertRaises(commands.Ended) as ended:
                self.measure(self.workload(of), plan)
            self.assertIn(message, ended.exception.message)
            self.assertEqual((ended.exception.status, len(ended.exception.message.splitlines())), (2, 1))


if __name__ == "__main__":
    unittest.main()
