"""What shardtide.profile counts, against exact counts. Needs numpy; parts need PyTorch and pyarrow."""

from __future__ import annotations

import contextlib
import io
import json
import math
import pathlib
import pickle
import sys
import tempfile
import tracemalloc
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/main/python"))

try:
    import numpy as np

    from shardtide.profile import Profiler, TableProfile, bags
    from shardtide.profile import __main__ as command
    from shardtide.profile import benchmark
    from shardtide.profile.benchmark import SkewedIds, exact_cdf
    from shardtide.profile.rows import RowUses
    from shardtide.profile.statistics import access_cdf, reuse_histogram
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    raise unittest.SkipTest("numpy is not installed") from None

try:
    import torch
except ModuleNotFoundError:
    torch = None

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError:
    pa = None

# The least that a table can have: 87,381 rows of the sketch.
LEAST_MEMORY = 2**24
BILLION = 1_000_000_000


def profile_of(ids, rows, **options):
    """The profile of a stream with one id a sample, in batches of 100,000."""
    profile = TableProfile("t", rows, **options)
    for begin in range(0, len(ids), 100_000):
        profile.add(ids[begin : begin + 100_000])
    return profile


def uses_of(counts):
    return RowUses(np.array(sorted(counts, reverse=True), float), np.ones(len(counts)), 0.0)


class Assertions(unittest.TestCase):
    def assert_accepted(self, use):
        """The planner's rules: AccessCdf, ReuseHistogram and TableSpec of the Java code."""
        fields = use.fields()
        self.assertEqual(list(fields), ["rows", "poolingFactor", "accessCdf", "reuseHistogram"])
        self.assertEqual(json.loads(json.dumps(fields)), fields)
        cdf, reuse = fields["accessCdf"], fields["reuseHistogram"]
        if cdf:
            entries, ranked = 1, 1
            while ranked < use.rows:
                entries, ranked = entries + 1, ranked * 4
            self.assertEqual(len(cdf), entries)
            self.assertGreater(cdf[0], 0)
            self.assertEqual(cdf, sorted(cdf))
            self.assertEqual(cdf[-1], 1)
        if reuse:
            self.assertEqual(len(reuse), 17)
            self.assertTrue(all(0 <= share <= 1 for share in reuse), reuse)
            self.assertAlmostEqual(sum(reuse), 1, places=5)
        self.assertTrue(0 <= fields["poolingFactor"] <= 1_000_000)

    def assert_cdf(self, use, ids, delta):
        exact = exact_cdf(ids, use.rows)
        self.assertEqual(len(use.access_cdf), len(exact))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(use.access_cdf, exact)), delta)


