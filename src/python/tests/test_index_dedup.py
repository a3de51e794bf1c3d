"""Ids that TorchRec deduplicates before its all-to-all: real TorchRec on processes with gloo.

FBGEMM 1.6 and 1.9 have the operator for GPUs only. Here it is written with PyTorch's operators, after FBGEMM's kernel.
"""

import collections
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import sequence_models as models
from sequence_models import Table

from shardtide import torchrec

PROGRAM = ROOT / "shardtide"
PER_NODE = 2
# On CPUs, the only data-parallel table of a collection is computed right if a sample has one lookup.
TABLES = [
    Table("item", 40, 16, "sequences", lookups=5),
    Table("action", 12, 16, "sequences", ("action", "shown_action"), lookups=5),
    Table("category", 8, 16, "sequences", lookups=3),
    Table("user", 7, 16, "sequences", lookups=1),
    Table("ad", 30, 16, "sparse.bags"),
]
KINDS = [
    ("table_wise", "column_wise", "row_wise", "data_parallel", "row_wise"),
    ("row_wise", "table_wise", "column_wise", "column_wise", "table_wise"),
    ("row_wise", "row_wise", "table_wise", "table_wise", "row_wise"),
]
# By kind of its shards, how often a table's ids are sent: to each column part's device.
SENT = {"table_wise": 1, "column_wise": 2, "row_wise": 1, "data_parallel": 0}


def jagged_unique_indices(hash_size_cumsum, hash_size_offsets, offsets, indices):
    """Returns lengths, offsets and distinct ids of each table, and where each of the ids is among these.

    A table's features come one after the other. The distinct ids of all of them are spread evenly over their samples.

    hash_size_cumsum: by feature, the rows of the tables before its own; at last those of all
    hash_size_offsets: for each table, at its first feature, the number of features before it, and at the next that of
        features up to its end
    offsets: of each feature's samples in indices
    """
    torch = models.torch
    samples = (len(offsets) - 1) // (len(hash_size_cumsum) - 1)
    ends = offsets[::samples]
    linear = indices + torch.repeat_interleave(hash_size_cumsum[:-1], ends.diff())
    _, reverse = torch.unique(linear, return_inverse=True)
    unique = indices.new_empty(int(reverse.max()) + 1 if len(reverse) else 0)
    unique[reverse] = indices
    lengths = torch.zeros(len(offsets) - 1, dtype=offsets.dtype)
    for first, end in zip(hash_size_offsets[:-1] * samples, hash_size_offsets[1:] * samples):
        own = reverse[offsets[first] : offsets[end]]
        if len(own):
            places = torch.arange(end - first)
            distinct = own.max() - own.min() + 1
            lengths[first:end] = distinct // len(places) + (places < distinct % len(places))
    return lengths, torch.ops.fbgemm.asynchronous_complete_cumsum(lengths), unique, reverse


def described(tables, kinds):
    placed = [(table, kind, i) for i, (table, kind) in enumerate(zip(tables, kinds))]
    plan = models.plan(placed, models.dist.get_world_size(), PER_NODE)
    modules = torchrec.modules.table_modules(models.Net(tables))
    return torchrec.descriptions.describe(plan, modules, PER_NODE, device="cpu")


def begin(tables, description, optimizer, deduplicates=True):
    return models.sharded(tables, description, optimizer, need_indices=True, use_index_dedup=deduplicates)


def trains_as_unsharded(description):
    share = models.SAMPLES // models.dist.get_world_size()
    first = models.dist.get_rank() * share
    kinds = {sharding["sharding_type"] for sharding in torchrec.descriptions.shardings_of(description).values()}
    # Row-wise state is that of a column part, not of the table.
    for optimizer in ("sgd", "adagrad", "rowwise_adagrad")[: 2 if "column_wise" in kinds else 3]:
        unsharded = models.Unsharded(TABLES, optimizer, need_indices=True)
        model = begin(TABLES, description, optimizer)
        copied = models.dense_parameters(model)
        tables = [parameter for name, parameter in copied.items() if not name.startswith("dense")]
        both = Both(
            models.dense_only(optimizer, [parameter for name, parameter in copied.items() if name.startswith("dense")]),
            *([models.DENSE[optimizer](tables)] if tables else []),
        )
        for step in range(3):
            expected = unsharded.net(models.Batch(TABLES, step, first, first + share))[1]
            outputs = models.train_step(model, both, TABLES, step)
            assert sorted(outputs) == sorted(expected)
            for output, values in outputs.items():
                models.torch.testing.assert_close(values, expected[output], rtol=1e-5, atol=1e-5, msg=output)
            unsharded.step(step)
            models.check_weights(model, unsharded)


class Both:
    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def each_kind_trains_as_unsharded():
    for kinds in KINDS:
        trains_as_unsharded(described(TABLES, kinds))


def a_plan_of_the_program_trains_as_unsharded():
    """Returns the deduplicated tables, and the switch of the sharder that the planner was given."""
    sharders = [models.EmbeddingBagCollectionSharder(), models.EmbeddingCollectionSharder()]
    planner = torchrec.ShardtidePlanner(
        torchrec.ProgramSource(PROGRAM),
        "w",
        {"memoryBytesPerDevice": 2**30, "batchSize": 8192, "hardware": "h200"},
        {feature: 200.0 for table in TABLES for feature in models.features_of(table)},
        profiles={"item": {"distinctShare": [{"samples": 4096, "share": 40 / 200 / 4096}]}},
        # On CPUs, TorchRec computes copies of unpooled tables wrong.
        constraints={table.name: {"kinds": ["table_wise", "row_wise"]} for table in TABLES},
        device="cpu",
        timeout_seconds=300,
    )
    planner.collective_plan(models.Net(TABLES), sharders)
    trains_as_unsharded(planner.description)
    return planner.description["deduplicated"], sharders[1]._use_index_dedup


