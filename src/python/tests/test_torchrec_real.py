"""Plans of Shardtide on TorchRec and FBGEMM: loading, training, checkpoints, resharding.

Runs the installed packages on CPUs; see torchrec_real. Without them all tests are skipped. With SHARDTIDE_NIGHTLY=1,
more workloads are drawn.
"""

import importlib
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import torchrec_real
from torchrec_real import ranks

from shardtide import torchrec
from shardtide.torchrec import publish
from shardtide.torchrec.descriptions import KINDS
from shardtide.torchrec.modules import HOSTS_OF_A_NODE

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

ONE_DEVICE = {
    "plan": "one device",
    "devices": 1,
    "per_node": 1,
    "shards": [[f"t{i}", "TABLE_WISE", 0, 8, 0, 3, 0] for i in range(3)],
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


WHY_NOT = torchrec_real.why_not()
if not WHY_NOT:
    # Ranks are forks of this process, which does not import TorchRec again.
    os.environ["OMP_NUM_THREADS"] = "1"
    ranks.quiet()
    from torchrec_real import scenarios  # noqa: F401

# Built by a first call of ./shardtide, which takes minutes.
PLANNER = ROOT / "shardtide"
IS_BUILT = (ROOT / "target/shardtide.built").exists()
NIGHTLY = os.environ.get("SHARDTIDE_NIGHTLY") == "1"
NODES_OF_HOSTS = not WHY_NOT and hasattr(
    importlib.import_module("torchrec.distributed.comm"), "get_topology_group_world_size"
)


def named(start):
    return [plan for plan in PLANS if plan["plan"].startswith(start)]


def two_devices(columns):
    """Returns a plan of four tables, one of them with two unequal parts: the first has some columns."""
    return {
        "plan": f"two devices, {columns}",
        "devices": 2,
        "per_node": 2,
        "shards": [
            ["t0", "COLUMN_WISE", 0, columns, 0, 9, 0],
            ["t0", "COLUMN_WISE", columns, 32 - columns, 0, 9, 1],
            ["t1", "TABLE_WISE", 0, 16, 0, 5, columns // 8],
            ["t2", "DATA_PARALLEL", 0, 8, 0, 3, -1],
            ["t3", "TABLE_WISE", 0, 16, 0, 1, 1],
        ],
    }


def shards_of(table, kind):
    """Returns the shards of a table of 16 rows and 8 columns on two nodes of two devices."""

    def split(columns, offset, devices):
        rows = 16 // len(devices)
        return [[table, kind.upper(), offset, columns, i * rows, rows, device] for i, device in enumerate(devices)]

    return {
        "table_wise": split(8, 0, [1]),
        "column_wise": split(4, 0, [0]) + split(4, 4, [3]),
        "table_column_wise": split(4, 0, [0]) + split(4, 4, [1]),
        "row_wise": split(8, 0, [0, 1, 2, 3]),
        "table_row_wise": split(8, 0, [2, 3]),
        "grid_shard": split(4, 0, [0, 1]) + split(4, 4, [2, 3]),
        "data_parallel": split(8, 0, [-1]),
    }[kind]


def mean_case(tables, weighted):
    """Returns a case of mean_pairs() of tables with a kind and a pooling."""
    return {
        "tables": {f"t{i}": pooling for i, (_, pooling) in enumerate(tables)},
        "shards": [shard for i, (kind, _) in enumerate(tables) for shard in shards_of(f"t{i}", kind)],
        "weighted": weighted,
    }


# What a step of some kinds sends: collective, direction, whose shards.
ALL_TO_ALLS = [("all_to_all", direction, "device") for direction in ("backward", "forward")]
ROW_COLLECTIVES = [("all_gather", "backward", "cluster"), ("reduce_scatter", "forward", "cluster")]
ROW_WISE = {
    "plan": "rows over all devices",
    "devices": 2,
    "per_node": 2,
    "shards": [[f"t{i // 2}", "ROW_WISE", 0, 8, i % 2 * 8, 8, i % 2] for i in range(8)],
}


class Workload:
    """Tables that are drawn: SUM, MEAN and weighted, some of them of 1 to 5 rows, in two versions to plan."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed = seed
        self.cluster = ((4, 2), (2, 1), (4, 2), (4, 4), (4, 2))[seed % 5]
        self.optimizer = ("adagrad", "sgd", "rowwise_adagrad")[seed % 3]
        self.names = [f"t{i}" for i in range(draw.randint(5, 10))]
        self.sizes = {
            name: (draw.randint(*draw.choice(((1, 5), (6, 60), (60, 400)))), 4 * draw.randint(1, 12))
            for name in self.names
        }
        # On two nodes, these have the four kinds that are the rarest.
        self.sizes.update({name: (draw.randint(2, 40), 32) for name in self.names[:4]})
        self.means = [name for name in self.names[4:] if draw.random() < 0.25]
        self.shared = [name for name in self.names if draw.random() < 0.25]
        # The first of a workload's plans has any kinds; every other second one may be reached without a restart.
        by_columns = seed % 2 == 1
        self.lines = [self._line(draw, version, by_columns) for version in (0, 1)]

    def _line(self, draw, version, by_columns):
        devices, per_node = self.cluster
        tables = []
        for place, name in enumerate(self.names):
            rows, columns = self.sizes[name]
            features = [f"f_{name}", f"g_{name}"] if name in self.shared else [f"f_{name}"]
            config = {
                "name": name,
                "num_embeddings": rows,
                "embedding_dim": columns,
                "feature_names": features,
                "pooling": "MEAN" if name in self.means else "SUM",
            }
            allowed = self._kinds(rows, columns, name in self.means)
            if by_columns:
                allowed = [kind for kind in allowed if kind in ("table_wise", "column_wise")]
            # First the rarest ones, which are last.
            kind = draw.choice(allowed) if version else allowed[-1 - place % len(allowed)]
            limits = {name: {"kinds": [kind]}} if by_columns or place < 4 or draw.random() < 0.7 else {}
            lookups = {feature: draw.choice((0.5, 3.0, 30.0)) for feature in features}
            spec = publish.table(config, lookups, self.optimizer, constraints=limits)
            tables.append(spec)
        cluster = {"devices": devices, "devicesPerNode": per_node, "memoryBytesPerDevice": 2**30, "batchSize": 1024}
        return {
            "task": f"{self.seed}.{version}",
            "cluster": {**cluster, "hardware": "simulated-8xh100"},
            "tables": tables,
        }

    def _kinds(self, rows, columns, is_mean):
        """Returns the kinds that a table can have."""
        devices, per_node = self.cluster
        is_split = not is_mean and 1 < per_node < devices and has_rows(rows, per_node)
        found = ["table_wise", "data_parallel"]
        found += ["row_wise"] if not is_mean and has_rows(rows, devices) else []
        found += ["table_row_wise"] if is_split else []
        if columns % 8 == 0:
            found += ["column_wise"] + (["table_column_wise"] if per_node > 1 else [])
            found += ["grid_shard"] if is_split else []
        return found

    def pair(self, *lines):
        """Returns the argument of workloads()."""
        devices, per_node = self.cluster
        names = {"means": self.means, "shared": self.shared, "devices": devices, "per_node": per_node}
        return [self.optimizer, *({**names, "plan": line["task"], "line": line} for line in lines)]


def has_rows(rows, devices):
    """Returns whether all devices have some of the rows, in blocks of TorchRec's size."""
    return -(-rows // -(-rows // devices)) == devices


def planned(workloads):
    """Returns lines of ./shardtide plan: of each workload's two versions."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = [json.dumps(line) for workload in workloads for line in workload.lines]
        (folder / "workloads").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [PLANNER, "plan", "--workloads", folder / "workloads", "--out", folder / "plans"]
        done = subprocess.run(
            [*command, "--evaluations-per-table", "200"], capture_output=True, text=True, check=False, cwd=ROOT
        )
        if done.returncode:
            raise AssertionError(done.stderr)
        return [json.loads(line) for line in (folder / "plans").read_text(encoding="utf-8").splitlines()]


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

    @unittest.skipUnless(NODES_OF_HOSTS, "this TorchRec has nodes of one host")
    def test_nodes_may_span_hosts(self):
        ranks.run("domains", 4, 1, {"plan": over_nodes(2)}, hosts=2, separate=True)

    @unittest.skipUnless(NIGHTLY and NODES_OF_HOSTS, "nightly: hosts of several devices")
    def test_a_node_of_two_hosts_and_one_that_torchrec_does_not_know(self):
        ranks.run("domains", 4, 2, {"plan": over_nodes(4)}, hosts=2, separate=True)
        with self.assertRaisesRegex(AssertionError, "Number of local shards .* does not match number of local shards"):
            ranks.run("domains", 4, 1, {"plan": over_nodes(2)}, separate=True)

    @unittest.skipUnless(NODES_OF_HOSTS, "this TorchRec has nodes of one host")
    def test_a_plan_of_other_nodes_than_torchrec_has_is_refused(self):
        plan = {**NO_PLAN, "shards": [dict(zip(FIELDS, shard)) for shard in over_nodes(2)["shards"]]}
        description = torchrec.descriptions.describe(plan, modules="", devices_per_node=2)
        for environment, size in (
            ({"LOCAL_WORLD_SIZE": "1"}, 1),
            ({"LOCAL_WORLD_SIZE": "4"}, 4),
            ({"LOCAL_WORLD_SIZE": "1", **dict.fromkeys(HOSTS_OF_A_NODE, "4")}, 4),
        ):
            with (
                mock.patch.dict(os.environ, environment),
                self.assertRaisesRegex(ValueError, f"over 2 ranks of a node, and TorchRec splits them over {size} "),
            ):
                torchrec.modules.check_nodes(description)
        for environment in ({"LOCAL_WORLD_SIZE": "2"}, {"LOCAL_WORLD_SIZE": "1", **dict.fromkeys(HOSTS_OF_A_NODE, "2")}):
            with mock.patch.dict(os.environ, environment):
                torchrec.modules.check_nodes(description)
        with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "1"}):
            torchrec.modules.check_nodes({**description, "dmp_collection": {}})

    def test_row_wise_state_is_moved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            plans = named("beside copies")
            ranks.run("row_wise_state", 4, 2, {"plans": plans, "folder": folder})

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

    def test_resharded_tables_keep_their_output_types(self):
        found = ranks.run("reshard_once", 2, 2, HALF)
        self.assertEqual(found, {"resharded": 5})

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

    def test_each_form_of_a_plan_serves_on_ranks_that_were_started_by_themselves(self):
        ranks.run("lines", 2, 2, {"plans": [two_devices(8), two_devices(4)]}, separate=True)

    def test_adam_on_cpus_needs_the_dense_kernel(self):
        self.assertIn("adam is not supported in CPU mode", ranks.run("fused_adam", 1, 1, {"plan": ONE_DEVICE}))
        ranks.run("adam_of_dense_kernels", 4, 2, {"plan": named("all kinds")[0]})
        ranks.run("adam_of_dense_kernels", 2, 2, {"plan": two_devices(8), "next": two_devices(4)})

    def test_mean_pooling_of_each_pair_of_kinds(self):
        """A plan is refused exactly if TorchRec computes wrong outputs."""
        cases = [mean_case([(kind, "MEAN")], weighted) for kind in KINDS for weighted in (False, True)]
        for kinds in itertools.product(KINDS, KINDS):
            for pooling in ("SUM", "MEAN"):
                cases.append(mean_case([(kinds[0], "MEAN"), (kinds[1], pooling)], False))
        cases.append(mean_case([("row_wise", "MEAN"), ("table_row_wise", "SUM"), ("grid_shard", "MEAN")], False))
        cases.append(mean_case([("table_wise", "MEAN"), ("row_wise", "SUM"), ("data_parallel", "MEAN")], False))
        found = ranks.run("mean_pairs", 4, 2, {"cases": cases})
        for case, (is_right, refused) in zip(cases, found):
            with self.subTest(case["tables"], weighted=case["weighted"], kinds=[shard[1] for shard in case["shards"]]):
                self.assertEqual(is_right, not refused, refused)
        self.assertEqual(sum(is_right for is_right, _ in found), 68)

    @unittest.skipUnless(IS_BUILT, "./shardtide is not built: call ./shardtide --version")
    def test_plans_of_drawn_workloads(self):
        drawn = [Workload(seed) for seed in range(30 if NIGHTLY else 10)]
        plans = planned(drawn)
        kinds = {shard["kind"] for line in plans for table in line["tables"] for shard in table["shards"]}
        self.assertEqual(kinds, set(KINDS))
        results = []
        by_cluster = {}
        for workload, first, second in zip(drawn, plans[::2], plans[1::2]):
            by_cluster.setdefault(workload.cluster, []).append(workload.pair(first, second))
        with tempfile.TemporaryDirectory() as folder:
            for (devices, per_node), pairs in by_cluster.items():
                results += ranks.run("workloads", devices, per_node, {"pairs": pairs, "folder": folder})
        self.assertEqual(len(results), len(drawn))
        moved = [result["resharded"] for result in results if "resharded" in result]
        self.assertTrue(moved, "no workload was resharded while it trained")
        for result in results:
            if "refused" in result:
                self.assertRegex(result["refused"], "restart from a checkpoint|does not change")

    def test_the_costs_of_a_step_are_measured_and_change_nothing(self):
        for plan, following, collectives in ((*named("columns")[:2], ALL_TO_ALLS), (ROW_WISE, None, ROW_COLLECTIVES)):
            found = ranks.run("measured", plan["devices"], plan["per_node"], {"plan": plan, "next": following})
            self.assertEqual((found["steps"], len(found["devices"])), (4, plan["devices"]))
            for cost in found["devices"]:
                self.assertGreater(cost["forwardComputeMs"], 0)
                self.assertGreater(cost["computeMs"], cost["forwardComputeMs"])
            names = [(of["collective"], of["direction"], of["scope"]) for of in found["collectives"]]
            self.assertEqual(names, collectives)
            self.assertTrue(all(ms > 0 for of in found["collectives"] for ms in of["ms"]))
        with self.assertRaisesRegex(AssertionError, 'Module "sparse.plain" .* DpPooledEmbeddingDist sends, .* marked'):
            ranks.run("measured", 2, 2, {"plan": two_devices(8), "next": None})

    def test_the_program_of_the_page_follows_a_plan_and_reports_costs(self):
        first, following = named("columns")[:2]
        argument = {"plans": [first, following], "example": str(ROOT / "examples/python/follow.py")}
        found = ranks.run("documented", first["devices"], first["per_node"], argument)
        statuses = [plan for topic, plan, _ in found if topic == "plan-status"]
        costs = [(plan, steps) for topic, plan, steps in found if topic == "measured-costs"]
        self.assertEqual((statuses, costs[0]), ([first["plan"], following["plan"]], (first["plan"], 2)))

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
