"""Memory that plans predict, against what training under them allocates: TorchRec's own code, with gloo on CPUs.

python -B src/python/tests/test_memory.py draw > workloads.jsonl

draws the workloads of memory/workloads.jsonl again. Their plans are what ./shardtide plan make --format torchrec
--evaluations-per-table 100 wrote of them; PlanTorchRecTest compares what is predicted of them with the file.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "examples/torchrec")]

import step_memory
from allocated import measure_step_memory

FOLDER = ROOT / "src/cli/src/test/resources/torchrec/memory"
PER_NODE = 2
KINDS = ["table_wise", "column_wise", "row_wise"]
KINDS_OF_NODES = [*KINDS, "table_row_wise", "grid_shard"]
PATIENCE = 240
NIGHTLY = os.environ.get("SHARDTIDE_NIGHTLY") == "1"
TORCHREC = all(importlib.util.find_spec(name) for name in ("torch", "torchrec", "fbgemm_gpu"))
TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    import torch


def draw():
    """Returns random workloads: on two devices ten of a pipeline and one of none; of a pipeline four on two nodes."""
    chance = random.Random(20261127)
    workloads = []
    for number in range(15):
        devices, kinds = (2, KINDS) if number < 11 else (4, KINDS_OF_NODES)
        tables = []
        for position in range(chance.randint(4, 8)):
            columns = chance.choice([16, 32, 64, 128])
            # The first three are split or whole, others may be copied.
            kind = chance.choice(kinds if position < 3 else [*kinds, None, "data_parallel"])
            is_copied = kind == "data_parallel"
            rows = chance.randint(200, 2_000) if is_copied else chance.randint(1_000_000, 4_000_000) // columns
            tables.append(
                {
                    "name": f"t{position}",
                    "rows": rows,
                    "columns": columns,
                    "poolingFactor": chance.choice([0.5, 1, 2, 4, 8]),
                    "constraints": {"kinds": [kind] if kind else []},
                }
            )
        cluster = {
            "devices": devices,
            "devicesPerNode": PER_NODE,
            "memoryBytesPerDevice": 2**34,
            "batchSize": devices * chance.choice([128, 256, 512]),
            "hardware": "h200",
            "countsStepMemory": True,
            "pipeline": "none" if number == 10 else "sparse_dist",
            "optimizer": chance.choice(["sgd", "rowwise_adagrad", "adagrad"]),
        }
        workloads.append({"task": f"model {number}", "cluster": cluster, "tables": tables})
    return workloads


def read(name):
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def run(workloads, plans, out, ranks):
    """Runs the command on all ranks, and returns the outputs and the exit statuses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    files = ["--workloads", workloads, "--plans", plans, "--out", out]
    command = [sys.executable, "-B", str(ROOT / "examples/torchrec/step_memory.py"), *files]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src/python"),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(PER_NODE),
    }
    processes = [
        subprocess.Popen(
            command,
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank % PER_NODE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]
    try:
        texts = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return texts, [process.returncode for process in processes]


@unittest.skipUnless(TORCHREC, "torchrec or fbgemm_gpu is not installed")
class Predicted(unittest.TestCase):
    def test_the_workloads_are_those_that_are_drawn(self):
        self.assertEqual(read("workloads.jsonl"), draw())

    def test_training_allocates_what_is_predicted_or_up_to_ten_percent_less(self):
        self.compare(2, 0.1)

    @unittest.skipUnless(NIGHTLY, "takes four processes: SHARDTIDE_NIGHTLY=1 runs it")
    def test_training_on_two_nodes_allocates_what_is_predicted_or_up_to_a_quarter_less(self):
        # Devices with few weights: what the bound counts beside the peak is a larger share.
        self.compare(4, 0.25)

    def compare(self, devices, largest):
        cases = [
            (workload, plan)
            for workload, plan in zip(read("workloads.jsonl"), read("plans.jsonl"))
            if workload["cluster"]["devices"] == devices
        ]
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("workloads", "plans", "measured")]
            for path, lines in zip(files, zip(*cases)):
                path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            texts, statuses = run(*map(str, files), devices)
            self.assertEqual(statuses, [0] * devices, texts)
            measured = [json.loads(line) for line in files[-1].read_text(encoding="utf-8").splitlines()]
        self.assertEqual([line["task"] for line in measured], [workload["task"] for workload, _ in cases])
        for line, (workload, plan) in zip(measured, cases):
            self.assertEqual(line["memory_bytes"], plan["memory_bytes"])
            shares = [predicted / peak - 1 for predicted, peak in zip(line["memory_bytes"], line["peak_bytes"])]
            held = [between / peak for between, peak in zip(line["held_bytes"], line["peak_bytes"])]
            print(
                f"    {line['task']}, {workload['cluster']['pipeline']}: predicted above measured by",
                ", ".join(f"{share:.1%}" for share in shares),
                f"of {min(line['peak_bytes']) / 1e6:.0f} to {max(line['peak_bytes']) / 1e6:.0f} MB,",
                f"of which {1 - max(held):.0%} to {1 - min(held):.0%} only during the step",
                file=sys.stderr,
            )
            with self.subTest(line["task"]):
                self.assertGreaterEqual(min(shares), 0)
                # How much is alive at the same time depends on when collectives end.
                self.assertLess(max(shares), largest)