def sends(kinds, deduplicates):
    """Returns what each rank has of a step with ids of a Zipf distribution.

    By feature, the ids that it receives; by table, its own distinct ids, and how many are expected, the sum over rows of
    1 - (1 - p)^n with their probabilities and n lookups; and the numbers of outputs and gradients that it sends.
    """
    torch, dist = models.torch, models.dist
    tables = [table._replace(rows=rows) for table, rows in zip(TABLES, (3000, 500, 1000, 200))]
    samples = 4096 // dist.get_world_size()
    ids, distinct, expected = {}, {}, {}
    for table in tables:
        weights = 1 / torch.arange(1, table.rows + 1) ** 1.05
        generator = models.generator(table.name, dist.get_rank())
        size = table.lookups * samples
        own = {f: torch.multinomial(weights, size, True, generator=generator) for f in models.features_of(table)}
        ids.update(own)
        distinct[table.name] = len(torch.cat(list(own.values())).unique())
        expected[table.name] = float((1 - (1 - weights / weights.sum()) ** (size * len(own))).sum())
    jagged = models.KeyedJaggedTensor(
        keys=list(ids),
        values=torch.cat(list(ids.values())),
        lengths=torch.cat([torch.full((samples,), len(of) // samples) for of in ids.values()]),
    )
    collection = begin(tables, described(tables, kinds), "sgd", deduplicates).module.sequences
    received, sent = collections.Counter(), collections.Counter()

    def compute(context, received_by_kind):
        for features in received_by_kind:
            for feature, count in zip(features.keys(), features.length_per_key()):
                received[feature] += count
        return type(collection).compute_and_output_dist(collection, context, received_by_kind)

    all_to_all = dist.all_to_all_single

    def send(output, input, *arguments, **options):
        sent[input.is_floating_point()] += input.numel()
        return all_to_all(output, input, *arguments, **options)

    with mock.patch.object(collection, "compute_and_output_dist", compute), mock.patch.object(dist, "all_to_all_single", send):
        sum(of.values().sum() for of in collection(jagged).values()).backward()
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, (received, distinct, expected, sent[True]))
    return found


def refused():
    """Returns why a running model cannot go to the same plan with deduplicated ids."""
    description = described(TABLES, KINDS[2])
    model = begin(TABLES, description, "sgd", deduplicates=False)
    wanted = {**description, "deduplicated": ["category"]}
    try:
        torchrec.TorchRecResharder(model, PER_NODE).prepare(wanted)
    except torchrec.changes.NotReshardable as e:
        return e.problems
    return torchrec.TorchRecResharder(begin(TABLES, description, "sgd"), PER_NODE).prepare(wanted).changes["plan"]


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class IndexDedup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = models.torch.library.Library("fbgemm", "IMPL")
        cls.library.impl("jagged_unique_indices", jagged_unique_indices, "CPU")

    def test_deduplicated_tables_train_as_unsharded(self):
        for ranks in (2, 4):
            models.run(each_kind_trains_as_unsharded, ranks, PER_NODE)

    @unittest.skipUnless((ROOT / "target/shardtide.built").exists(), "./shardtide is not built; ./shardtide --version builds it")
    def test_a_plan_whose_ids_repeat_has_them_deduplicated(self):
        found = models.run(a_plan_of_the_program_trains_as_unsharded, 2, PER_NODE, timeout_seconds=300)
        self.assertEqual(found, (["action", "category", "item", "user"], True))

    def test_distinct_ids_are_sent_with_their_outputs_and_gradients(self):
        for ranks in (2, 4):
            for kinds in KINDS:
                received, distinct, expected, numbers = zip(*models.run(sends, ranks, PER_NODE, kinds, True))
                plain = models.run(sends, ranks, PER_NODE, kinds, False)
                outputs = 0
                for table, kind in zip(TABLES[:4], kinds):
                    with self.subTest(ranks=ranks, table=table.name, kind=kind):
                        features = models.features_of(table)
                        own = sum(of[table.name] for of in distinct)
                        copies = SENT[kind] or 1
                        self.assertEqual(sum(of[feature] for of in received for feature in features), copies * own)
                        self.assertAlmostEqual(own / sum(of[table.name] for of in expected), 1, delta=0.02)
                        lookups = 4096 * table.lookups * len(features) * copies
                        self.assertEqual(sum(of[feature] for of, *_ in plain for feature in features), lookups)
                        outputs += 16 * own * bool(SENT[kind])
                self.assertEqual(sum(numbers), 2 * outputs)

    def test_a_running_model_does_not_begin_to_deduplicate(self):
        self.assertEqual(
            models.run(refused, 2, PER_NODE),
            [
                'EmbeddingCollection "sequences" runs without deduplication of ids, which the new plan has; must be'
                " sharded with use_index_dedup, restart from a checkpoint"
            ],
        )


if __name__ == "__main__":
    unittest.main()
