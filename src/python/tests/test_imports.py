"""shardtide.imports: tables of HugeCTR, TorchEasyRec, NeuroShard and checkpoints, collectives of nccl-tests."""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "examples/neuroshard")]

import commands
import convert as neuroshard

from shardtide.imports import (
    Imported,
    checkpoint,
    hugectr,
    nccl_tests,
    textproto,
    torcheasyrec,
    zipf_cdf,
)
from shardtide.torchrec import Workload

BUILT = (ROOT / "src/cli/target/quick/classes").is_dir() and (ROOT / "target/classpath.txt").is_file()
TORCHREC = importlib.util.find_spec("torchrec") is not None

EMBARK = ROOT / "src/cli/src/test/resources/embark/datasets.txt"
CLUSTER = {"devices": 8, "memoryBytesPerDevice": 2**36, "batchSize": 65_536, "hardware": "h200"}

# As somebody would write it: all that TorchEasyRec's tables depend on, and what a parser meets besides.
EASYREC = r"""
# A click model.
train_input_path: "data/*.parquet"  model_dir: 'experiments/mmoe'
train_config {
  sparse_optimizer { adagrad_optimizer { lr: 1e-3 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.001 } }
}
data_config { batch_size: 8192, label_fields: ["click", "buy"]; fg_mode: FG_DAG }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" num_buckets: 1000000 embedding_dim: 16
                               data_type: "FP16" } }
feature_configs: { id_feature: < feature_name: "item_id" expression: "item:item_id"
                                 hash_bucket_size: 5000 num_buckets: 7 embedding_dim: 16 > }
feature_configs { id_feature { feature_name: "tags" hash_bucket_size: 300 embedding_dim: 8 pooling: "mean"
                               embedding_name: "shared" value_dim: 4 } }
feature_configs { id_feature { feature_name: "topics" hash_bucket_size: 300 embedding_dim: 8 pooling: "mean"
                               embedding_name: "shared" } }
feature_configs { id_feature { feature_name: "city" vocab_list: ["a", "b",
  "c"] embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "os" vocab_list: ["ios", "android"] default_bucketize_value: 1
                               embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "dict" vocab_dict [ {key: "a" value: 2}, {key: "b" value: 9} ]
                               embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "zch" hash_bucket_size: 9 embedding_dim: 32
  zch { zch_size: 0x100 eviction_interval: 2 lfu {} } } }
feature_configs { id_feature { feature_name: "dynamic" embedding_dim: 32 dynamicemb { max_capacity: 12345 } } }
feature_configs { raw_feature { feature_name: "price" boundaries: [0.1, -2.5, inf, 1e3f] embedding_dim: 6 } }
feature_configs { raw_feature { feature_name: "ctr" } }
feature_configs { raw_feature { feature_name: "auto" embedding_dim: 16 autodis { num_channels: 3 } } }
feature_configs { combo_feature { feature_name: "cross" expression: ["user:os", "item:cate"] hash_bucket_size: 800
                                  embedding_dim: 12 } }
feature_configs { id_feature { feature_name: "unused" num_buckets: 77 embedding_dim: 16 } }
feature_configs {
  sequence_feature {
    sequence_name: "click_50_seq" sequence_length: 50 sequence_delim: "|"
    features { id_feature { feature_name: "item_id" num_buckets: 5000 embedding_dim: 16 embedding_name: "item_id_emb"
                            hash_bucket_size: 5000 } }
    features { raw_feature { feature_name: "gap" } }
  }
}
feature_configs { sequence_id_feature { feature_name: "searches" num_buckets: 4000 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP
    feature_names: ["user_id", "item_id", "tags", "topics", "city", "os", "dict", "zch", "dynamic", "price", "ctr",
                    "auto", "cross"]
    sequence_groups { group_name: "s" feature_names: "searches" }
    sequence_encoders { din_encoder { input: "s" attn_mlp { hidden_units: [256, 64] } } } }
  feature_groups { group_name: "wide" feature_names: "city" group_type: WIDE }
  feature_groups { group_name: "seq" group_type: SEQUENCE feature_names: "item_id"
    feature_names: "click_50_seq__item_id" }
  mmoe { expert_mlp { hidden_units: [512, 256] } num_expert: 3 }
}
"""

# The fields of features of every kind, and the rows that TorchEasyRec 1.3.16 gave their tables when it built models
# with them. A vocab_file has 777, which the caller says.
EVERY_KIND = (
    ("id_feature", 'vocab_list: ["x", "y", "z"]', 5),
    ("id_feature", 'vocab_list: ["x", "y", "z"] default_bucketize_value: 0', 3),
    ("id_feature", 'vocab_dict { key: "x" value: 0 }', 1),
    ("id_feature", 'default_value: "q" vocab_dict { key: "x" value: 3 } vocab_dict { key: "q" value: 9 }', 4),
    (
        "id_feature",
        'default_value: "q" default_bucketize_value: 1 vocab_dict { key: "x" value: 3 }'
        ' vocab_dict { key: "q" value: 9 } vocab_dict { key: "q" value: 7 }',
        8,
    ),
    ("id_feature", 'hash_bucket_size: 10 num_buckets: 20 vocab_list: "1"', 10),
    ("id_feature", "hash_bucket_size: 10 zch { zch_size: 33 lru {} }", 33),
    ("id_feature", "zch { zch_size: 34 distance_lfu {} }", 34),
    ("combo_feature", 'vocab_list: ["x", "y", "z"]', 5),
    ("combo_feature", 'vocab_dict { key: "x" value: 5 }', 6),
    ("lookup_feature", 'vocab_list: ["x", "y", "z"]', 5),
    ("lookup_feature", "boundaries: [1,2,3]", 4),
    ("lookup_feature", 'vocab_dict { key: "0" value: 5 } vocab_dict { key: "1" value: 2 }', 3),
    ("match_feature", 'vocab_list: ["x", "y", "z"]', 6),
    ("match_feature", 'vocab_list: ["x", "y", "z"] default_bucketize_value: 1', 4),
    ("match_feature", 'vocab_dict { key: "x" value: 5 }', 6),
    ("match_feature", "boundaries: [1,2]", 3),
    ("raw_feature", "boundaries: [1,2]", 3),
    ("expr_feature", "boundaries: [1,2,3,4]", 5),
    ("overlap_feature", "boundaries: [1]", 2),
    ("tokenize_feature", 'vocab_file: "v"', 777),
    ("tokenize_feature", 'vocab_file: "v" tokens_as_sequence: true', 777),
    ("custom_feature", 'vocab_list: ["x","y"]', 4),
    ("custom_feature", "boundaries: [1,2]", 3),
    ("kv_dot_product", "boundaries: [1,2,3]", 4),
    ("bool_mask_feature", "num_buckets: 12", 12),
    ("combine_feature", "num_buckets: 6", 6),
    ("combine_feature", "boundaries: [1,2]", 3),
    ("id_feature", 'vocab_file: "v" default_bucketize_value: 1', 777),
    ("sequence_id_feature", 'vocab_dict { key: "0" value: 4 } vocab_dict { key: "1" value: 2 }', 3),
)

HUGECTR: dict[str, Any] = {
    "solver": {"gpu": [[0, 1], [2, 3]], "batchsize": 16384},
    "optimizer": {"type": "Adam"},
    "layers": [
        {
            "name": "data",
            "type": "Data",
            "dense": {"top": "dense", "dense_dim": 13},
            "sparse": [
                {"top": "data1", "slot_num": 3, "nnz_per_slot": [1, 2, 30], "is_fixed_length": True},
                {"top": "data2", "slot_num": 2, "max_nnz": 1, "max_feature_num_per_sample": 2},
                {"top": "data3", "type": "LocalizedSlot", "max_feature_num_per_sample": 30, "slot_num": 20},
            ],
        },
        {
            "type": "LocalizedSlotSparseEmbeddingHash",
            "bottom": "data1",
            "top": "deep",
            "sparse_embedding_hparam": {
                "slot_size_array": [1000, 20, 300000],
                "workspace_size_per_gpu_in_mb": 8,
                "embedding_vec_size": 16,
                "combiner": "sum",
            },
        },
        {
            "type": "DistributedSlotSparseEmbeddingHash",
            "bottom": "data2",
            "top": "wide",
            "sparse_embedding_hparam": {"max_vocabulary_size_per_gpu": 500, "embedding_vec_size": 1, "combiner": 1},
        },
        {
            "type": "DistributedSlotSparseEmbeddingHash",
            "bottom": "data3",
            "top": "hash",
            "sparse_embedding_hparam": {
                "workspace_size_per_gpu_in_mb": 12,
                "embedding_vec_size": 32,
                "combiner": "mean",
            },
        },
        {"type": "InnerProduct", "bottom": "dense", "top": "fc1", "fc_param": {"num_output": 1024}},
    ],
}


