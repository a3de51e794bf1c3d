"""Features of a table as they are published: against TorchRec's storage estimator, and wrong input.

What needs torchrec or avro is left out without it.
"""

import inspect
import io
import json
import pathlib
import random
import sys
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/python"))

from shardtide.torchrec import publish
from shardtide.torchrec.workload import Workload

try:
    import avro.io
    import avro.schema

    from shardtide.log.values import with_defaults
except ModuleNotFoundError:
    avro = None

try:
    import numpy as np

    from shardtide.profile import Profiler
except ModuleNotFoundError:
    np = None

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        import torchrec
        from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
        from torchrec.distributed.planner.shard_estimators import calculate_shard_storages
except ImportError:
    torchrec = None

CLUSTER = {"devices": 4, "batchSize": 1024}
ID_BYTES = 8
FLOAT_BYTES = 4


def config(*features, **fields):
    return {"name": "t", "num_embeddings": 100, "embedding_dim": 16, "feature_names": list(features), **fields}


def published(configs, lookups, **more):
    """Returns the TableSpecs of an event by name."""
    change = publish.workload_change("w", configs, lookups, CLUSTER, **more)
    return {c["table"]["name"]: c["table"] for c in change["changes"] if "table" in c}


def outputs(table):
    """Outputs for each sample of the cluster's batch, of a pooled table, as the planner has them."""
    features = table.get("features") or [{}]
    return sum(f.get("batchShare", 1) / f.get("duplicates", 1) for f in features)