class StatisticsTest(Assertions):
    def test_cdf_has_the_share_of_the_most_used_rows(self):
        use = profile_of(np.repeat([7, 3, 9, 0, 5], [10, 5, 2, 2, 1]), 20).result()
        self.assertEqual(use.access_cdf, [0.5, 0.95, 1.0, 1.0])
        self.assertEqual((use.used_rows, use.lookups_per_used_row, use.access_cdf_error), (5, 4.0, 0.0))

    def test_every_number_of_rows_has_an_accepted_cdf(self):
        powers = [4**k + more for k in range(12) for more in (-1, 0, 1)]
        for rows in sorted({*range(1, 70), *powers, 2**36}):
            if rows:
                for ids in ([0], [rows - 1], [0, rows - 1, 0]):
                    self.assert_accepted(profile_of(np.array(ids), rows, memory_bytes=LEAST_MEMORY).result())

    def test_unused_rows_do_not_count(self):
        use = profile_of(np.full(100_000, 999), 1_000).result()
        self.assertEqual(use.access_cdf, [1.0] * 6)
        self.assert_accepted(use)

    def test_use_is_unknown_without_lookups(self):
        for rows in (1, 1_000, BILLION):
            profile = TableProfile("t", rows, memory_bytes=LEAST_MEMORY)
            profile.add([], lengths=[0] * 70_000)
            use = profile.result()
            self.assertEqual((use.pooling_factor, use.access_cdf, use.reuse_histogram), (0.0, [], []))
            self.assertEqual((use.samples, use.used_rows, use.lookups_per_used_row), (70_000, 0, 0.0))
            self.assertRegex(use.warnings[0], "has no lookups")
            self.assert_accepted(use)

    def test_histogram_of_a_whole_batch_is_that_of_its_counts(self):
        # 1, 2, 3, 5 and 70,000 uses.
        use = profile_of(np.repeat(np.arange(5), [1, 2, 3, 5, 70_000]), 8).result()
        expected = reuse_histogram(uses_of([1, 2, 3, 5, 70_000]), 1.0)
        self.assertEqual(expected, [0.2, 0.2, 0.2, 0.2] + [0.0] * 12 + [0.2])
        self.assertEqual(use.samples, 70_011)
        self.assert_accepted(use)

    def test_histogram_is_that_of_a_batch(self):
        draw = np.random.default_rng(4)
        for stream in (SkewedIds(50_000, 1.1), SkewedIds(3_000_000, 0.7, 10.0), SkewedIds(7, 0.3), SkewedIds(500, 0.0)):
            for batches, pooling in ((2, 3), (7, 1)):
                ids = stream.draw(draw, batches * 65_536 * pooling).reshape(-1, pooling)
                use = profile_of(ids, stream.rows).result()
                # Of another batch, which the profile has not seen.
                uses = np.bincount(stream.draw(draw, 65_536 * pooling))
                shares = np.clip(np.ceil(np.log2(uses[uses > 0])), 0, 16).astype(int)
                counted = np.bincount(shares, minlength=17) / len(shares)
                # A few rows at the limit between two shares.
                delta = 0.3 if stream.rows == 7 else 0.05 if stream.rows == 500 else 0.01
                self.assertLess(np.abs(counted - use.reuse_histogram).max(), delta, stream)
                self.assert_accepted(use)

    def test_parts_have_a_binomial_number_of_lookups(self):
        for count, part in ((3, 0.4), (60, 1 - 1e-9), (33, 1 - 1e-12), (1, 0.001), (300, 0.2), (20_000, 0.01)):
            at_most = [
                sum(math.comb(count, n) * part**n * (1 - part) ** (count - n) for n in range(min(limit, count) + 1))
                for limit in (0, *(2**k for k in range(7)))
            ]
            expected = [(high - low) / (1 - at_most[0]) for low, high in zip(at_most, at_most[1:])]
            got = reuse_histogram(uses_of([count]), part)
            np.testing.assert_allclose(got[:7], expected, atol=1e-6, err_msg=str((count, part)))

    def test_few_samples_have_no_histogram(self):
        use = profile_of(np.zeros(65_535, int), 10).result()
        self.assertEqual(use.reuse_histogram, [])
        self.assertTrue(any("needs 65,536" in warning for warning in use.warnings), use.warnings)
        self.assertEqual(len(profile_of(np.zeros(65_536, int), 10).result().reuse_histogram), 17)

    def test_few_lookups_look_skewed_and_are_warned_of(self):
        draw = np.random.default_rng(0)
        few = profile_of(draw.integers(0, 100_000, 100_000), 100_000).result()
        many = profile_of(draw.integers(0, 100_000, 10_000_000), 100_000).result()
        even = 4**7 / 100_000
        self.assertGreater(few.access_cdf[7], even + 0.2)
        self.assertLess(many.access_cdf[7], even + 0.05)
        self.assertIn("looks more skewed than it is", few.warnings[0])
        self.assertEqual(many.warnings, [])

    def test_no_rows_have_no_statistics(self):
        nothing = RowUses(np.empty(0), np.empty(0), 0.0)
        self.assertEqual((access_cdf(nothing, 5), reuse_histogram(nothing, 0.5)), ([], []))