def sizes(imported: Imported) -> dict[str, tuple[int, int, str]]:
    return {c["name"]: (c["num_embeddings"], c["embedding_dim"], c["pooling"]) for c in imported.configs}


def temporary(text: str) -> pathlib.Path:
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "source").write_text(text, encoding="utf-8")
    return folder / "source"


class TextProto(unittest.TestCase):
    def test_values_of_all_kinds(self) -> None:
        message = textproto.parse(
            "a: 1 a: -2.5e3 a: - inf\n"
            "b { c: 'it''s' \"\\n\\\"\\x41\\101\\303\\244\\u00e4\" } b <c: TRUE;>, d: [] # end\n"
            "e: [1, 2,] [ext.name/x]: 3 f: [{g: 1}, <g: 2>] h: {} i: 0x1F j: 017"
        )
        self.assertEqual(message.texts("a"), ["1", "-2.5e3", "-inf"])
        self.assertEqual([b.text("c") for b in message.messages("b")], ['its\n"AAää', "TRUE"])
        self.assertEqual(message.fields["d"], [])
        self.assertEqual(message.texts("e"), ["1", "2"])
        self.assertEqual(message.texts("[ext.name/x]"), ["3"])
        self.assertEqual([f.whole_number("g") for f in message.messages("f")], [1, 2])
        self.assertIsNotNone(message.message("h"))
        self.assertEqual((message.whole_number("i"), message.whole_number("j")), (31, 15))
        self.assertIsNone(message.message("none"))
        self.assertIsNone(message.text("none"))

    def test_errors_name_the_line(self) -> None:
        for text, error in (
            ("a {\n b: 1\n", "line 3: expected the name of a field or '}', got 'the end of the file'"),
            ("a: 1\n}", "line 2: expected the name of a field, got '}'"),
            ("a 1", "line 1: expected ':' or '{', got '1'"),
            ("a:\n:", "line 2: expected a value, got ':'"),
            ("a: [1\n2]", "line 2: expected ',' or ']', got '2'"),
            ('a: "open\nb: 1', "line 1: must be protobuf's text format, got '\"open"),
            ("\n\na: %", "line 3: must be protobuf's text format, got '%'"),
            ("a {" * 102, "messages must be nested at most 100 deep"),
            ("[a", "expected ']', got 'the end of the file'"),
            ("a: -", "expected a number, got 'the end of the file'"),
        ):
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                textproto.parse(text)
            self.assertIn(error, str(caught.exception))

    def test_a_field_of_another_kind_is_an_error(self) -> None:
        message = textproto.parse("\na: 1 b {} c: 1.5 d: -1")
        for call, error in (
            (lambda: message.message("a"), "a must be a message {...}, got '1'"),
            (lambda: message.text("b"), "line 2: b must be a scalar, got a message"),
            (lambda: message.whole_number("c"), "c must be a whole number from 0, got '1.5'"),
            (lambda: message.whole_number("d"), "d must be a whole number from 0, got '-1'"),
        ):
            with self.assertRaisesRegex(ValueError, ".*") as caught:
                call()
            self.assertIn(error, str(caught.exception))