class PublishedFeatures(unittest.TestCase):
    def test_each_feature_has_its_own_lookups(self):
        table = publish.table(config("f", "g"), {"f": 20, "g": 2.5})
        self.assertEqual(table["poolingFactor"], 22.5)
        self.assertEqual(
            table["features"], [{"name": "f", "poolingFactor": 20}, {"name": "g", "poolingFactor": 2.5}]
        )

    def test_one_feature_is_described_as_before(self):
        table = publish.table(config("f"), {"f": 20})
        self.assertEqual(
            table, {"name": "t", "rows": 100, "columns": 16, "bytesPerElement": 4, "poolingFactor": 20}
        )
        given = {"batch_sizes": {"f": 1024}, "duplicates": {"f": 1}}
        self.assertEqual(published([config("f")], {"f": 20}, **given)["t"], table)

    def test_batch_sizes_duplicates_and_weights_are_those_of_features(self):
        configs = [config("f", "g"), config("h", name="u"), config("i", name="v")]
        tables = published(
            configs,
            {"f": 20, "g": 4, "h": 1, "i": 2},
            batch_sizes={"g": 512},
            duplicates={"f": 2.5, "h": 4},
            weights={"f": "given", "g": "given", "h": "learned"},
        )
        self.assertEqual(tables["t"]["poolingFactor"], 20 / 2.5 + 4 / 2)
        self.assertEqual(
            tables["t"]["features"],
            [
                {"name": "f", "poolingFactor": 20, "duplicates": 2.5},
                {"name": "g", "poolingFactor": 4, "batchShare": 0.5},
            ],
        )
        self.assertEqual(tables["u"]["features"], [{"name": "h", "poolingFactor": 1, "duplicates": 4}])
        self.assertEqual([t.get("idWeights") for t in tables.values()], ["given", "learned", None])

    @unittest.skipUnless(avro, "avro is not installed")
    def test_the_schema_has_all_of_it(self):
        schema = avro.schema.parse((ROOT / "avro/TableSpec.avsc").read_text(encoding="utf-8"))
        more = {"batch_shares": {"g": 0.5}, "duplicates": {"g": 2}, "weights": {"f": "given", "g": "given"}}
        table = publish.table(config("f", "g"), {"f": 1, "g": 8}, **more)
        out = io.BytesIO()
        avro.io.DatumWriter(schema).write(with_defaults(schema, table), avro.io.BinaryEncoder(out))
        read = avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(out.getvalue())))
        self.assertEqual((read["poolingFactor"], read["idWeights"]), (3, "given"))
        self.assertEqual(
            read["features"],
            [
                {"name": "f", "poolingFactor": 1, "batchShare": 1, "duplicates": 1},
                {"name": "g", "poolingFactor": 8, "batchShare": 0.5, "duplicates": 2},
            ],
        )

    @unittest.skipUnless(np, "numpy is not installed")
    def test_a_profile_tells_features_apart(self):
        profiler = Profiler({"t": 100}, {"f": "t", "g": "t"})
        draw = np.random.default_rng(7)
        profiler.add({"f": draw.integers(0, 100, (50, 3)), "g": draw.integers(0, 100, (50, 1))})
        profiles = {name: use.fields() for name, use in profiler.results().items()}
        table = publish.table(config("f", "g"), {}, profiles=json.loads(json.dumps(profiles)), duplicates={"f": 3})
        self.assertEqual(table["poolingFactor"], 2)
        self.assertEqual(
            table["features"],
            [{"name": "f", "poolingFactor": 3, "duplicates": 3}, {"name": "g", "poolingFactor": 1}],
        )
        with self.assertRaisesRegex(ValueError, "The profile of table t is of features f, g; must be f, h"):
            publish.table(config("f", "h"), {}, profiles=profiles)

    def test_a_profile_of_the_table_alone_is_shared_by_lookups(self):
        profiles = {"t": {"poolingFactor": 12.0}}
        for lookups, expected in (({"f": 1, "g": 3}, [3, 9]), ({}, [6, 6]), ({"f": 0, "g": 0}, [6, 6])):
            table = publish.table(config("f", "g"), lookups, profiles=profiles)
            self.assertEqual([f["poolingFactor"] for f in table["features"]], expected)
            self.assertEqual(table["poolingFactor"], 12)

    def test_wrong_input_is_named(self):
        nan = float("nan")
        for arguments, message in (
            ({"lookups": {"f": 1}}, "lookups must have a number for each feature of table t; g have none"),
            ({"batch_sizes": {"x": 1}}, "batch_sizes must be of features in configs; x are not"),
            ({"duplicates": {"y": 1, "x": 1}}, "duplicates must be of features in configs; x, y are not"),
            ({"weights": {"x": "given"}}, "weights must be of features in configs; x are not"),
            ({"batch_sizes": {"f": 0}}, "batch_sizes of feature f must be a number above 0, got int 0"),
            ({"batch_sizes": {"f": nan}}, "batch_sizes of feature f must be a number above 0, got float nan"),
            ({"batch_sizes": {"f": "8"}}, "batch_sizes of feature f must be a number above 0, got str '8'"),
            ({"batch_sizes": [1]}, "batch_sizes must be an object with samples of each feature, got list"),
            ({"duplicates": {"f": 0.5}}, "duplicates of feature f must be a number of at least 1, got float 0.5"),
            ({"duplicates": {"f": 0}}, "duplicates of feature f must be a number of at least 1, got int 0"),
            ({"duplicates": {"f": nan}}, "duplicates of feature f must be a number of at least 1, got float nan"),
            ({"duplicates": {"f": True}}, "duplicates of feature f must be a number of at least 1, got bool True"),
            ({"weights": {"f": True, "g": True}}, "weights of feature f must be one of given, learned, got bool True"),
            ({"weights": {"f": "given"}}, "weights of the features of table t must be the same.*; got given of f, None of"),
            ({"configs": [config("f", "f")]}, "feature_names of table t must be different, got f twice"),
            (
                {"cluster": {"devices": 2}, "batch_sizes": {"f": 1}},
                "cluster must have a batchSize of at least 1 beside batch_sizes, got None",
            ),
        ):
            given = {"configs": [config("f", "g")], "lookups": {"f": 1, "g": 1}, "cluster": CLUSTER, **arguments}
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                publish.workload_change("w", **given)


