"""Plans of Shardtide on TorchRec's own code: loading, training, checkpoints, resharding.

TORCHREC_SOURCE=/path/to/torchrec python -B -m unittest -v src/python/tests/test_torchrec_source.py

Or with an installed torchrec. CPUs suffice: see torchrec_source. Without TorchRec all tests are skipped.
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import torchrec_source
from torchrec_source import ranks

from shardtide import torchrec

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


FIELDS = ("table", "kind", "columnOffset", "columns", "rowOffset", "rows", "device")
NO_PLAN = {"workloadId": "w", "generation": 1, "planId": "p", "predictedMs": 1.0, "deviceCosts": [{}] * 4}


def over_nodes(per_node):
    """Returns a plan for 4 devices that has tables split over a node, by rows and by columns too."""
    last = 4 - per_node
    block = -(-7 // per_node)

    def split(table, kind, column, first):
        return [
            [table, kind, column, 8, row, min(block, 7 - row), first + i]
            for i, row in ((i, i * block) for i in range(per_node))
            if row < 7
        ]

    return {
        "plan": f"nodes of {per_node}",
        "devices": 4,
        "per_node": per_node,
        "shards": [
            ["t0", "TABLE_WISE", 0, 8, 0, 9, 3],
            *split("t1", "TABLE_ROW_WISE", 0, last),
            *split("t2", "GRID_SHARD", 0, 0),
            *split("t2", "GRID_SHARD", 8, last),
            *split("t3", "TABLE_ROW_WISE", 0, 0),
        ],
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

    def test_nodes_may_span_hosts(self):
        ranks.run("domains", 4, 1, {"plan": over_nodes(2)}, hosts=2)

    @unittest.skipUnless(os.environ.get("SHARDTIDE_NIGHTLY") == "1", "nightly: hosts of several devices")
    def test_a_node_of_two_hosts_and_one_that_torchrec_does_not_know(self):
        ranks.run("domains", 4, 2, {"plan": over_nodes(4)}, hosts=2)
        with self.assertRaisesRegex(AssertionError, "Number of local shards .* does not match number of local shards"):
            ranks.run("domains", 4, 1, {"plan": over_nodes(2)})

    def test_a_plan_of_other_nodes_than_torchrec_has_is_refused(self):
        torchrec_source.install()
        plan = {**NO_PLAN, "shards": [dict(zip(FIELDS, shard)) for shard in over_nodes(2)["shards"]]}
        description = torchrec.describe(plan, modules="", devices_per_node=2)
        for environment, size in (
            ({"LOCAL_WORLD_SIZE": "1"}, 1),
            ({"LOCAL_WORLD_SIZE": "4"}, 4),
            ({"LOCAL_WORLD_SIZE": "1", "TOPOLOGY_DOMAIN_MULTIPLE": "4"}, 4),
        ):
            with (
                mock.patch.dict(os.environ, environment),
                self.assertRaisesRegex(ValueError, f"over 2 ranks of a node, and TorchRec splits them over {size} "),
            ):
                torchrec.check_nodes(description)
        for environment in ({"LOCAL_WORLD_SIZE": "2"}, {"LOCAL_WORLD_SIZE": "1", "TOPOLOGY_DOMAIN_MULTIPLE": "2"}):
            with mock.patch.dict(os.environ, environment):
                torchrec.check_nodes(description)
        with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "1"}):
            torchrec.check_nodes({**description, "dmp_collection": {}})
        with mock.patch.dict(os.environ):
            os.environ.pop("LOCAL_WORLD_SIZE", None)
            torchrec.check_nodes(description)

    def test_row_wise_state_is_moved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            plans = named("beside copies")
            ranks.run("row_wise_state", 4, 2, {"plans": plans, "folder": folder})

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