class TorchEasyRec(unittest.TestCase):
    def test_tables_are_those_of_the_feature_groups(self) -> None:
        imported = torcheasyrec.read(temporary(EASYREC))
        self.assertEqual(
            sizes(imported),
            {
                "user_id_emb": (1_000_000, 16, "SUM"),
                "item_id_emb": (5_000, 16, "SUM"),
                "shared": (300, 8, "MEAN"),
                "city_emb": (5, 8, "SUM"),
                "os_emb": (2, 4, "SUM"),
                "dict_emb": (10, 4, "SUM"),
                "zch_emb": (256, 32, "SUM"),
                "dynamic_emb": (12_345, 32, "SUM"),
                "price_emb": (5, 8, "SUM"),
                "cross_emb": (800, 12, "SUM"),
                "searches_emb": (4_000, 8, "NONE"),
                "city_emb_wide": (5, 4, "SUM"),
                "item_id_emb_sequence": (5_000, 16, "NONE"),
            },
        )
        self.assertEqual(imported.optimizer, "adagrad")
        of = {config["name"]: config for config in imported.configs}
        self.assertEqual(of["user_id_emb"]["data_type"], "FP16")
        self.assertEqual(of["shared"]["feature_names"], ["tags", "topics"])
        self.assertEqual(of["item_id_emb_sequence"]["feature_names"], ["item_id", "click_50_seq__item_id"])
        self.assertEqual(imported.lookups["tags"], 4)
        self.assertEqual(imported.lookups["click_50_seq__item_id"], 50)
        self.assertNotIn("searches", imported.lookups)
        notes = "\n".join(imported.notes)
        for note in (
            "Table price_emb has 6 columns; planned as 8",
            "Table item_id_emb is pooled in some feature groups and not in others: it exists twice",
            "1 features are in no feature group and have no table: unused",
            "sequence_length is the greatest length",
            "Features without value_dim may have several values",
        ):
            self.assertIn(note, notes)

    def test_they_are_published(self) -> None:
        path = temporary(EASYREC)
        imported = torcheasyrec.read(path)
        lookups = imported.all_lookups({"searches": 7.5, "click_50_seq__item_id": 20})
        workload = Workload("feed").cluster(CLUSTER)
        workload.tables(imported.configs, lookups, imported.optimizer, **imported.options())
        tables = {table["name"]: table for table in workload.specs}
        self.assertEqual(tables["searches_emb"]["poolingFactor"], 7.5)
        self.assertEqual(tables["item_id_emb_sequence"]["poolingFactor"], 21)
        self.assertFalse(tables["item_id_emb_sequence"]["pooled"])
        self.assertEqual(tables["user_id_emb"]["bytesPerElement"], 2)
        self.assertEqual(tables["user_id_emb"]["optimizer"], "adagrad")

    def test_rows_of_a_vocabulary_in_a_file_are_given(self) -> None:
        path = temporary(EASYREC.replace("num_buckets: 1000000", 'vocab_file: "v"'))
        self.assertEqual(sizes(torcheasyrec.read(path, {"user_id": 77}))["user_id_emb"], (77, 16, "SUM"))
        with self.assertRaisesRegex(ValueError, "rows of feature user_id must be a whole number from 1, got str '7'"):
            torcheasyrec.read(path, json.loads('{"user_id": "7"}'))

    def test_missing_lookups_are_named(self) -> None:
        imported = torcheasyrec.read(temporary(EASYREC))
        with self.assertRaisesRegex(ValueError, "searches have none. Maybe give a default"):
            imported.all_lookups()
        with self.assertRaisesRegex(ValueError, "lookups must be of features of the tables, got serches"):
            imported.all_lookups({"serches": 3})
        self.assertEqual(imported.all_lookups(default=9)["searches"], 9)

    def test_without_groups_sequences_are_unpooled(self) -> None:
        text = EASYREC[: EASYREC.index("model_config")].replace('embedding_name: "item_id_emb"', "")
        self.assertEqual(sizes(torcheasyrec.read(temporary(text)))["click_50_seq__item_id_emb"], (5_000, 16, "NONE"))

    def test_errors_name_the_file_and_the_line(self) -> None:
        for old, new, error in (
            ("embedding_dim: 12 }", "}", "embedding_dim of feature cross must be above 0"),
            ('vocab_list: ["ios", "android"]', 'vocab_file: "f"', "the rows of feature os are in its vocab_file"),
            ('data_type: "FP16"', 'data_type: "FP17"', "data_type of feature user_id must be one of FP32, "),
            ('"mean"', '"max"', "pooling of feature tags must be one of sum, mean, got max"),
            ("num_buckets: 4000", "num_buckets: many", "num_buckets must be a whole number from 0, got 'many'"),
            ("{ max_capacity: 12345 }", "{}", "max_capacity of feature dynamic must be given"),
            ("num_buckets: 1000000", 'vocab_file: "v"', "the rows of feature user_id are in its vocab_file: give"),
            ('"searches" num', '"" num', "feature_name must be given"),
            ('"topics" hash_bucket_size: 300', '"topics" hash_bucket_size: 301', "must agree on its num_embeddings"),
        ):
            self.assertIn(old, EASYREC)
            path = temporary(EASYREC.replace(old, new, 1))
            with self.subTest(new), self.assertRaises(ValueError) as caught:
                torcheasyrec.read(path)
            self.assertIn(error, str(caught.exception))
            self.assertTrue(str(caught.exception).startswith(str(path)), caught.exception)
        with self.assertRaisesRegex(ValueError, "feature_configs must have at least one feature with an embedding"):
            torcheasyrec.read(temporary("train_config {}"))

    def test_rows_are_those_that_torcheasyrec_computes(self) -> None:
        for kind, fields, rows in EVERY_KIND:
            feature = f'{kind} {{ feature_name: "f" embedding_dim: 8 {fields} }}'
            group = 'model_config { feature_groups { group_type: DEEP feature_names: "f" } }'
            given = {"f": 777} if "vocab_file" in fields else None
            with self.subTest(feature):
                imported = torcheasyrec.read(temporary(f"feature_configs {{ {feature} }} {group}"), given)
                self.assertEqual(sizes(imported), {"f_emb": (rows, 8, "SUM")})
                if not kind.startswith("sequence_"):
                    text = f'feature_configs {{ sequence_feature {{ sequence_name: "s" features {{ {feature} }} }} }}'
                    inner = torcheasyrec.read(temporary(text), given and {"s__f": 777})
                    # Sequences have a default value, which takes row 0 of a vocab_dict.
                    self.assertEqual(sizes(inner), {"s__f_emb": (rows, 8, "NONE")})
        text = 'id_feature { feature_name: "f" embedding_dim: 8 vocab_dict [{key: "0" value: 9}, {key: "1" value: 2}] }'
        self.assertEqual(sizes(torcheasyrec.read(temporary(f"feature_configs {{ {text} }}")))["f_emb"][0], 10)
        text = f'feature_configs {{ sequence_feature {{ sequence_name: "s" features {{ {text} }} }} }}'
        self.assertEqual(sizes(torcheasyrec.read(temporary(text)))["s__f_emb"][0], 3)

    def test_names_that_are_no_features_are_an_error(self) -> None:
        for old, new, message in (
            (
                '"cross"]',
                '"cros", "tag"]',
                "feature_names of feature groups must be features of feature_configs, got cros, tag",
            ),
            (
                'feature_names: "searches"',
                'feature_names: "serches"',
                "must be features of feature_configs, got serches",
            ),
            ('"click_50_seq__item_id"', '"click_50_seq_item"', "of feature_configs, got click_50_seq_item"),
            ("hash_bucket_size: 800", "", "feature cross must have one of zch, dynamicemb, hash_bucket_size, "),
        ):
            self.assertIn(old, EASYREC)
            with self.subTest(new), self.assertRaises(ValueError) as caught:
                torcheasyrec.read(temporary(EASYREC.replace(old, new, 1)))
            self.assertRegex(str(caught.exception), r", line \d+: ")
            self.assertIn(message, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "rows must be of features in feature_configs, got usr_id"):
            torcheasyrec.read(temporary(EASYREC), {"usr_id": 5})

    def test_configurations_for_rtp_name_sequences_otherwise(self) -> None:
        text = EASYREC.replace("click_50_seq__item_id", "click_50_seq_item_id").replace(
            'embedding_name: "item_id_emb"', ""
        )
        imported = torcheasyrec.read(temporary(text))
        self.assertEqual(sizes(imported)["click_50_seq_item_id_emb"], (5_000, 16, "NONE"))
        self.assertEqual(imported.lookups["click_50_seq_item_id"], 50)
        self.assertIn("as with USE_RTP=1", "\n".join(imported.notes))

    def test_zch_and_dynamicemb_are_hash_tables(self) -> None:
        imported = torcheasyrec.read(temporary(EASYREC))
        self.assertEqual(
            imported.storage,
            {
                "zch_emb": {"slotBytes": 24.0, "eviction": "lfu"},
                "dynamic_emb": {"slotBytes": 17.03125, "eviction": "lru"},
            },
        )
        self.assertEqual({imported.constraints[table]["kinds"][0] for table in imported.storage}, {"row_wise"})
        for old, new, table, storage in (
            ("lfu {}", "lru { decay_exponent: 2 }", "zch_emb", {"slotBytes": 24.0, "eviction": "lru"}),
            ("lfu {}", "distance_lfu {}", "zch_emb", {"slotBytes": 32.0, "eviction": "lfu"}),
            ("lfu {}", "", "zch_emb", {"slotBytes": 24.0, "eviction": "lfu"}),
            ("12345 }", '12345 score_strategy: "LFU" }', "dynamic_emb", {"slotBytes": 17.03125, "eviction": "lfu"}),
            (
                "12345 }",
                '12345 score_strategy: "NO_EVICTION" bucket_capacity: 4 }',
                "dynamic_emb",
                {"slotBytes": 18.0, "eviction": "none"},
            ),
        ):
            self.assertIn(old, EASYREC)
            with self.subTest(new):
                self.assertEqual(torcheasyrec.read(temporary(EASYREC.replace(old, new, 1))).storage[table], storage)
        for new, message in (
            (
                'score_strategy: "FIFO" }',
                "score_strategy of feature dynamic must be one of TIMESTAMP, STEP, .*, got FIFO",
            ),
            ("cache_load_factor: 1.5 }", "cache_load_factor of feature dynamic must be above 0 and at most 1, got 1.5"),
        ):
            with self.subTest(new), self.assertRaisesRegex(ValueError, message):
                torcheasyrec.read(temporary(EASYREC.replace("12345 }", f"12345 {new}", 1)))
        imported = torcheasyrec.read(temporary(EASYREC.replace("12345 }", "12345 cache_load_factor: 0.25f }", 1)))
        self.assertEqual(imported.kernels["dynamic_emb"], {"cacheLoadFactor": 0.25})
        both = EASYREC.replace('"topics" hash_bucket_size: 300', '"topics" zch { zch_size: 300 lfu {} }')
        with self.assertRaisesRegex(ValueError, "Features that share table shared must agree on its storage"):
            torcheasyrec.read(temporary(both))

    @unittest.skipUnless(TORCHREC, "torchrec is not installed")
    def test_slots_of_zch_are_those_of_torchrec(self) -> None:
        import torch
        from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
        from torchrec.modules import mc_modules
        from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingBagCollection

        from shardtide.torchrec.fill import managed_storage

        policies = {
            "lfu": mc_modules.LFU_EvictionPolicy(),
            "lru": mc_modules.LRU_EvictionPolicy(),
            "distance_lfu": mc_modules.DistanceLFU_EvictionPolicy(),
        }
        for name, policy in policies.items():
            imported = torcheasyrec.read(temporary(EASYREC.replace("lfu {}", f"{name} {{}}", 1)))
            config = EmbeddingBagConfig(name="zch_emb", num_embeddings=256, embedding_dim=32, feature_names=["zch"])
            managed = mc_modules.MCHManagedCollisionModule(256, torch.device("cpu"), policy, eviction_interval=2)
            model = ManagedCollisionEmbeddingBagCollection(
                EmbeddingBagCollection(tables=[config], device=torch.device("cpu")),
                mc_modules.ManagedCollisionCollection({"zch_emb": managed}, [config]),
            )
            self.assertEqual(managed_storage(model), {"zch_emb": imported.storage["zch_emb"]}, name)

    def test_constraints_of_all_tables_and_of_one(self) -> None:
        text = EASYREC.replace(
            "train_config {",
            'train_config { global_embedding_constraints { sharding_types: ["row_wise", "table_wise"]'
            ' compute_kernels: "fused" }',
        )
        text = text.replace(
            "num_buckets: 4000", 'num_buckets: 4000 embedding_constraints { sharding_types: "row_wise" }'
        )
        text = text.replace(
            "num_buckets: 1000000",
            'num_buckets: 1000000 embedding_constraints { compute_kernels: ["fused", "fused_uvm_caching"] }',
        )
        imported = torcheasyrec.read(temporary(text))
        both = {"kinds": ["table_wise", "row_wise"]}
        self.assertEqual(
            (imported.constraints["cross_emb"], imported.kernels["cross_emb"]), (both, {"computeKernel": "fused"})
        )
        self.assertEqual(
            (imported.constraints["searches_emb"], imported.kernels["searches_emb"]), ({"kinds": ["row_wise"]}, {})
        )
        # Copies are dense; a constraint of its own is instead of that for all.
        self.assertNotIn("data_parallel", imported.constraints["user_id_emb"]["kinds"])
        self.assertIn("grid_shard", imported.constraints["user_id_emb"]["kinds"])
        # zch has no constraints of its own, dynamicemb a kernel of its own.
        self.assertEqual(imported.kernels["zch_emb"], {"computeKernel": "fused"})
        self.assertEqual(
            (imported.constraints["dynamic_emb"], imported.kernels["dynamic_emb"]), ({"kinds": ["row_wise"]}, {})
        )
        tables = {table["name"]: table for table in imported.tables(imported.all_lookups(default=5), "sgd")}
        self.assertEqual(tables["cross_emb"]["constraints"], both)
        self.assertEqual(tables["cross_emb"]["kernel"]["computeKernel"], "fused")
        self.assertEqual(tables["item_id_emb_sequence"]["constraints"]["kinds"], ["table_wise", "row_wise"])
        dense = torcheasyrec.read(
            temporary(text.replace('compute_kernels: "fused"', 'compute_kernels: ["dense", "fused"]'))
        )
        self.assertEqual(dense.constraints["cross_emb"], {**both, "mayBeCached": False})
        for new, message in (
            (
                'compute_kernels: "key_value"',
                "compute_kernels of table user_id_emb must have one of dense, .*, got key_value",
            ),
            ('sharding_types: "rows"', "sharding_types of table user_id_emb must have one of table_wise, .*, got rows"),
        ):
            with self.subTest(new), self.assertRaisesRegex(ValueError, message):
                torcheasyrec.read(temporary(text.replace('compute_kernels: ["fused", "fused_uvm_caching"]', new)))
        only = text.replace('["row_wise", "table_wise"]', '"table_wise"')
        with self.assertRaisesRegex(ValueError, "sharding_types of table zch_emb must have row_wise"):
            torcheasyrec.read(temporary(only))

    def test_weighted_ids_have_weights_with_all_that_share_their_table(self) -> None:
        self.assertEqual(torcheasyrec.read(temporary(EASYREC)).weights, {})
        text = EASYREC.replace('feature_name: "tags"', 'feature_name: "tags" weighted: true')
        imported = torcheasyrec.read(temporary(text))
        self.assertEqual(imported.weights, {"tags": "given", "topics": "given"})
        tables = {table["name"]: table for table in imported.tables(imported.all_lookups(default=5))}
        self.assertEqual({name for name, table in tables.items() if "idWeights" in table}, {"shared"})
        # In a table of sequences, too: TorchEasyRec sends ones with them.
        text = EASYREC.replace(
            'feature_name: "item_id" expression', 'feature_name: "item_id" weighted: true expression'
        )
        self.assertEqual(set(torcheasyrec.read(temporary(text)).weights), {"item_id", "click_50_seq__item_id"})
        never = EASYREC.replace('feature_name: "searches"', 'feature_name: "searches" weighted: true')
        self.assertEqual(torcheasyrec.read(temporary(never)).weights, {})


