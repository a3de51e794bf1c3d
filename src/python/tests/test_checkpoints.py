"""Checkpoints of TorchRec models go from any plan to any other with all optimizers' state: real TorchRec with gloo."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import sequence_models as models
from sequence_models import Table

from shardtide import torchrec
from shardtide.torchrec import checkpoint

if not models.MISSING:
    from sequence_models import dist, torch
    from torchrec.optim.keyed import CombinedOptimizer, KeyedOptimizerWrapper

PER_NODE = 2
POOLED = (
    "table_wise", "column_wise", "table_column_wise", "row_wise", "table_row_wise", "grid_shard", "data_parallel",
)  # fmt: skip
UNPOOLED = ("table_wise", "column_wise", "row_wise", "data_parallel")

# One pooled table for each kind, and one unpooled one for each that EmbeddingCollections have, with one lookup of a
# sample: FBGEMM's dense kernel pools on CPUs, which makes no difference for one such table of a collection. Each rank
# has rows: its kernels need some on CPUs.
TABLES = [
    *(Table(f"b{i}", 10 + i, 16) for i in range(len(POOLED))),
    *(Table(f"s{i}", 11 + i, 8, "sequences", lookups=1) for i in range(len(UNPOOLED))),
]


def plan(shift, ranks, pooled=POOLED, unpooled=UNPOOLED):
    """Returns a plan in which each table has the kind that is `shift` later than its first one."""
    placed = []
    for i, table in enumerate(TABLES):
        kinds, first = (unpooled, len(POOLED)) if table.is_unpooled else (pooled, 0)
        placed.append((table, kinds[(i - first + shift) % len(kinds)], i + shift))
    return models.plan(placed, ranks, PER_NODE)


class Trained:
    """A sharded model and the dense optimizer that a program has."""

    def __init__(self, record, optimizer, dense=None):
        description = torchrec.descriptions.describe(
            record, torchrec.modules.table_modules(models.Net(TABLES)), devices_per_node=PER_NODE, device="cpu"
        )
        self.model = models.sharded(TABLES, description, optimizer)
        self.dense = (dense or dense_optimizer)(self.model, optimizer)

    def step(self, step):
        models.train_step(self.model, self.dense, TABLES, step)

    def save(self, folder):
        checkpoint.save(self.model, folder, self.dense)

    def load(self, folder):
        return checkpoint.load(self.model, folder, self.dense)


def dense_optimizer(model, optimizer):
    """Returns TorchRec's combination of one optimizer of data-parallel tables and one of all other dense parameters."""
    parameters = models.dense_parameters(model)
    tables = {name: p for name, p in parameters.items() if not name.startswith("dense")}
    others = {name: p for name, p in parameters.items() if name.startswith("dense")}
    parts = [KeyedOptimizerWrapper(others, lambda p: models.dense_only(optimizer, p))]
    if tables:
        parts.append(KeyedOptimizerWrapper(tables, models.DENSE[optimizer]))
    return CombinedOptimizer(parts)


def one_optimizer(model, optimizer):
    return models.DENSE[optimizer](list(models.dense_parameters(model).values()))


def missing_everywhere(names):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, names)
    return sorted({name for of_rank in found for name in of_rank})


def pairs_of_kinds(folder, optimizer):
    """Saved under one plan, loaded under seven: each table goes from each kind to each."""
    unsharded = models.Unsharded(TABLES, optimizer)
    first = Trained(plan(0, 4), optimizer)
    for step in range(2):
        first.step(step)
        unsharded.step(step)
    first.save(folder)
    unsharded.step(2)
    for shift in range(len(POOLED)):
        loaded = Trained(plan(shift, 4), optimizer)
        assert loaded.load(folder) == [], loaded.load(folder)
        loaded.step(2)
        models.check_weights(loaded.model, unsharded)


def chain(folder, optimizer, number, pooled, unpooled):
    """Loads, but for the first time, trains two steps and saves, beside the unsharded model."""
    unsharded = models.Unsharded(TABLES, optimizer)
    trained = Trained(plan(number, dist.get_world_size(), pooled, unpooled), optimizer)
    if number:
        assert trained.load(folder) == []
    for step in range(2 * number + 2):
        if step >= 2 * number:
            trained.step(step)
        unsharded.step(step)
    models.check_weights(trained.model, unsharded)
    trained.save(folder)


def elements(trained):
    """Returns the states of tables as if each weight had its own number, from all ranks; of copies, that of rank 0."""
    model = trained.model
    running = torchrec.conversions.running_description(model)["plan"]
    fused = {
        name.split(".")[-2]: next(iter(states.values()))
        for name, states in model.fused_optimizer.state_dict()["state"].items()
        if states
    }
    copied = {}
    plain = [o for _, part in trained.dense.optimizers for o in [part._optimizer]]
    for name, parameter in models.dense_parameters(model).items():
        for optimizer in plain:
            if parameter in optimizer.state:
                copied[name.split(".")[-2]] = optimizer.state[parameter]["sum"]
    found = {}
    for path in sorted(running):
        for table, sharding in sorted(running[path].items()):
            whole = torch.zeros(torchrec.modules.table_size(sharding))
            if "shards" in sharding:
                parts = iter(fused[table].local_shards() if table in fused else [])
                for rank, shard in zip(sharding["ranks"], sharding["shards"]):
                    if rank == dist.get_rank():
                        tensor = next(parts).tensor
                        whole[place(shard)] = tensor if tensor.dim() == 2 else tensor.unsqueeze(1)
                dist.all_reduce(whole)
            else:
                whole[:] = copied[table]
            found[table] = whole
    return found


