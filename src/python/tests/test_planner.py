"""ShardtidePlanner with TorchRec's own planner interface, sharders, constraints and models, on CPUs with gloo.

Tests of TorchRec are skipped where it is not installed; those of the program where the repository's is not built.
"""

import copy
import importlib.util
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
import warnings
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/python"))

from shardtide.torchrec import FileSource, LogSource, PlanRefused, ProgramSource, publish
from shardtide.torchrec.workload import Workload
from shardtide.torchrec.changes import NotReshardable
from shardtide.torchrec import planner as planner_module
from shardtide.torchrec.modules import HOSTS_OF_A_NODE
from shardtide.torchrec.sources import Wanted

PROGRAM = ROOT / "shardtide"
BUILT = (ROOT / "src/cli/target/quick/classes").is_dir() and (ROOT / "target/classpath.txt").is_file()
TORCHREC = importlib.util.find_spec("torchrec") is not None and importlib.util.find_spec("fbgemm_gpu") is not None
WHY_NOT = "needs torchrec and fbgemm_gpu"

RATE = 0.5
CLUSTER = {"memoryBytesPerDevice": 2**30, "batchSize": 64, "hardware": "h200"}

if TORCHREC:
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist
    import torchrec
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from torch import nn
    from torchrec.distributed.embedding_types import EmbeddingComputeKernel
    from torchrec.distributed import comm
    from torchrec.distributed.embedding import EmbeddingCollectionSharder
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder, EmbeddingBagSharder
    from torchrec.distributed.model_parallel import DistributedModelParallel
    from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
    from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
    from torchrec.distributed.types import CacheAlgorithm, CacheParams, ShardingPlanner
    from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig, EmbeddingConfig
    from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
    from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    from shardtide.torchrec import ShardtidePlanner
    from shardtide.torchrec.constraints import rules_of

    torch.set_num_threads(1)
    logging.disable(logging.NOTSET)
    # What TorchRec says of each option that constraints exclude.
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    os.environ["LOCAL_WORLD_SIZE"] = "2"

# Rows, columns and features of tables by collection.
TABLES = {"one": {"a": (40, 16, ["f"]), "b": (30, 8, ["g", "h"])}, "two": {"c": (20, 8, ["f"])}}


def model(tables=None):
    """Returns a module with a collection for each name; without a forward."""
    found = nn.Module()
    for path, of_collection in (tables or TABLES).items():
        found.add_module(path, collection(of_collection))
    return found


def collection(tables, device=None):
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=columns, feature_names=features)
            for name, (rows, columns, features) in tables.items()
        ],
        device=device,
    )


def sharders(optimizer=None):
    return [EmbeddingBagCollectionSharder(fused_params=None if optimizer is None else {"optimizer": optimizer})]


def shard(table, kind, columns, rows, device, column=0, row=0):
    return {
        "table": table,
        "kind": kind,
        "columnOffset": column,
        "columns": columns,
        "rowOffset": row,
        "rows": rows,
        "device": device,
        "cacheShare": None,
        "deduplicated": False,
        "rowOrder": None,
    }


def record(devices=2, **changes):
    """Returns a plan of TABLES, as a record: a is cut by columns, b is whole and c copied."""
    shards = {
        "a": [shard("a", "COLUMN_WISE", 8, 40, 0), shard("a", "COLUMN_WISE", 8, 40, 1, column=8)],
        "b": [shard("b", "TABLE_WISE", 8, 30, 1)],
        "c": [shard("c", "DATA_PARALLEL", 8, 20, -1)],
        **changes,
    }
    return {
        "planId": "p",
        "workloadId": "w",
        "generation": 3,
        "predictedMs": 1.5,
        "deviceCosts": [{}] * devices,
        "shards": [one for of_table in shards.values() for one in of_table],
    }