class HugeCtr(unittest.TestCase):
    def test_tables_of_a_model(self) -> None:
        imported = hugectr.read(temporary(json.dumps(HUGECTR)))
        self.assertEqual(
            sizes(imported),
            {
                "deep_slot0": (1_000, 16, "SUM"),
                "deep_slot1": (20, 16, "SUM"),
                "deep_slot2": (300_000, 16, "SUM"),
                # 500 rows on each of four GPUs.
                "wide": (2_000, 4, "MEAN"),
                # 12 MiB of 128 bytes a row on each of four GPUs.
                "hash": (4 * 12 * 2**20 // 128, 32, "MEAN"),
            },
        )
        self.assertEqual(imported.optimizer, "adam")
        tables = {table["name"]: table for table in imported.tables(imported.all_lookups())}
        self.assertEqual(tables["deep_slot2"]["poolingFactor"], 30)
        self.assertEqual(tables["wide"]["poolingFactor"], 2)
        self.assertAlmostEqual(tables["hash"]["poolingFactor"], 30)
        notes = "\n".join(imported.notes)
        self.assertIn("Table wide has 1 columns; planned as 4", notes)
        self.assertIn("The 20 slots of hash share a table", notes)
        self.assertEqual(imported.storage, {"wide": {"eviction": "none"}, "hash": {"eviction": "none"}})
        self.assertEqual(tables["hash"]["storage"], {"eviction": "none"})
        self.assertIn("how many lookups a sample has in data3 at most", notes)
        self.assertNotIn("data1 at most", notes)

    def test_sizes_of_one_gpu_need_their_number(self) -> None:
        config = {**HUGECTR, "solver": {}}
        with self.assertRaisesRegex(ValueError, "The size of wide is that of one GPU"):
            hugectr.tables(config)
        self.assertEqual(sizes(hugectr.tables(config, 8))["wide"], (4_000, 4, "MEAN"))

    def test_errors_name_the_layer(self) -> None:
        def changed(layer: int, **hparam: Any) -> dict[str, Any]:
            config = json.loads(json.dumps(HUGECTR))
            config["layers"][layer]["sparse_embedding_hparam"].update(hparam)
            return dict(config)

        for config, error in (
            (changed(1, slot_size_array=[1, 2]), "slot_size_array of deep must have a number for each of 3 slots"),
            (changed(2, embedding_vec_size="x"), "embedding_vec_size of wide must be a whole number from 1, got str"),
            (changed(2, combiner=7), "combiner of wide must be one of 0, 1, sum, mean, got 7"),
            (changed(2, max_vocabulary_size_per_gpu=0), "sparse_embedding_hparam of wide must have slot_size_array, "),
            ({"layers": []}, "layers must have at least one with sparse_embedding_hparam, got none"),
            ({"layers": {}}, "layers must be a list of objects, got dict {}"),
            ({}, "layers must be a list of objects, got None"),
        ):
            with self.subTest(error), self.assertRaises(ValueError) as caught:
                hugectr.read(temporary(json.dumps(config)))
            self.assertIn(error, str(caught.exception))

    def test_the_workloads_of_embark(self) -> None:
        for name, tables, parameters, lookups in (
            ("T180_70B", 177, 66_332_812_800, 14_450),
            ("T200_100B", 200, 103_861_888_000, 4_550),
            ("T510_110B", 510, 114_572_800_000, 2_670),
        ):
            imported = hugectr.read(EMBARK, dataset=name)
            self.assertEqual(len(imported.configs), tables)
            self.assertEqual(sum(c["num_embeddings"] * c["embedding_dim"] for c in imported.configs), parameters)
            self.assertEqual(sum(imported.all_lookups().values()), lookups)
        with self.assertRaisesRegex(ValueError, "one dataset, got T180_70B, T200_100B, T510_110B: name one"):
            hugectr.read(EMBARK)
        with self.assertRaisesRegex(ValueError, "the dataset must be one of T180_70B, T200_100B, T510_110B, got x"):
            hugectr.read(EMBARK, dataset="x")

    def test_wrong_arguments_are_named(self) -> None:
        good = "train.py --num_table 2,1 --vocabulary_size_per_table 10,20 --nnz_per_table 1,5 --ev_size_per_table 4,8"
        self.assertIsNone(hugectr.arguments(good).optimizer)
        for given, optimizer in (("SGD", "sgd"), ("AdaGrad", "adagrad"), ("ftrl", None)):
            named = hugectr.arguments(f"{good} --optimizer {given}")
            self.assertEqual(named.optimizer, optimizer)
            self.assertEqual(
                "The optimizer is none of sgd, adam, adagrad: name" in "".join(named.notes), optimizer is None
            )
        self.assertEqual(hugectr.arguments(good).storage, {})
        dynamic = hugectr.arguments(good.replace("--num_table", "--use_dynamic_hash_table --num_table"))
        self.assertEqual(dynamic.storage, {f"table{i}": {"eviction": "none"} for i in range(3)})
        imported = hugectr.arguments(good + " --combiner_per_table s,c --optimizer sgd")
        self.assertEqual(imported.optimizer, "sgd")
        self.assertEqual(
            sizes(imported), {"table0": (10, 4, "SUM"), "table1": (10, 4, "SUM"), "table2": (20, 8, "NONE")}
        )
        for old, new, error in (
            ("--nnz_per_table 1,5", "", "--nnz_per_table must be given"),
            ("1,5", "1", "--nnz_per_table must have a value for each of 2 groups of tables, got 1"),
            ("10,20", "10,x", "--vocabulary_size_per_table must be whole numbers from 1, got 'x'"),
            ("4,8", "4,8 --combiner_per_table s,m", "--combiner_per_table must be s or c of each group, got m"),
        ):
            with self.subTest(new), self.assertRaises(ValueError) as caught:
                hugectr.arguments(good.replace(old, new, 1))
            self.assertIn(error, str(caught.exception))


class Zipf(unittest.TestCase):
    def test_it_is_the_sum_of_all_rows(self) -> None:
        for rows in (1, 2, 4, 5, 999, 1_000, 1_001, 50_000):
            for exponent in (0.0, 0.5, 1.0, 1.1, 3.0):
                uses = [r**-exponent for r in range(1, rows + 1)]
                ranks = [4**k for k in range(20) if 4**k < rows]
                expected = [sum(uses[:rank]) / sum(uses) for rank in ranks] + [1.0]
                found = zipf_cdf(rows, exponent)
                self.assertEqual(len(found), len(expected))
                for one, other in zip(found, expected):
                    self.assertAlmostEqual(one, other, delta=1e-7)

    def test_it_is_one_for_any_table(self) -> None:
        found = zipf_cdf(2**36, 1.1)
        self.assertEqual(found, sorted(found))
        self.assertEqual(len(found), 19)
        self.assertEqual(found[-1], 1)
        for rows, exponent in ((0, 1.0), (5, -0.1), (5, 11.0), (5, float("nan"))):
            with self.assertRaisesRegex(ValueError, "must be "):
                zipf_cdf(rows, exponent)


@unittest.skipUnless(TORCHREC, "torchrec is not installed")
class Checkpoint(unittest.TestCase):
    maxDiff = None

    def save(self, **collections: Any) -> str:
        import torch
        from torch.distributed import checkpoint as dcp

        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.dense = torch.nn.Linear(4, 4)
                self.plain = torch.nn.Embedding(5, 4)
                for name, collection in collections.items():
                    self.add_module(name, collection)

        folder = tempfile.mkdtemp()
        dcp.save(Model().state_dict(), checkpoint_id=folder, no_dist=True)
        return folder

    def test_tables_of_a_real_model(self) -> None:
        import torch
        from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig
        from torchrec.modules.embedding_configs import DataType

        bags = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(name="user", num_embeddings=100, embedding_dim=8, feature_names=["u"]),
                EmbeddingBagConfig(
                    name="item", num_embeddings=50, embedding_dim=16, feature_names=["i"], data_type=DataType.FP16
                ),
            ],
            device=torch.device("cpu"),
        )
        sequences = EmbeddingCollection(
            tables=[EmbeddingConfig(name="clicks", num_embeddings=30, embedding_dim=4, feature_names=["c"])],
            device=torch.device("cpu"),
        )
        folder = self.save(sparse=bags, sequences=sequences)
        imported = checkpoint.read(folder)
        self.assertEqual(sizes(imported), {"user": (100, 8, "SUM"), "item": (50, 16, "SUM"), "clicks": (30, 4, "NONE")})
        self.assertEqual([c["data_type"] for c in imported.configs], ["FP32", "FP16", "FP32"])
        self.assertEqual(list(sizes(checkpoint.read(folder, "sequences"))), ["clicks"])
        with self.assertRaisesRegex(ValueError, "must have weights of tables in sparse.x, named "):
            checkpoint.read(folder, "sparse.x")
        both = self.save(one=bags, two=bags)
        with self.assertRaisesRegex(ValueError, "Table user is in one and in two of .*: name the module"):
            checkpoint.read(both)
        self.assertEqual(len(checkpoint.read(both, "two").configs), 2)
        with self.assertRaisesRegex(ValueError, "got 3 others"):
            checkpoint.read(self.save())
        with self.assertRaisesRegex(ValueError, "must be the folder of a checkpoint"):
            checkpoint.read(tempfile.mkdtemp())

    def test_managed_collisions_are_hash_tables(self) -> None:
        import torch
        from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, EmbeddingCollection, EmbeddingConfig
        from torchrec.modules import mc_modules
        from torchrec.modules.hash_mc_evictions import HashZchEvictionConfig, HashZchEvictionPolicyName
        from torchrec.modules.hash_mc_modules import HashZchManagedCollisionModule
        from torchrec.modules.mc_embedding_modules import (
            ManagedCollisionEmbeddingBagCollection,
            ManagedCollisionEmbeddingCollection,
        )

        from shardtide.torchrec.fill import managed_storage

        cpu = torch.device("cpu")

        def bags(name: str, managed: Any) -> Any:
            config = EmbeddingBagConfig(name=name, num_embeddings=64, embedding_dim=8, feature_names=[name])
            return ManagedCollisionEmbeddingBagCollection(
                EmbeddingBagCollection(tables=[config], device=cpu),
                mc_modules.ManagedCollisionCollection({name: managed}, [config]),
            )

        config = EmbeddingConfig(name="clicks", num_embeddings=64, embedding_dim=8, feature_names=["clicks"])
        hashed: dict[str, Any] = {"zch_size": 64, "device": cpu, "total_num_buckets": 4}
        evicting = HashZchManagedCollisionModule(
            **hashed,
            eviction_policy_name=HashZchEvictionPolicyName.LRU_EVICTION,
            eviction_config=HashZchEvictionConfig(features=["clicks"], single_ttl=1),
        )
        collections = {
            "lfu": bags("a", mc_modules.MCHManagedCollisionModule(64, cpu, mc_modules.LFU_EvictionPolicy(), 2)),
            "lru": bags("b", mc_modules.MCHManagedCollisionModule(64, cpu, mc_modules.LRU_EvictionPolicy(), 2)),
            "far": bags("c", mc_modules.MCHManagedCollisionModule(64, cpu, mc_modules.DistanceLFU_EvictionPolicy(), 2)),
            "plain": bags("d", HashZchManagedCollisionModule(**hashed)),
            "evicting": ManagedCollisionEmbeddingCollection(
                EmbeddingCollection(tables=[config], device=cpu),
                mc_modules.ManagedCollisionCollection({"clicks": evicting}, [config]),
            ),
        }
        expected = {name: of for collection in collections.values() for name, of in managed_storage(collection).items()}
        usual = EmbeddingBagConfig(name="e", num_embeddings=64, embedding_dim=8, feature_names=["e"])
        folder = self.save(**collections, usual=EmbeddingBagCollection(tables=[usual], device=cpu))
        imported = checkpoint.read(folder)
        self.assertEqual(sorted(sizes(imported)), ["a", "b", "c", "clicks", "d", "e"])
        self.assertEqual(imported.storage, expected)
        self.assertEqual({of["eviction"] for of in expected.values()}, {"lfu", "lru", "none"})
        self.assertEqual(imported.constraints, {name: {"kinds": ["row_wise"]} for name in expected})
        self.assertIn("Table clicks evicts ids, by which policy a checkpoint does not say", "".join(imported.notes))
        self.assertEqual(list(checkpoint.read(folder, "far").storage), ["c"])

    def test_tables_of_a_model_that_a_plan_sharded(self) -> None:
        import torch
        import torch.distributed as dist
        from torchrec import EmbeddingBagCollection, EmbeddingBagConfig
        from torchrec.distributed import DistributedModelParallel
        from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
        from torchrec.optim import RowWiseAdagrad
        from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

        from shardtide import torchrec
        from shardtide.torchrec.checkpoint import save

        configs = [
            EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=8, feature_names=[name])
            for name, rows in (("user", 100), ("item", 50))
        ]
        net = torch.nn.Sequential(EmbeddingBagCollection(tables=configs, device=torch.device("meta")))
        apply_optimizer_in_backward(RowWiseAdagrad, net[0].parameters(), {"lr": 0.1})
        shard = ("columnOffset", "columns", "rowOffset", "rows", "device", "cacheShare")
        plan = {
            "workloadId": "w",
            "generation": 1,
            "planId": "p",
            "previousPlanId": None,
            "predictedMs": 1.0,
            "shards": [
                {"table": "user", "kind": "ROW_WISE", **dict(zip(shard, (0, 8, 0, 100, 0, None)))},
                {"table": "item", "kind": "TABLE_WISE", **dict(zip(shard, (0, 8, 0, 50, 0, None)))},
            ],
            "deviceCosts": [{}],
        }
        folder = pathlib.Path(tempfile.mkdtemp())
        dist.init_process_group("gloo", init_method=f"file://{folder}/ranks", world_size=1, rank=0)
        try:
            description = torchrec.descriptions.describe(plan, modules="0", device="cpu")
            model = DistributedModelParallel(
                net,
                device=torch.device("cpu"),
                plan=torchrec.conversions.to_sharding_plan(description),
                sharders=[EmbeddingBagCollectionSharder()],
            )
            save(model, folder / "saved")
        finally:
            dist.destroy_process_group()
        self.assertEqual(sizes(checkpoint.read(folder / "saved")), {"user": (100, 8, "SUM"), "item": (50, 8, "SUM")})