class SketchTest(Assertions):
    def stream(self, count=4_000_000, exponent=1.0, rows=BILLION, seed=6):
        return SkewedIds(rows, exponent).draw(np.random.default_rng(seed), count)

    def test_a_billion_rows_have_a_cdf_within_1_percent(self):
        for exponent in (0.0, 0.8, 1.0):
            ids = self.stream(8_000_000, exponent)
            use = profile_of(ids, BILLION).result()
            self.assertGreater(use.access_cdf_error, 0)
            self.assert_cdf(use, ids, 0.01)
            self.assert_accepted(use)
            used = len(np.unique(ids, return_counts=True)[0])
            self.assertAlmostEqual(use.used_rows / used, 1, delta=0.02)

    def test_ten_million_rows_are_counted_exactly(self):
        ids = self.stream(rows=10_000_000)
        use = profile_of(ids, 10_000_000).result()
        self.assertEqual(use.access_cdf_error, 0)
        self.assert_cdf(use, ids, 1e-6)
        self.assertEqual(use.used_rows, len(np.unique(ids, return_counts=True)[0]))

    def test_few_used_rows_of_many_are_counted_exactly(self):
        ids = np.random.default_rng(1).integers(0, 80_000, 1_000_000) * 10_007
        use = profile_of(ids, BILLION, memory_bytes=LEAST_MEMORY).result()
        self.assertEqual((use.access_cdf_error, use.used_rows), (0, 80_000))
        self.assert_cdf(use, ids, 1e-6)

    def test_error_is_stated_in_every_order(self):
        draw = np.random.default_rng(2)
        ids = self.stream(2_000_000)
        _, group, counts = np.unique(ids, return_inverse=True, return_counts=True)
        by_use = np.argsort(counts[group], kind="stable")
        drifting = [(self.stream(200_000, 1.1, seed=seed) + seed * 79_190_000) % BILLION for seed in range(10)]
        half = np.where(draw.random(2_000_000) < 0.5, draw.integers(0, 100_000, 2_000_000) * 9_973, ids)
        for name, stream in {
            "sorted": np.sort(ids),
            "rare rows first": ids[by_use],
            "rare rows last": ids[by_use[::-1]],
            "drifting": np.concatenate(drifting),
            "many rows of the same use": half,
            "one row": np.where(draw.random(2_000_000) < 0.9, 5, ids),
        }.items():
            with self.subTest(name):
                use = profile_of(stream, BILLION, memory_bytes=LEAST_MEMORY).result()
                self.assertLess(use.access_cdf_error, 0.05)
                self.assertGreater(use.access_cdf_error, 0)
                self.assert_cdf(use, stream, 2 * use.access_cdf_error)
                self.assert_accepted(use)

    def test_histogram_of_many_rows_is_that_of_a_batch(self):
        stream = SkewedIds(BILLION, 1.0)
        draw = np.random.default_rng(5)
        use = profile_of(stream.draw(draw, 3_000_000), BILLION, memory_bytes=LEAST_MEMORY).result()
        _, uses = np.unique(stream.draw(draw, 65_536), return_counts=True)
        counted = np.bincount(np.ceil(np.log2(uses)).astype(int), minlength=17) / len(uses)
        self.assertGreater(use.access_cdf_error, 0)
        self.assertLess(np.abs(counted - use.reuse_histogram).max(), 0.01)

    def test_batches_do_not_change_the_counts(self):
        ids = self.stream(1_000_000)
        one = TableProfile("t", BILLION, memory_bytes=LEAST_MEMORY)
        one.add(ids.astype(np.int32))
        parts = TableProfile("t", BILLION, memory_bytes=LEAST_MEMORY)
        for part in np.array_split(ids, 77):
            parts.add(part)
        self.assertEqual(one.result(), parts.result())

    def test_memory_is_bounded(self):
        # For the part at hand: int64 of a 32-bit batch, and comparisons.
        batch_bytes = 8 * 2**20
        for rows, memory in ((BILLION, LEAST_MEMORY), (BILLION, 2**26), (2_000_000, LEAST_MEMORY)):
            for exponent in (0.0, 1.0):
                ids = self.stream(5_000_000, exponent, rows).astype(np.int32)
                tracemalloc.start()
                profile = TableProfile("t", rows, memory_bytes=memory)
                profile.add(ids)
                profile.result()
                profile.add(ids)
                profile.result()
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                self.assertLess(peak, memory + batch_bytes, (rows, exponent))