def net_of(tables):
    """Returns a model that has a number for each sample."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            for path, of_collection in tables.items():
                self.add_module(path, collection(of_collection))
            self.top = nn.LazyLinear(1)

        def forward(self, kjt):
            found = [self.get_submodule(path)(kjt).to_dict() for path in tables]
            # By name: the order of outputs in values() depends on the plan.
            return self.top(torch.cat([outputs[name] for outputs in found for name in sorted(outputs)], 1)).squeeze(1)

    net = Net()
    net(ids(0, 0, 1))
    return net


def ids(step, part, parts):
    """Returns a part of a batch: two lookups of each feature for each sample."""
    g = torch.Generator().manual_seed(step)
    found = [torch.randint(0, 20, (8, 2), generator=g)[part::parts] for _ in "fgh"]
    lengths = torch.full((3 * len(found[0]),), 2, dtype=torch.int32)
    return KeyedJaggedTensor(keys=list("fgh"), values=torch.cat([one.flatten() for one in found]), lengths=lengths)


class Given:
    """A source with an answer, or an error; it keeps what was wanted."""

    name = "given"
    needs_tables = True

    def __init__(self, answer=None):
        self.answer = answer
        self.wanted = None

    def plan(self, wanted, timeout_seconds):
        self.wanted = wanted
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer or record()


def planner(source=None, **options):
    return ShardtidePlanner(
        source or Given(), "w", {"devices": 2, **CLUSTER}, {"f": 1, "g": 2, "h": 3}, device="cpu", **options
    )


def tables_of(source):
    return {spec["name"]: spec for spec in source.wanted.tables}


def on_ranks(function, count=2):
    """Runs a function on forked ranks with gloo; returns what each returned."""
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(count):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=count)
                    pathlib.Path(folder, str(rank)).write_text(json.dumps(function(rank)), encoding="utf-8")
                    dist.barrier()
                    status = 0
                except BaseException as e:
                    pathlib.Path(folder, f"error{rank}").write_text(f"rank {rank}: {e!r}", encoding="utf-8")
                finally:
                    os._exit(status)
            children.append(child)
        failed = [os.waitpid(child, 0)[1] for child in children]
        if any(failed):
            raise AssertionError([path.read_text(encoding="utf-8") for path in pathlib.Path(folder).glob("error*")])
        return [json.loads(pathlib.Path(folder, str(rank)).read_text(encoding="utf-8")) for rank in range(count)]


def met(call):
    """Returns the type and the message of the error that a call raises."""
    try:
        call()
    except BaseException as e:
        return [type(e).__name__, str(e)]
    return ["none", ""]


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "plans.jsonl")

    def take(self, *lines, workload="w"):
        self.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return FileSource(self.path).plan(Wanted(workload, None), 1)

    def test_lines_of_plan_are_records(self):
        found = self.take(
            {
                "task": "w",
                "feasible": True,
                "predicted_ms": 1.5,
                "world_size": 2,
                "replica_groups": {
                    "groups": 2,
                    "layout": "strided",
                    "synchronization_steps": 9,
                    "synchronization_ms": 3.0,
                },
                "codecs": [{"scope": "device", "direction": "forward", "codec": "fp16", "saved_ms": 0.4}],
                "tables": [
                    {
                        "name": name,
                        "shards": [
                            {
                                "kind": kind,
                                "column_offset": 0,
                                "columns": 8,
                                "row_offset": 0,
                                "rows": 5,
                                "device": device,
                                "cache_share": share,
                            }
                        ],
                    }
                    for name, kind, device, share in (("a", "table_wise", 1, 0.5), ("b", "data_parallel", None, None))
                ],
            }
        )
        self.assertEqual(found["deviceCosts"], [{}, {}])
        self.assertEqual(
            found["shards"],
            [
                {**shard("a", "TABLE_WISE", 8, 5, 1), "cacheShare": 0.5},
                shard("b", "DATA_PARALLEL", 8, 5, -1),
            ],
        )
        self.assertEqual(
            found["replication"],
            {"groups": 2, "layout": "STRIDED", "synchronizationSteps": 9, "synchronizationMs": 3.0},
        )
        self.assertEqual(found["codecs"][0]["codec"], {"name": "fp16"})

    def test_the_last_line_of_a_workload_is_taken(self):
        lines = [{"workload": name, "world_size": size, "plan": {}} for name, size in (("v", 1), ("w", 2), ("w", 3))]
        self.assertEqual(self.take(*lines)["world_size"], 3)
        self.assertEqual(self.take(lines[0])["world_size"], 1, "the only one, whatever its name")
        with self.assertRaisesRegex(ValueError, "has no plan of workload x; it has those of v, w"):
            self.take(*lines, workload="x")

    def test_what_is_no_plan_is_named(self):
        for line, problem in (
            ([1], "line 1 must be an object, got .1"),
            ({"task": "w", "cluster": {}}, "line 1 must have plan or tables, got task, cluster"),
            ({"task": "w", "plan": {}}, "line 1 has no world_size"),
            ({"task": "w", "tables": []}, "has no world_size; write the file again with this version"),
        ):
            with self.assertRaisesRegex(ValueError, problem):
                self.take(line)
        with self.assertRaisesRegex(ValueError, "has no plan; ./shardtide plan make --out writes such files"):
            self.take()
        with self.assertRaisesRegex(PlanRefused, "Workload w has no plan: 4 GiB short"):
            self.take({"task": "w", "feasible": False, "reason": "4 GiB short"})


class Programs(unittest.TestCase):
    WANTED = Wanted(
        "w",
        publish.workload_change(
            "w",
            [{"name": "t", "num_embeddings": 1000, "embedding_dim": 16}],
            {"t": 2},
            {**CLUSTER, "devices": 2},
            constraints={"t": {"kinds": ["table_wise"], "leastColumns": 8, "mayBeCached": False}},
        ),
    )

    def script(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "shardtide")
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def test_a_program_gets_the_workload_and_gives_the_plan(self):
        line = json.dumps({"task": "w", "world_size": 2, "plan": {"m": {}}})
        program = self.script(
            f"cp $4 $0.workloads; echo \"$1 $2 $3 $5 ${{*:7}} $SHARDTIDE_JAVA_OPTS\" > $0.arguments; echo '{line}' > $6"
        )
        path = f"{program.parent}:{os.environ['PATH']}"
        with mock.patch.dict(os.environ, PATH=path, SHARDTIDE_JAVA_OPTS="-Xmx3g"):
            found = ProgramSource(arguments=["--model", "m"]).plan(self.WANTED, 10)
        self.assertEqual(found["plan"], {"m": {}})
        self.assertEqual(
            pathlib.Path(f"{program}.arguments").read_text(encoding="utf-8"),
            "plan make -f --out --model m -XX:TieredStopAtLevel=1 -Xmx3g\n",
        )
        self.assertEqual(
            json.loads(pathlib.Path(f"{program}.workloads").read_text(encoding="utf-8")),
            {
                "task": "w",
                "cluster": {**CLUSTER, "devices": 2},
                "tables": [
                    {
                        "name": "t",
                        "rows": 1000,
                        "columns": 16,
                        "bytesPerElement": 4.0,
                        "poolingFactor": 2.0,
                        "constraints": {"kinds": ["table_wise"], "leastColumns": 8, "mayBeCached": False},
                    }
                ],
            },
        )

    def test_a_program_that_is_not_there_says_how_to_get_it(self):
        with mock.patch.dict(os.environ, PATH="/nowhere"):
            with self.assertRaisesRegex(FileNotFoundError, "no program shardtide on the PATH. Unpack a release"):
                ProgramSource().plan(self.WANTED, 1)
        with self.assertRaisesRegex(FileNotFoundError, "no program shardtide at /nowhere/shardtide, or it cannot be"):
            ProgramSource("/nowhere/shardtide").plan(self.WANTED, 1)

    def test_what_a_program_says_is_the_error(self):
        program = self.script("printf 'Planning 0%%\\rPlanning 100%%\\n' >&2; echo \"$4, line 1: bad\" >&2; exit 2")
        with self.assertRaisesRegex(PlanRefused, "plan make ended with status 2: line 1: bad$"):
            ProgramSource(program).plan(self.WANTED, 10)

    def test_a_program_that_is_too_slow_is_ended(self):
        program = self.script("sleep 60 & echo $! > $0.child; wait")
        begin = time.monotonic()
        with self.assertRaisesRegex(TimeoutError, "has no plan after 1 s"):
            ProgramSource(program).plan(self.WANTED, 1)
        self.assertLess(time.monotonic() - begin, 50)
        child = int(pathlib.Path(f"{program}.child").read_text(encoding="utf-8"))
        # A zombie has ended, too: nobody may be there to ask for its status.
        stat = pathlib.Path(f"/proc/{child}/stat")
        end = time.monotonic() + 20
        while stat.exists() and stat.read_text(encoding="utf-8").split()[2] not in "ZX":
            self.assertLess(time.monotonic(), end, "what the program started is still running")
            time.sleep(0.05)

    @unittest.skipUnless(BUILT, "./shardtide is not built; ./shardtide --version builds it")
    def test_the_program_of_the_repository(self):
        found = ProgramSource(PROGRAM).plan(self.WANTED, 300)
        self.assertEqual(found["deviceCosts"], [{}, {}])
        self.assertEqual({one["kind"] for one in found["shards"]}, {"TABLE_WISE"})
        wanted = Wanted("w", publish.workload_change("w", [], {}, {**CLUSTER, "devices": 2}))
        with self.assertRaisesRegex(PlanRefused, "ended with status .*tables must have at least one"):
            ProgramSource(PROGRAM).plan(wanted, 300)


class Publishing(unittest.TestCase):
    CONFIGS = [{"name": name, "num_embeddings": 5, "embedding_dim": 4} for name in "ab"]

    def specs(self, **options):
        change = publish.workload_change("w", self.CONFIGS, {"a": 1, "b": 1}, {}, **options)
        return {one["table"]["name"]: one["table"] for one in change["changes"] if "table" in one}

    def test_constraints_and_optimizers_by_table(self):
        found = self.specs(constraints={"a": {"kinds": ["row_wise"]}, "b": {}}, optimizer={"b": "adam"})
        self.assertEqual(found["a"]["constraints"], {"kinds": ["row_wise"]})
        self.assertNotIn("constraints", found["b"])
        self.assertEqual(found["b"]["optimizer"], "adam")
        self.assertNotIn("optimizer", found["a"])

    def test_those_of_no_table_are_named(self):
        for options, problem in (
            ({"constraints": {"c": {}}}, "constraints must be of tables in configs; c are not"),
            ({"optimizer": {"c": "adam"}}, "optimizer must be of tables in configs; c are not"),
            ({"optimizer": {"a": "adm"}}, "optimizer must be one of sgd, .*, got adm"),
            ({"constraints": {"a": ["row_wise"]}}, "constraints of table a must be an object with TableConstraints"),
        ):
            with self.assertRaisesRegex(ValueError, problem):
                self.specs(**options)

    @unittest.skipUnless(TORCHREC, WHY_NOT)
    def test_a_model(self):
        change = Workload("w").cluster({"devices": 2}).model(model(), {"f": 1, "g": 2, "h": 3}, "sgd").drop(["d"]).change()
        self.assertEqual(change["changes"][0], {"cluster": {"devices": 2}})
        self.assertEqual(change["changes"][-1], {"name": "d"})
        found = [(one["table"]["name"], one["table"]["poolingFactor"]) for one in change["changes"][1:-1]]
        self.assertEqual(found, [("a", 1), ("b", 5), ("c", 1)], "f is a feature of two tables")
        with self.assertRaisesRegex(ValueError, 'Table "a" is in modules "x" and "y"; must be in one'):
            Workload("w").cluster({}).model(model({"x": TABLES["one"], "y": TABLES["one"]}), {}).change()
        with self.assertRaisesRegex(ValueError, "Module has no EmbeddingBagCollection"):
            Workload("w").cluster({}).model(nn.Module(), {}).change()


@unittest.skipUnless(TORCHREC, WHY_NOT)
class Constraints(unittest.TestCase):
    """What sharders and ParameterConstraints allow, as TorchRec's own enumerator sees it."""

    TABLE = {"m": {"t": (100, 64, ["f", "g"])}}

    def limits(self, given=None, device="cuda"):
        return rules_of(model(self.TABLE), sharders(), {} if given is None else {"t": given}, device)["t"].limits

    def options(self, given, device):
        """Returns the sharding types and kernels that TorchRec enumerates; none if it refuses."""
        enumerator = EmbeddingEnumerator(
            Topology(world_size=16, compute_device=device, local_world_size=8),
            batch_size=8,
            constraints={"t": given},
        )
        try:
            found = enumerator.enumerate(model(self.TABLE), sharders())
        except RuntimeError as e:
            self.assertIn("No available sharding type and compute kernel combination", str(e))
            return set()
        return {(option.sharding_type, option.compute_kernel) for option in found}

    def test_what_sharders_have(self):
        self.assertEqual(self.limits(), {}, "all kinds, cached or not")
        self.assertEqual(
            self.limits(device="cpu"),
            {"kinds": ["table_wise", "column_wise", "table_column_wise", "data_parallel"], "mayBeCached": False},
        )

    def test_kinds_and_kernels_are_those_that_torchrec_enumerates(self):
        kernels = [
            None,
            ["fused"],
            ["dense"],
            ["fused", "dense"],
            ["fused", "fused_uvm_caching"],
            ["fused_uvm_caching", "fused_uvm"],
            ["fused_uvm_caching", "dense"],
        ]
        kinds = [
            ["table_wise"],
            ["row_wise"],
            ["data_parallel"],
            ["table_wise", "data_parallel"],
            ["grid_shard", "table_row_wise"],
            ["column_wise", "table_column_wise", "row_wise", "data_parallel"],
        ]
        refused = 0
        for device in ("cpu", "cuda"):
            for types_ in kinds:
                for names in kernels:
                    given = ParameterConstraints(sharding_types=types_, compute_kernels=names)
                    with self.subTest(device=device, types=types_, kernels=names):
                        theirs = self.options(given, device)
                        expected = {kind for kind, kernel in theirs if kernel in ("fused", "dense")}
                        cached = any(k == "fused_uvm_caching" for kind, k in theirs if kind in expected)
                        if expected:
                            found = self.limits(given, device)
                            self.assertEqual(set(found["kinds"]), expected)
                            self.assertEqual(found.get("mayBeCached", True), cached)
                        else:
                            refused += 1
                            problem = "cannot be planned; must have fused" if theirs else "is not possible: Emb"
                            with self.assertRaisesRegex(ValueError, f"Table t: .*{problem}"):
                                self.limits(given, device)
        self.assertGreater(refused, 10)

    def test_other_fields(self):
        self.assertEqual(self.limits(ParameterConstraints(min_partition=32))["leastColumns"], 32)
        self.assertEqual(self.limits({"sameDevicesAs": "u", "kinds": ["row_wise"]})["sameDevicesAs"], "u")
        given = ParameterConstraints(
            pooling_factors=[2.0, 3.0],
            num_poolings=[1.0, 1.0],
            enforce_hbm=True,
            feature_names=["f", "g"],
            device_group="cuda",
        )
        found = rules_of(model(self.TABLE), sharders(), {"t": given}, "cuda", 8)["t"]
        expected = ({"f": 2.0, "g": 3.0}, {"enforceHbm": True}, {}, {})
        self.assertEqual((found.lookups, found.kernel, found.limits, found.batch_shares), expected)

    def test_kernels_and_batch_sizes_go_to_the_planner(self):
        given = ParameterConstraints(
            compute_kernels=["fused_uvm_caching"],
            cache_params=CacheParams(load_factor=0.1, algorithm=CacheAlgorithm.LFU),
            stochastic_rounding=True,
            output_dtype=DataType.FP16,
            batch_sizes=[8, 4],
            num_poolings=[1.0, 3.0],
        )
        found = rules_of(model(self.TABLE), sharders(), {"t": given}, "cuda", 8)["t"]
        self.assertEqual(
            found.kernel["kernel"],
            {
                "computeKernel": "fused_uvm_caching",
                "cacheLoadFactor": 0.1,
                "cacheAlgorithm": "LFU",
                "outputType": "FP16",
                "stochasticRounding": True,
            },
        )
        self.assertNotIn("data_parallel", found.limits["kinds"])
        self.assertNotIn("mayBeCached", found.limits)
        self.assertEqual(found.batch_shares, {"g": 1.5})

    def test_what_cannot_be_kept_to_is_named(self):
        for given, problem in (
            (ParameterConstraints(sharding_types=["rowwise"]), "sharding types must be of .*, got str 'rowwise'"),
            (ParameterConstraints(min_partition=0), "min_partition must be an integer of at least 1, got int 0"),
            (ParameterConstraints(pooling_factors=[2.0]), "a number for each of the 2 features, got 1"),
            (ParameterConstraints(cache_params=CacheParams(reserved_memory=0.1)), "cache_params has reserved_memory"),
            (ParameterConstraints(num_poolings=[2.0]), "num_poolings must have a number for each of the 2 features"),
            (ParameterConstraints(batch_sizes=[8]), "batch_sizes must have a number for each of the 2 features, got 1"),
            (ParameterConstraints(use_virtual_table=True), "use_virtual_table"),
            (ParameterConstraints(is_weighted=True), "is_weighted must be false"),
            (ParameterConstraints(feature_names=["g"]), "feature_names must be f, g, got g"),
            (ParameterConstraints(device_group="cpu"), "device_group must be cuda, got cpu"),
            (
                ParameterConstraints(compute_kernels=[EmbeddingComputeKernel.KEY_VALUE.value]),
                "compute_kernels key_value cannot be planned",
            ),
            ({"kind": ["row_wise"]}, "constraints must have fields of kinds, .*, got kind"),
            ({"kinds": ["partial_row_wise"]}, "got str 'partial_row_wise'"),
            (["row_wise"], "constraints must be ParameterConstraints, or a dict of them"),
        ):
            with self.subTest(problem), self.assertRaisesRegex(ValueError, f"Table t: .*{problem}"):
                self.limits(given)
        with self.assertRaisesRegex(ValueError, "constraints must be of tables of the model; u are not"):
            rules_of(model(self.TABLE), sharders(), {"u": {}}, "cpu")


