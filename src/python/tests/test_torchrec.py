"""shardtide.torchrec against the rules in cases/rules.json.

Tests that need torch or torchrec are skipped where they are not installed.
"""

import collections
import dataclasses
import enum
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import pathlib
import random
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/python"))

import commands

from shardtide import events, optimizers, torchrec
from shardtide.torchrec import convert, pooling, publish
from shardtide.waves import move_waves

RULES = json.loads((ROOT / "src/python/tests/cases/rules.json").read_text(encoding="utf-8"))
TORCH = importlib.util.find_spec("torch") is not None
TORCHREC = importlib.util.find_spec("torchrec") is not None


def planned_kernels(kernels):
    """Returns the kernels of a case as a plan record from the log has them: all fields, in their records."""
    fields = ("computeKernel", "cacheLoadFactor", "cacheAlgorithm", "outputType", "stochasticRounding")
    return [
        {
            "table": table,
            "kernel": {field: kernel.get(field) for field in fields},
            "enforceHbm": kernel.get("enforceHbm", False),
        }
        for table, kernel in kernels.items()
    ]


FIELDS = ("table", "kind", "columnOffset", "columns", "rowOffset", "rows", "device", "cacheShare")


def record(shards, world_size, kernels=None):
    """Returns shards as a plan record from the log has them. kernels: by table"""
    return {
        "workloadId": "w",
        "generation": 3,
        "planId": "p",
        "previousPlanId": None,
        "predictedMs": 1.5,
        "shards": [dict(zip(FIELDS, shard)) for shard in shards],
        "deviceCosts": [{}] * world_size,
        "kernels": planned_kernels(kernels or {}),
    }


def line(shards, world_size, kernels=None):
    """Returns shards as a line of ./shardtide plan. kernels: by table"""
    names = {
        "computeKernel": "compute_kernel",
        "cacheAlgorithm": "cache_algorithm",
        "outputType": "output_dtype",
        "stochasticRounding": "stochastic_rounding",
        "enforceHbm": "enforce_hbm",
    }
    tables = {}
    for shard in sorted(shards):
        of = dict(zip(FIELDS, shard))
        tables.setdefault(of["table"], []).append(
            {
                "kind": of["kind"].lower(),
                "column_offset": of["columnOffset"],
                "columns": of["columns"],
                "row_offset": of["rowOffset"],
                "rows": of["rows"],
                "device": None if of["device"] < 0 else of["device"],
                "cache_share": of.get("cacheShare"),
            }
        )
    return {
        "task": "w",
        "feasible": True,
        "predicted_ms": 1.5,
        "world_size": world_size,
        "tables": [
            {
                "name": name,
                **{names[field]: value for field, value in (kernels or {}).get(name, {}).items() if field in names},
                "shards": parts,
            }
            for name, parts in tables.items()
        ],
    }


def describe(case, shards, world_size, kernels="kernels"):
    """Returns the description of a case's shards."""
    return describe_plan(case, record(shards, world_size, case.get(kernels)))


def describe_plan(case, plan):
    return torchrec.descriptions.describe(
        plan,
        modules=case.get("modules", torchrec.descriptions.DEFAULT_MODULE),
        devices_per_node=case.get("devices_per_node", 8),
        reshardable=case.get("reshardable", False),
        compute_kernel=case.get("kernel", "fused"),
        device=case.get("processor", "cuda"),
        devices_per_host=case.get("devices_per_host"),
    )


def both(case):
    return (
        describe(case, case["running"], case["world_size"], "running_kernels"),
        describe(case, case["wanted"], case.get("wanted_world_size", case["world_size"]), "wanted_kernels"),
    )


def accepted():
    return [case for case in RULES["descriptions"] if "expected" in case]


def member(name):
    """Returns what has the name of an enum's member."""
    return None if name is None else types.SimpleNamespace(name=name)


def cache_params(params):
    return types.SimpleNamespace(algorithm=member(params.get("algorithm")), load_factor=params["load_factor"])


def parameter_sharding(sharding):
    spec = [types.SimpleNamespace(**shard) for shard in sharding.get("shards", [])]
    return types.SimpleNamespace(
        sharding_type=sharding["sharding_type"],
        compute_kernel=sharding["compute_kernel"],
        ranks=sharding["ranks"],
        cache_params=cache_params(sharding["cache_params"]) if "cache_params" in sharding else None,
        enforce_hbm=sharding.get("enforce_hbm"),
        stochastic_rounding=sharding.get("stochastic_rounding"),
        output_dtype=member(sharding.get("output_dtype")),
        sharding_spec=types.SimpleNamespace(shards=spec) if spec else None,
    )


def without_sizes(description):
    """Returns what TorchRec's objects hold of a description: not the sizes of copies."""
    return {
        "world_size": description["world_size"],
        "plan": {
            module: {
                name: {field: value for field, value in sharding.items() if field != "size"}
                for name, sharding in tables.items()
            }
            for module, tables in description["plan"].items()
        },
    }


def refused(*arguments):
    """Returns what publish says of wrong options."""
    given = ["h:1", "http://h:2", "--workload", "w", "--devices", "1", "--batch-size", "1", "--hardware", "h200"]
    try:
        commands.run("publish", *given, *arguments)
    except commands.Ended as e:
        return f"{e.status}: {e.message}"


class Names(unittest.TestCase):
    def test_those_of_the_last_version_warn_of_the_new_ones(self):
        for name, module in torchrec._MOVED.items():
            told = rf"shardtide.torchrec.{name} ends with the next version: shardtide.torchrec.{module}.{name}"
            with self.subTest(name), self.assertWarnsRegex(DeprecationWarning, told):
                found = getattr(torchrec, name)
            self.assertIs(found, getattr(importlib.import_module(f"shardtide.torchrec.{module}"), name))

    def test_those_of_this_version_are_there(self):
        for name in torchrec.__all__:
            self.assertTrue(hasattr(torchrec, name), name)
        self.assertFalse(hasattr(torchrec, "plan"))


