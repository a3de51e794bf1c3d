"""Plans of Shardtide on TorchRec's own code: loading, training, checkpoints, resharding.

TORCHREC_SOURCE=/path/to/torchrec python -B -m unittest -v src/python/tests/test_torchrec_source.py

Or with an installed torchrec. CPUs suffice: see torchrec_source. Without TorchRec all tests are skipped.
"""

import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import torchrec_source
from torchrec_source import ranks

PLANS = json.loads((ROOT / "src/cli/src/test/resources/torchrec/plans.json").read_text(encoding="utf-8"))["plans"]
for plan in PLANS:
    plan["per_node"] = 2 if plan["devices"] % 2 == 0 else plan["devices"]

EXAMPLE = ROOT / "examples/torchrec/checkpoint.py"
# The tables of "all kinds", on two devices.
TWO_DEVICES = {
    "plan": "two devices",
    "devices": 2,
    "per_node": 2,
    "shards": [
        [table, "TABLE_WISE", 0, columns, 0, rows, number % 2]
        for number, (table, rows, columns) in enumerate(
            sorted(
                (table, max(s[4] + s[5] for s in shards), max(s[2] + s[3] for s in shards))
                for table, shards in (
                    (t, [s for s in PLANS[-1]["shards"] if s[0] == t]) for t in "t0 t1 t2 t3 t4 t5 t6".split()
                )
            )
        )
    ],
}

KERNELS = {
    "plan": "kernels",
    "devices": 2,
    "per_node": 2,
    "shards": [
        ["t0", "TABLE_WISE", 0, 8, 0, 20, 0, 0],
        ["t1", "TABLE_WISE", 0, 8, 0, 20, 0],
        ["t2", "TABLE_WISE", 0, 8, 0, 20, 1],
        ["t3", "TABLE_WISE", 0, 8, 0, 20, 1, 0.25],
        ["t4", "ROW_WISE", 0, 8, 0, 10, 0],
        ["t4", "ROW_WISE", 0, 8, 10, 10, 1],
        ["t5", "COLUMN_WISE", 0, 4, 0, 20, 0],
        ["t5", "COLUMN_WISE", 4, 4, 0, 20, 1],
    ],
    "kernels": {
        "t0": {"computeKernel": "fused_uvm"},
        "t1": {"computeKernel": "fused", "outputType": "FP16", "stochasticRounding": False},
        "t2": {"outputType": "FP16", "stochasticRounding": True},
        "t3": {"computeKernel": "fused_uvm_caching", "cacheAlgorithm": "LFU", "enforceHbm": True},
        "t4": {"computeKernel": "dense"},
        "t5": {"outputType": "FP16"},
    },
}
# Two plans of tables whose outputs are half precision: t0 to t4 change their devices, and t5 stays.
HALF = [
    {
        "plan": f"half {plan}",
        "devices": 2,
        "per_node": 2,
        "shards": [[f"t{i}", "TABLE_WISE", 0, 8, 0, 20, i % 2 if i == 5 else (i + plan) % 2] for i in range(6)],
        "kernels": {f"t{i}": {"outputType": "FP16", "stochasticRounding": False} for i in range(6)},
    }
    for plan in range(2)
]
TWO_FORMATS = {
    "plan": "two formats",
    "devices": 2,
    "per_node": 2,
    "shards": [[f"t{i}", "TABLE_WISE", 0, 8, 0, 20, i % 2] for i in range(4)],
    "kernels": {"t1": {"outputType": "FP16"}},
}

WHY_NOT = torchrec_source.why_not()


def named(start):
    return [plan for plan in PLANS if plan["plan"].startswith(start)]