@unittest.skipUnless(TORCHREC, WHY_NOT)
class Planning(unittest.TestCase):
    """On one rank, without messages."""

    def test_it_is_a_planner_of_torchrec(self):
        self.assertIsInstance(planner(), ShardingPlanner)

    def test_the_workload_and_its_plan(self):
        source = Given()
        ours = planner(source, constraints={"b": ParameterConstraints(sharding_types=["table_wise"], enforce_hbm=True)})
        plan = ours.plan(model(), sharders(EmbOptimType.EXACT_ROWWISE_ADAGRAD))
        self.assertEqual(source.wanted.workload, "w")
        self.assertEqual(source.wanted.cluster, {"devices": 2, "devicesPerNode": 2, **CLUSTER})
        found = tables_of(source)
        self.assertEqual({spec["optimizer"] for spec in found.values()}, {"rowwise_adagrad"})
        self.assertEqual(found["b"]["constraints"], {"kinds": ["table_wise"], "mayBeCached": False})
        self.assertEqual([name for name, spec in found.items() if "enforceHbm" in spec], ["b"])
        self.assertEqual(sorted(plan.plan), ["one", "two"])
        self.assertEqual(plan.plan["one"]["a"].ranks, [0, 1])
        self.assertEqual(str(plan.plan["one"]["a"].sharding_spec.shards[1].placement), "rank:1/cpu")
        self.assertEqual(plan.plan["one"]["b"].sharding_type, "column_wise", "reshardable")
        self.assertEqual(plan.plan["two"]["c"].compute_kernel, "dense")
        self.assertEqual((ours.planned_by, ours.fallback_reason), ("given", None))
        self.assertEqual(ours.description, json.loads(json.dumps(ours.description)))
        exact = planner(reshardable=False).plan(model(), sharders())
        self.assertEqual(exact.plan["one"]["b"].sharding_type, "table_wise")

    def test_sharders_without_column_wise(self):
        class Whole(EmbeddingBagCollectionSharder):
            def sharding_types(self, compute_device_type):
                return ["table_wise", "data_parallel"]

        tables = {"one": {"b": (30, 8, ["g"])}}
        source = Given(record(a=[], c=[]))
        plan = planner(source).plan(model(tables), [Whole()])
        self.assertEqual(tables_of(source)["b"]["constraints"]["kinds"], ["table_wise", "data_parallel"])
        self.assertEqual(plan.plan["one"]["b"].sharding_type, "table_wise")

    def test_tables_of_sequences_have_the_kinds_of_the_plan(self):
        net = model({"one": {"b": (30, 8, ["g"])}})
        tables = [
            EmbeddingConfig(name=name, num_embeddings=20, embedding_dim=8, feature_names=["f"]) for name in "st"
        ]
        net.add_module("sequences", EmbeddingCollection(tables=tables))
        both = [*sharders(), EmbeddingCollectionSharder()]
        shards = {"a": [], "c": [], "s": [shard("s", "TABLE_WISE", 8, 20, 0)], "t": [shard("t", "TABLE_WISE", 8, 20, 1)]}
        plan = planner(Given(record(**shards))).plan(net, both)
        self.assertEqual(plan.plan["one"]["b"].sharding_type, "column_wise", "reshardable")
        self.assertEqual({plan.plan["sequences"][name].sharding_type for name in "st"}, {"table_wise"})
        shards["s"] = [shard("s", "DATA_PARALLEL", 8, 20, -1)]
        with self.assertRaisesRegex(ValueError, 'Table "s" of an EmbeddingCollection is data_parallel with the kernel'):
            planner(Given(record(**shards))).plan(net, both)

    def test_ids_are_deduplicated_for_all_unpooled_tables_or_none(self):
        net = model({"one": {"b": (30, 8, ["g"])}})
        tables = [
            EmbeddingConfig(name=name, num_embeddings=20, embedding_dim=8, feature_names=["f"]) for name in "st"
        ]
        net.add_module("sequences", EmbeddingCollection(tables=tables))
        whole = {name: [shard(name, "TABLE_WISE", 8, 20, 1)] for name in "st"}
        whole["s"][0]["deduplicated"] = True
        source = Given(record(a=[], c=[], **whole))
        options = {"profiles": {"s": {"distinctShare": [{"samples": 32, "share": 0.25}]}}}

        def planned(*own, device="cuda", **more):
            """Returns deduplicated of the tables that were published, and the sharders' switch."""
            ours = planner(source, **options, **more)
            ours._device = device
            ours.plan(net, [*sharders(), *own] if own else None)
            self.assertEqual(ours.description["deduplicated"], ["s", "t"])
            return {n: of["deduplicated"] for n, of in tables_of(source).items() if "deduplicated" in of}, *(
                sharder._use_index_dedup for sharder in own
            )

        with self.assertLogs("shardtide") as logged:
            self.assertEqual(planned(EmbeddingCollectionSharder()), ({}, True))
        self.assertIn("Ids of t are deduplicated beside those of the plan", logged.output[0])
        logging.disable(logging.WARNING)
        self.addCleanup(logging.disable, logging.NOTSET)
        both = {"s": True, "t": True}
        self.assertEqual(planned(EmbeddingCollectionSharder(use_index_dedup=True)), (both, True))
        self.assertEqual(planned(EmbeddingCollectionSharder(), deduplicated=True), (both, True))
        self.assertEqual(planned(EmbeddingCollectionSharder(), deduplicated=False), ({"s": False}, True))
        logging.disable(logging.NOTSET)
        for own, device, why in (
            ((), "cuda", "the planner and DistributedModelParallel must be given the same sharders"),
            ((EmbeddingCollectionSharder(),), "cpu", "FBGEMM has no operator for it on CPUs"),
        ):
            with self.subTest(why):
                with self.assertLogs("shardtide") as logged:
                    self.assertEqual(planned(*own, device=device), ({"s": False}, *(False for _ in own)))
                self.assertIn(f"Ids of tables s, t are not deduplicated, as the plan has it: {why}", logged.output[-1])
                with self.assertRaisesRegex(ValueError, f"Ids of unpooled tables cannot be deduplicated: {why}"):
                    planned(*own, device=device, deduplicated=True)

    @unittest.skipUnless(TORCHREC and hasattr(comm, "get_topology_group_world_size"), "this TorchRec has nodes of one host")
    def test_nodes_may_span_hosts(self):
        halves = [shard("b", "TABLE_ROW_WISE", 8, 15, rank, row=15 * rank) for rank in (0, 1)]
        source = Given(record(4, a=[], c=[], b=halves))
        net = model({"one": {"b": (30, 8, ["g"])}})
        hosts = {"LOCAL_WORLD_SIZE": "1", **dict.fromkeys(HOSTS_OF_A_NODE, "2")}

        def plan(**nodes):
            cluster = {"devices": 4, **CLUSTER, **nodes}
            return ShardtidePlanner(source, "w", cluster, {"g": 2}, device="cuda").plan(net, sharders())

        with mock.patch.dict(os.environ, hosts):
            found = plan().plan["one"]["b"]
            self.assertEqual(found.ranks, [0, 1])
            self.assertEqual(str(found.sharding_spec.shards[1].placement), "rank:1/cuda:0")
            self.assertEqual([source.wanted.cluster[of] for of in ("devicesPerNode", "devicesPerHost")], [2, 1])
        with (
            mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "1"}),
            self.assertRaisesRegex(ValueError, "\"b\" has its rows split over 2 ranks of a node, and TorchRec splits them over 1 "),
        ):
            plan(devicesPerNode=2)

    def test_the_optimizer(self):
        # TorchRec would drop the optimizer in the backward pass of a copied table.
        source = Given(record(c=[shard("c", "TABLE_WISE", 8, 20, 0)]))
        net = model()
        apply_optimizer_in_backward(torch.optim.Adagrad, net.two.parameters(), {"lr": 0.1})
        planner(source).plan(net, sharders(EmbOptimType.EXACT_SGD))
        self.assertEqual(
            {name: spec["optimizer"] for name, spec in tables_of(source).items()},
            {"a": "sgd", "b": "sgd", "c": "adagrad"},
        )
        planner(source, optimizer="adam").plan(model(), sharders(EmbOptimType.LARS_SGD))
        self.assertEqual({spec["optimizer"] for spec in tables_of(source).values()}, {"adam"})
        planner(source).plan(model(), sharders())
        self.assertTrue(all("optimizer" not in spec for spec in tables_of(source).values()))
        with self.assertRaisesRegex(ValueError, "optimizer of table a must be one of sgd, .*, got LARS_SGD"):
            planner(source).plan(model(), sharders(EmbOptimType.LARS_SGD))

    def test_lookups_of_constraints(self):
        source = Given()
        given = {"b": ParameterConstraints(pooling_factors=[2.0, 3.0])}
        cluster = {"devices": 2, **CLUSTER}
        ShardtidePlanner(source, "w", cluster, {"f": 1}, constraints=given, device="cpu").plan(model(), sharders())
        self.assertEqual(tables_of(source)["b"]["poolingFactor"], 5)
        with self.assertRaisesRegex(ValueError, "Feature g of table b has 2.0 in pooling_factors, and 4 in lookups"):
            ShardtidePlanner(source, "w", cluster, {"f": 1, "g": 4}, constraints=given).plan(model(), sharders())
        with self.assertRaisesRegex(ValueError, "number for each feature of table a; f have none"):
            ShardtidePlanner(source, "w", cluster, constraints=given, device="cpu").plan(model(), sharders())

    def test_wrong_clusters(self):
        for cluster, problem in (
            (None, "cluster must have devices, since torch.distributed is not initialized"),
            ({"devices": 2}, "cluster must have memoryBytesPerDevice, batchSize, hardware"),
            ({"devices": 2, "replicaGroups": [1, 2], **CLUSTER}, "replicaGroups must be .1., got .1, 2."),
        ):
            with self.assertRaisesRegex(ValueError, problem):
                ShardtidePlanner(Given(), "w", cluster, {"f": 1, "g": 1, "h": 1}).plan(model(), sharders())

    def test_modules_that_are_not_planned(self):
        with self.assertRaisesRegex(ValueError, '"one" is a EmbeddingBagCollection, for which there is no sharder'):
            planner().plan(model(), [EmbeddingBagSharder()])
        net = model()
        net.add_module("more", nn.EmbeddingBag(10, 8))
        with self.assertRaisesRegex(ValueError, 'Module "more" is a EmbeddingBag, which its sharder would shard'):
            planner().plan(net, [*sharders(), EmbeddingBagSharder()])
        planner().plan(net, sharders())
        planner().plan(model())

    def test_a_plan_of_another_cluster_is_refused_with_both(self):
        gib = 2**30

        def refused(problem, answer, **cluster):
            ours = {"devices": 2, **CLUSTER, "memoryBytesPerDevice": 56 * gib, **cluster}
            asked = ShardtidePlanner(Given(answer), "w", ours, {"f": 1, "g": 2, "h": 3}, device="cpu")
            if problem is None:
                asked.plan(model(), sharders())
            else:
                with self.assertRaisesRegex(ValueError, problem):
                    asked.plan(model(), sharders())

        large = {"memory_bytes_per_device": 141 * gib}
        both = "The plan is for 141.0 GiB of memory on device {}; cluster has {} GiB there"
        refused(both.format(0, "56.0"), {**record(), **large})
        reserved = {"memoryBytesPerDevice": 141 * gib, "reservedMemoryBytesPerDevice": 41 * gib}
        refused(both.format(0, "100.0"), {**record(), **large}, **reserved)
        own = [{"device": 1, "bytes": 40 * gib}]
        refused(both.format(1, "40.0"), {**record(), **large}, memoryBytesPerDevice=141 * gib, memoryBytesByDevice=own)
        planned = {"memory_bytes_per_device": 56 * gib, "memory_bytes_by_device": [{"device": 1, "bytes": 141 * gib}]}
        refused(both.format(1, "56.0"), {**record(), **planned})
        refused(None, {**record(), "memory_bytes_per_device": 56 * gib, "hardware": "h200"})
        refused("The plan is for hardware simulated; cluster has h200", {**record(), "hardware": "simulated"})
        # A plan of the log says what its shards fill.
        costs = [{"memoryBytes": 10}, {"memoryBytes": 57 * gib}]
        refused("The plan is for 57.0 GiB .* on device 1; cluster has 56.0 GiB", {**record(), "deviceCosts": costs})

    def test_a_file_says_what_cluster_its_plans_are_for(self):
        plan = planner()
        plan.plan(model(), sharders())
        described = {field: plan.description[field] for field in ("world_size", "plan")}
        line = {"task": "w", "hardware": "h200", "memory_bytes_per_device": 141 * 2**30, **described}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plans.jsonl")
            path.write_text(json.dumps(line), encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "The plan is for 141.0 GiB .*; cluster has 1.0 GiB"):
                planner(FileSource(path)).plan(model(), sharders())
            ShardtidePlanner(FileSource(path), "w", {"devices": 2}, device="cpu").plan(model(), sharders())

    def test_codecs_that_torchrec_cannot_send_are_left_out_with_a_warning(self):
        source = Given()
        codecs = [{"name": "fp16", "bytesPerElement": 2.0}, {"name": "int8", "bytesPerElement": 1.0}]
        ours = ShardtidePlanner(
            source, "w", {"devices": 2, **CLUSTER, "codecs": codecs}, {"f": 1, "g": 2, "h": 3}, device="cuda"
        )
        with self.assertLogs("shardtide") as logged:
            ours.plan(model(), sharders())
        self.assertEqual(source.wanted.cluster["codecs"], codecs[:1])
        self.assertIn("Workload w is planned without codec int8: TorchRec does not send it on cuda", logged.output[0])
        # On CPUs, TorchRec's sharder has no shards of rows.
        planner_of_cpus = ShardtidePlanner(
            source, "w", {"devices": 2, **CLUSTER, "codecs": codecs}, {"f": 1, "g": 2, "h": 3}, device="cpu"
        )
        planner_of_cpus.plan(model(), sharders())
        self.assertEqual(source.wanted.cluster["codecs"], codecs)
        described = planner_of_cpus.description
        source.answer = {**described, "qcomms": {"cluster": {"forward": "int8"}}}
        with self.assertRaisesRegex(ValueError, "forward collectives of scope cluster have codec int8"):
            planner_of_cpus.plan(model(), sharders())

    def test_learned_weights_are_planned_with_copies_only(self):
        net = nn.Module()
        config = EmbeddingBagConfig(name="a", num_embeddings=40, embedding_dim=16, feature_names=["f"])
        net.one = EmbeddingBagCollection(tables=[config], is_weighted=True)
        copied = {**record(), "shards": [shard("a", "DATA_PARALLEL", 16, 40, -1)]}
        whole = {**record(), "shards": [shard("a", "TABLE_WISE", 16, 40, 0)]}
        source = Given(copied)
        planner(source, weights={"f": "learned"}).plan(net, sharders())
        self.assertEqual(tables_of(source)["a"]["constraints"]["kinds"], ["data_parallel"])
        source.answer = whole
        with self.assertRaisesRegex(ValueError, "a is table_wise in the plan; must be data_parallel, as its learned wei"):
            planner(source, weights={"f": "learned"}).plan(net, sharders())
        planner(source).plan(net, sharders())

    def test_tables_that_cpus_do_not_train_are_refused_before_they_are_published(self):
        net = nn.Module()
        config = EmbeddingBagConfig(
            name="a", num_embeddings=40, embedding_dim=16, feature_names=["f"], data_type=DataType.BF16
        )
        net.one = EmbeddingBagCollection(tables=[config])
        source = Given()
        with self.assertRaisesRegex(ValueError, 'Table "a" has the data_type BF16, which FBGEMM.s CPU kernels do not'):
            planner(source).plan(net, sharders())
        self.assertIsNone(source.wanted)

    @unittest.skipUnless(BUILT, "./shardtide is not built; ./shardtide --version builds it")
    def test_numbers_of_numpy_are_planned_by_the_program(self):
        import numpy as np

        cluster = {name: np.int64(v) if isinstance(v, int) else v for name, v in {"devices": 2, **CLUSTER}.items()}
        codecs = [{"name": "fp16", "bytesPerElement": np.float32(2)}]
        ours = ShardtidePlanner(
            ProgramSource(PROGRAM),
            "w",
            {**cluster, "codecs": codecs},
            {"f": np.int64(1), "g": np.float32(2), "h": 3},
            profiles={"a": {"accessCdf": np.array([0.5, 1.0, 1.0, 1.0])}},
            device="cpu",
            timeout_seconds=300,
        )
        self.assertEqual(sorted(ours.plan(model(), sharders()).plan), ["one", "two"])

    def test_versions(self):
        for version, problem in (("1.3.0", "1.3.0 is too old for ShardtidePlanner; must be 1.4.0 or newer"),):
            with mock.patch.object(torchrec, "__version__", version):
                with self.assertRaisesRegex(RuntimeError, problem):
                    planner().plan(model(), sharders())
        for version, warning in (("99.0.0", "99.0.0 is newer than"), ("local", "'local', of which nothing is known")):
            with mock.patch.object(torchrec, "__version__", version), self.assertLogs("shardtide") as logged:
                planner().plan(model(), sharders())
            self.assertIn(warning, logged.output[0])
        installed = tuple(int(part) for part in torchrec.__version__.split(".")[:2])
        self.assertGreaterEqual(installed, planner_module.OLDEST)
        self.assertLessEqual(installed, planner_module.NEWEST_TESTED, "tested by these very tests")

    @unittest.skipUnless(BUILT, "./shardtide is not built; ./shardtide --version builds it")
    def test_a_plan_of_the_program(self):
        ours = planner(ProgramSource(PROGRAM), timeout_seconds=300)
        plan = ours.plan(model(), sharders(EmbOptimType.EXACT_SGD))
        self.assertEqual(
            {path: sorted(tables) for path, tables in plan.plan.items()}, {"one": ["a", "b"], "two": ["c"]}
        )
        net = nn.Module()
        net.add_module("one", collection({"a": (2**30, 64, ["f"])}, torch.device("meta")))
        with self.assertRaisesRegex(PlanRefused, "Workload w has no plan: "):
            planner(ProgramSource(PROGRAM), timeout_seconds=300).plan(
                net, sharders()
            )

    @unittest.skipUnless(BUILT, "./shardtide is not built; ./shardtide --version builds it")
    def test_five_hundred_tables_on_64_ranks(self):
        """Messages to ranks that are not there cost nothing. The same program measures how long it takes."""
        program = pathlib.Path(__file__).with_name("time_planner.py")
        options = ["--program", str(PROGRAM), "--arguments=--evaluations-per-table,100"]
        ended = subprocess.run(
            [sys.executable, "-B", str(program), *options], capture_output=True, text=True, check=True
        )
        found = json.loads(ended.stdout)
        self.assertEqual((found["tables"], found["ranks"]), (500, 64))
        self.assertGreater(found["predicted_ms"], 0)