@unittest.skipUnless(TORCHREC, "torchrec or fbgemm_gpu is not installed")
class Refused(unittest.TestCase):
    """What the command cannot run, found before any rank waits for another."""

    def refusal(self, change_workload=None, change_plan=None):
        workload, plan = read("workloads.jsonl")[0], read("plans.jsonl")[0]
        (change_workload or (lambda _: None))(workload)
        (change_plan or (lambda _: None))(plan)
        with self.assertRaises(ValueError) as raised:
            step_memory.check(workload, plan, ranks=2)
        return str(raised.exception)

    def test_what_it_cannot_train_is_named(self):
        self.assertEqual(
            self.refusal(lambda w: w["cluster"].update(pipeline="fast")),
            'pipeline of workload "model 0" must be one of none, sparse_dist, prefetch, got "fast"',
        )
        self.assertEqual(
            self.refusal(lambda w: w["cluster"].pop("pipeline")),
            'pipeline of workload "model 0" must be one of none, sparse_dist, prefetch, got null',
        )
        self.assertEqual(
            self.refusal(lambda w: w["tables"][1].update(pooled=False)),
            'tables of workload "model 0" must be pooled, got "t1", which is not',
        )
        self.assertEqual(
            self.refusal(lambda w: w["tables"][1].update(bytesPerElement=2)),
            'bytesPerElement of table "t1" of workload "model 0" must be 4, got 2',
        )
        self.assertEqual(
            self.refusal(lambda w: w["tables"][1].update(optimizer="lamb")),
            'tables of workload "model 0" must have one optimizer, got adagrad, lamb',
        )
        self.assertEqual(
            self.refusal(lambda w: w["cluster"].update(optimizer="lion")),
            'optimizer of workload "model 0" must be one of sgd, rowwise_adagrad, adagrad, adam, partial_rowwise_adam, '
            'lamb, got "lion"',
        )

    def test_a_plan_of_other_ranks_or_without_memory_is_named(self):
        self.assertEqual(
            self.refusal(change_plan=lambda p: p.update(world_size=8)),
            'the plan of workload "model 0" must be for the 2 ranks that run, got 8 devices',
        )
        self.assertEqual(
            self.refusal(change_plan=lambda p: (p.pop("memory_bytes"), p.update(reason="The tables need 9 GiB"))),
            'the plan of workload "model 0" must have memory_bytes, got none: The tables need 9 GiB',
        )
        self.assertEqual(
            self.refusal(change_plan=lambda p: p.update(task="other")),
            'the plan of workload "model 0" must be on the same line of its file, got that of "other"',
        )


@unittest.skipUnless(TORCH, "torch is not installed")
class Measured(unittest.TestCase):
    """A model of one process, against bytes computed by hand."""

    ROWS, COLUMNS, SAMPLES = 1_000, 16, 400

    def training(self):
        table = torch.nn.EmbeddingBag(self.ROWS, self.COLUMNS, mode="sum", sparse=False)
        model = torch.nn.ModuleDict({"table": table, "dense": torch.nn.Linear(self.COLUMNS, 1, bias=False)})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            ids = torch.randint(0, self.ROWS, (self.SAMPLES, 2))
            model["dense"](table(ids)).sum().backward()
            optimizer.step()

        return model, step

    def test_the_peak_of_a_step_is_counted_without_dense_parameters(self):
        model, step = self.training()
        # Other tests may have left tensors.
        before = measure_step_memory(step, model, model["table"])
        weights = 4 * self.ROWS * self.COLUMNS
        outputs = 4 * self.SAMPLES * self.COLUMNS
        self.assertGreaterEqual(before.held_bytes, 2 * weights, "weights and their gradient")
        # While outputs have a gradient, that of the weights is computed; before a step, the old one is dropped.
        self.assertGreaterEqual(before.peak_bytes - before.held_bytes, 2 * outputs)
        self.assertLess(before.peak_bytes - before.held_bytes, 2 * outputs + weights)
        kept = [torch.empty(1_000_000)]
        again = measure_step_memory(step, model, [model["table"]])
        self.assertAlmostEqual(again.peak_bytes - before.peak_bytes, 4 * len(kept[0]), delta=20_000)

    def test_bad_arguments_are_named(self):
        model, step = self.training()
        for arguments, message in (
            ({"warmup": 0}, "warmup must be at least 1, got 0"),
            ({"steps": -1}, "steps must be at least 1, got -1"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                measure_step_memory(step, model, model["table"], **arguments)
        with self.assertRaisesRegex(ValueError, "tables must have modules or parameters of the model, got Linear"):
            measure_step_memory(step, model, torch.nn.Linear(1, 1))


if __name__ == "__main__":
    if sys.argv[1:] == ["draw"]:
        sys.stdout.writelines(json.dumps(workload) + "\n" for workload in draw())
    else:
        unittest.main()