@unittest.skipIf(WHY_NOT, WHY_NOT)
class TorchRec(unittest.TestCase):
    def run_plans(self, start):
        """Runs plans one after another, each loading the checkpoint of the one before; returns results by plan."""
        results = []
        plans = named(start)
        before = None
        with tempfile.TemporaryDirectory() as folder:
            while plans:
                same = []
                while plans and plans[0]["devices"] == (same or plans)[0]["devices"]:
                    same.append(plans.pop(0))
                results += ranks.run(
                    "plans_of",
                    same[0]["devices"],
                    same[0]["per_node"],
                    {"plans": same, "before": before, "folder": folder},
                )
                before = same[-1]
        found = {result["plan"]: result for result in results}
        self.assertEqual(list(found), [plan["plan"] for plan in named(start)])
        for plan, following in zip(named(start), named(start)[1:]):
            self.assertEqual(found[following["plan"]]["loaded"], plan["plan"])
        for result in results:
            print("   ", ", ".join(f"{key} {value}"[:150] for key, value in result.items()), file=sys.stderr)
        return found

    def refused(self, found):
        return sorted(plan for plan, result in found.items() if "refused" in result)

    def resharded(self, found):
        """Returns how many tables changed from a plan to the next one."""
        return {plan: result["resharded"] for plan, result in found.items() if "resharded" in result}

    def test_plans_of_the_demo(self):
        found = self.run_plans("demo generation")
        self.assertEqual(len(found), 10)
        # From 2 to 3, 3 to 4, and 6 to 8; all others have other tables or another number of devices.
        self.assertEqual(len(self.resharded(found)), 3)
        self.assertEqual(len(self.refused(found)), 4)

    def test_plans_that_the_demo_trains(self):
        found = self.run_plans("demo trained")
        self.assertEqual(self.resharded(found), {"demo trained generation 1": 8})

    def test_plans_by_columns(self):
        found = self.run_plans("columns")
        self.assertEqual(self.resharded(found), {"columns 1": 12, "columns 2": 10, "columns 3": 12})

    def test_copied_tables_and_split_rows_stay_as_they_are(self):
        found = self.run_plans("beside copies")
        self.assertEqual(self.resharded(found), {"beside copies 1": 4, "beside copies 2": 5})

    def test_plans_of_all_kinds(self):
        found = self.run_plans("all kinds")
        self.assertEqual(self.resharded(found), {})
        for plan in self.refused(found):
            self.assertIn("reshard moves only table_wise and column_wise shards, restart", found[plan]["refused"])

    def test_row_wise_state_is_moved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            plans = named("beside copies")
            ranks.run("row_wise_state", 4, 2, {"plans": plans, "folder": folder})

    @unittest.skipIf(importlib.util.find_spec("fbgemm_gpu") is None, "fbgemm_gpu is not installed")
    def test_kernels_reach_fbgemm(self):
        """On CPUs, host memory is the only memory: caches hold nothing, and their fields are only passed on."""
        found = ranks.run("kernels", 2, 2, KERNELS)
        print("   ", found, file=sys.stderr)
        half = found["operators"]["t1"]
        self.assertEqual(half["operator"], "SplitTableBatchedEmbeddingBagsCodegen")
        # SparseType.FP16 and FP32, as FBGEMM numbers them.
        self.assertEqual((half["output"], found["operators"]["t4"]["output"]), (1, 0))
        self.assertEqual([found["operators"][t]["rounding"] for t in ("t1", "t2")], [False, True])
        self.assertEqual(found["operators"]["t4"]["operator"], "DenseTableBatchedEmbeddingBagsCodegen")
        self.assertEqual(found["operators"]["t3"]["cache_algorithm"], "CacheAlgorithm.LFU")
        self.assertEqual(found["operators"]["t3"]["cache_load_factor"], "0.25")
        self.assertEqual(found["operators"]["t3"]["enforce_hbm"], "True")
        # Outputs of t1 and half of t5 forward, in 2 steps to 2 ranks with 3 samples each, and as many gradients back.
        # Single precision are outputs of t0, and the weights of its ids.
        self.assertEqual(found["sent"]["torch.float16"], 2 * 2 * 3 * (8 + 4) * 2)

    @unittest.skipIf(importlib.util.find_spec("fbgemm_gpu") is None, "fbgemm_gpu is not installed")
    def test_resharded_tables_keep_their_output_types(self):
        found = ranks.run("reshard_once", 2, 2, HALF)
        self.assertEqual(found, {"resharded": 5})

    @unittest.skipIf(importlib.util.find_spec("fbgemm_gpu") is None, "fbgemm_gpu is not installed")
    def test_ranks_that_send_two_formats_abort(self):
        """So describe() refuses such plans; if this fails, TorchRec no longer needs that."""
        with self.assertRaises((AssertionError, FileNotFoundError)):
            ranks.run("two_formats", 2, 2, TWO_FORMATS, timeout_seconds=60)

    def test_what_is_lost_otherwise_is_refused(self):
        found = ranks.run("refusals", 4, 2, {"plans": named("beside copies")})
        self.assertIn('Table "t1" has the optimizer ADAM, whose state would be lost; must be one of SGD', found["adam"])
        self.assertIn("MiB of free memory; needs", found["memory"])
        self.assertIn("since old and new tables are in memory at once", found["memory"])
        self.assertIn('Module "wrong" is no EmbeddingBagCollection of the model', found["module"])
        self.assertIn("for 4 devices and the new one for 3; the number must not change", found["devices"])
        self.assertIn("was resharded after prepare", found["stale"])

    def test_learning_rates_and_parameters_are_kept(self):
        ranks.run("kept", 4, 2, {"plans": named("beside copies")})

    def test_a_pipeline_is_drained(self):
        ranks.run("pipelined", 4, 2, {"plans": named("columns")})

    def test_the_example_goes_from_four_devices_to_two_and_to_other_kinds(self):
        with tempfile.TemporaryDirectory() as folder:
            first, last = named("all kinds")[:2]
            found = [
                ranks.run("example", plan["devices"], 2, {"plan": plan, "folder": folder, "example": str(EXAMPLE)})
                for plan in (first, last, TWO_DEVICES)
            ]
        self.assertEqual([result["first"] for result in found], [0, 10, 20])
        for result, following in zip(found, found[1:]):
            self.assertAlmostEqual(following["before"], result["after"], places=5)


if __name__ == "__main__":
    unittest.main()