@unittest.skipUnless(TORCHREC, WHY_NOT)
class Ranks(unittest.TestCase):
    """Two ranks, which get one plan or one error."""

    def test_all_ranks_get_one_error(self):
        two = {"one": TABLES["one"], "two": TABLES["one"]}
        grown = {"one": {"a": (80, 16, ["f"]), "b": (30, 8, ["g", "h"])}, "two": {"d": (20, 8, ["f"])}}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            def file(description):
                path = folder / f"{len(list(folder.iterdir()))}.jsonl"
                path.write_text(json.dumps({"task": "w", **description}), encoding="utf-8")
                return FileSource(path)

            ours = planner()
            ours.plan(model(), sharders())
            described = {field: ours.description[field] for field in ("world_size", "plan")}
            fallback = Fallback()
            whole = {name: {"kinds": ["table_wise"]} for name in "ab"}
            cases = {
                "collection": (planner(file({"world_size": 2, "plan": {"x": described["plan"]["one"]}})), model()),
                "equal names": (planner(), model(two)),
                "refused constraint": (
                    planner(constraints={"a": ParameterConstraints(sharding_types=["row_wise"])}),
                    model(),
                ),
                "another size": (planner(Given(record(4))), model()),
                "another size of a file": (planner(file({**described, "world_size": 4})), model()),
                "an old plan": (planner(), model(grown)),
                "an old file": (planner(file(described)), model(grown)),
                "another kind": (planner(constraints=whole), model()),
                "another kind in a file": (planner(file(described), constraints=whole), model()),
                "replica groups": (planner(file({**described, "dmp_collection": {}})), model()),
                "rejected": (planner(Given(PlanRefused("columns must be")), fallback=fallback), model()),
                "no right": (planner(Given(PermissionError("needs Read")), fallback=fallback), model()),
                "away": (planner(Given(ConnectionError("does not answer"))), model()),
                "in vain": (planner(Given(TimeoutError("no plan")), fallback=Fallback(KeyError("k"))), model()),
                "foreign": (planner(Given(types.new_class("KafkaException", (Exception,))("odd"))), model()),
                "ours": (planner(Given(NotReshardable(["one", "two"]))), model()),
                "no program": (planner(ProgramSource("/nowhere/shardtide")), model()),
                "no file": (planner(FileSource(folder / "none")), model()),
                "no log": (planner(LogSource(None)), model()),
                "interrupted": (planner(Given(KeyboardInterrupt())), model()),
                "one model differs": (planner(), model()),
            }
            others = {"one model differs": model(grown)}

            def run(rank):
                found = {}
                for case, (theirs, net) in cases.items():
                    net = others.get(case, net) if rank else net
                    found[case] = met(lambda: theirs.collective_plan(net, sharders(), dist.group.WORLD))
                with mock.patch.object(torchrec, "__version__", "1.3.9" if rank else torchrec.__version__):
                    found["one version differs"] = met(lambda: planner().collective_plan(model(), sharders()))
                return found

            first, second = on_ranks(run)
        self.assertEqual(first.pop("interrupted"), ["KeyboardInterrupt", ""])
        self.assertEqual(second.pop("interrupted"), ["RuntimeError", "Rank 0 stopped: KeyboardInterrupt"])
        self.assertEqual(first, second)
        self.assertEqual(fallback.calls, 0)
        self.assertNotIn("Table b", first["another kind"][1] + first["another kind in a file"][1])
        for case, (kind, text) in {
            "collection": ("ValueError", 'Module "x" is no EmbeddingBagCollection of the model and no EmbeddingCollection'),
            "equal names": ("ValueError", 'Table "a" is in modules "one" and "two"; must be in one'),
            "refused constraint": ("ValueError", "Table a: sharding_types row_wise is not possible: EmbeddingBagColl"),
            "another size": ("ValueError", "Plan p is for 4 devices; this job has 2 ranks"),
            "another size of a file": ("ValueError", "The plan is for 4 devices; this job has 2 ranks"),
            "an old plan": (
                "ValueError",
                "Tables c of the plan are not in the model; must be a plan of its tables",
            ),
            "an old file": ("ValueError", 'Table "a" is 40 rows by 16 columns in the plan; must be 80 by 16'),
            "another kind": ("ValueError", "Table a is column_wise in the plan; must be table_wise, as its constr"),
            "another kind in a file": ("ValueError", "Table a is column_wise in the plan; must be table_wise"),
            "replica groups": ("ValueError", "The plan has replica groups"),
            "rejected": ("PlanRefused", "columns must be"),
            "no right": ("PermissionError", "needs Read"),
            "away": ("ConnectionError", "does not answer"),
            "in vain": ("RuntimeError", "no plan; and Fallback, which planned instead, failed: KeyError: 'k'"),
            "foreign": ("RuntimeError", "KafkaException: odd"),
            "ours": ("NotReshardable", "one; two"),
            "no program": ("FileNotFoundError", "There is no program shardtide at /nowhere/shardtide"),
            "no file": ("FileNotFoundError", "No such file or directory"),
            "no log": ("ValueError", "log must be a shardtide.log.Log on rank 0, got None"),
            "one model differs": ("ValueError", 'rank 1: Table "a" is 40 rows by 16 columns in the plan; must be 80'),
            "one version differs": ("ValueError", "rank 1: TorchRec 1.3.9 is too old"),
        }.items():
            with self.subTest(case):
                self.assertEqual(first[case][0], kind)
                self.assertIn(text, first[case][1])

    def test_a_fallback_plans_while_the_log_is_away(self):
        def run(rank):
            theirs = EmbeddingShardingPlanner(
                topology=Topology(world_size=2, compute_device="cpu", local_world_size=2), debug=False
            )
            ours = planner(Given(ConnectionError("Kafka does not answer")), fallback=theirs)
            logger = logging.getLogger("shardtide")
            with mock.patch.object(logger, "warning") as warning:
                plan = ours.collective_plan(model(), sharders())
            said = [call.args[0] % call.args[1:] for call in warning.call_args_list]
            DistributedModelParallel(model(), device=torch.device("cpu"), plan=plan, sharders=sharders())
            return [str(plan), ours.planned_by, ours.fallback_reason, ours.description, said]

        first, second = on_ranks(run)
        self.assertEqual(first[:4], second[:4])
        self.assertEqual(first[1:4], ["EmbeddingShardingPlanner", "Kafka does not answer", None])
        self.assertEqual(
            first[4],
            ["No plan of workload w from the given, EmbeddingShardingPlanner plans instead: Kafka does not answer"],
        )
        self.assertEqual(second[4], [])

    def test_a_plan_trains_as_the_unsharded_model_does(self):
        """With a table that is cut, one of two features, a copied one, and a feature of two tables."""
        tables = {"one": {**TABLES["one"], "d": (25, 8, ["f"])}, "two": TABLES["two"]}
        given = record(d=[shard("d", "TABLE_WISE", 8, 25, 0)])

        def run(rank):
            torch.manual_seed(0)
            whole = net_of(tables)
            ours = [
                EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.EXACT_SGD, "learning_rate": RATE})
            ]
            net = copy.deepcopy(whole)
            plan = planner(Given(given)).collective_plan(net, ours)
            sharded = DistributedModelParallel(net, device=torch.device("cpu"), plan=plan, sharders=ours)
            # It draws new weights.
            for name, tensor in sharded.state_dict().items():
                value = whole.state_dict()[name]
                if not hasattr(tensor, "local_shards"):
                    tensor.copy_(value)
                    continue
                for part in tensor.local_shards():
                    (row, column), (rows, columns) = part.metadata.shard_offsets, part.metadata.shard_sizes
                    part.tensor.copy_(value[row : row + rows, column : column + columns])
            own = torch.optim.SGD([p for p in sharded.parameters() if not hasattr(p, "_in_backward_optimizers")], RATE)
            dense = torch.optim.SGD(whole.parameters(), RATE)
            losses = []
            for step in range(3):
                found = []
                for trained, optimizer, part, parts in ((sharded, own, rank, 2), (whole, dense, 0, 1)):
                    optimizer.zero_grad()
                    loss = trained(ids(step, part, parts)).square().mean()
                    loss.backward()
                    optimizer.step()
                    mean = loss.detach().clone()
                    if parts > 1:
                        dist.all_reduce(mean)
                    found.append(mean.item() / parts)
                losses.append(found)
            return losses

        for losses in on_ranks(run):
            for sharded, whole in losses:
                self.assertAlmostEqual(sharded, whole, delta=1e-5)
            self.assertGreater(abs(losses[0][1] - losses[2][1]), 1e-3)


class Fallback:
    """A planner that must not be asked, or fails."""

    def __init__(self, error=None):
        self.calls = 0
        self.error = error

    def plan(self, module, sharders):
        self.calls += 1
        raise self.error or AssertionError("asked")


if __name__ == "__main__":
    unittest.main()
