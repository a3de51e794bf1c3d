"""EmbeddingCollections beside EmbeddingBagCollections: real TorchRec on processes with gloo."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import sequence_models as models
from sequence_models import Table

from shardtide import torchrec
from shardtide.torchrec import publish

# The tables of NVIDIA's HSTU benchmark, with fewer rows, beside pooled ones. FBGEMM's dense kernel pools on CPUs, which
# makes no difference for the only data-parallel table of a collection if a sample has one lookup.
HSTU = [
    Table("item", 40, 16, "sequences", lookups=5),
    Table("user_id", 37, 16, "sequences", lookups=1),
    Table("action", 12, 16, "sequences", ("action", "shown_action"), lookups=5),
    Table("user_age", 10, 16, "sequences", lookups=1),
    Table("item_category_l1", 5, 16, "sequences", lookups=3),
    Table("clicks", 21, 8, "sparse.sequences", lookups=4),
    Table("ad", 30, 16, "sparse.bags"),
    Table("site", 13, 8, "sparse.bags"),
    Table("weighted", 11, 8, "sparse.weighted"),
]
PER_NODE = 2


def placed(*kinds):
    return [(table, kind, i) for i, (table, kind) in enumerate(zip(HSTU, kinds))]


PLANS = {
    "each kind of a sequence": placed(
        "row_wise", "column_wise", "table_wise", "data_parallel", "column_wise", "row_wise", "table_row_wise",
        "grid_shard", "table_wise",
    ),  # fmt: skip
    "other kinds": placed(
        "column_wise", "data_parallel", "row_wise", "table_wise", "table_wise", "column_wise", "data_parallel",
        "column_wise", "table_column_wise",
    ),  # fmt: skip
    "without copied sequences": placed(
        "row_wise", "column_wise", "table_wise", "row_wise", "column_wise", "row_wise", "table_row_wise",
        "grid_shard", "table_wise",
    ),  # fmt: skip
    "sequences of other kinds": placed(
        "column_wise", "column_wise", "table_wise", "row_wise", "column_wise", "table_wise", "table_row_wise",
        "grid_shard", "table_wise",
    ),  # fmt: skip
    "pooled tables elsewhere": placed(
        "row_wise", "column_wise", "table_wise", "row_wise", "column_wise", "row_wise", "table_row_wise",
        "grid_shard", "column_wise",
    ),  # fmt: skip
}


def record(name, ranks):
    return models.plan(PLANS[name], ranks, PER_NODE)


def trains_as_unsharded(names, optimizer):
    """Each plan trains as the unsharded model does: outputs, indices and weights."""
    for name in names:
        unsharded = models.Unsharded(HSTU, optimizer, need_indices=True)
        plan = record(name, models.dist.get_world_size())
        description = torchrec.descriptions.describe(plan, torchrec.modules.table_modules(models.Net(HSTU)), PER_NODE, device="cpu")
        model = models.sharded(HSTU, description, optimizer, need_indices=True)
        dense = models.DENSE[optimizer](list(models.dense_parameters(model).values()))
        share = models.SAMPLES // models.dist.get_world_size()
        first = models.dist.get_rank() * share
        for step in range(3):
            expected = unsharded.net(models.Batch(HSTU, step, first, first + share))[1]
            outputs = models.train_step(model, dense, HSTU, step)
            assert sorted(outputs) == sorted(expected)
            assert any(name.endswith("indices") for name in outputs)
            for output, values in outputs.items():
                models.torch.testing.assert_close(values, expected[output], rtol=1e-5, atol=1e-5, msg=output)
            unsharded.step(step)
            models.check_weights(model, unsharded)
        assert torchrec.conversions.running_description(model)["plan"] == description["plan"]


def reshards_pooled_tables_only(running, pooled, sequences):
    """Pooled tables move beside sequences that stay; a plan that changes sequences is refused, and nothing moves."""
    unsharded = models.Unsharded(HSTU, "adagrad")
    ranks = models.dist.get_world_size()
    description = torchrec.modules.describe_for(
        models.Net(HSTU), record(running, ranks), devices_per_node=PER_NODE, device="cpu"
    )
    model = models.sharded(HSTU, description, "adagrad")
    dense = models.DENSE["adagrad"](list(models.dense_parameters(model).values()))
    resharder = torchrec.TorchRecResharder(model, PER_NODE)
    models.train_step(model, dense, HSTU, 0)
    unsharded.step(0)
    try:
        resharder.prepare(record(sequences, ranks))
        raise AssertionError("must be refused")
    except torchrec.changes.NotReshardable as e:
        refused = e.problems
    local_sends()
    prepared = resharder.prepare(record(pooled, ranks))
    changed = {path: sorted(tables) for path, tables in prepared.changes["plan"].items()}
    resharder.apply(prepared)
    models.check_weights(model, unsharded)
    models.train_step(model, dense, HSTU, 1)
    unsharded.step(1)
    models.check_weights(model, unsharded)
    return changed, refused


def local_sends():
    """Lets a rank send to itself and wait for all operations at once, as NCCL does and gloo does not."""
    dist = models.dist
    batch = dist.batch_isend_irecv

    def send(operations):
        own = [o for o in operations if o.peer == dist.get_rank()]
        for source, target in zip(
            [o for o in own if o.op is dist.isend], [o for o in own if o.op is dist.irecv], strict=True
        ):
            target.tensor.copy_(source.tensor.view(target.tensor.shape))
        others = [o for o in operations if o.peer != dist.get_rank()]
        for operation in others:
            # NCCL matches what two ranks send to each other in its order.
            operation.tag = 0
        return [All(batch(others) if others else [])]

    class All:
        def __init__(self, works):
            self.works = works

        def wait(self):
            while self.works:
                self.works.pop().wait()

    dist.batch_isend_irecv = send


def refuses_what_torchrec_fails_on():
    """check_model refuses each plan of a sequence that TorchRec fails on, and no other."""
    tables = [Table("t", 10, 16, "sequences"), Table("u", 10, 16, "sequences")]
    for kind in ("table_wise", "column_wise", "table_column_wise", "row_wise", "table_row_wise", "grid_shard"):
        plan = models.plan([(tables[0], kind, 0), (tables[1], "row_wise", 0)], 4, PER_NODE)
        description = torchrec.descriptions.describe(plan, "sequences", PER_NODE, device="cpu")
        problem = error(torchrec.modules.check_model, models.Net(tables), description)
        failure = error(lambda d=description: unchecked(models.Net(tables), d)(models.Batch(tables, 0)))
        if problem is None:
            assert failure is None, (kind, failure)
        else:
            assert problem.startswith(f'Table "t" of EmbeddingCollection "sequences" is {kind}, which Torch'), problem
            assert failure == f"Sharding not supported {kind}", (kind, failure)


def error(function, *arguments):
    """Returns the message of the ValueError that a function raises, if it does."""
    try:
        function(*arguments)
    except ValueError as e:
        return str(e)
    return None


def unchecked(net, description):
    return models.DistributedModelParallel(
        net,
        env=models.ShardingEnv.from_process_group(models.dist.GroupMember.WORLD),
        device=models.torch.device("cpu"),
        plan=torchrec.conversions.to_sharding_plan(description),
        sharders=[models.EmbeddingCollectionSharder()],
    )


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class Sequences(unittest.TestCase):
    def test_sequences_train_as_unsharded(self):
        models.run(trains_as_unsharded, 4, PER_NODE, ["each kind of a sequence", "other kinds"], "adagrad")

    def test_pooled_tables_are_resharded_and_sequences_are_not(self):
        changed, refused = models.run(
            reshards_pooled_tables_only,
            4,
            PER_NODE,
            "without copied sequences",
            "pooled tables elsewhere",
            "sequences of other kinds",
        )
        self.assertEqual(changed, {"sparse.weighted": ["weighted"]})
        self.assertEqual(
            [problem.split(" has other shards in the new plan; ")[0] for problem in refused],
            [
                f'Table "{table}" of EmbeddingCollection "{path}"'
                for table, path in (
                    ("item", "sequences"),
                    ("clicks", "sparse.sequences"),
                )
            ],
        )

    def test_sequences_that_a_plan_leaves_out_are_named(self):
        net = models.Net(HSTU)
        plan = record("without copied sequences", 4)
        description = torchrec.modules.describe_for(net, plan, devices_per_node=PER_NODE)
        del description["plan"]["sequences"]["action"], description["plan"]["sparse.sequences"]
        with self.assertRaises(ValueError) as raised:
            torchrec.modules.check_model(net, description)
        self.assertEqual(
            str(raised.exception),
            'Table "action" of module "sequences" is not in the plan; must be all of the module;'
            ' Table "clicks" of module "sparse.sequences" is not in the plan; must be all of the module',
        )
        plan["shards"] = [shard for shard in plan["shards"] if shard["table"] != "item"]
        with self.assertRaisesRegex(ValueError, 'Table "item" of module "sequences" is not in the plan'):
            torchrec.modules.describe_for(net, plan, devices_per_node=PER_NODE)

    def test_what_an_embedding_collection_cannot_do_is_refused(self):
        models.run(refuses_what_torchrec_fails_on, 4, PER_NODE)

    def test_column_wise_shards_of_several_widths_are_refused(self):
        # FBGEMM has no kernel for unpooled tables of several widths, and TorchRec reads all outputs in one width.
        tables = [Table("t", 10, 16, "sequences"), Table("u", 10, 16, "sequences")]
        plan = models.plan([(table, "column_wise", i) for i, table in enumerate(tables)], 4, PER_NODE)
        torchrec.modules.describe_for(models.Net(tables), plan, devices_per_node=PER_NODE)
        for shard in plan["shards"][2:]:
            shard["columns"], shard["columnOffset"] = (4, 0) if shard["columnOffset"] == 0 else (12, 4)
        with self.assertRaisesRegex(
            ValueError,
            'EmbeddingCollection "sequences" has column_wise shards of 4 columns of table "u" and 8 columns of table'
            ' "t" and 12 columns of table "u"; must be of one width',
        ):
            torchrec.modules.describe_for(models.Net(tables), plan, devices_per_node=PER_NODE)

    def test_copied_sequences_on_cpus_are_refused(self):
        tables = [Table("t", 10, 16, "sequences"), Table("u", 10, 16)]
        plan = models.plan([(table, "data_parallel", 0) for table in tables], 4, PER_NODE)
        net = models.Net(tables)
        torchrec.modules.describe_for(net, plan, devices_per_node=PER_NODE)
        with self.assertRaisesRegex(ValueError, 'Table "t" of an EmbeddingCollection is data_parallel with the ker'):
            torchrec.modules.describe_for(net, plan, devices_per_node=PER_NODE, device="cpu")
        plan = models.plan([(table, "row_wise", 0) for table in tables], 4, PER_NODE)
        torchrec.modules.describe_for(net, plan, devices_per_node=PER_NODE, device="cpu")
        with self.assertRaisesRegex(ValueError, 'Table "t" of an EmbeddingCollection is row_wise with the kernel'):
            torchrec.modules.describe_for(net, plan, devices_per_node=PER_NODE, device="cpu", compute_kernel="dense")

    def test_configs_that_need_row_wise_shards_or_more_are_refused(self):
        for options, kind, message in (
            ({"use_virtual_table": True}, "row_wise", "is a virtual table, which is not supported"),
            ({"enable_embedding_update": True}, "table_wise", "has enable_embedding_update and is table_wise; must"),
            ({"enable_embedding_update": True}, "row_wise", None),
        ):
            table = Table("t", 10, 8, "sequences")
            fields = {"name": "t", "num_embeddings": 10, "embedding_dim": 8, "feature_names": ["f"], **options}
            net = models.nn.Module()
            net.sequences = models.EmbeddingCollection(tables=[models.EmbeddingConfig(**fields)])
            if message is None:
                torchrec.modules.describe_for(net, models.plan([(table, kind, 0)], 4, PER_NODE))
            else:
                with self.assertRaisesRegex(ValueError, f'Table "t" of EmbeddingCollection "sequences" {message}'):
                    torchrec.modules.describe_for(net, models.plan([(table, kind, 0)], 4, PER_NODE))

    def test_a_managed_collision_collection_is_refused(self):
        from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingCollection
        from torchrec.modules.mc_modules import (
            DistanceLFU_EvictionPolicy,
            ManagedCollisionCollection,
            MCHManagedCollisionModule,
        )

        config = models.EmbeddingConfig(name="t", num_embeddings=10, embedding_dim=8, feature_names=["f"])
        managed = MCHManagedCollisionModule(
            zch_size=10,
            device=models.torch.device("cpu"),
            eviction_interval=1,
            eviction_policy=DistanceLFU_EvictionPolicy(),
        )
        net = models.nn.Module()
        net.managed = ManagedCollisionEmbeddingCollection(
            models.EmbeddingCollection(tables=[config]), ManagedCollisionCollection({"t": managed}, [config])
        )
        with self.assertRaisesRegex(ValueError, '"managed" is a ManagedCollisionEmbeddingCollection, which is not'):
            torchrec.modules.table_modules(net)

    def test_tables_of_sequences_are_published_with_what_torchrec_can_do(self):
        fields = {"name": "t", "num_embeddings": 10, "embedding_dim": 20, "feature_names": ["f"]}
        found = publish.table(models.EmbeddingConfig(**fields), {"f": 3.0})
        self.assertFalse(found["pooled"])
        kinds = models.EmbeddingCollectionSharder().sharding_types("cuda")
        self.assertEqual(sorted(found["constraints"].pop("kinds")), sorted(kinds))
        self.assertEqual(found["constraints"], {"leastColumns": 10, "mayHaveHotRows": False})
        writable = models.EmbeddingConfig(**fields, enable_embedding_update=True)
        self.assertEqual(publish.table(writable, {"f": 3.0})["constraints"]["kinds"], ["row_wise"])
        with self.assertRaisesRegex(ValueError, "Table t is a virtual table, which is not supported"):
            publish.table(models.EmbeddingConfig(**fields, use_virtual_table=True), {"f": 3.0})
        self.assertNotIn("constraints", publish.table(models.EmbeddingBagConfig(**fields), {"f": 3.0}))


if __name__ == "__main__":
    unittest.main()