class Descriptions(unittest.TestCase):
    def test_every_rule(self):
        for case in RULES["descriptions"]:
            with self.subTest(case["rule"]):
                if "error" in case:
                    with self.assertRaises(ValueError) as raised:
                        describe(case, case["shards"], case["world_size"])
                    self.assertEqual(str(raised.exception), case["error"])
                else:
                    found = describe(case, case["shards"], case["world_size"])
                    self.assertEqual(found["plan"], case["expected"])
                    self.assertEqual(found["world_size"], case["world_size"])
                    self.assertEqual(found, json.loads(json.dumps(found)))

    def test_each_form_of_a_plan_has_the_same_description(self):
        for case in accepted():
            with self.subTest(case["rule"]):
                of_record = describe(case, case["shards"], case["world_size"])
                of_line = describe_plan(case, line(case["shards"], case["world_size"], case.get("kernels")))
                self.assertEqual(of_line["plan"], of_record["plan"])
                self.assertEqual(of_line["world_size"], case["world_size"])
                self.assertEqual(of_line["workload"], "w")
                self.assertEqual(describe_plan(case, json.loads(json.dumps(of_record))), of_record)
                # Without its modules, a description keeps its own.
                again = torchrec.descriptions.describe(of_record, devices_per_node=case.get("devices_per_node", 8), device="cuda")
                self.assertEqual(list(again["plan"]), list(of_record["plan"]))

    def test_groups_codecs_and_fields_of_tables_are_those_of_the_line(self):
        shards = [["a", "TABLE_WISE", 0, 8, 0, 10, 1], ["b", "DATA_PARALLEL", 0, 8, 0, 10, -1]]
        plan = {
            **record(shards, 2),
            "replication": {"groups": 2, "layout": "STRIDED", "synchronizationSteps": 5, "synchronizationMs": 1.0},
            "codecs": [{"scope": "device", "direction": "forward", "codec": {"name": "fp16"}, "savedMs": 0.5}],
        }
        expected = torchrec.descriptions.describe(plan)
        self.assertEqual(expected["dmp_collection"]["node_group_size"], 2)
        self.assertEqual(torchrec.descriptions.describe(expected), expected)
        of_file = {
            **line(shards, 2),
            "replica_groups": {"groups": 2, "layout": "strided", "synchronization_steps": 5, "synchronization_ms": 1.0},
            "codecs": [{"scope": "device", "direction": "forward", "codec": "fp16", "saved_ms": 0.5}],
        }
        of_file["tables"][0].update(optimizer="adam", enforce_hbm=True)
        found = torchrec.descriptions.describe(of_file)
        for field in ("dmp_collection", "qcomms", "world_size"):
            self.assertEqual(found[field], expected[field])
        (tables,) = found["plan"].values()
        self.assertEqual((tables["a"]["optimizer"], tables["a"]["enforce_hbm"]), ("adam", True))
        of_one_group = [{"world_size": 2, "plan": of["plan"]} for of in (found, expected)]
        self.assertEqual(torchrec.changes.changes(*of_one_group), {"plan": {}, "moved_elements": 0})
        with self.assertRaisesRegex(ValueError, 'Table "a" has the optimizer adam, which FBGEMM.s fused CPU kernels'):
            torchrec.descriptions.describe(of_file, device="cpu")
        torchrec.descriptions.describe(of_file, device="cpu", compute_kernel="dense")

    def test_deduplicated_ids_and_orders_of_rows(self):
        shards = [["a", "TABLE_WISE", 0, 8, 0, 10, 1], ["b", "DATA_PARALLEL", 0, 8, 0, 10, -1], ["c", "TABLE_WISE", 0, 8, 0, 10, 0]]
        plan, of_file = record(shards, 2), line(shards, 2)
        self.assertNotIn("deduplicated", torchrec.descriptions.describe(plan, unpooled=["a", "b"]))
        plan["shards"][0]["deduplicated"] = of_file["tables"][0]["shards"][0]["deduplicated"] = True
        for form in (plan, of_file):
            self.assertEqual(torchrec.descriptions.describe(form)["deduplicated"], ["a"])
            with self.assertLogs("shardtide") as logged:
                found = torchrec.descriptions.describe(form, unpooled=["a", "b"])
            self.assertIn("Ids of b are deduplicated beside those of the plan", logged.output[0])
            self.assertEqual(found["deduplicated"], ["a", "b"])
            self.assertEqual(torchrec.descriptions.describe(found, unpooled=["a", "b"]), found)
            (again,) = convert.converted([json.dumps(found)], "plans")
            sent = {table["name"]: table["shards"][0].get("deduplicated") for table in again["tables"]}
            self.assertEqual(sent, {"a": True, "b": None, "c": None})
        plan["shards"][2]["rowOrder"] = of_file["tables"][2]["shards"][0]["row_order"] = "round_robin"
        for form in (plan, of_file):
            with self.assertRaisesRegex(ValueError, 'Table "c" has its rows in the order round_robin, which TorchRec lac'):
                torchrec.descriptions.describe(form)
        plan["shards"][2]["rowOrder"] = "contiguous"
        torchrec.descriptions.describe(plan)

    def test_what_is_no_plan_is_named(self):
        good = line([["a", "TABLE_WISE", 0, 8, 0, 10, 0]], 1)
        sharding = {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [0]}
        shard = good["tables"][0]["shards"][0]
        for plan, message in (
            (
                {"task": "x", "feasible": False, "reason": "All tables need 5 GiB", "bytes_short": 3},
                "Workload x has no plan that fits: All tables need 5 GiB",
            ),
            ({**good, "feasible": False, "reason": "Device 0 is full"}, "Workload w has no plan .*: Device 0 is full"),
            ("{}", "plan must be an object with fields of a ShardingPlan record, .*, got str"),
            (None, "plan must be an object with fields .*, got None"),
            ([good], "plan must be an object with fields .*, got list"),
            ({}, "shards, tables or plan; got the fields none"),
            ({"task": 0, "devices": [[]]}, "shards, tables or plan; got the fields task, devices"),
            ({**good, "tables": {}}, "tables must have a list that is not empty, got dict"),
            ({**good, "tables": [5]}, "The table at position 0 must be an object with name, got int 5"),
            ({**good, "tables": [{"shards": []}]}, "The table at position 0 has no name; must be a line of"),
            ({**good, "tables": [{"name": "a", "shards": 5}]}, 'shards of Table "a" must be of type list, got int 5'),
            ({**good, "tables": good["tables"] * 2}, 'Table "a" is there twice'),
            (
                {**good, "tables": [{"name": "a", "shards": [{**shard, "rows": "10"}]}]},
                "rows of Table \"a\" must be of type int, got str '10'",
            ),
            ({key: of for key, of in good.items() if key != "world_size"}, "plan has no world_size; must be a line"),
            ({**good, "world_size": 0}, "world_size of the plan must be at least 1, got 0"),
            ({"plan": 5}, "plan must be an object with the shardings of each module, got int 5"),
            ({"plan": {"m": 5}}, 'Module "m" must be an object with a sharding for each table, got int 5'),
            ({"plan": {"m": {"a": 5}}}, 'Table "a" must be an object with sharding_type, got int 5'),
            ({"plan": {"m": {"a": sharding}}}, 'Table "a" has no shards'),
            ({"plan": {"m": {"a": {**sharding, "shards": [1, 2]}}}}, 'Table "a" has 1 ranks and 2 shards'),
            ({"plan": {"m": {"a": {**sharding, "shards": [1]}}}}, 'Table "a" must be an object with shard_offsets'),
            (
                {"plan": {"m": {"a": {**sharding, "sharding_type": "data_parallel"}}}},
                'Table "a" has no size; must be a line',
            ),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                torchrec.descriptions.describe(plan)
            if "has no plan that fits" in message or "must be an object with fields" in message:
                with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                    torchrec.conversions.to_sharding_plan(plan)

    def test_a_copy_is_on_each_device(self):
        with self.assertRaises(ValueError) as raised:
            describe({}, [["a", "DATA_PARALLEL", 0, 8, 0, 10, 0]], 2)
        self.assertEqual(
            str(raised.exception), 'Table "a" has a data_parallel shard on device 0; must be -1, each device'
        )

    def test_a_plan_of_torchrec_is_dumped(self):
        """With objects that have the fields of TorchRec's."""
        for case in accepted():
            with self.subTest(case["rule"]):
                description = describe(case, case["shards"], case["world_size"])
                plan = types.SimpleNamespace(
                    plan={
                        module: {name: parameter_sharding(sharding) for name, sharding in tables.items()}
                        for module, tables in description["plan"].items()
                    }
                )
                dumped = torchrec.conversions.from_sharding_plan(plan, case["world_size"])
                self.assertEqual(dumped, without_sizes(description))


def avro_json(plan):
    """Returns a record as ./shardtide plan watch -o jsonl prints it, which names the types of unions."""
    of = {"previousPlanId": "string", "cacheShare": "double", "computeKernel": "string", "outputType": "string"}
    of.update(cacheLoadFactor="double", cacheAlgorithm="string", stochasticRounding="boolean")
    if isinstance(plan, dict):
        typed = {field: {of[field]: value} if field in of and value is not None else value for field, value in plan.items()}
        return {field: avro_json(value) if field not in of else value for field, value in typed.items()}
    return [avro_json(one) for one in plan] if isinstance(plan, list) else plan


class Converted(unittest.TestCase):
    def options(self, case):
        return {
            "modules": case.get("modules"),
            "devices_per_node": case.get("devices_per_node", 8),
            "reshardable": case.get("reshardable", False),
            "compute_kernel": case.get("kernel", "fused"),
            "device": case.get("processor", "cuda"),
            "devices_per_host": case.get("devices_per_host"),
        }

    def converted(self, *plans, **options):
        return list(convert.converted([json.dumps(plan) for plan in plans], "plans", **options))

    def test_lines_and_printed_records_become_descriptions(self):
        for case in accepted():
            with self.subTest(case["rule"]):
                shards, kernels = case["shards"], case.get("kernels")
                described = describe(case, shards, case["world_size"])
                printed = avro_json(record(shards, case["world_size"], kernels))
                planned = {**line(shards, case["world_size"], kernels), "hardware": "h200"}
                found, of_line = self.converted(printed, planned, **self.options(case))
                self.assertEqual(found, described)
                self.assertEqual(of_line["plan"], described["plan"])
                self.assertEqual((of_line["task"], of_line["hardware"]), ("w", "h200"))

    def test_a_description_becomes_a_line_which_has_the_same_description(self):
        for case in accepted():
            with self.subTest(case["rule"]):
                described = describe(case, case["shards"], case["world_size"])
                options = {**self.options(case), "modules": {t: p for p, of in described["plan"].items() for t in of}}
                (of_line,) = self.converted(described)
                self.assertEqual(self.converted(of_line, **options)[0]["plan"], described["plan"])
                # A plan of TorchRec's own planner does not tell the size of copies.
                (of_torchrec,) = self.converted(without_sizes(described))
                for table, own in zip(of_line["tables"], of_torchrec["tables"]):
                    is_copied = table["shards"][0]["kind"] == "data_parallel"
                    whole = {**table, "shards": [{"kind": "data_parallel", "device": None}]}
                    self.assertEqual(own, whole if is_copied else table)

    def test_a_later_plan_of_a_workload_has_what_changes(self):
        for case in RULES["changes"]:
            with self.subTest(case["rule"]):
                sizes = case["world_size"], case.get("wanted_world_size", case["world_size"])
                running = record(case["running"], sizes[0], case.get("running_kernels"))
                wanted = record(case["wanted"], sizes[1], case.get("wanted_kernels"))
                other = {**running, "workloadId": "other"}
                first, unrelated, found = self.converted(
                    avro_json(running), avro_json(other), avro_json({**wanted, "planId": "q"}), **self.options(case)
                )
                self.assertNotIn("reshard", first)
                self.assertNotIn("reshard", unrelated)
                self.assertEqual(found["reshard"]["from"], "p")
                for field in ("refused", "moved_elements"):
                    self.assertEqual(found["reshard"].get(field), case.get(field))

    def test_a_workload_that_does_not_fit_stays_as_it_is(self):
        lines = {"task": "w", "feasible": False, "reason": "The tables need 9 GiB"}
        self.assertEqual(self.converted(lines), [lines])

    def test_what_cannot_be_converted_is_named_with_its_line(self):
        copies = {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0]}
        whole = {
            "sharding_type": "table_wise",
            "compute_kernel": "fused",
            "ranks": [0],
            "shards": [{"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:0/cpu"}],
        }

        def of(**fields):
            return {"world_size": 1, "plan": {"m": {"a": {**whole, **fields}}}}

        for plan, message in (
            ([], "plans, line 2 must be an object with a plan, got list"),
            ({"task": "w"}, "plans, line 2: plan must be an object with fields of .*: shards, tables or plan; got .* task"),
            (of(compute_kernel="key_value"), 'line 2: compute_kernel of Table "a" must be one of dense, .*, got str .key_value'),
            (of(compute_kernel="fused_uvm_caching"), 'line 2: cache_params of Table "a" must have a load_factor, got'),
            (of(ranks=[0, 0]), 'line 2: Table "a" has 2 ranks and 1 shards; must be as many'),
            ({"plan": {"m": {"a": whole}, "n": {"a": copies}}}, 'Table "a" is in modules "m" and "n" with different'),
        ):
            with self.assertRaisesRegex(ValueError, message):
                self.converted({"feasible": False}, plan)

    def test_modules_are_paths_of_all_or_some_tables(self):
        self.assertIsNone(convert.modules_of([]))
        self.assertEqual(convert.modules_of(["a.b"]), "a.b")
        self.assertEqual(convert.modules_of(["a.b=t,u", "=v"]), {"t": "a.b", "u": "a.b", "v": ""})
        for texts, message in (
            (["a=t", "b"], "--module must be PATH=TABLE,TABLE,... for each of several, got 'b'"),
            (["a=t,"], "--module must be PATH=TABLE,TABLE,... for each of several, got 'a=t,'"),
            (["a=t", "b=u,t"], 'Table "t" is in modules "a" and "b"; must be in one'),
        ):
            with self.assertRaises(ValueError) as raised:
                convert.modules_of(texts)
            self.assertEqual(str(raised.exception), message)

    def test_the_command_reads_standard_input_and_writes_standard_output(self):
        def run(text, *arguments):
            with mock.patch.object(sys, "stdin", io.StringIO(text)):
                return json.loads(commands.run("convert", *arguments)[0])

        planned = line([["a", "TABLE_WISE", 0, 8, 0, 10, 3]], 4)
        found = run(json.dumps(planned) + "\n\n", "--module", "m=a", "--device", "cpu", "--devices-per-node", "2")
        self.assertEqual(found["plan"]["m"]["a"]["shards"][0]["placement"], "rank:3/cpu")
        again = run(json.dumps(found))
        self.assertEqual(again["tables"], [{**planned["tables"][0], "compute_kernel": "fused"}])
        with self.assertRaisesRegex(commands.Ended, "^shardtide-py convert: standard input, line 1 must be JSON") as ended:
            run("{")
        self.assertEqual(ended.exception.status, 2)
        with self.assertRaisesRegex(commands.Ended, "^shardtide-py convert: .*No such file.*nowhere.jsonl"):
            run("", "nowhere.jsonl")