class MergeTest(Assertions):
    def test_merged_counts_are_those_of_the_stream(self):
        ids = SkewedIds(100_000, 1.0).draw(np.random.default_rng(1), 300_000)
        whole = profile_of(ids, 100_000).result()
        parts = [pickle.loads(pickle.dumps(profile_of(part, 100_000))) for part in np.array_split(ids, 3)]
        for other in parts[1:]:
            parts[0].merge(other)
        self.assertEqual(parts[0].result(), whole)

    def test_merged_sketches_stay_within_their_error(self):
        ids = SkewedIds(BILLION, 1.0).draw(np.random.default_rng(1), 4_000_000)
        workers = [profile_of(part, BILLION, memory_bytes=LEAST_MEMORY) for part in np.array_split(ids, 4)]
        workers.append(profile_of(ids[:1_000], BILLION, memory_bytes=LEAST_MEMORY))
        merged = pickle.loads(pickle.dumps(workers[0]))
        for other in workers[1:]:
            before = other.result()
            merged.merge(other)
            self.assertEqual(other.result(), before)
        use = merged.result()
        self.assertEqual(use.lookups, 4_001_000)
        self.assertLess(use.access_cdf_error, 0.02)
        self.assert_cdf(use, np.concatenate((ids, ids[:1_000])), 0.01)
        self.assert_accepted(use)

    def test_merge_of_exact_sketches_is_exact(self):
        ids = np.random.default_rng(1).integers(0, 60_000, 400_000) * 12_345
        parts = [profile_of(part, BILLION, memory_bytes=LEAST_MEMORY) for part in (ids[:150_000], ids[150_000:])]
        parts[0].merge(parts[1])
        self.assertEqual(parts[0].result(), profile_of(ids, BILLION, memory_bytes=LEAST_MEMORY).result())

    def test_profilers_merge_table_by_table(self):
        features = {"clicked": "item", "bought": "item"}
        one, other = (Profiler({"item": 10, "user": 5}, features) for _ in range(2))
        one.add({"clicked": [1, 2], "bought": [3, 3], "user": [0, 0]})
        other.add({"clicked": [1], "bought": [1], "user": [4]})
        one.merge(other)
        self.assertEqual(one.results()["item"].lookups, 6)
        self.assertEqual(one.results()["item"].access_cdf[0], 0.5)
        self.assertEqual(one.results()["user"].samples, 3)

    def test_other_tables_do_not_merge(self):
        first = TableProfile("t", 10)
        for other, message in (
            (TableProfile("u", 10), "name of profiles must be equal to merge them, got 't' and 'u'"),
            (TableProfile("t", 11), "rows of profiles must be equal to merge them, got 10 and 11"),
            (TableProfile("t", 10, memory_bytes=2**25), "memory_bytes of profiles must be equal"),
            (TableProfile("t", 10, ["a"]), "features of table t must be equal to merge profiles, got t and a"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                first.merge(other)
        one, other = Profiler({"t": 10, "u": 5}), Profiler({"t": 10, "u": 6})
        other.add({"t": [1], "u": [1]})
        with self.assertRaisesRegex(ValueError, "rows of profiles"):
            one.merge(other)
        with self.assertRaisesRegex(ValueError, "no samples"):
            one.tables["t"].result()
        with self.assertRaisesRegex(ValueError, "tables of profilers must be equal to merge them, got t, u and t"):
            one.merge(Profiler({"t": 10}))


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


class BatchTest(Assertions):
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
            (("t", 5, None, 2**24 - 1), "memory_bytes must be at least 16777216, got 16777215"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                TableProfile(*arguments)
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


class CommandTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def path(self, name):
        return str(self.folder / name)

    def profile(self, *arguments):
        """Runs the command; returns the fields of the tables, what it printed, and its messages."""
        out = self.folder / "profile.json"
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as err:
            command.main([*arguments, "--out", str(out)])
        return json.loads(out.read_text()), printed.getvalue(), err.getvalue()

    def error(self, *arguments):
        """Runs the command, which must fail in one line."""
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as ended:
            command.main(arguments)
        code = ended.exception.code
        message = (code if isinstance(code, str) else err.getvalue()).strip()
        self.assertEqual(len(message.splitlines()), 1, message)
        self.assertTrue(message.startswith("shardtide.profile: "), message)
        return message

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
        lines = printed.splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1, printed)
        self.assertEqual([line.split()[0] for line in lines], ["table", "user", "item", "seen"])
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
            ([], "a FILE and --rows TABLE=ROWS are expected"),
            ([user], "a FILE and --rows TABLE=ROWS are expected"),
            ([user, "--rows", "user"], "--rows: must be TABLE=ROWS, got user"),
            ([user, "--rows", "user=many"], "--rows: must be TABLE=ROWS, got user=many"),
            ([user, "--rows", "user=5", "user=6"], "each table of --rows must occur once, got user twice"),
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
            ([user, "--benchmark"], "--benchmark must come without files and --rows"),
        ):
            with self.subTest(message):
                self.assertIn(message, self.error(*arguments))

    def test_benchmark_prints_speed_and_error(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed, mock.patch.object(benchmark, "BATCH", 50_000):
            command.main(["--benchmark", "--batches", "2"])
        lines = printed.getvalue().splitlines()
        self.assertEqual(len(lines), 5)
        for line in lines[1:]:
            self.assertRegex(line, r" 100,000 .* million +0\.0000 +0\.0000$")


if __name__ == "__main__":
    unittest.main()