@unittest.skipUnless(torchrec, "torchrec is not installed")
class TorchRecsMeaning(unittest.TestCase):
    def test_lookups_and_outputs_are_those_of_the_storage_estimator(self):
        """Random features and batch sizes: ids are 8 bytes a lookup, outputs a row for each sample of a feature."""
        if "sharder" not in inspect.signature(calculate_shard_storages).parameters:
            self.skipTest("the estimator of this TorchRec takes other arguments")
        draw = random.Random(3)
        for _ in range(20):
            features = [f"f{i}" for i in range(1 + draw.randrange(4))]
            lookups = {feature: draw.choice([1.0, 2.0, 8.0, 20.5]) for feature in features}
            sizes = {feature: draw.choice([256, 512, 1024, 2048]) for feature in features}
            table = published([config(*features)], lookups, batch_sizes=sizes)["t"]
            weights = torch.empty(100, 16, device="meta")
            (storage,) = calculate_shard_storages(
                sharder=EmbeddingBagCollectionSharder(),
                sharding_type="table_wise",
                tensor=weights,
                compute_device="cuda",
                compute_kernel="fused",
                shard_sizes=[[100, 16]],
                # Of each device.
                batch_sizes=[sizes[feature] // CLUSTER["devices"] for feature in features],
                world_size=CLUSTER["devices"],
                local_world_size=CLUSTER["devices"],
                input_lengths=[lookups[feature] for feature in features],
                num_poolings=[1.0] * len(features),
                caching_ratio=1.0,
                is_pooled=True,
                input_data_type_size=ID_BYTES,
                output_data_type_size=FLOAT_BYTES,
            )
            samples = CLUSTER["batchSize"]
            ids = samples * table["poolingFactor"] * ID_BYTES
            sent = samples * outputs(table) * 16 * FLOAT_BYTES
            self.assertAlmostEqual(storage.hbm - 100 * 16 * FLOAT_BYTES, ids + sent, delta=2)

    def test_each_feature_has_an_output_and_each_lookup_a_weight(self):
        one = torchrec.EmbeddingBagConfig(name="t", num_embeddings=100, embedding_dim=16, feature_names=["f", "g"])
        collection = torchrec.EmbeddingBagCollection(tables=[one], is_weighted=True)
        lengths = torch.tensor([3, 1, 2, 2])
        lookups = int(lengths.sum())
        weights = torch.ones(lookups, requires_grad=True)
        ids = torchrec.KeyedJaggedTensor(["f", "g"], torch.arange(lookups), weights=weights, lengths=lengths)
        pooled = collection(ids)
        lookups_of = {"f": 2, "g": 2}
        learned = dict.fromkeys("fg", "learned")
        table = publish.table(collection.embedding_bag_configs()[0], lookups_of, weights=learned)
        self.assertEqual(pooled.values().shape[1], outputs(table) * 16)
        pooled.values().sum().backward()
        # As many bytes as IdWeights.LEARNED: a weight and a gradient of each lookup.
        bytes_of = [tensor.untyped_storage().nbytes() for tensor in (weights, weights.grad)]
        self.assertEqual(bytes_of, [4 * lookups] * 2)
        self.assertEqual((table["idWeights"], table["poolingFactor"]), ("learned", 4))

    def test_weighted_collections_of_a_model_say_so(self):
        def of(name, is_weighted):
            one = torchrec.EmbeddingBagConfig(name=name, num_embeddings=100, embedding_dim=16, feature_names=["f"])
            return torchrec.EmbeddingBagCollection(tables=[one], is_weighted=is_weighted)

        model = torch.nn.ModuleDict({"plain": of("a", False), "weighted": of("b", True)})
        change = Workload("w").cluster(CLUSTER).model(model, {"f": 2}).change()
        found = {c["table"]["name"]: c["table"].get("idWeights") for c in change["changes"] if "table" in c}
        self.assertEqual(found, {"a": None, "b": "given"})


if __name__ == "__main__":
    unittest.main()