class Changes(unittest.TestCase):
    def test_every_rule(self):
        for case in RULES["changes"]:
            with self.subTest(case["rule"]):
                running, wanted = both(case)
                if "refused" in case:
                    with self.assertRaises(torchrec.changes.NotReshardable) as raised:
                        torchrec.changes.changes(running, wanted)
                    self.assertEqual(raised.exception.problems, case["refused"])
                else:
                    found = torchrec.changes.changes(running, wanted)
                    changed = [table for tables in found["plan"].values() for table in tables]
                    self.assertEqual(sorted(changed), case["tables"])
                    self.assertEqual(found["moved_elements"], case["moved_elements"])
                    for module, tables in running["plan"].items():
                        self.assertEqual({**tables, **found["plan"].get(module, {})}, wanted["plan"][module])

    def test_only_columns_that_change_their_device_move_between_any_reshardable_plans(self):
        draw = random.Random(5)

        def drawn():
            """Ten tables of 64 columns and 1,000 rows over 4 devices, in parts of any widths, several of them on a device."""
            shards = []
            for name in (f"t{t}" for t in range(10)):
                column = 0
                while column < 64:
                    width = 4 * draw.randint(1, (64 - column) // 4)
                    kind = "TABLE_WISE" if width == 64 else "COLUMN_WISE"
                    shards.append([name, kind, column, width, 0, 1000, draw.randrange(4)])
                    column += width
            return shards

        def widths(shards):
            of = collections.Counter()
            for name, _, _, width, _, _, device in shards:
                of[name, device] += width
            return of

        def described(shards):
            found = describe({"reshardable": True, "devices_per_node": 4, "modules": "m"}, shards, 4)
            tables = found["plan"]["m"].items()
            own = {
                (name, rank): part["shard_sizes"][1]
                for name, sharding in tables
                for rank, part in zip(sharding["ranks"], sharding["shards"])
            }
            self.assertEqual(own, widths(shards), "merged shards keep the columns of each device")
            return found

        def ranks(sharding):
            return [r for r, part in zip(sharding["ranks"], sharding["shards"]) for _ in range(part["shard_sizes"][1])]

        for _ in range(200):
            running, wanted = described(drawn()), described(drawn())
            before, after = running["plan"]["m"], wanted["plan"]["m"]
            found = torchrec.changes.changes(running, wanted)
            changed = found["plan"].get("m", {})
            self.assertEqual({**before, **changed}, after)
            self.assertTrue(all(before[name] != after[name] for name in changed))
            moved = sum(b != a for name in after for b, a in zip(ranks(before[name]), ranks(after[name])))
            self.assertEqual(found["moved_elements"], 1000 * moved)

    def test_another_module_is_refused(self):
        shards = [["a", "TABLE_WISE", 0, 8, 0, 10, 0]]
        running, wanted = describe({"modules": "x"}, shards, 1), describe({"modules": "y"}, shards, 1)
        with self.assertRaisesRegex(
            torchrec.changes.NotReshardable, "modules .'x'. and the new one for .'y'.; must be the same"
        ):
            torchrec.changes.changes(running, wanted)


class ReshardCall(unittest.TestCase):
    """DistributedModelParallel.reshard as its releases declare it."""

    def call(self, method):
        return method(**torchrec.conversions.reshard_call(inspect.signature(method), "a.b", {"t": 1}, 2**20))

    def test_tables_of_modules_with_mebibytes(self):
        def reshard(changed_shard_to_params, sharded_module_fqn=None):
            return changed_shard_to_params[sharded_module_fqn]

        self.assertEqual(self.call(reshard), (4.0, {"t": 1}))

    def test_the_model_itself_has_no_name(self):
        def reshard(changed_shard_to_params, sharded_module_fqn=None):
            return sharded_module_fqn, list(changed_shard_to_params)

        found = reshard(**torchrec.conversions.reshard_call(inspect.signature(reshard), "", {}, 0))
        self.assertEqual(found, (None, [""]))

    def test_an_older_release_is_refused(self):
        def reshard(sharded_module_fqn, changed_shard_to_params):
            return sharded_module_fqn, changed_shard_to_params

        with self.assertRaisesRegex(TypeError, "takes sharded_module_fqn, .*; must be TorchRec 1.4.0 or later"):
            self.call(reshard)


class Module:
    """A module without torch: children by name, or tables by name with rows and columns."""

    def __init__(self, children=None, tables=None):
        self.children = children or {}
        if tables is not None:
            self.embedding_bag_configs = lambda: [
                types.SimpleNamespace(name=name, num_embeddings=rows, embedding_dim=columns)
                for name, (rows, columns) in tables.items()
            ]

    def named_children(self):
        return self.children.items()


PATHS = {"sparse.x": ["a", "c"], "sparse.y": ["b"]}


class Models(unittest.TestCase):
    MODEL = Module(
        {
            "over": Module(),
            "sparse": Module({"x": Module(tables={"a": (10, 8), "c": (10, 8)}), "y": Module(tables={"b": (5, 8)})}),
        }
    )
    SHARDS = [["a", "TABLE_WISE", 0, 8, 0, 10, 0], ["b", "DATA_PARALLEL", 0, 8, 0, 5, -1]]
    ALL = [*SHARDS, ["c", "TABLE_WISE", 0, 8, 0, 10, 0]]

    def check(self, modules, shards, model=MODEL):
        torchrec.modules.check_model(model, describe({"modules": modules}, shards, 1))

    def test_tables_are_found_in_all_collections(self):
        self.assertEqual(torchrec.modules.table_modules(self.MODEL), {"a": "sparse.x", "b": "sparse.y", "c": "sparse.x"})
        wrapped = types.SimpleNamespace(_dmp_wrapped_module=None, module=self.MODEL)
        self.assertEqual(torchrec.modules.table_modules(wrapped), torchrec.modules.table_modules(self.MODEL))
        self.assertEqual(torchrec.modules.table_modules(Module(tables={"a": (1, 4)})), {"a": ""})

    def test_a_model_without_collections_or_with_a_table_twice_is_refused(self):
        with self.assertRaisesRegex(ValueError, "Module has no EmbeddingBagCollection"):
            torchrec.modules.table_modules(Module({"a": Module()}))
        twice = Module({"x": Module(tables={"a": (1, 4)}), "y": Module(tables={"a": (1, 4)})})
        with self.assertRaisesRegex(ValueError, 'Table "a" is in modules "x" and "y"; must be in one'):
            torchrec.modules.table_modules(twice)

    def test_a_plan_of_all_tables_is_accepted(self):
        self.check(torchrec.modules.table_modules(self.MODEL), self.ALL)

    def test_a_plan_that_torchrec_computes_wrong_is_refused_with_its_mean_table(self):
        """Which those are, test_torchrec_real.py finds out."""
        config = {"num_embeddings": 10, "embedding_dim": 8}
        mean, total = enum.Enum("PoolingType", {"MEAN": "MEAN", "SUM": "SUM"})

        def model(is_weighted):
            module = Module()
            module.embedding_bag_configs = lambda: [
                types.SimpleNamespace(name=name, pooling=of, **config) for name, of in (("a", mean), ("b", total))
            ]
            module.is_weighted = lambda: is_weighted
            return Module({"m": module})

        def rows(table):
            return [[table, "ROW_WISE", 0, 8, 0, 5, 0], [table, "ROW_WISE", 0, 8, 5, 5, 1]]

        whole = [["b", "TABLE_WISE", 0, 8, 0, 10, 1]]
        plan = record([*rows("a"), *whole], 2)
        remedy = "must be one of table_wise, column_wise, table_column_wise, data_parallel: publish it with its pooling"
        with self.assertRaisesRegex(
            ValueError, f'Table "a" of module "m" has MEAN .* row_wise, so .* outputs of "b" .column_wise. too; {remedy}'
        ):
            torchrec.modules.describe_for(model(False), plan)
        both = record([*rows("a"), *rows("b")], 2)
        torchrec.modules.describe_for(model(False), both)
        with self.assertRaisesRegex(ValueError, 'Table "a" of weighted module "m" .* divides by the sum of weights'):
            torchrec.modules.describe_for(model(True), both)

    def test_each_deviation_is_named(self):
        paths = torchrec.modules.table_modules(self.MODEL)
        for modules, shards, problem in (
            (
                "sparse.z",
                self.ALL,
                'Module "sparse.z" is no EmbeddingBagCollection of the model and no EmbeddingCollection; must be one of'
                ' "sparse.x", "sparse.y"',
            ),
            (
                {"a": "sparse.x", "b": "sparse.y"},
                self.SHARDS,
                'Table "c" of module "sparse.x" is not in the plan; must be all of the module',
            ),
            (
                {"a": "sparse.x", "c": "sparse.x"},
                [self.ALL[0], self.ALL[2]],
                'Table "b" of module "sparse.y" is not in',
            ),
            ({**paths, "c": "sparse.y"}, self.ALL, 'Table "c" is not in module "sparse.y"; must be one of its tables'),
            (
                paths,
                [["a", "TABLE_WISE", 0, 8, 0, 11, 0], *self.ALL[1:]],
                'Table "a" is 11 rows by 8 columns in the plan; must be 10 by 8 as in the model',
            ),
        ):
            with self.subTest(problem), self.assertRaises(ValueError) as raised:
                self.check(modules, shards)
            self.assertIn(problem, str(raised.exception))

    def test_a_plan_is_described_for_a_model(self):
        fields = ("table", "kind", "columnOffset", "columns", "rowOffset", "rows", "device", "cacheShare")
        plan = {
            **{name: None for name in ("workloadId", "generation", "planId", "predictedMs")},
            "shards": [dict(zip(fields, shard)) for shard in self.ALL],
            "deviceCosts": [{}],
        }
        found = torchrec.modules.describe_for(self.MODEL, plan, device="cpu")
        self.assertEqual({path: list(tables) for path, tables in found["plan"].items()}, PATHS)
        self.assertEqual(found["plan"]["sparse.x"]["a"]["sharding_type"], "column_wise")
        self.assertNotIn("dmp_collection", found)
        self.assertNotIn("qcomms", found)
        codecs = [
            {"scope": scope, "direction": direction, "codec": {"name": name}, "savedMs": 0.5}
            for scope, direction, name in (
                ("device", "forward", "fp16"),
                ("device", "backward", "bf16"),
                ("cluster", "backward", "fp16"),
            )
        ]
        quantized = torchrec.modules.describe_for(self.MODEL, {**plan, "codecs": codecs}, device="cpu")
        precisions = {"device": {"forward": "fp16", "backward": "bf16"}, "cluster": {"backward": "fp16"}}
        self.assertEqual(quantized, {**found, "qcomms": precisions})
        for layout, per_node, between in (("STRIDED", 1, False), ("CONSECUTIVE", 2, True)):
            groups = torchrec.modules.describe_for(
                self.MODEL,
                {**plan, "deviceCosts": [{}] * 2, "replication": {"groups": 4, "layout": layout}},
                devices_per_node=4,
            )
            self.assertEqual(groups["plan"]["sparse.x"]["a"]["ranks"], found["plan"]["sparse.x"]["a"]["ranks"])
            self.assertEqual(
                groups["dmp_collection"],
                {
                    "world_size": 8,
                    "sharding_group_size": 2,
                    "node_group_size": per_node,
                    "use_inter_host_allreduce": between,
                },
            )
            with self.assertRaisesRegex(torchrec.changes.NotReshardable, "has replica groups; must be one, restart from a"):
                torchrec.changes.changes(found, groups)
        plan["shards"] += [{**plan["shards"][0], "table": table} for table in ("z", "d")]
        with self.assertRaisesRegex(ValueError, "Tables d, z of the plan are not in the model; must be a plan of its"):
            torchrec.modules.describe_for(self.MODEL, plan)

    def test_hosts_are_equal_parts_of_a_node(self):
        for hosts in (3, 16, -2):
            with self.assertRaisesRegex(ValueError, f"must be a divisor of the 8 devices per node, got {hosts}"):
                describe({"devices_per_host": hosts}, [["a", "TABLE_WISE", 0, 4, 0, 1, 0]], 2)

    def test_a_model_that_is_not_sharded_is_not_resharded(self):
        with self.assertRaisesRegex(ValueError, "must be a DistributedModelParallel, got Module"):
            torchrec.TorchRecResharder(self.MODEL)
        wrapped = types.SimpleNamespace(_dmp_wrapped_module=None, module=self.MODEL)
        with self.assertRaisesRegex(ValueError, 'Module "sparse.x" is a Module, which was not sharded'):
            torchrec.TorchRecResharder(wrapped)


class DeviceMemory(unittest.TestCase):
    PLAN = {
        "deviceCosts": [{"memoryBytes": 100}, {"memoryBytes": 60}],
        "moves": [{"table": "a", "fromDevice": 0, "toDevice": 1, "bytes": 50}],
        "moveOrder": [{"move": 0, "stage": "DIRECT"}],
        "explanations": [],
        "predictedMs": 1.0,
        "settings": {"moveGigabytesPerSecond": 10.0, "moveOverheadMs": 0.0, "reshardMs": 0.0},
    }

    def test_memory_that_is_no_number_of_gib_is_an_error_of_the_argument(self):
        for wrong, message in (
            ("inf", "must be above 0, got inf"),
            ("nan", "must be above 0, got nan"),
            ("0", "must be above 0, got 0"),
            ("-1", "must be above 0, got -1"),
            ("x", "could not convert string to float: 'x'"),
        ):
            self.assertIn(f"2: shardtide-py publish: argument --memory-gib: {message}", refused(f"--memory-gib={wrong}"))

    def test_waves_take_the_memory_of_each_rank(self):
        for wrong, message in (
            ([100], "must have a number for each of 2 ranks, got 1"),
            ([100, 0], "must be at least 1, got 0"),
            (0, "must be at least 1, got 0"),
        ):
            with self.assertRaisesRegex(ValueError, f"usable_bytes_per_device {message}"):
                move_waves(self.PLAN, usable_bytes_per_device=wrong)


class WorkloadChanges(unittest.TestCase):
    CLUSTER = {"devices": 2}

    def test_a_config_as_json_and_as_an_object(self):
        config = {
            "name": "t",
            "num_embeddings": 10,
            "embedding_dim": 16,
            "feature_names": ["f", "g"],
            "data_type": "FP16",
        }
        expected = {
            "name": "t",
            "rows": 10,
            "columns": 16,
            "poolingFactor": 3.5,
            "bytesPerElement": 2,
            "optimizer": "rowwise_adagrad",
            "features": [{"name": "f", "poolingFactor": 1}, {"name": "g", "poolingFactor": 2.5}],
        }
        lookups = {"f": 1, "g": 2.5}
        self.assertEqual(publish.table(config, lookups, "rowwise_adagrad"), expected)
        # TorchRec's configs are dataclasses whose data_type is an enum.
        config["data_type"] = types.SimpleNamespace(name="FP16")
        self.assertEqual(publish.table(types.SimpleNamespace(**config), lookups, "rowwise_adagrad"), expected)

    CONFIG = {"name": "t", "num_embeddings": 10, "embedding_dim": 16}

    def test_a_kernel_as_json_and_as_parameter_constraints(self):
        decided = {
            "computeKernel": "fused_uvm_caching",
            "cacheLoadFactor": 0.25,
            "cacheAlgorithm": "LFU",
            "outputType": "FP16",
            "stochasticRounding": False,
            "enforceHbm": True,
        }
        for decision in (True, False):
            of = publish.table(self.CONFIG, {"t": 1}, kernels={"t": {"deduplicated": decision}})
            self.assertEqual(of, {**publish.table(self.CONFIG, {"t": 1}), "deduplicated": decision})
        spec = publish.table(self.CONFIG, {"t": 1}, kernels={"t": decided})
        self.assertEqual({**spec["kernel"], "enforceHbm": spec["enforceHbm"]}, decided)
        constraints = types.SimpleNamespace(
            compute_kernels=["fused_uvm_caching"],
            cache_params=cache_params({"algorithm": "LFU", "load_factor": 0.25}),
            enforce_hbm=True,
            stochastic_rounding=False,
            output_dtype=member("FP16"),
        )
        self.assertEqual(publish.table(self.CONFIG, {"t": 1}, kernels={"t": constraints}), spec)
        half = publish.table(self.CONFIG, {"t": 1}, kernels={"t": {"outputType": "FP16"}, "u": {}})
        self.assertEqual([field for field, value in half["kernel"].items() if value is not None], ["outputType"])
        for nothing in ({}, {"enforceHbm": False}, types.SimpleNamespace(compute_kernels=None)):
            plain = publish.table(self.CONFIG, {"t": 1}, kernels={"t": nothing})
            self.assertEqual(plain, publish.table(self.CONFIG, {"t": 1}))
        change = publish.workload_change("w", [self.CONFIG], {"t": 1}, self.CLUSTER, kernels={"t": decided})
        self.assertEqual(change["changes"][1]["table"], spec)

    def test_tables_without_a_fixed_size(self):
        storage = {"ids": 8, "idsPerDay": 0.5, "slotBytes": 24, "eviction": "lru", "hitShares": [0.5, 0.9, 1.0]}
        plain = publish.table(self.CONFIG, {"t": 1})
        self.assertNotIn("storage", plain)
        spec = publish.table(self.CONFIG, {"t": 1}, storage={"t": storage, "u": {}})
        self.assertEqual(spec, {**plain, "storage": storage})
        self.assertEqual(publish.table(self.CONFIG, {"t": 1}, storage={"t": {}})["storage"], {})
        measured = {"t": {"poolingFactor": 1.0, "storage": {"ids": 2, "hitShares": [0.75, 1.0]}}}
        both = publish.table(self.CONFIG, {}, profiles=measured, storage={"t": storage})
        self.assertEqual(both["storage"], {**storage, "ids": 2, "hitShares": [0.75, 1.0]})
        self.assertEqual(publish.table(self.CONFIG, {}, profiles=measured)["storage"], measured["t"]["storage"])
        with self.assertRaisesRegex(ValueError, "The storage in the profile of table t must have the fields ids, "):
            publish.table(self.CONFIG, {}, profiles={"t": {"poolingFactor": 1.0, "storage": {"slots": 2}}})
        change = publish.workload_change("w", [self.CONFIG], {"t": 1}, self.CLUSTER, storage={"t": storage})
        self.assertEqual(change["changes"][1]["table"], spec)
        for wrong, message in (
            ({"t": {"eviction": "LRU"}}, "The storage of table t: eviction must be one of none, lru, lfu, age, got str"),
            ({"t": {"resizeReason": "x"}}, "must have the fields ids, .*, hitShares, got resizeReason"),
            ({"t": 5}, "The storage of table t must be an object with fields of a HashedStorage, got int 5"),
            ({"x": {}}, "storage must be of tables in configs; x are not"),
            ([], "storage must be an object with a HashedStorage by table, got list"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, message):
                publish.workload_change("w", [self.CONFIG], {"t": 1}, self.CLUSTER, storage=wrong)

    def test_compute_kernels_that_leave_the_planner_its_choice_name_none(self):
        for allowed, expected in (
            (["fused"], "fused"),
            (["dense"], "dense"),
            (["fused_uvm", "key_value"], "fused_uvm"),
            (["fused_uvm_caching", "fused", "dense"], None),
            (["dense", "fused", "fused_uvm", "fused_uvm_caching", "quant"], None),
        ):
            constraints = types.SimpleNamespace(compute_kernels=allowed)
            spec = publish.table(self.CONFIG, {"t": 1}, kernels={"t": constraints})
            self.assertEqual(spec.get("kernel", {}).get("computeKernel"), expected)

    def test_what_plans_have_no_field_for_is_named(self):
        def constraints(**fields):
            return types.SimpleNamespace(**{"compute_kernels": None, **fields})

        for kernel, message in (
            ({"computeKernel": "key_value"}, "table t: computeKernel must be one of dense, .*, got str 'key_value'"),
            ({"cacheAlgorithm": "MRU"}, "cacheAlgorithm must be one of LRU, LFU, got str 'MRU'"),
            ({"outputType": "FP8"}, "outputType must be one of FP32, FP16, BF16, INT8, got str 'FP8'"),
            ({"deduplicated": "yes"}, "deduplicated must be one of True, False, got str 'yes'"),
            ({"stochasticRounding": 1}, "stochasticRounding must be one of True, False, got int 1"),
            ({"output_dtype": "FP16"}, "must have the fields computeKernel, .*, enforceHbm, deduplicated, got output_dtype"),
            ("fused", "The kernel of table t must be an object with fields of a TableKernel, or .*, got str 'fused'"),
            (constraints(compute_kernels=["key_value"]), "must have one of dense, fused, .*, got key_value"),
            (constraints(compute_kernels=["fused", "dense"]), "must be one kernel, or dense, .*; got dense, fused"),
            (constraints(key_value_params=1), "ParameterConstraints of table t have key_value_params; must be None"),
            (
                constraints(cache_params=types.SimpleNamespace(prefetch_pipeline=True)),
                "cache_params has prefetch_pipeline, which plans have no field for; set it in the fused_params",
            ),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                publish.table(self.CONFIG, {"t": 1}, kernels={"t": kernel})
        with self.assertRaisesRegex(ValueError, "kernels must be of tables in configs; u are not"):
            publish.workload_change("w", [self.CONFIG], {"t": 1}, self.CLUSTER, kernels={"u": {}})

    def test_bytes_of_each_optimizer(self):
        config = {"name": "t", "num_embeddings": 10, "embedding_dim": 16}
        found = {}
        for name in publish.OPTIMIZERS:
            spec = publish.table(config, {"t": 1}, name)
            self.assertEqual(spec["bytesPerElement"], 4)
            self.assertEqual(spec["optimizer"], name)
            self.assertNotIn("optimizerBytesPerElement", spec)
            # Rows of 8 bits have a scale and a bias of 8 bytes, which is not the optimizer's.
            spec = publish.table({**config, "data_type": "INT8"}, {"t": 1}, name)
            found[name] = (spec["optimizerBytesPerElement"], spec["optimizerBytesPerRow"] - 8)
        self.assertNotIn("optimizer", publish.table(config, {"t": 1}))
        self.assertEqual(
            found,
            {
                "sgd": (0, 0),
                "rowwise_adagrad": (0, 4),
                "adagrad": (4, 0),
                "adam": (8, 0),
                "partial_rowwise_adam": (4, 4),
                "lamb": (8, 0),
            },
        )

    def test_a_profile_is_of_its_table(self):
        configs = [{"name": n, "num_embeddings": 5, "embedding_dim": 4} for n in "ab"]
        use = {"rows": 5, "poolingFactor": 1.5, "accessCdf": [0.75, 1, 1], "reuseHistogram": []}
        use["distinctShare"] = [{"samples": 64, "share": 0.5}]
        use["rowSpread"] = [{"order": "contiguous", "shares": [0.75, 0.25]}]
        # TorchRec cuts rows into contiguous blocks only.
        others = [{"order": order, "shares": [0.5, 0.5]} for order in ("round_robin", "hashed")]
        profile = {**use, "rowSpread": [others[0], *use["rowSpread"], others[1]]}
        change = publish.workload_change("w", configs, {"a": 1}, self.CLUSTER, profiles={"b": profile})
        first, second = (c["table"] for c in change["changes"][1:])
        self.assertEqual((first["poolingFactor"], "accessCdf" in first), (1, False))
        self.assertEqual({name: second[name] for name in use}, use)
        with self.assertRaisesRegex(ValueError, "profiles must be of tables in configs; b, c are not"):
            publish.workload_change("w", configs[:1], {"a": 1}, self.CLUSTER, profiles={"b": use, "c": use})
        with self.assertRaisesRegex(ValueError, "The profile of table b is of 6 rows; must be 5"):
            publish.table(configs[1], {}, profiles={"b": {**use, "rows": 6}})
        self.assertNotIn("rowSpread", publish.table(configs[1], {}, profiles={"b": {**use, "rowSpread": others}}))

    def test_a_missing_field_is_named(self):
        for config, problem in (
            ({"name": "t", "num_embeddings": 1}, "needs embedding_dim"),
            (
                {"name": "t", "num_embeddings": 1, "embedding_dim": 4, "feature_names": ["f"]},
                "feature of table t; f have none",
            ),
            (
                {"name": "t", "num_embeddings": 1, "embedding_dim": 4, "data_type": "FP31"},
                "must be one of FP32, .*, got FP31",
            ),
        ):
            with self.assertRaisesRegex(ValueError, problem):
                publish.table(config, {"t": 1}, "sgd")
        with self.assertRaisesRegex(ValueError, "optimizer must be one of sgd, .*, got sdg"):
            publish.table({"name": "t", "num_embeddings": 1, "embedding_dim": 4}, {"t": 1}, "sdg")

    def test_rows_have_the_bytes_that_fbgemm_gives_them(self):
        config = {"name": "t", "num_embeddings": 10, "embedding_dim": 16}
        found = {}
        for data_type in ("FP32", "FP16", "BF16", "NFP8", "INT8", "UINT8", "INT4", "INT2"):
            spec = publish.table({**config, "data_type": data_type}, {"t": 1}, "rowwise_adagrad")
            found[data_type] = 16 * spec["bytesPerElement"] + spec.get("optimizerBytesPerRow", 4) - 4
        # INT8: fbgemm_gpu's INT8_EMB_ROW_DIM_OFFSET; INT4 and INT2: its unpadded_row_size_in_bytes.
        rows = {"FP32": 64, "FP16": 32, "BF16": 32, "NFP8": 16, "INT8": 24, "UINT8": 24, "INT4": 12, "INT2": 8}
        self.assertEqual(found, rows)
        for data_type in ("FP8", "FP64", "INT32", "INT64", "float16", 5, ["FP32"]):
            with self.assertRaisesRegex(ValueError, "data_type of table t must be one of FP32, FP16, BF16, NFP8, INT8,"):
                publish.table({**config, "data_type": data_type}, {"t": 1})

    def test_tables_of_an_embedding_collection_are_not_pooled(self):
        fields = {"name": "t", "num_embeddings": 10, "embedding_dim": 16}
        pooling = enum.Enum("PoolingType", {"SUM": "SUM", "MEAN": "MEAN", "NONE": "NONE"})
        # As torchrec.modules.embedding_configs has them.
        base = dataclasses.make_dataclass(
            "BaseEmbeddingConfig", ["num_embeddings", "embedding_dim", ("name", str, ""), ("need_pos", bool, False)]
        )
        unpooled = dataclasses.make_dataclass("EmbeddingConfig", [], bases=(base,))
        pooled = dataclasses.make_dataclass("EmbeddingBagConfig", [("pooling", pooling, pooling.SUM)], bases=(base,))
        for config, expected in (
            (fields, True),
            (types.SimpleNamespace(**fields), True),
            (unpooled(**fields), False),
            (dataclasses.asdict(unpooled(**fields)), False),
            (pooled(**fields), True),
            (pooled(**fields, pooling=pooling.MEAN), True),
            (pooled(**fields, pooling=pooling.NONE), False),
            (dataclasses.asdict(pooled(**fields)), True),
            ({**fields, "pooling": "NONE"}, False),
            ({**fields, "pooling": "MEAN"}, True),
        ):
            found = publish.table(config, {"t": 1})
            self.assertEqual(found.get("pooled", True), expected, config)
            is_mean = "MEAN" in str(config)
            self.assertEqual("constraints" in found, is_mean or not expected, config)
        for wrong in ("AVG", None, 1):
            with self.assertRaisesRegex(ValueError, "pooling of table t must be one of SUM, MEAN, NONE, got "):
                publish.table({**fields, "pooling": wrong}, {"t": 1})

    def test_mean_tables_have_the_kinds_that_torchrec_computes_right(self):
        config = {"name": "t", "num_embeddings": 10, "embedding_dim": 16, "pooling": "MEAN"}
        self.assertEqual(publish.table(config, {"t": 1})["constraints"], {"kinds": list(pooling.MEAN_KINDS)})
        limits = {"t": {"kinds": ["row_wise", "data_parallel", "column_wise"], "leastColumns": 8}}
        expected = {"kinds": ["column_wise", "data_parallel"], "leastColumns": 8}
        self.assertEqual(publish.table(config, {"t": 1}, constraints=limits)["constraints"], expected)
        change = publish.workload_change("w", [config], {"t": 1}, self.CLUSTER, constraints=limits)
        self.assertEqual(change["changes"][1]["table"]["constraints"], expected)
        config["pooling"] = "SUM"
        self.assertEqual(publish.table(config, {"t": 1}, constraints=limits)["constraints"], limits["t"])
        self.assertNotIn("constraints", publish.table(config, {"t": 1}))
        config["pooling"] = "MEAN"
        for kinds, message in (
            (["row_wise", "grid_shard"], "kinds of table t, which has MEAN pooling, must include one of table_wise, "),
            ("row_wise", "kinds of table t must be a list of kinds of shards, got str 'row_wise'"),
            (None, "kinds of table t must be a list of kinds of shards, got None"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                publish.table(config, {"t": 1}, constraints={"t": {"kinds": kinds}})
        with self.assertRaisesRegex(ValueError, "constraints must be of tables in configs; u are not"):
            publish.workload_change("w", [config], {"t": 1}, self.CLUSTER, constraints={"u": {}})

    def test_optimizers_have_the_names_of_fbgemm_and_pytorch(self):
        config = {"name": "t", "num_embeddings": 10, "embedding_dim": 16}
        members = enum.Enum("EmbOptimType", {"EXACT_ROWWISE_ADAGRAD": "exact_row_wise_adagrad", "ADAM": "adam"})
        adagrad = type("Adagrad", (), {})
        for name, expected in (
            ("rowwise_adagrad", "rowwise_adagrad"),
            ("EXACT_ROWWISE_ADAGRAD", "rowwise_adagrad"),
            ("exact_row_wise_adagrad", "rowwise_adagrad"),
            ("ROWWISE_ADAGRAD", "rowwise_adagrad"),
            ("RowWiseAdagrad", "rowwise_adagrad"),
            (members.EXACT_ROWWISE_ADAGRAD, "rowwise_adagrad"),
            (members.ADAM, "adam"),
            ("EXACT_SGD", "sgd"),
            ("SGD", "sgd"),
            ("exact_adagrad", "adagrad"),
            (adagrad, "adagrad"),
            ("partial_row_wise_adam", "partial_rowwise_adam"),
            ("LAMB", "lamb"),
        ):
            with self.subTest(name):
                self.assertEqual(publish.table(config, {"t": 1}, name)["optimizer"], expected)
        message = "optimizer must be one of sgd, .*, or FBGEMM's name"
        for wrong in ("PARTIAL_ROWWISE_LAMB", "shampoo", "none", "", 5, object):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, message):
                optimizers.optimizer_name(wrong)

    def test_a_table_twice_is_refused_with_both(self):
        first = {"name": "t", "num_embeddings": 1_000_000, "embedding_dim": 64, "feature_names": ["f"]}
        second = {"name": "t", "num_embeddings": 50, "embedding_dim": 8, "feature_names": ["g"]}
        lookups = {"f": 1, "g": 2}
        with self.assertRaisesRegex(
            ValueError,
            "different names, got table t at positions 0 and 1: they differ in rows 1000000 and 50, columns 64 and 8,"
            " poolingFactor 1.0 and 2.0. Maybe rename one",
        ):
            publish.workload_change("w", [first, second], lookups, self.CLUSTER)
        with self.assertRaisesRegex(ValueError, "got table t at positions 0 and 1: they are equal"):
            publish.workload_change("w", [first, first], lookups, self.CLUSTER)
        with self.assertRaisesRegex(ValueError, r'change of table "t", got changes\[1\] and changes\[2\]: one sets it'):
            publish.workload_change("w", [first], lookups, self.CLUSTER, drop=["t"])
        for changes, message in (
            ([{"cluster": {"devices": 2}}, {"cluster": {"devices": 4}}], "the cluster, .*: they differ in devices 2 and 4"),
            ([{"name": "t"}, {"table": {"name": "t"}}], 'table "t", .*: one sets it, the other drops it'),
            ([{"name": "t"}, {"name": "u"}, {"name": "t"}], r"changes\[0\] and changes\[2\]: both drop it"),
            ([{"name": "t"}, events.table_resized("t", 9)], "one resizes it, the other drops it"),
            ([events.table_resized("t", 9), {"table": {"name": "t"}}], "one sets it, the other resizes it"),
            ([events.table_resized("t", 9), events.table_resized("t", 8)], "they differ in rows 9 and 8"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                events.workload_change("w", changes, "test")
            with self.assertRaisesRegex(ValueError, message):
                events.check_distinct({"changes": changes})

    def test_arguments_of_another_type_are_named(self):
        configs = [{"name": "t", "num_embeddings": 1, "embedding_dim": 4}]
        for arguments, message in (
            ({"drop": "old"}, "drop must be a list of names of tables, got str 'old'"),
            ({"drop": ["old", 5]}, "drop must be a list of names of tables, got int 5 at position 1"),
            ({"configs": "t"}, "configs must be a list of EmbeddingBagConfigs, got str 't'"),
            ({"configs": configs[0]}, "configs must be a list of EmbeddingBagConfigs, got dict {"),
            ({"configs": [5]}, "config must be an EmbeddingBagConfig, or an object with its fields, got int 5"),
            ({"configs": [{**configs[0], "feature_names": "t"}]}, "feature_names of table t must be a list of names, got str"),
            ({"lookups": [1]}, r"lookups must be an object with a number for each feature, got list \[1\]"),
            ({"lookups": {"t": "1"}}, "lookups of feature t must be a number, got str '1'"),
            ({"lookups": {"t": True}}, "lookups of feature t must be a number, got bool True"),
            ({"lookups": {"t": float("nan")}}, "lookups of feature t must be a number, got float nan"),
            ({"profiles": [1]}, "profiles must be an object with a profile for each table, got list"),
            ({"profiles": {"t": 5}}, "The profile of table t must be an object with fields of a TableSpec, got int 5"),
            ({"optimizer": 1}, "optimizer must be one of sgd, .*, got"),
        ):
            given = {"configs": configs, "lookups": {"t": 1}, **arguments}
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                publish.workload_change("w", cluster=self.CLUSTER, **given)
        with self.assertRaisesRegex(ValueError, "changes must be a list of dicts, got dict"):
            events.workload_change("w", {"name": "t"}, "test")

    def test_files_that_hold_something_else_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.json"
            for content, message in (
                (b'{"name": "t"}', "a.json must be a list of EmbeddingBagConfigs, got dict"),
                (b"[5]", "a.json: the one at position 0 must be an object with fields of .*, got int 5"),
                (b"[{}]", "a.json: name must be a str, got None at position 0"),
                (b"[", "a.json must be JSON: Expecting value: line 1 column 2"),
                (b'[{"name": "t", "name": "u"}]', "a.json: names of an object must be different, got 'name' twice"),
                (b'[\n{"name":\n"caf\xe9"}]', "a.json, line 3: must be UTF-8, got byte 0xe9"),
            ):
                path.write_bytes(content)
                with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                    publish._configs(str(path))
            path.write_bytes(b"[]")
            said = refused("--configs", path, "--lookups", path)
            self.assertRegex(said, r"--lookups: .*a.json must be an object with the mean number .*, got list \[\]")

    def test_a_collection_is_one_event(self):
        configs = [{"name": n, "num_embeddings": 1, "embedding_dim": 4} for n in "ab"]
        change = publish.workload_change("w", configs, {"a": 1, "b": 2}, self.CLUSTER, drop=["c"])
        self.assertEqual(change["workloadId"], "w")
        self.assertEqual([list(c) for c in change["changes"]], [["cluster"], ["table"], ["table"], ["name"]])

    def test_a_workload_is_an_event_or_a_line_of_a_file(self):
        configs = [{"name": n, "num_embeddings": 1, "embedding_dim": 4} for n in "ab"]
        built = torchrec.Workload("w").cluster({"devices": 2}, global_batch_size=64, hardware="h200")
        cluster = {"devices": 2, "batchSize": 64, "hardware": "h200"}
        for config in configs:
            built.tables([config], {"a": 1, "b": 2}, "sgd")
        with self.assertWarnsRegex(DeprecationWarning, "workload_change ends with the next version"):
            old = publish.workload_change("w", configs, {"a": 1, "b": 2}, cluster, "sgd", drop=["c"])
        self.assertEqual(built.line(), {"task": "w", "cluster": cluster, "tables": built.specs})
        change = built.drop(["c"]).change("us")
        self.assertEqual((change["changes"], change["source"]), (old["changes"], "us"))
        with self.assertRaisesRegex(ValueError, "different names, got table a at positions 0 and 2: they are equal"):
            built.tables(configs[:1], {"a": 1}, "sgd")

    def test_an_event_has_a_limit(self):
        configs = [{"name": str(n), "num_embeddings": 1, "embedding_dim": 4} for n in range(10_000)]
        lookups = {str(n): 1 for n in range(10_000)}
        with self.assertRaisesRegex(ValueError, "at most 10000 changes, got 10001"):
            publish.workload_change("w", configs, lookups, self.CLUSTER)


@unittest.skipUnless(TORCH, "torch is not installed")
class Torch(unittest.TestCase):
    def test_every_sharding_is_a_sharding_spec_of_the_whole_table(self):
        import torch

        try:
            from torch.distributed._shard.sharded_tensor.metadata import TensorProperties
        except ValueError as e:
            # torch 1.13, as Debian 12 has it, with Python 3.11.
            self.skipTest(f"This torch has no sharding specs for this Python: {e}")

        for case in accepted():
            description = describe(case, case["shards"], case["world_size"])
            for tables in description["plan"].values():
                for sharding in tables.values():
                    if sharding["sharding_type"] == "data_parallel":
                        continue
                    with self.subTest(case["rule"]):
                        # Checks that shards cover the tensor and do not overlap.
                        spec = torchrec.conversions.to_sharding_spec(sharding)
                        size = [
                            max(s["shard_offsets"][i] + s["shard_sizes"][i] for s in sharding["shards"]) for i in (0, 1)
                        ]
                        metadata = spec.build_metadata(torch.Size(size), TensorProperties())
                        self.assertEqual([s.placement.rank() for s in metadata.shards_metadata], sharding["ranks"])

    def test_state_of_rows_is_the_mean_of_what_a_shard_has_of_each_old_one(self):
        import torch
        from shardtide.torchrec import optimizer_state

        def shards(*widths):
            ends = [0, *itertools.accumulate(widths)]
            return [{"shard_offsets": [0, o], "shard_sizes": [2, w]} for o, w in zip(ends, widths)]

        old, new = shards(4, 12), shards(8, 4, 4)
        states = [torch.tensor([1.0, 5.0]), torch.tensor([9.0, 13.0])]
        found = [torch.zeros(2) for _ in new]
        for part in optimizer_state.common_columns(old, new):
            optimizer_state.add_part(part, states[part.old], found[part.new], new[part.new])
        self.assertEqual([state.tolist() for state in found], [[5, 9], [9, 13], [9, 13]])


@unittest.skipUnless(TORCHREC, "torchrec is not installed")
class TorchRec(unittest.TestCase):
    def test_kernels_of_all_combinations_go_to_torchrec_and_back(self):
        from torchrec.distributed.types import CacheAlgorithm, CacheParams
        from torchrec.types import DataType

        flags = (None, False, True)
        combinations = itertools.product(
            ("dense", "fused", "fused_uvm", "fused_uvm_caching"),
            (None, "LRU", "LFU"),
            (None, "FP32", "FP16", "BF16", "INT8"),
            flags,
            (False, True),
        )
        for number, (kernel, algorithm, output, rounding, enforce) in enumerate(combinations):
            share = {"fused_uvm": 0.0, "fused_uvm_caching": (number + 1) / 400}.get(kernel)
            decided = {
                "computeKernel": kernel,
                "cacheAlgorithm": algorithm,
                "outputType": output,
                "stochasticRounding": rounding,
                "enforceHbm": enforce,
            }
            shard = ["a", "TABLE_WISE", 0, 8, 0, 10, 0, share]
            description = describe({"kernels": {"a": decided}, "modules": "m"}, [shard], 1)
            plan = torchrec.conversions.to_sharding_plan(description)
            made = plan.plan["m"]["a"]
            self.assertEqual(made.compute_kernel, kernel)
            self.assertEqual(made.output_dtype, output and DataType[output])
            self.assertEqual(made.stochastic_rounding, rounding)
            self.assertEqual(made.enforce_hbm, enforce or None)
            params = CacheParams(algorithm=algorithm and CacheAlgorithm[algorithm], load_factor=share)
            self.assertEqual(made.cache_params, params if share else None)
            self.assertEqual(torchrec.conversions.from_sharding_plan(plan, 1), without_sizes(description))

    def test_parameter_constraints_are_published(self):
        from torchrec.distributed.planner.types import ParameterConstraints
        from torchrec.distributed.types import CacheAlgorithm, CacheParams
        from torchrec.types import DataType

        constraints = ParameterConstraints(
            compute_kernels=["fused_uvm_caching"],
            cache_params=CacheParams(algorithm=CacheAlgorithm.LFU, load_factor=0.25),
            enforce_hbm=True,
            stochastic_rounding=False,
            output_dtype=DataType.FP16,
        )
        config = WorkloadChanges.CONFIG
        spec = publish.table(config, {"t": 1}, kernels={"t": constraints})
        self.assertEqual(
            spec["kernel"],
            {
                "computeKernel": "fused_uvm_caching",
                "cacheLoadFactor": 0.25,
                "cacheAlgorithm": "LFU",
                "outputType": "FP16",
                "stochasticRounding": False,
            },
        )
        self.assertTrue(spec["enforceHbm"])
        plain = publish.table(config, {"t": 1}, kernels={"t": ParameterConstraints()})
        self.assertEqual(plain, publish.table(config, {"t": 1}))

    def test_a_plan_is_made_of_every_description(self):
        for case in accepted():
            with self.subTest(case["rule"]):
                description = describe(case, case["shards"], case["world_size"])
                plan = torchrec.conversions.to_sharding_plan(description)
                self.assertEqual(list(plan.plan), list(description["plan"]))
                for module, tables in description["plan"].items():
                    for name, sharding in tables.items():
                        made = plan.plan[module][name]
                        self.assertEqual(made.sharding_type, sharding["sharding_type"])
                        self.assertEqual(made.compute_kernel, sharding["compute_kernel"])
                        self.assertEqual(made.ranks, sharding["ranks"])
                        self.assertEqual(getattr(made.output_dtype, "name", None), sharding.get("output_dtype"))
                        if "shards" not in sharding:
                            self.assertIsNone(made.sharding_spec)
                dumped = torchrec.conversions.from_sharding_plan(plan, case["world_size"])
                self.assertEqual(dumped, without_sizes(description))


if __name__ == "__main__":
    unittest.main()