def place(shard):
    (row, column), (rows, columns) = shard["shard_offsets"], shard["shard_sizes"]
    return slice(row, row + rows), slice(column, column + columns)


def means(before, trained, copies_by_row):
    """Returns what states are under a plan: the means of each shard's columns, and of copies of the table's."""
    found = {table: state.clone() for table, state in before.items()}
    for tables in torchrec.conversions.running_description(trained.model)["plan"].values():
        for table, sharding in tables.items():
            whole = {"shard_offsets": [0, 0], "shard_sizes": list(before[table].shape)}
            for shard in sharding.get("shards", [whole] if copies_by_row else []):
                found[table][place(shard)] = before[table][place(shard)].mean(1, keepdim=True)
    return found


def row_wise_pairs(folder, dense_by_row):
    """Row-wise state between each pair of kinds; copies have an optimizer of rows, or one of weights."""

    def dense(model, optimizer):
        return dense_optimizer(model, optimizer if dense_by_row else "adagrad")

    first = Trained(plan(0, 4), "rowwise_adagrad", dense)
    for step in range(2):
        first.step(step)
    before = elements(first)
    assert any((state != state[:, :1]).any() for state in before.values())
    first.save(folder)
    copies = {f"{'embeddings' if t[0] == 's' else 'embedding_bags'}.{t}.weight" for t in ("b6", "s3")}
    for shift in range(len(POOLED)):
        loaded = Trained(plan(shift, 4), "rowwise_adagrad", dense)
        assert loaded.load(folder) == []
        expected = means(before, loaded, dense_by_row)
        for table, state in elements(loaded).items():
            torch.testing.assert_close(state, expected[table], msg=lambda m, t=table: f"state of {t}: {m}")
        for module in torchrec.modules.collections(loaded.model).values():
            for _, optimizer in module.fused_optimizer.optimizers:
                # Adam's correction depends on it. Copies are in no kernel that counts.
                assert optimizer._emb_module.iter.item() == 2 or set(optimizer.params) <= copies, optimizer.params


def names_of_what_is_lost(folder):
    """State without a counterpart is named: of another optimizer, and without the dense one."""
    found = {}

    def momentum(model, _):
        return torch.optim.SGD(list(models.dense_parameters(model).values()), lr=0.1, momentum=0.9)

    kinds = ("table_wise", "data_parallel"), ("row_wise", "data_parallel", "table_wise", "table_wise")
    saved = Trained(plan(0, 2, *kinds), "adagrad", momentum)
    saved.step(0)
    saved.save(folder)
    same = Trained(plan(0, 2, *kinds), "adagrad", momentum)
    assert same.load(folder) == []
    for name, parameter in models.dense_parameters(same.model).items():
        torch.testing.assert_close(
            same.dense.state[parameter]["momentum_buffer"],
            saved.dense.state[models.dense_parameters(saved.model)[name]]["momentum_buffer"],
        )
    other = Trained(plan(1, 2, *kinds), "adagrad", momentum)
    found["momentum"] = missing_everywhere(other.load(folder))
    found["without"] = missing_everywhere(checkpoint.load(other.model, folder))
    return found


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class Checkpoints(unittest.TestCase):
    def run_in_folder(self, function, ranks, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            return models.run(function, ranks, PER_NODE, folder, *arguments)

    def test_each_kind_to_each(self):
        self.run_in_folder(pairs_of_kinds, 4, "adagrad")

    def test_other_numbers_of_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            # Row-wise Adagrad is that of the unsharded model where no columns are cut.
            uncut = ("table_wise", "row_wise", "data_parallel"), ("row_wise", "data_parallel", "table_wise", "row_wise")
            cut = ("row_wise", "column_wise", "data_parallel"), UNPOOLED
            for optimizer, kinds in (("adagrad", cut), ("rowwise_adagrad", uncut)):
                for number, ranks in enumerate((2, 4, 3)):
                    models.run(chain, ranks, PER_NODE, folder, optimizer, number, *kinds)

    def test_row_wise_state_of_each_kind_to_each(self):
        self.run_in_folder(row_wise_pairs, 4, True)

    def test_row_wise_state_beside_copies_with_a_number_for_each_weight(self):
        self.run_in_folder(row_wise_pairs, 4, False)

    def test_state_without_a_counterpart_is_named(self):
        found = self.run_in_folder(names_of_what_is_lost, 2)
        # What was copied has momentum, which fused SGD lacks; what was sharded has Adagrad's sum.
        self.assertEqual(
            found["momentum"],
            [
                "dense_optimizer.sequences.embeddings.s1.weight.SGD.momentum_buffer",
                *(f"dense_optimizer.sparse.bags.embedding_bags.b{i}.weight.SGD.momentum_buffer" for i in (1, 3, 5)),
                *(f"optimizer.sequences.embeddings.s{i}.weight.s{i}.momentum1" for i in range(2)),
                *(f"optimizer.sparse.bags.embedding_bags.b{i}.weight.b{i}.momentum1" for i in range(7)),
            ],
        )
        dense = [f"dense_optimizer.dense.{name}.SGD.momentum_buffer" for name in ("bias", "weight")]
        self.assertEqual(found["without"], sorted(found["momentum"] + dense))


if __name__ == "__main__":
    unittest.main()