class NeuroShard(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tables = self.write("table_configs.json", f"[{self.config(100)},{self.config(2000)}]")

    @staticmethod
    def config(rows: object, **more: object) -> str:
        bins = {f"bin_{k}": 1.0 if k == 0 else 0.0 for k in range(17)}
        return json.dumps({"row": rows, "pooling_factor": 2.5, **bins, **more})

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run_command(self, *arguments: object) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                neuroshard.main([str(argument) for argument in arguments])
            except SystemExit as e:
                raise commands.Ended(e.code, err.getvalue() or str(e.code)) from None
        return out.getvalue()

    def samples(self, source: str = "samples") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        out = self.folder / "out"
        self.run_command(self.folder / source, "--out", out)
        files = (out / "compute.jsonl.gz", out / "collectives.jsonl.gz")
        compute, collectives = ([json.loads(line) for line in gzip.decompress(f.read_bytes()).splitlines()] for f in files)
        return compute, collectives

    def test_plain_and_compressed_samples_are_read_alike(self) -> None:
        self.write("samples/compute/data.txt", "0,3 1.5\n\n11 0.25\n")
        self.write("samples/comm_2/data.txt", "64,32 0,1.5 3.5,2.0 1.1,1.2\n")
        compute, collectives = self.samples()
        shards = [[tuple(shard.values()) for shard in line["shards"]] for line in compute]
        self.assertEqual(shards, [[(0, 128, 65_536), (1, 64, 65_536)], [(1, 4, 65_536)]])
        self.assertEqual([line["ms"] for line in compute], [1.5, 0.25])
        self.assertEqual(len(collectives), 2)
        tables = [json.loads(line) for line in (self.folder / "out/tables.jsonl").read_text().splitlines()]
        self.assertEqual([(table["name"], table["rows"]) for table in tables], [("0", 100), ("1", 2000)])
        self.assertEqual({table["reuseBatchSize"] for table in tables}, {65_536})
        self.assertEqual(tables[0]["reuseHistogram"], [1.0] + 16 * [0.0])

        zipped = self.write("gz/compute/data.txt.gz", "")
        zipped.write_bytes(gzip.compress(b"0,3 1.5\n\n11 0.25\n"))
        self.assertEqual(self.samples("gz"), (compute, []))
        zipped.write_bytes(zipped.read_bytes()[:-10])
        with self.assertRaisesRegex(commands.Ended, "data.txt.gz must be complete"):
            self.samples("gz")

    def test_an_all_to_all_is_two_collectives_without_idle_time(self) -> None:
        """A device is idle until the last one begins, which a forward cost includes."""
        self.write("samples/samples.json", '{"batch_size":1024}')
        self.write("samples/comm_3/data.txt", "64,32,0 0,1.5,2 3.5,2.0,1.9 1.1,1.2,1.3\n")
        self.write("samples/comm_2/data.txt", "4,8 0,5 4.5,5.5 1,1\n")
        collectives = self.samples()[1]
        self.assertEqual({line["collective"] for line in collectives}, {"all_to_all"})
        self.assertEqual([line["devices"] for line in collectives], [2, 2, 3, 3])
        self.assertEqual([line["devicesPerNode"] for line in collectives], [2, 2, 3, 3])
        self.assertEqual([line["direction"] for line in collectives], ["forward", "backward"] * 2)
        self.assertEqual(collectives[2]["bytesPerPeer"], [64 * 1024 / 3 * 4, 32 * 1024 / 3 * 4, 0])
        self.assertEqual(collectives[2]["bytesPerPeer"], collectives[3]["bytesPerPeer"])
        self.assertEqual(collectives[2]["ms"], [1.5, 1.5, 1.9])
        self.assertEqual(collectives[3]["ms"], [1.1, 1.2, 1.3])
        # The first device was done before the second one began: a thousandth.
        self.assertEqual(collectives[0]["ms"], [0.0045, 5.5])

    def test_with_dims_an_index_is_a_position_in_the_table_file(self) -> None:
        """NeuroShard's collector writes the list of augmented tables next to the samples."""
        self.write("samples/compute/table_configs.json", f"[{self.config(100, dim=64)},{self.config(100, dim=16)}]")
        self.write("samples/compute/data.txt", "1,0 2.0\n")
        shards = self.samples()[0][0]["shards"]
        self.assertEqual([(shard["table"], shard["columns"]) for shard in shards], [(1, 16), (0, 64)])

    def test_tasks_take_their_columns_from_the_task(self) -> None:
        tasks = self.write("tasks.txt", "1,1,0 4,8,128\n0 16\n")
        cluster = self.write("cluster.json", json.dumps(CLUSTER))
        out = self.run_command(tasks, "--tables", self.tables, "--cluster", cluster)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(line["task"], line["cluster"]) for line in lines], [("0", CLUSTER), ("1", CLUSTER)])
        tables = [tuple(table[of] for of in ("name", "rows", "columns", "poolingFactor")) for table in lines[0]["tables"]]
        self.assertEqual(tables, [("0", 2000, 4, 2.5), ("1", 2000, 8, 2.5), ("2", 100, 128, 2.5)])
        self.assertEqual(lines[0]["tables"][0]["reuseHistogram"][0], 1.0)

    def test_errors_of_tasks_name_the_line(self) -> None:
        for text, error in (
            ("0,1 4", "line 1: there must be as many ids as dims, got 2 and 1"),
            ("0,1", "line 1: must have 2 parts, got 1"),
            ("2 4", "line 1: an index of a table must be from 0 and below 2, got 2"),
            ("x 4", "line 1: must be a number, got 'x'"),
            ("0 6.5", "line 1: must be a whole number of at least 0, got 6.5"),
            ("", 'must have lines of the form "id,id,... dim,dim,...", got none'),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, re.escape(error)) as caught:
                neuroshard.tasks(self.write("tasks.txt", text + "\n"), neuroshard.tables(self.tables))
            self.assertTrue(str(caught.exception).startswith(str(self.folder / "tasks.txt")), caught.exception)

    def test_errors_of_samples_name_the_line(self) -> None:
        for name, text, error in (
            ("compute", "0,12 1.5", "line 1: an index of a table must be from 0 and below 12, got 12"),
            ("compute", "0 1.5 2", "line 1: must have 2 parts, got 3"),
            ("compute", "0, 1.5", "line 1: must be a number, got ''"),
            ("compute", "0 -1", "line 1: must be above 0, got -1"),
            ("compute", "0 NaN", "line 1: must be a number, got 'NaN'"),
            ("comm_2", "1,2,3 0,0,0 1,1,1 1,1,1", "line 1: there must be four lists of 2 numbers, got 1,2,3"),
            ("comm_2", "1,2 0,0 1,1 1", "line 1: there must be four lists of 2 numbers"),
            ("comm_2", "1,2 0,-1 1,1 1,1", "line 1: must be at least 0, got -1"),
            ("comm_2", "1,2 0,0 1,1 0,1", "line 1: must be above 0, got 0"),
            ("comm_2", "1,2 0,0 1,1", "line 1: must have 4 parts, got 3"),
        ):
            with self.subTest(text), tempfile.TemporaryDirectory(dir=self.folder) as bad:
                self.write(f"{bad}/{name}/data.txt", text + "\n")
                with self.assertRaises(commands.Ended) as caught:
                    self.samples(bad)
                self.assertIn(f"{name}/data.txt, {error}", str(caught.exception))

    def test_errors_of_folders_and_options_name_what_is_missing(self) -> None:
        empty, tasks = self.folder / "empty", self.write("tasks.txt", "0 16\n")
        empty.mkdir()
        cluster = self.write("cluster.json", json.dumps(CLUSTER))
        for arguments, error in (
            ((empty, "--out", "o"), "empty must have compute/data.txt or comm_D/data.txt, plain or .gz"),
            ((empty,), "--out must be given with "),
            ((tasks, "--cluster", cluster), "--tables must be given with "),
            ((empty, "--out", "o", "--cluster", cluster), "--cluster must be given with a file of tasks only"),
            ((self.folder / "nowhere", "--tables", self.tables, "--cluster", cluster), "nowhere must have lines of"),
            ((tasks, "--tables", self.tables, "--cluster", "c"), "No such file or directory: 'c'"),
        ):
            with self.subTest(error), self.assertRaisesRegex(commands.Ended, error):
                self.run_command(*arguments)
        self.tables.unlink()
        with self.assertRaisesRegex(commands.Ended, "must have table_configs.json, or its parent; else give --tables"):
            self.run_command(empty, "--out", "o")

    def test_errors_of_tables_name_the_table(self) -> None:
        for text, error in (
            ("not json", "wrong.json must be JSON"),
            ("{}", "wrong.json must be a list of tables, got dict"),
            ("[]", "wrong.json must be a list of tables, got none"),
            ('[{"row":1}]', "table 0: pooling_factor: must be a number, got None"),
            (f"[{self.config('x')}]", "table 0: row: must be a number, got 'x'"),
            (f"[{self.config(0)}]", "table 0: row: must be a whole number of at least 1, got 0"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, re.escape(error)):
                neuroshard.tables(self.write("wrong.json", text))


def nccl_text(
    program: str, rows: list[tuple[int, float]], hosts: list[str], kind: str = "float", wrong: str = "0"
) -> str:
    """Returns what nccl-tests 2.19.6 prints: rows of (size, us out of place); in place takes twice that."""
    lines = [
        "# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007",
        f"# Collective test starting: {program}",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1"
        " validation: 1 graph: 0 unalign: 0",
        "#",
        "# Using devices",
    ]
    for rank, host in enumerate(hosts):
        lines.append(f"#  Rank {rank:2} Group  0 Pid {7000 + rank:6} on {host:>10} device  0 [0000:18:00] NVIDIA H200")
    lines += [
        "NCCL version 2.30.7+cuda13.0",
        "#",
        "#" + " " * 60 + "out-of-place                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw"
        "  #wrong ",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"
        "         ",
    ]
    parts = 1 if program.startswith("all_reduce") else len(hosts)
    width = {"float": 4, "bfloat16": 2}[kind]
    for size, us in rows:
        times = f"{us:7.2f}  {size / us / 1e3:6.2f}  {size / us / 1e3:6.2f}  {wrong:>6}  {2 * us:7.2f}    0.00    0.00"
        lines.append(f"{size:12}  {size // width // parts:12}  {kind:>8}  {'none':>6}  {'-1':>6}  {times}     N/A")
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 12.3 ", "#"]
    return "\n".join([*lines, f"# Collective test concluded: {program}", ""])


def nccl_json(program: str, rows: list[tuple[int, float]], hosts: list[str], per_process: int = 1) -> dict[str, Any]:
    """Returns what nccl-tests 2.19.6 writes, JSON of version 3; of each process its first device only."""
    devices = [
        {"rank": rank, "group": 0, "pid": 7, "hostname": host, "device": 0, "device_info": "NVIDIA H200"}
        for rank, host in enumerate(hosts)
    ]
    return {
        "version": 3,
        "args": [f"./build/{program}", "-J", "out.json"],
        "env": ["HOME=\\/root"],
        "nccl_version": 23007,
        "config": {"nthreads": 1, "ngpus": per_process, "aggregated_iterations": 1, "devices": devices},
        "results": [
            {
                **{"size": size, "count": size // 4 // len(hosts) // per_process, "type": "float", "root": "    -1"},
                "out_of_place": {"time": us, "alg_bw": 1.0, "bus_bw": 1.0, "nwrong": 0.0},
                "in_place": {"time": 2 * us, "alg_bw": 1.0, "bus_bw": 1.0, "nwrong": None},
            }
            for size, us in rows
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 12.3, "okay": "unchecked"},
        "errors": [],
    }


class NcclTests(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())

    def write(self, content: str | dict[str, Any], name: str = "out.txt") -> str:
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    def test_sizes_are_those_of_samples(self) -> None:
        """The size is the whole buffer of each collective; a part of it goes to each peer of an all-to-all."""
        hosts, rows = ["a", "a", "b"], [(0, 3.18), (3 * 2**20, 35.5)]
        group = {"devices": 3, "devicesPerNode": 2}
        for program, name in nccl_tests.COLLECTIVES.items():
            expected: dict[str, Any] = {"collective": name, **group, "bytes": 3 * 2**20, "ms": 0.0355}
            if name == "all_to_all":
                expected = {"collective": name, **group, "bytesPerPeer": [2**20] * 3, "ms": [0.0355] * 3}
            for kind in ("float", "bfloat16"):
                with self.subTest(program, kind=kind):
                    text = nccl_text(program, rows, hosts, kind)
                    self.assertEqual(nccl_tests.read(self.write(text)), ([expected], "NVIDIA H200"))

    def test_json_has_the_same_samples(self) -> None:
        rows = [(4096, 9.5), (2**26, 250.25)]
        for hosts, per_process in ((["a"] * 8, 1), (["a"], 8), (["a"] * 2, 4)):
            with self.subTest(per_process=per_process):
                read = nccl_tests.read(self.write(nccl_json("alltoall_perf_mpi", rows, hosts, per_process)))
                self.assertEqual(read, nccl_tests.read(self.write(nccl_text("alltoall_perf", rows, ["a"] * 8))))

    def test_per_iteration_columns_timestamps_and_old_text(self) -> None:
        text = nccl_text("all_reduce_perf", [(4096, 9.5)], ["a", "a"])
        expected = nccl_tests.read(self.write(text))
        stamped = text.replace("#wrong \n", "#wrong           timestamp\n").replace("N/A\n", "N/A  2026-07-09 16:03:21\n")
        iterated = re.sub(r"(#wrong +)", r"\1  i_min  i_max  i_p99  i_cv% ", text)
        iterated = re.sub(r"( 0  )(?= +19\.00)", r"\1 9.1 9.9 9.8 2.5 ", iterated).replace("N/A", "N/A 9.1 9.9 9.8 2.5")
        for changed in (stamped, iterated):
            self.assertEqual(nccl_tests.read(self.write(changed)), expected)
        old = "\n".join(line for line in text.splitlines() if "Collective test" not in line and "version" not in line)
        old = old.replace(" agg iters: 1 validation: 1 graph: 0 unalign: 0", " validation: 1 ").replace(" Group  0", "")
        path = self.write(old)
        self.assertEqual(nccl_tests.read(path, "all_reduce_perf"), expected)
        with self.assertRaisesRegex(ValueError, "does not name its collective; give --collective, one of all_reduce"):
            nccl_tests.read(path)
        with self.assertRaisesRegex(ValueError, r"size must be 8192, 1024 float of 2 ranks, got 4096"):
            nccl_tests.read(path, "alltoall_perf")

    def test_groups_and_nodes(self) -> None:
        """Of a split, the group of the first rank is measured; NVLink may connect several hosts."""
        hosts = ["a", "a", "b", "b"]
        text = nccl_text("all_gather_perf", [(4096, 9.5)], hosts)
        split = re.sub(r"Rank  ([13]) Group  0", r"Rank  \1 Group  1", text).replace("   256 ", "   512 ")
        for content, per_node, devices, expected in ((text, None, 4, 2), (text, 4, 4, 4), (split, None, 2, 1)):
            with self.subTest(devices=devices, per_node=per_node):
                (sample,), _ = nccl_tests.read(self.write(content), None, per_node)
                self.assertEqual((sample["devices"], sample["devicesPerNode"]), (devices, expected))

    def test_wrong_text_is_named(self) -> None:
        rows = [(4096, 9.5), (8192, 9.75)]
        text = nccl_text("all_reduce_perf", rows, ["a", "a"])
        for content, error in (
            (text + text, "out.txt, line 21: a file must have one run, got a second one after that of line 3"),
            ("\n".join(text.splitlines()[:-4]), "must end with '# Out of bounds values : 0 OK', got none: it is cut"),
            ("\n".join(text.splitlines()[:13])[:-30], "line 13: a row must have the 13 columns of a header, got 9: it is cut, or"),
            (re.sub(r"(-1 ).{32}", r"\1" + " " * 32, text), "13 columns of a header, got 9: it is cut, or has no out-of-place"),
            (text.replace("0.00     0  ", "0.00     3  ").replace("       0    1", "       3    1"), "#wrong must be 0, got 3"),
            (text.replace("N/A", "  7"), "line 13: #wrong must be 0, got 7: these links change what they carry"),
            (text.replace("0 OK", "4 FAILED"), "must end with '# Out of bounds values : 0 OK', got FAILED"),
            (text.replace("  time ", " cputime"), "line 11: columns must have time, got size count type redop root cputime"),
            (text.replace("agg iters: 1", "agg iters: 5"), "-m must be 1, got 5: operations at once"),
            (text.replace("Rank  1", "Rank  7"), "line 7: ranks must be listed in order, expected 1, got 7"),
            (text.replace("H200\nNCCL", "H100\nNCCL"), "ranks must have one kind of device, got NVIDIA H100, NVIDIA H200"),
            (text.replace("   9.50", "   0.00"), "line 13: time must be above 0, got 0.00"),
            (nccl_text("all_reduce_perf", [], ["a", "a"]), "must have a row for each size, got none"),
            (nccl_text("all_reduce_perf", rows, ["a"]), "2 ranks or more, got 1; was it built without MPI=1?"),
            (nccl_text("all_reduce_perf", rows, [*"aabc"]), "as many ranks each, the last one maybe fewer, got 2, 1, 1"),
            ("osu_allreduce 5.9\n1 2.3\n", "must be output of nccl-tests with a line '# nThread ..', got str 'osu_allreduce"),
            ("", "must be output of nccl-tests with a line '# nThread ..', got str ''"),
        ):
            with self.subTest(error), self.assertRaisesRegex(ValueError, re.escape(error)):
                nccl_tests.read(self.write(content))

    def test_wrong_json_is_named(self) -> None:
        right = nccl_json("all_gather_perf", [(4096, 9.5)], ["a", "a"])
        result = right["results"][0]

        def results(**changed: Any) -> dict[str, Any]:
            return {**right, "results": [{**result, **changed}]}

        for content, error in (
            (json.dumps(right)[:-200], "out.txt must be JSON: "),
            ({"results": []}, "out.txt must be JSON of nccl-tests, whose config is a dict, got dict {'results'"),
            (results(out_of_place=None), "results[0]: out_of_place must have a time, got None"),
            (results(out_of_place={"cpu_time": 3.0}), "results[0]: out_of_place must have a time, got dict {'cpu_time'"),
            (results(in_place={"time": 3.0, "nwrong": 2.0}), "results[0]: #wrong must be 0, got 2"),
            (results(size=8192), "results[0]: size must be 4096, 512 float of 2 ranks, got 8192"),
            (results(type="complex"), "results[0]: size must be 0, 512 complex of 2 ranks, got 4096"),
            (results(count=None), "results[0]: size, count, time and #wrong must be numbers"),
            ({**right, "out_of_bounds": {"count": 2, "okay": "false"}}, "out_of_bounds must be okay, got {'count': 2"),
        ):
            with self.subTest(error), self.assertRaisesRegex(ValueError, re.escape(error)):
                nccl_tests.read(self.write(content))

    def test_the_command_writes_a_folder(self) -> None:
        rows, out = [(4096, 9.5)], self.folder / "samples"
        files = [
            self.write(nccl_text(program, rows, ["a", "a"]), program)
            for program in ("all_reduce_perf", "alltoall_perf", "sendrecv_perf")
        ]
        printed, said = commands.run("import", "nccl-tests", *files, "--hardware", "h200", "--out", str(out))
        left_out = f"{files[2]} is left out: its collective is none of all_reduce, all_to_all, reduce_scatter, all_gather"
        self.assertEqual((printed, said), ("", f"shardtide-py import: {left_out}\n"))
        lines = [json.loads(line) for line in (out / "collectives.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([line["collective"] for line in lines], ["all_reduce", "all_to_all"])
        info = json.loads((out / "run-info.json").read_text(encoding="utf-8"))
        self.assertEqual((info["hardware"], info["device"]), ("h200", "NVIDIA H200"))
        other = self.write(nccl_text("alltoall_perf", rows, ["a", "a"]).replace("H200", "B200"), "b200")
        for arguments, error in (
            ((files[0],), "the following arguments are required: --hardware, --out"),
            ((files[0], other, "--hardware", "h200", "--out", str(out)), "files must be of one kind of device, got {"),
            ((files[2], "--hardware", "h200", "--out", str(out)), f"files must have collectives, got {left_out}"),
            ((files[0], "--hardware", "h200", "--out", str(out), "--rows", files[0]), "argument --rows: "),
        ):
            with self.subTest(error), self.assertRaises(commands.Ended) as caught:
                commands.run("import", "nccl-tests", *arguments)
            self.assertIn(error, str(caught.exception))
        with self.assertRaisesRegex(commands.Ended, "hugectr must have one source, got 2"):
            cluster = self.write(CLUSTER, "cluster.json")
            commands.run("import", "hugectr", *files[:2], "--cluster", cluster)
        with self.assertRaisesRegex(commands.Ended, "--devices-per-node must be given with nccl-tests only, got hugectr"):
            commands.run("import", "hugectr", files[0], "--devices-per-node", "8")


class Command(unittest.TestCase):
    def run_command(self, *arguments: str) -> tuple[str, str]:
        return commands.run("import", *arguments)

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.cluster = self.folder / "cluster.json"
        self.cluster.write_text(json.dumps(CLUSTER), encoding="utf-8")

    def test_a_workload_for_plan(self) -> None:
        out = self.folder / "w.jsonl"
        printed, said = self.run_command(
            *("hugectr", str(EMBARK), "--dataset", "T180_70B", "--zipf", "1.1"),
            *("--cluster", str(self.cluster), "--task", "seventy", "--out", str(out)),
        )
        self.assertEqual((printed, said), ("", ""))
        (line,) = out.read_text(encoding="utf-8").splitlines()
        task = json.loads(line)
        self.assertEqual(task, {"task": "seventy", "cluster": CLUSTER, "tables": task["tables"]})
        self.assertEqual(len(task["tables"]), 177)
        self.assertEqual(
            task["tables"][0],
            {
                "name": "table0",
                "rows": 10_000,
                "columns": 128,
                "bytesPerElement": 4,
                "optimizer": "sgd",
                "accessCdf": zipf_cdf(10_000, 1.1),
                "poolingFactor": 100,
            },
        )

    def test_what_a_source_does_not_say_is_told(self) -> None:
        printed, said = self.run_command(
            "torcheasyrec", str(temporary(EASYREC)), "--default-lookups", "12", "--cluster", str(self.cluster)
        )
        self.assertIn("shardtide-py import: Table price_emb has 6 columns", said)
        tables = {table["name"]: table for table in json.loads(printed)["tables"]}
        self.assertEqual(tables["searches_emb"]["poolingFactor"], 12)
        self.assertEqual(len(tables), 13)
        self.assertEqual([name for name, of in tables.items() if "storage" in of], ["zch_emb", "dynamic_emb"])

    @unittest.skipUnless(BUILT, "./shardtide is not built; ./shardtide --version builds it")
    def test_what_is_imported_is_planned(self) -> None:
        """Pooled and unpooled tables, hash tables, constraints, kernels and weights, of each importer's kind."""
        easyrec = EASYREC.replace(
            "train_config {",
            "train_config { global_embedding_constraints {"
            ' sharding_types: ["table_wise", "row_wise"] compute_kernels: "fused" }',
        )
        for feature in ('"tags" hash', '"item_id" expression'):
            easyrec = easyrec.replace(f"feature_name: {feature}", f"weighted: true feature_name: {feature}")
        benchmark = (
            "--num_table 2,1 --vocabulary_size_per_table 10,20 --nnz_per_table 1,5 --ev_size_per_table 4,8"
            " --combiner_per_table s,c --optimizer SGD"
        )
        lines = []
        for task, (kind, text) in enumerate(
            (("torcheasyrec", easyrec), ("hugectr", json.dumps(HUGECTR)), ("hugectr", benchmark))
        ):
            out, _ = self.run_command(
                *(kind, str(temporary(text)), "--cluster", str(self.cluster), "--task", str(task)),
                *("--default-lookups", "3", "--zipf", "1.05"),
            )
            lines.append(out)
        workloads, plans = self.folder / "workloads.jsonl", self.folder / "plans.jsonl"
        workloads.write_text("".join(lines), encoding="utf-8")
        run = subprocess.run(
            [str(ROOT / "shardtide"), "plan", "--workloads", str(workloads), "--out", str(plans)],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        planned = [json.loads(line) for line in plans.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(
            [(plan["task"], plan["feasible"]) for plan in planned], [("0", True), ("1", True), ("2", True)]
        )
        kinds = {
            table["name"]: {shard["kind"] for shard in table["shards"]} for plan in planned for table in plan["tables"]
        }
        self.assertEqual(len(kinds), 13 + 5 + 3)
        for table in ("zch_emb", "dynamic_emb"):
            self.assertEqual(kinds[table], {"row_wise"})
        self.assertLessEqual(kinds["item_id_emb_sequence"], {"table_wise", "row_wise"})

    def test_errors_are_one_line(self) -> None:
        for arguments, error in (
            (("hugectr", str(EMBARK)), "the following arguments are required: --cluster"),
            (("hugectr", str(EMBARK), "--module", "m", "--cluster", str(self.cluster)), "with checkpoint only, got hugectr"),
            (("hugectr", "missing", "--cluster", str(self.cluster)), "No such file or directory: 'missing'"),
            (("torcheasyrec", str(EMBARK), "--cluster", str(self.cluster)), "datasets.txt, line "),
        ):
            with self.subTest(error), self.assertRaises(commands.Ended) as caught:
                self.run_command(*arguments)
            self.assertTrue(str(caught.exception).startswith("shardtide-py import: "), caught.exception)
            self.assertIn(error, str(caught.exception))

    def test_it_needs_neither_torch_nor_kafka(self) -> None:
        script = (
            "import sys\n"
            "for name in ('torch', 'torchrec', 'numpy', 'confluent_kafka', 'avro'): sys.modules[name] = None\n"
            "import shardtide.imports.__main__"
        )
        subprocess.run([sys.executable, "-B", "-c", script], cwd=ROOT / "src/python", check=True, timeout=100)


if __name__ == "__main__":
    unittest.main()
