"""What shardtide.profile reads: batches in all forms, and files. Needs numpy; parts need PyTorch and pyarrow."""

from __future__ import annotations

import collections
import contextlib
import decimal
import gc
import importlib.util
import io
import json
import pathlib
import random
import sys
import unittest
import warnings
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from profile_command import CommandCase

try:
    import numpy as np

    from shardtide.profile import Profiler, TableProfile, bags, files
    from shardtide.profile import __main__ as command
    from shardtide.profile.bags import by_feature
    import profile_benchmark as benchmark
    from profile_benchmark import SkewedIds
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    np = None

try:
    import torch
except ModuleNotFoundError:
    torch = None

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError:
    pa = None


DELTALAKE = importlib.util.find_spec("deltalake") is not None


class KeyedJagged:
    """What a KeyedJaggedTensor has."""

    def __init__(self, keys, values, lengths, strides=None):
        self.keys, self.values, self.lengths = (lambda: keys), (lambda: values), (lambda: lengths)
        if strides:
            self.stride_per_key = lambda: strides


class Jagged:
    """What a JaggedTensor has."""

    def __init__(self, values, lengths):
        self.values, self.lengths = (lambda: values), (lambda: lengths)


def forms(samples, random_numbers):
    """Yields the name and the Bags of each form that can hold samples, in random types of integers."""

    def array(values):
        # All of them fit into the smallest type.
        dtype = random_numbers.choice(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"])
        return np.array(values, dtype)

    def tensor(values):
        return torch.tensor(values, dtype=random_numbers.choice([torch.int32, torch.int64]))

    converts = [list, array, *([tensor] if torch else [])]
    lengths = [len(sample) for sample in samples]
    offsets = [sum(lengths[:place]) for place in range(len(lengths) + 1)]
    ids = [id_ for sample in samples for id_ in sample]
    for convert in converts:
        name = convert.__name__
        yield f"{name} with lengths", lambda: bags(convert(ids), lengths=random_numbers.choice(converts)(lengths))
        yield f"{name} with offsets", lambda: bags(convert(ids), offsets=random_numbers.choice(converts)(offsets))
        if set(lengths) == {1}:
            yield f"{name} of one", lambda: bags(convert(ids))
        if len(set(lengths)) == 1 and lengths[0]:
            yield f"{name} of rows", lambda: bags(convert(samples))
    yield "jagged", lambda: bags(Jagged(array(ids), array(lengths)))
    padded = [[*sample, *[99] * (5 - len(sample))] for sample in samples]
    mask = [[False] * len(sample) + [True] * (5 - len(sample)) for sample in samples]
    yield "masked", lambda: bags(np.ma.array(array(padded), mask=mask))

    def of_key():
        others = random_numbers.randrange(4)
        both = KeyedJagged(
            ["a", "b"], array([*[7] * others, *ids]), array([others, *[0] * (len(samples) - 1), *lengths])
        )
        return by_feature(both)["b"]

    yield "key", of_key
    if torch:
        parts = [torch.tensor(sample, dtype=torch.int64) for sample in samples]
        yield "nested", lambda: bags(torch.nested.nested_tensor(parts, dtype=torch.int64))
        yield "nested jagged", lambda: bags(torch.nested.nested_tensor(parts, dtype=torch.int64, layout=torch.jagged))
        shift = random_numbers.randrange(3)
        wide = torch.tensor([[98] * shift + row for row in padded])
        begins, ends = torch.full((len(samples),), shift), torch.tensor(lengths)
        yield "narrowed", lambda: bags(torch.nested.narrow(wide, 1, begins, ends, layout=torch.jagged))


@unittest.skipUnless(np, "numpy is not installed")
class BatchTest(unittest.TestCase):
    def pooling(self, ids, **options):
        profile = TableProfile("t", 100)
        profile.add(ids, **options)
        use = profile.result()
        return use.samples, use.lookups, use.pooling_factor

    def test_every_form_has_its_samples(self):
        ids = np.array([5, 3, 3, 99, 0, 1])
        self.assertEqual(self.pooling(ids), (6, 6, 1.0))
        self.assertEqual(self.pooling([5, 3]), (2, 2, 1.0))
        self.assertEqual(self.pooling(ids.reshape(2, 3)), (2, 6, 3.0))
        self.assertEqual(self.pooling(ids, lengths=[0, 4, 2, 0]), (4, 6, 1.5))
        self.assertEqual(self.pooling(ids, offsets=[0, 0, 4, 6, 6]), (4, 6, 1.5))
        self.assertEqual(self.pooling(ids, samples=3), (3, 6, 2.0))
        self.assertEqual(self.pooling(bags(ids, samples=3)), (3, 6, 2.0))
        self.assertEqual(self.pooling(Jagged(ids, np.array([6, 0, 0]))), (3, 6, 2.0))

    def test_all_integer_types_are_ids(self):
        for dtype in ("u1", "i1", "u2", "i4", "i8", "u8", ">i4"):
            self.assertEqual(self.pooling(np.array([1, 2, 3], dtype)), (3, 3, 1.0), dtype)

    def test_ids_from_2_to_63_on_are_exact_beside_smaller_ones(self):
        large = 2**63 + 5
        for given in ([large, 5], (np.uint64(large), 5), [[large], [5]]):
            found = bags(given)
            self.assertEqual((found.ids.tolist(), found.ids.dtype, found.samples), ([large, 5], np.uint64, 2))
        self.assertEqual(bags([large, 5], lengths=[2]).ids.tolist(), [large, 5])
        for given, message in (
            ([large, -5], "ids must be integers of 64 bits, all with a sign or all without, got -5 too"),
            ([large, 5.0], "ids must be integers, got float64"),
            ([large, True], "ids must be integers, got bool among them"),
        ):
            with self.subTest(given), self.assertRaisesRegex(ValueError, message):
                bags(given)

    def test_empty_batches_are_legal(self):
        profile = TableProfile("t", 100)
        for ids, options in (([], {}), (np.empty((0, 4), int), {}), ([], {"lengths": []}), ([], {"offsets": [0]})):
            profile.add(ids, **options)
        with self.assertRaisesRegex(ValueError, "Table t has no samples of feature t: its pooling factor is unknown"):
            profile.result()
        profile.add([], lengths=[0, 0])
        self.assertEqual(profile.result().pooling_factor, 0)
        profile.add(np.empty((3, 0)))
        self.assertEqual(profile.result().samples, 5)

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_tensors_are_ids(self):
        for dtype in (torch.int32, torch.int64):
            ids = torch.tensor([[1, 2], [3, 4]], dtype=dtype)
            self.assertEqual(self.pooling(ids), (2, 4, 2.0))
            self.assertEqual(self.pooling(ids.reshape(-1), lengths=torch.tensor([4, 0, 0, 0])), (4, 4, 1.0))
        with self.assertRaisesRegex(ValueError, "ids must be integers, got float32"):
            self.pooling(torch.ones(2))

    def test_every_form_is_counted_as_plain_python_counts_it(self):
        """Random samples, in each form that can hold them, against loops over lists."""
        tried = collections.Counter()
        for seed in range(300):
            random_numbers = random.Random(seed)
            width = random_numbers.choice((None, 0, 1, 1, 3))
            samples = [
                [random_numbers.randrange(100) for _ in range(random_numbers.randrange(5) if width is None else width)]
                for _ in range(random_numbers.randrange(1, 7))
            ]
            expected = collections.Counter()
            for sample in samples:
                for id_ in sample:
                    expected[id_] += 1
            for name, form in forms(samples, random_numbers):
                with self.subTest(seed=seed, form=name):
                    found = form()
                    self.assertEqual(found.samples, len(samples))
                    self.assertEqual(collections.Counter(found.ids.tolist()), expected)
                tried[name] += 1
        self.assertGreater(min(tried.values()), 10, tried)
        self.assertGreater(len(tried), 12 if torch else 8, tried)

    def test_what_would_be_counted_wrong_is_refused(self):
        ids = np.array([1, 2, 3])
        masked = np.ma.array([2, 1], mask=[False, True])
        for message, given, options in (
            # The sum of these is 3 more than 2^64.
            (
                "lengths must sum to the number of ids, 3, got 18446744073709551615 among",
                ids,
                {"lengths": np.array([2**64 - 1, 4], np.uint64)},
            ),
            (
                "lengths must sum to the number of ids, 3, got 2147483647 among",
                ids,
                {"lengths": np.array([2**31 - 1, 2**31 - 1, 5], np.int32)},
            ),
            ("lengths must have 1 dimension, got 2", ids, {"lengths": [[2], [0], [1]]}),
            ("lengths must be integers, got float64", ids, {"lengths": [2.0, 0.0, 1.0]}),
            ("lengths must not be masked, got 1 masked of 2", ids, {"lengths": masked}),
            (
                "offsets must begin with 0 and end with the number of ids, 3, .*nn.EmbeddingBag lack the last one",
                ids,
                {"offsets": [0, 2]},
            ),
            ("offsets must be integers, got float64", ids, {"offsets": [0.0, 3.0]}),
            ("offsets must not be masked", ids, {"offsets": np.ma.array([0, 3], mask=[True, False])}),
            ("MaskedArray knows its samples", masked, {"lengths": [1]}),
            ("ids must be those of one feature, got a KeyedJagged", KeyedJagged(["a"], ids, ids), {}),
            ("ids must be those of one feature, got a dict", {"a": ids}, {}),
            ("ids must be integers, got bool among them", [True, 2], {}),
            ("ids must be equally many for each sample", [[1], [2, 3]], {}),
            ("ids must be integers, got object", None, {}),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                bags(given, **options)

    def test_keys_and_lengths_of_keyed_jagged_tensors(self):
        values = np.array([1, 2, 3, 4])
        for message, keys, lengths, strides in (
            ("keys must be different, got a at positions 0 and 2", ["a", "b", "a"], [1, 1, 2], None),
            (r"those of 2 features, .*got \[4, 2\]", ["a", "b"], np.ones((4, 2), int), None),
            ("those of 2 features with", ["a", "b"], [1, 1, 2], None),
            ("those of 2 features with", ["a", "b"], [1, 1, 2], [3]),
            ("those of 2 features with", ["a", "b"], [1, 1, 2], [-1, 4]),
            ("lengths must be integers, got float64", ["a", "b"], [1.0, 3.0], None),
            (
                "sum to the number of values, 4, got 18446744073709551615",
                ["a", "b"],
                np.array([2**64 - 1, 5], np.uint64),
                None,
            ),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                Profiler({"a": 10, "b": 10}).add(KeyedJagged(keys, values, lengths, strides))
        profiler = Profiler({"a": 10, "b": 10})
        profiler.add(KeyedJagged(["a", "b"], values, np.array([[1, 0, 2], [1, 0, 0]])))
        self.assertEqual([(use.lookups, use.samples) for use in profiler.results().values()], [(3, 3), (1, 3)])

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_tensors_that_numpy_cannot_hold_are_refused(self):
        jagged = torch.nested.nested_tensor([torch.ones(2, 3).long()] * 2, layout=torch.jagged)
        for message, tensor in (
            ("dense tensor, got int64 with layout torch.sparse_coo", torch.tensor([[0, 1]]).to_sparse()),
            ("dense tensor, got int64 with layout torch.strided on device meta", torch.ones(2, device="meta").long()),
            ("dense tensor, got bfloat16", torch.ones(2, dtype=torch.bfloat16)),
            ("a nested tensor with 3", jagged),
            ("ids must be integers, got float32", torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged)),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                bags(tensor)

    def test_keyed_jagged_tensors_have_ids_by_feature(self):
        arrays = [np.array([9, 8, 7, 1, 2]), np.array([1, 2, 0, 2])]
        for convert in (np.asarray, *((torch.tensor,) if torch else ())):
            values, lengths = map(convert, arrays)
            for strides in (None, [2, 2]):
                profiler = Profiler({"a": 10, "b": 10})
                profiler.add(KeyedJagged(["a", "b"], values, lengths, strides))
                uses = profiler.results()
                self.assertEqual((uses["a"].lookups, uses["a"].pooling_factor), (3, 1.5))
                self.assertEqual((uses["b"].lookups, uses["b"].pooling_factor), (2, 1.0))
        profiler = Profiler({"a": 10, "b": 10})
        profiler.add(KeyedJagged(["a", "b"], arrays[0], arrays[1], [3, 1]))
        self.assertEqual([use.samples for use in profiler.results().values()], [3, 1])
        profiler.add(KeyedJagged([], np.empty(0, int), np.empty(0, int)))

    def test_features_share_a_table(self):
        profiler = Profiler({"item": 10, "user": 4}, {"clicked": "item", "bought": "item"})
        self.assertEqual(profiler.features, ["clicked", "bought", "user"])
        profiler.add({"clicked": bags([1, 1, 2, 3], lengths=[3, 1]), "bought": [1, 1]})
        # A feature may be missing in a batch.
        profiler.add({"bought": [7, 7], "user": [0]})
        use = profiler.results()["item"]
        self.assertEqual(use.feature_pooling, {"clicked": 2.0, "bought": 1.0})
        self.assertEqual((use.pooling_factor, use.lookups, use.samples), (3.0, 8, 2))
        self.assertEqual(use.access_cdf, [0.5, 1.0, 1.0])
        self.assertEqual(profiler.results()["user"].access_cdf, [1.0, 1.0])

    def test_bad_batches_are_errors_and_count_nothing(self):
        profile = TableProfile("t", 100)
        profile.add([1, 2, 3])
        before = profile.result()
        for ids, options, message in (
            ([0, -1], {}, "ids of feature t must be between 0 and 99, as table t has 100 rows, got -1 at position 1"),
            ([7, 100, 5], {}, "between 0 and 99, as table t has 100 rows, got 100 at position 1"),
            (np.array([2**64 - 1], np.uint64), {}, "got 18446744073709551615 at position 0"),
            ([1.0, 2.0], {}, "ids must be integers, got float64"),
            ([True], {}, "ids must be integers, got bool"),
            (["a"], {}, "ids must be integers, got <U1"),
            ([[1, 2], [3]], {}, "ids must be equally many for each sample, or come with lengths or offsets"),
            (5, {}, "ids must have 1 or 2 dimensions, got 0"),
            (
                [[1, 2]],
                {"lengths": [2]},
                "ids must have 1 dimension where lengths, offsets or samples are given, got 2",
            ),
            ([1, 2], {"lengths": [1, 2]}, "lengths must sum to the number of ids, 2, got 3"),
            ([1, 2], {"lengths": [-1, 3]}, "lengths must be at least 0, got -1"),
            ([1, 2], {"lengths": [[1, 1]]}, "lengths must have 1 dimension, got 2"),
            ([1, 2], {"lengths": [1.0, 1.0]}, "lengths must be integers, got float64"),
            ([1, 2], {"offsets": [0, 1]}, "offsets must begin with 0 and end with the number of ids, 2, got \\[0 1\\]"),
            ([1, 2], {"offsets": [1, 2]}, "offsets must begin with 0"),
            ([1, 2], {"offsets": []}, "offsets must begin with 0"),
            ([1, 2], {"offsets": [0, 2, 1, 2]}, "offsets must not fall"),
            ([1, 2], {"samples": 0}, "samples must be at least 1 where there are ids, got 0 for 2 ids"),
            ([1, 2], {"samples": -1}, "samples must be an integer of at least 0, got -1"),
            ([1, 2], {"samples": 1.5}, "samples must be an integer of at least 0, got 1.5"),
            ([1, 2], {"samples": 2, "lengths": [1, 1]}, "must come with one of lengths, offsets and samples"),
            (bags([1]), {"samples": 1}, "Bags knows its samples"),
            ([1], {"feature": "u"}, "feature of table t must be one of t, got u"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                profile.add(ids, **options)
            self.assertEqual(profile.result(), before)

    def test_a_bad_feature_counts_nothing_of_the_batch(self):
        profiler = Profiler({"a": 10, "b": 10})
        good = np.array([1])
        for batch, message in (
            ({"a": good, "b": [10]}, "ids of feature b must be between 0 and 9"),
            ({"a": good, "c": good}, "feature must be one of a, b, got c"),
            ({"a": good, "b": [0.5]}, "Feature b: ids must be integers"),
            ([good], "A batch must be a mapping by feature or a KeyedJaggedTensor, got list"),
            (
                KeyedJagged(["a", "b"], np.array([1, 2]), np.array([1, 2])),
                "lengths must sum to the number of values, 2",
            ),
            (KeyedJagged(["a", "b"], np.array([1, 2]), np.array([1, 1, 0])), "lengths must be those of 2 features"),
            (KeyedJagged(["a", "c"], np.array([1, 2]), np.array([1, 1])), "feature must be one of a, b, got c"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                profiler.add(batch)
            with self.assertRaisesRegex(ValueError, "Table a has no samples"):
                profiler.results()

    def test_bad_tables_are_errors(self):
        for arguments, message in (
            (("t", 0), "rows of table t must be an integer between 1 and 2\\^36, got 0"),
            (("t", 2**36 + 1), "between 1 and 2\\^36, got 68719476737"),
            (("t", 1.5), "must be an integer"),
            (("", 5), "table name must have 1 to 255 characters"),
            (("a\nb", 5), "no control characters"),
            (("t" * 256, 5), "table name must have 1 to 255 characters"),
            (("t", 5, []), "table t must have a feature, got none"),
            (("t", 5, "fg"), "features must be a list of names, got str 'fg'"),
            (("t", 5, ["f", 1]), "features must be a list of names, got int 1 at position 1"),
            (("caf\udce9", 5), "table name must be UTF-8, got 'caf"),
            (("t", 5, None, 2**24 - 1), "memory_bytes must be at least 16777216, got 16777215"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                TableProfile(*arguments)
        with self.assertRaisesRegex(ValueError, "tables must be an object with the rows of each table, got list"):
            Profiler(["a"])
        with self.assertRaisesRegex(ValueError, "hot rows of table t must be between 0 and 5, got True"):
            TableProfile("t", 5).order(True)
        with self.assertRaisesRegex(ValueError, "table of feature f must be one of a, b, got c"):
            Profiler({"a": 1, "b": 1}, {"f": "c"})
        with self.assertRaisesRegex(ValueError, "feature b must be of one table, got a and b"):
            Profiler({"a": 1, "b": 1}, {"b": "a"})
        with self.assertRaisesRegex(ValueError, "feature must be one of f, g, got none"):
            TableProfile("t", 5, ["f", "g"]).add([1])

    def test_more_lookups_than_a_table_may_have_are_an_error(self):
        profile = TableProfile("t", 5)
        profile.add(np.zeros(1_000_001, np.int8), samples=1)
        with self.assertRaisesRegex(ValueError, "Lookups a sample of table t must be at most 1,000,000, got 1000001.0"):
            profile.result()


@unittest.skipUnless(np, "numpy is not installed")
class CommandTest(CommandCase):
    def test_arrays_are_profiled(self):
        np.save(self.path("user.npy"), np.arange(100_000) % 10)
        np.save(self.path("item.npy"), np.zeros((70_000, 2), np.int32))
        np.savez(
            self.path("more.npz"),
            item=np.ones((10_000, 4), int),
            **{"seen.values": np.array([1, 2, 3]), "seen.lengths": np.array([0, 3] + [0] * 4)},
            other=np.array([0.5]),
        )
        files = [self.path(name) for name in ("user.npy", "item.npy", "more.npz")]
        fields, printed, err = self.profile(*files, "--rows", "user=10", "item=5", "--rows", "seen=100")
        self.assertEqual(list(fields), ["user", "item", "seen"])
        self.assertEqual(fields["user"]["accessCdf"], [0.1, 0.4, 1.0])
        self.assertEqual(fields["user"]["poolingFactor"], 1)
        self.assertEqual(fields["item"]["poolingFactor"], 180_000 / 80_000)
        self.assertEqual(fields["item"]["accessCdf"], [0.7777778, 1.0, 1.0])
        self.assertEqual(fields["seen"]["poolingFactor"], 0.5)
        self.assertEqual(fields["seen"]["reuseHistogram"], [])
        for lines, first in zip(printed.split("\n\n"), ("table", "distinct of")):
            lines = lines.splitlines()
            self.assertEqual(len({len(line) for line in lines}), 1, printed)
            self.assertEqual([line.split("  ")[0] for line in lines], [first, "user", "item", "seen"])
        self.assertRegex(printed, r"\nuser +1\.0000 +0\.6250 +0\.1562 .* 0\.0002 +1 +1\.00\n")
        self.assertEqual([spread["order"] for spread in fields["item"]["rowSpread"]], ["contiguous"])
        hashed = self.profile(*files, "--rows", "user=10", "item=5", "seen=100", "--row-orders", "hashed,contiguous")[0]
        self.assertEqual([spread["order"] for spread in hashed["item"]["rowSpread"]], ["hashed", "contiguous"])
        self.assertEqual(hashed["item"]["rowSpread"][1], fields["item"]["rowSpread"][0])
        self.assertIn("280,003 ids", err)
        self.assertIn("Table seen has 6 samples; a reuse histogram needs 65,536", err)

    def test_progress_is_shown(self):
        np.save(self.path("user.npy"), np.zeros(100_000, int))
        with mock.patch.object(command, "PROGRESS_SECONDS", 0):
            _, _, err = self.profile(self.path("user.npy"), "--rows", "user=1")
        self.assertRegex(err.splitlines()[0], r"^33%, 32,768 ids, \d+ s left$")
        self.assertEqual(len(err.splitlines()), 5)

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_parquet_columns_are_profiled(self):
        lists = [[1, 2], [], None, [3, None, 3]]
        table = pa.table(
            {
                "user": pa.array([1, None, 2, 1], pa.int32()),
                "seen": pa.array(lists, pa.list_(pa.int64())),
                "large": pa.array(lists, pa.large_list(pa.uint32())),
                "fixed": pa.array([[1, 1], [1, 1], [2, 0], [None, 1]], pa.list_(pa.int64(), 2)),
                "coded": pa.array([9, 9, None, 8]).dictionary_encode(),
                "text": ["a", "b", "c", "d"],
            }
        )
        pq.write_table(table, self.path("day.parquet"))
        names = ["user", "seen", "large", "fixed", "coded"]
        fields, _, _ = self.profile(
            self.path("day.parquet"), self.path("day.parquet"), "--rows", *(f"{name}=10" for name in names)
        )
        self.assertEqual([fields[name]["poolingFactor"] for name in names], [0.75, 1.0, 1.0, 1.75, 0.75])
        self.assertEqual(fields["user"]["accessCdf"], [0.6666667, 1.0, 1.0])
        self.assertEqual(fields["seen"]["accessCdf"], [0.5, 1.0, 1.0])
        self.assertEqual(fields["fixed"]["accessCdf"], [0.7142857, 1.0, 1.0])
        both, _, _ = self.profile(self.path("day.parquet"), "--rows", "t=10", "--feature", "user=t", "seen=t")
        self.assertEqual(both["t"]["poolingFactor"], 1.75)
        self.assertIn("Column text of", self.error(self.path("day.parquet"), "--rows", "text=5"))
        self.assertIn("got string", self.error(self.path("day.parquet"), "--rows", "text=5"))

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_parquet_columns_of_all_types_that_hold_ids(self):
        lists = [[1, 2], [], None, [3, None, 3]]
        weighted = [None if of is None else [(id_, 0.5) for id_ in of if id_ is not None] for of in lists]
        structs = [None if of is None else [{"weight": 2, "id": id_} for id_ in of] for of in lists]
        others = [None if of is None else [{"weight": 0.5, "item": id_} for id_ in of] for of in lists]
        decimals = [
            None if of is None else [id_ if id_ is None else decimal.Decimal(id_) for id_ in of] for of in lists
        ]
        pairs = [[1, 2], [1, 3], [1, 3], [1, 3]]
        columns = {
            "never": (pa.nulls(4), []),
            "empty": (pa.array([[], None, [None], []], pa.list_(pa.null())), []),
            "map": (pa.array(weighted, pa.map_(pa.int64(), pa.float32())), [1, 2, 3, 3]),
            "structs": (pa.array(structs, pa.list_(pa.struct({"weight": pa.int8(), "id": pa.int64()}))), [1, 2, 3, 3]),
            "others": (
                pa.array(others, pa.large_list(pa.struct({"weight": pa.float64(), "item": pa.int64()}))),
                [1, 2, 3, 3],
            ),
            "decimals": (pa.array(decimals, pa.list_(pa.decimal128(20, 0))), [1, 2, 3, 3]),
            "coded": (pa.ListArray.from_arrays([0, 1, 1, 1, 2], pa.array([7, 7]).dictionary_encode()), [7, 7]),
            "nested": (pa.array([[[1], [2, 3]], [], None, [None, [3]]], pa.list_(pa.list_(pa.int64()))), [1, 2, 3, 3]),
        }
        if hasattr(pa, "list_view"):
            columns["view"] = (pa.array(lists, pa.list_view(pa.int64())), [1, 2, 3, 3])
            columns["wide view"] = (pa.array(lists, pa.large_list_view(pa.int64())), [1, 2, 3, 3])
        if hasattr(pa, "fixed_shape_tensor"):
            storage = pa.array(pairs, pa.list_(pa.int64(), 2))
            tensor = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int64(), [2]), storage)
            columns["tensor"] = (tensor, [1, 2, 1, 3, 1, 3, 1, 3])
        day = pa.array([0, 1, 86_400, 86_401])
        for name, (column, ids) in columns.items():
            with self.subTest(name):
                try:
                    pq.write_table(pa.table({"item": column, "time": day}), self.path("day.parquet"))
                except pa.ArrowNotImplementedError:
                    continue
                (part,) = files.read(self.folder / "day.parquet", ["item"])
                self.assertEqual((part.batch["item"].ids.tolist(), part.batch["item"].samples), (ids, 4))
                # Parts of a batch have the ids of their samples.
                parts = list(files.read(self.folder / "day.parquet", ["item"], files.Times("time", 86_400)))
                self.assertEqual([of.batch["item"].samples for of in parts], [2, 2])
                self.assertEqual([id_ for of in parts for id_ in of.batch["item"].ids.tolist()], ids)
                self.profile(self.path("day.parquet"), "--rows", "item=9")

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_decimals_are_ids_without_a_sign_or_with_one(self):
        for values in ([2**64 - 1, 5, None], [-(2**63), 5]):
            column = pa.array([None if v is None else decimal.Decimal(v) for v in values], pa.decimal128(20, 0))
            pq.write_table(pa.table({"item": column}), self.path("day.parquet"))
            (part,) = files.read(self.folder / "day.parquet", ["item"])
            self.assertEqual(part.batch["item"].ids.tolist(), [v for v in values if v is not None])
        for column, message in (
            (
                pa.array([decimal.Decimal(2**64), decimal.Decimal(1)]),
                "item of .* must hold ids of 64 bits, got decimal128",
            ),
            (pa.array([decimal.Decimal(2**64 - 1), decimal.Decimal(-1)]), "must hold ids of 64 bits, got decimal128"),
            (pa.array([decimal.Decimal("1.5")]), "must hold integers, or lists or maps of them, got decimal128"),
            (
                pa.array([{"a": 1, "b": 2}]),
                "must hold integers, or lists or maps of them, got struct<a: int64, b: int64>",
            ),
            (pa.array([["a"]]), "must hold integers, or lists or maps of them, got list<"),
        ):
            pq.write_table(pa.table({"item": column}), self.path("day.parquet"))
            with self.subTest(message):
                self.assertRegex(self.error(self.path("day.parquet"), "--rows", "item=9"), message)

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_folders_are_read_as_hive_spark_and_pyarrow_read_them(self):
        import pyarrow.dataset

        names = (
            "a=2/part-1.parquet",
            "a=1/b=1/part-0.parquet",
            "a=1/part-9.parquet",
            "day1.parquet/part-0.parquet",
            "z.parquet",
        )
        hidden = ("_temporary/0/part-0.parquet", ".part-0.parquet", "a=1/_part.parquet", ".spark/part-0.parquet")
        for id_, name in enumerate((*names, *hidden)):
            path = self.folder / "table" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"item": [id_]}), path)
        (self.folder / "table/_SUCCESS").write_text("")
        (self.folder / "table/a=1/.part-9.parquet.crc").write_bytes(b"crc")
        found = files.files_of(self.folder / "table")
        self.assertEqual(
            [str(file.relative_to(self.folder / "table")) for file in found],
            [
                "a=1/b=1/part-0.parquet",
                "a=1/part-9.parquet",
                "a=2/part-1.parquet",
                "day1.parquet/part-0.parquet",
                "z.parquet",
            ],
        )
        self.assertEqual(sorted(pyarrow.dataset.dataset(self.folder / "table").files), sorted(map(str, found)))
        fields, _, _ = self.profile(self.path("table"), "--rows", "item=5")
        self.assertEqual(fields["item"]["accessCdf"], [0.2, 0.8, 1.0])
        fields, _, _ = self.profile(self.path("table/day1.parquet"), "--growth", "item", "--period", "1d")
        self.assertEqual(fields["item"]["storage"]["ids"], 1)
        # What is named is read.
        self.profile(self.path("table/_temporary/0/part-0.parquet"), "--rows", "item=9")
        (self.folder / "table/a=1/back").symlink_to(self.folder / "table", target_is_directory=True)
        self.assertIn("is a link to a folder that it is in", self.error(self.path("table"), "--rows", "item=5"))

    def delta(self, *versions):
        """Writes a Delta table by hand: of each version, the ids of the files that it adds, and those removed."""
        table = self.folder / "delta"
        (table / "_delta_log").mkdir(parents=True)
        fields = [{"name": "item", "type": "long", "nullable": True, "metadata": {}}]
        for version, (added, removed) in enumerate(versions):
            actions = [] if version else [
                {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
                {"metaData": {"id": "t", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [],
                              "schemaString": json.dumps({"type": "struct", "fields": fields}), "configuration": {}}},
            ]  # fmt: skip
            for name, ids in added.items():
                pq.write_table(pa.table({"item": pa.array(ids, pa.int64())}), table / name)
                size = (table / name).stat().st_size
                actions.append({"add": {"path": name, "partitionValues": {}, "size": size, "modificationTime": 1,
                                        "dataChange": True}})  # fmt: skip
            actions += [{"remove": {"path": name, "deletionTimestamp": 1, "dataChange": True}} for name in removed]
            lines = "".join(json.dumps(action) + "\n" for action in actions)
            (table / f"_delta_log/{version:020}.json").write_text(lines)
        return table

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_tables_whose_files_are_not_their_rows_are_refused(self):
        table = self.delta(({"a.parquet": [1, 2, 3]}, []), ({"b.parquet": [4, 5]}, ["a.parquet"]))
        beside = self.folder / "lake"
        (beside / "z").mkdir(parents=True)
        table.rename(beside / "z/delta")
        for name, inside in (
            ("iceberg/metadata/v1.metadata.json", "iceberg/data/a.parquet"),
            ("hudi/.hoodie/x", "hudi/a.parquet"),
        ):
            for path in (beside / name, beside / inside):
                path.parent.mkdir(parents=True, exist_ok=True)
            (beside / name).write_text("{}")
            pq.write_table(pa.table({"item": [1]}), beside / inside)
        with mock.patch.dict(sys.modules, {"deltalake": None}):
            for given in ("lake/z/delta", "lake/z", "lake/z/delta/b.parquet"):
                message = self.error(self.path(given), "--rows", "item=9")
                self.assertIn("lake/z/delta is a Delta table, whose log says which of its files", message)
                self.assertIn("pip install deltalake", message)
        for name, given in (
            ("Iceberg", "lake/iceberg"),
            ("Iceberg", "lake/iceberg/data"),
            ("Iceberg", "lake/iceberg/data/a.parquet"),
            ("Hudi", "lake/hudi"),
            ("Hudi", "lake/hudi/a.parquet"),
            ("Hudi", "lake"),
        ):
            message = self.error(self.path(given), "--rows", "item=9")
            self.assertIn(f"is a table of Apache {name}, whose metadata says which rows", message)

    @unittest.skipUnless(pa and DELTALAKE, "deltalake is not installed")
    def test_delta_tables_are_their_live_files(self):
        table = self.delta(
            ({"a.parquet": [1, 2, 3], "c.parquet": [8]}, []),
            ({"b.parquet": [4, 5], "old x.parquet": [6]}, ["a.parquet"]),
            ({}, ["c.parquet"]),
        )
        for given in (table, self.folder):
            self.assertEqual([file.name for file in files.files_of(given)], ["b.parquet", "old x.parquet"])
        fields, _, _ = self.profile(str(table), "--growth", "item", "--period", "1d")
        self.assertEqual(fields["item"]["storage"]["ids"], 3)
        self.assertEqual(files.files_of(table / "b.parquet"), [table / "b.parquet"])
        message = self.error(str(table / "a.parquet"), "--rows", "item=9")
        self.assertIn("a.parquet must be data of the Delta table", message)
        # With deletion vectors, files have rows that the table has not.
        features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
        (table / "_delta_log/00000000000000000003.json").write_text(json.dumps(protocol))
        message = self.error(str(table), "--rows", "item=9")
        self.assertIn("is a Delta table that deltalake cannot read: ", message)

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_parquet_says_which_sample_has_how_many_ids(self):
        lists, ids = [[1, 2], [], None, [3, None, 3]], pa.int64()
        weighted = [[{"id": 1}], None, [{"id": None}], [{"id": 2}] * 3]
        pair = pa.struct([("id", ids), ("weight", pa.float32())])
        columns = {
            "one": (pa.array([1, None, 2, None]), [1, 0, 1, 0]),
            "flat": (pa.array([1, 2, 3, 4]), None),
            "lists": (pa.array(lists, pa.list_(ids)), [2, 0, 0, 2]),
            "nested": (pa.array([lists, None, [], [[7]]], pa.list_(pa.large_list(ids))), [4, 0, 0, 1]),
            "fixed": (pa.array([[1, 1], None, [None, 0], [2, 2]], pa.list_(ids, 2)), [2, 0, 1, 2]),
            "maps": (pa.array([[(1, 0.5)], None, [], [(2, 1.0), (3, 2.0)]], pa.map_(ids, pa.float32())), [1, 0, 0, 2]),
            "weighted": (pa.array(weighted, pa.list_(pair)), [1, 0, 0, 3]),
        }
        pq.write_table(pa.table({name: column for name, (column, _) in columns.items()}), self.path("day.parquet"))
        ((_, batch, _),) = files.read(self.folder / "day.parquet", list(columns))
        for name, (_, lengths) in columns.items():
            found = batch[name].lengths
            self.assertEqual(found if lengths is None else found.tolist(), lengths, name)

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_large_parquet_files_are_read_in_batches(self):
        ids = SkewedIds(5_000, 1.0).draw(np.random.default_rng(1), 200_000)
        lengths = np.arange(100_000) % 5
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(ids[: offsets[-1]]))
        pq.write_table(pa.table({"seen": column}), self.path("day.parquet"), row_group_size=17_000)
        fields, _, _ = self.profile(self.path("day.parquet"), "--rows", "seen=5000")
        whole = TableProfile("seen", 5_000)
        whole.add(ids, lengths=lengths)
        self.assertEqual(fields["seen"], whole.result().fields())

    def test_parquet_needs_pyarrow(self):
        (self.folder / "day.parquet").write_bytes(b"none")
        with mock.patch.dict(sys.modules, {"pyarrow": None}):
            self.assertIn("needs pyarrow to be read", self.error(self.path("day.parquet"), "--rows", "user=5"))
        if pa:
            self.assertIn("must be a Parquet file", self.error(self.path("day.parquet"), "--rows", "user=5"))

    def test_bad_input_is_one_line(self):
        np.save(self.path("user.npy"), np.array([1, 2, 7]))
        np.save(self.path("deep.npy"), np.zeros((2, 2, 2), int))
        np.save(self.path("real.npy"), np.zeros(2))
        np.savez(self.path("seen.npz"), **{"seen.values": np.array([1])})
        np.savez(self.path("off.npz"), **{"seen.values": np.array([1]), "seen.offsets": np.array([0, 2])})
        (self.folder / "empty.npy").write_bytes(b"")
        (self.folder / "day.csv").write_text("1,2")
        user = self.path("user.npy")
        for arguments, message in (
            ([], "a FILE and --rows TABLE=ROWS or --growth TABLE are expected"),
            ([user], "a FILE and --rows TABLE=ROWS or --growth TABLE are expected"),
            ([user, "--rows", "user"], "--rows: must be TABLE=ROWS, got user"),
            ([user, "--rows", "user=many"], "--rows: must be TABLE=ROWS, got user=many"),
            ([user, "--rows", "user=5", "user=6"], "each table of --rows and --growth must occur once, got user twice"),
            ([user, "--rows", "user=9", "--row-orders", "x"], "must be one of contiguous, round_robin, hashed, got x"),
            ([user, "--rows", "user=0"], "rows of table user must be an integer between 1 and 2^36, got 0"),
            ([user, "--rows", "user=7"], "user.npy: ids of feature user must be between 0 and 6"),
            ([user, "--rows", "item=7"], "user.npy must have one of the features item, got user"),
            ([user, "--rows", "user=9", "item=9"], "Table item has no samples of feature item"),
            ([user, "--rows", "user=9", "--feature", "a=b"], "table of feature a must be one of user, got b"),
            ([user, "--rows", "user=9", "--memory-mib", "1"], "memory_bytes must be at least 16777216, got 1048576"),
            ([self.path("none.npy"), "--rows", "none=9"], "No such file"),
            ([self.path("day.csv"), "--rows", "day=9"], "day.csv must be a .parquet, .npy, .npz file"),
            ([self.path("empty.npy"), "--rows", "empty=9"], "empty.npy must hold arrays of integers"),
            ([self.path("deep.npy"), "--rows", "deep=9"], "deep.npy must have 1 or 2 dimensions, got 3"),
            ([self.path("real.npy"), "--rows", "real=9"], "real.npy: ids must be integers, got float64"),
            ([self.path("seen.npz"), "--rows", "seen=9"], "must have seen.lengths or seen.offsets for seen.values"),
            ([self.path("off.npz"), "--rows", "seen=9"], "offsets must begin with 0 and end with the number of ids, 1"),
        ):
            with self.subTest(message):
                self.assertIn(message, self.error(*arguments))

    def test_damaged_files_are_named(self):
        np.savez(self.path("seen.npz"), seen=np.arange(10_000))
        array = (self.folder / "seen.npz").read_bytes()
        (self.folder / "wrong.npz").write_bytes(array[:5_000] + b"\xff" * 10 + array[5_010:])
        (self.folder / "short.npz").write_bytes(array[:5_000])
        np.savez(self.path("object.npz"), seen=np.array([1, None], object))
        for name in ("wrong.npz", "short.npz", "object.npz"):
            with self.subTest(name):
                self.assertIn(f"{name} must hold arrays of integers: ", self.error(self.path(name), "--rows", "seen=5"))
                # numpy leaves what it could not read open.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ResourceWarning)
                    gc.collect()

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_damaged_pages_and_repeated_columns_of_parquet_are_named(self):
        pq.write_table(pa.table({"seen": pa.array([[1, 2], None, [3]])}), self.path("day.parquet"))
        whole = (self.folder / "day.parquet").read_bytes()
        (self.folder / "wrong.parquet").write_bytes(whole[:20] + b"\xff" * 40 + whole[60:])
        message = self.error(self.path("wrong.parquet"), "--rows", "seen=5")
        self.assertIn("wrong.parquet must be an intact Parquet file: ", message)
        twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["seen", "seen"])
        pq.write_table(twice, self.path("twice.parquet"))
        message = self.error(self.path("twice.parquet"), "--rows", "seen=5")
        self.assertIn("twice.parquet must have one column seen, got 2", message)

    def test_benchmark_prints_speed_and_error(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed, mock.patch.object(benchmark, "BATCH", 50_000):
            benchmark.main(2)
        tables, hash_tables = (block.splitlines() for block in printed.getvalue().split("\n\n"))
        self.assertEqual((len(tables), len(hash_tables)), (5, 4))
        for line in tables[1:]:
            self.assertRegex(line, r" 100,000 .* million +0\.0000 +0\.0000$")
        for line in hash_tables[1:]:
            self.assertRegex(line, r" 100,000 .* million +0\.0000 +0\.0000 +[\d,]+ +0\.0000 +0\.0000$")


if __name__ == "__main__":
    unittest.main()
