"""Device memory of dense models, against bytes computed by hand: in one process, and in two that shard by FSDP.

test_dense_memory.py CASE FOLDER RANK SIZE runs one rank of a case, and prints what it measured as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.train import DenseMemory, Ranks, dense_memory, measure_dense_memory

TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    import torch
    from torch import nn

PATIENCE = 60
RANK_SECONDS = 30
BATCH = 5
FLOAT = 4
# Weights and biases of mlp().
PARAMETERS = FLOAT * (8 * 16 + 16 + 16 * 6 + 6 + 6 * 4 + 4)
# Inputs of its layers, which its ReLUs save too.
ACTIVATIONS = FLOAT * BATCH * (8 + 16 + 6)
# Adam has two values of each parameter, and a count of steps of each of the 6 tensors.
ADAM = 2 * PARAMETERS + 6 * FLOAT


def cuda():
    return TORCH and torch.cuda.is_available()


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 4))


def training(model, optimizer, samples=BATCH, device="cpu"):
    """Returns a training step."""

    def step():
        optimizer.zero_grad()
        model(torch.ones(samples, 8, device=device)).sum().backward()
        optimizer.step()

    return step


def with_table():
    """Returns a model of a table and an MLP, and its step."""
    model = nn.Sequential(nn.Embedding(1000, 8), mlp())
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        model(torch.arange(BATCH)).sum().backward()
        optimizer.step()

    return model, optimizer, step


def measure_fsdp2(ranks):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = mlp()
    mesh = init_device_mesh("cpu", (ranks.size,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters())
    # The last rank has the largest batch.
    return measure_dense_memory(training(model, optimizer, BATCH + ranks.rank), model, optimizer, ranks=ranks)


def measure_fsdp(ranks):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(
        mlp(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=torch.device("cpu")
    )
    optimizer = torch.optim.Adam(model.parameters())
    return measure_dense_memory(training(model, optimizer), model, optimizer, ranks=ranks)


def main(case, folder, rank, size):
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    print(json.dumps(globals()[case](Ranks(RANK_SECONDS))), flush=True)
    torch.distributed.destroy_process_group()


@unittest.skipUnless(TORCH, "torch is not installed")
class OneProcess(unittest.TestCase):
    def test_an_mlp_with_adam(self):
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        memory = measure_dense_memory(training(model, optimizer), model, optimizer)
        self.assertEqual(memory, DenseMemory(PARAMETERS, PARAMETERS, ADAM, ACTIVATIONS, measured=False))
        self.assertEqual(memory.total_bytes, 4 * PARAMETERS + 6 * FLOAT + ACTIVATIONS)

    def test_optimizers_with_less_state(self):
        model = mlp()
        first = torch.optim.SGD(model[0].parameters(), lr=0.1, momentum=0.9)
        rest = torch.optim.SGD([*model[2].parameters(), *model[4].parameters()], lr=0.1)

        def step():
            training(model, first)()
            rest.step()

        memory = measure_dense_memory(step, model, [first, rest])
        self.assertEqual(memory.optimizer_bytes, FLOAT * (8 * 16 + 16))

    def test_gradients_that_a_step_drops_count(self):
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            training(model, optimizer)()
            optimizer.zero_grad()

        self.assertEqual(measure_dense_memory(step, model, optimizer).gradient_bytes, PARAMETERS)

    def test_the_largest_of_several_steps_and_of_several_passes_of_a_step(self):
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        # The first step does not count, and passes of a step have their activations one after the other.
        sizes = iter([[9], [1, 3, 2], [2, 2]])

        def step():
            for samples in next(sizes):
                training(model, optimizer, samples)()

        memory = measure_dense_memory(step, model, optimizer, steps=3)
        self.assertEqual(memory.other_bytes, FLOAT * 3 * (8 + 16 + 6))

    def test_buffers_and_frozen_parameters(self):
        model = nn.Sequential(nn.BatchNorm1d(8, affine=False), nn.Linear(8, 4), nn.Linear(4, 4))
        model[2].requires_grad_(False)
        optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
        memory = measure_dense_memory(training(model, optimizer), model, optimizer)
        self.assertEqual(memory.parameter_bytes, FLOAT * (8 * 4 + 4 + 4 * 4 + 4))
        self.assertEqual(memory.gradient_bytes, FLOAT * (8 * 4 + 4))
        # The means, variances and the 64-bit count of the batches; the input of the linear layer.
        self.assertEqual(memory.other_bytes, FLOAT * (8 + 8) + 8 + FLOAT * BATCH * 8)

    def test_half_precision(self):
        model = mlp().to(torch.bfloat16)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            model(torch.ones(BATCH, 8, dtype=torch.bfloat16)).sum().backward()
            optimizer.step()

        memory = measure_dense_memory(step, model, optimizer)
        self.assertEqual(memory, DenseMemory(PARAMETERS // 2, PARAMETERS // 2, 0, ACTIVATIONS // 2, measured=False))

    def test_tables_do_not_count(self):
        for name, ignored in (
            ("a module", lambda model: model[0]),
            ("modules", lambda model: [model[0]]),
            ("a parameter", lambda model: model[0].weight),
            ("parameters", lambda model: model[0].parameters()),
        ):
            with self.subTest(name):
                model, optimizer, step = with_table()
                memory = measure_dense_memory(step, model, optimizer, ignore=ignored(model))
                self.assertEqual(memory[:3], (PARAMETERS, PARAMETERS, ADAM))
                # With the ids of the lookups.
                self.assertEqual(memory.other_bytes, ACTIVATIONS + BATCH * 8)

    def test_tables_count_if_they_are_not_ignored(self):
        model, optimizer, step = with_table()
        memory = measure_dense_memory(step, model, optimizer)
        table = FLOAT * 1000 * 8
        self.assertEqual(memory[:3], (PARAMETERS + table, PARAMETERS + table, ADAM + 2 * table + FLOAT))
        self.assertEqual(memory.other_bytes, ACTIVATIONS + BATCH * 8)

    def test_sparse_gradients(self):
        model = nn.Embedding(1000, 8, sparse=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            model(torch.arange(BATCH)).sum().backward()
            optimizer.step()

        memory = measure_dense_memory(step, model, optimizer)
        self.assertEqual(memory.gradient_bytes, BATCH * (8 + FLOAT * 8), "ids and rows")

    def test_on_cuda_the_peak_counts_without_the_tables(self):
        model, optimizer, step = with_table()
        storages = dense_memory.storages
        with (
            mock.patch.multiple(
                torch.cuda, reset_peak_memory_stats=mock.DEFAULT, max_memory_allocated=lambda device: 200_000
            ) as patched,
            mock.patch.object(dense_memory, "storages", lambda values, _: storages(values, "cpu")),
        ):
            memory = measure_dense_memory(step, model, optimizer, ignore=model[0], device="cuda")
        patched["reset_peak_memory_stats"].assert_called_once()
        # The table, Adam's state of it, and its count of steps.
        tables = 3 * FLOAT * 1000 * 8 + FLOAT
        self.assertEqual(memory.total_bytes, 200_000 - tables)
        self.assertEqual(memory[:3], (PARAMETERS, PARAMETERS, ADAM))
        self.assertTrue(memory.measured)

    @unittest.skipUnless(cuda(), "there is no GPU")
    def test_a_gpu(self):
        model = mlp().to("cuda")
        optimizer = torch.optim.Adam(model.parameters())
        memory = measure_dense_memory(training(model, optimizer, device="cuda"), model, optimizer)
        # The allocator rounds up, and Adam's counts of steps are in host memory.
        self.assertGreaterEqual(memory.parameter_bytes, PARAMETERS)
        self.assertGreaterEqual(memory.gradient_bytes, PARAMETERS)
        self.assertGreaterEqual(memory.optimizer_bytes, 2 * PARAMETERS)
        self.assertGreater(memory.other_bytes, 0)
        self.assertTrue(memory.measured)


@unittest.skipUnless(TORCH, "torch is not installed")
class BadInput(unittest.TestCase):
    def setUp(self):
        self.model = mlp()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.step = training(self.model, self.optimizer)

    def fails(self, message, **arguments):
        every = {"step": self.step, "model": self.model, "optimizers": self.optimizer, **arguments}
        with self.assertRaisesRegex(ValueError, message):
            measure_dense_memory(**every)

    def test_too_few_steps(self):
        self.fails("steps must be at least 2, got 1", steps=1)

    def test_parts_of_another_model(self):
        expected = "ignore must have modules or parameters of the model, got {}, which is no part of it"
        self.fails(expected.format("Linear"), ignore=[self.model[0], nn.Linear(8, 16)])
        self.fails(expected.format(r"a tensor of shape \[3, 2\]"), ignore=[torch.ones(3, 2)])
        self.fails(expected.format("str"), ignore=["embeddings"])

    def test_nothing_is_left(self):
        self.fails("model must have parameters that are not ignored, got 6, all ignored", ignore=self.model)

    def test_no_gradients(self):
        expected = "step must compute gradients of the dense parameters, got none for all 6 of them"
        self.fails(expected, step=lambda: self.model(torch.ones(BATCH, 8)))

    def test_a_step_that_fails(self):
        steps = iter([self.step])
        with self.assertRaises(StopIteration):
            measure_dense_memory(lambda: next(steps)(), self.model, self.optimizer)
        self.assertFalse(self.optimizer._optimizer_step_pre_hooks, "no hook is left")


@unittest.skipUnless(TORCH, "torch is not installed")
class TwoProcesses(unittest.TestCase):
    def run_ranks(self, case):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", __file__, case.__name__, folder]
            processes = [
                subprocess.Popen([*command, str(rank), "2"], stdout=subprocess.PIPE, text=True) for rank in range(2)
            ]
            printed = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        return [DenseMemory(*json.loads(text)) for text in printed]

    def assert_sharded(self, found, count, activations):
        """Asserts what two ranks measured with half of all parameters each, in so many tensors."""
        first, second = found
        self.assertEqual(first, second, "the same on both ranks")
        local = PARAMETERS // 2
        self.assertEqual(first[:3], (local, local, 2 * local + count * FLOAT))
        # The parameters that are gathered meanwhile depend on the version of PyTorch.
        self.assertGreaterEqual(first.other_bytes, activations)
        self.assertLess(first.other_bytes, activations + PARAMETERS)

    def test_fully_shard(self):
        try:
            from torch.distributed.fsdp import fully_shard  # noqa: F401
        except ImportError:
            self.skipTest("this PyTorch has no fully_shard")
        self.assert_sharded(self.run_ranks(measure_fsdp2), 6, FLOAT * (BATCH + 1) * (8 + 16 + 6))

    def test_flat_parameters(self):
        # One of each layer.
        self.assert_sharded(self.run_ranks(measure_fsdp), 3, ACTIVATIONS)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in globals():
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        unittest.main()
