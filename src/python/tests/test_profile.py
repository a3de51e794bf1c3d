"""What shardtide.profile counts, against exact counts. Needs numpy."""

from __future__ import annotations

import json
import math
import pathlib
import pickle
import sys
import tracemalloc
import unittest
from dataclasses import replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

try:
    import numpy as np

    from shardtide.profile import Profiler, TableProfile
    from profile_benchmark import SkewedIds, exact_cdf
    from shardtide.profile.rows import RowSketch, RowUses, hashes
    from shardtide.profile.statistics import access_cdf, reuse_histogram
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    np = None

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


@unittest.skipUnless(np, "numpy is not installed")
class Assertions(unittest.TestCase):
    def assert_accepted(self, use):
        """The planner's rules: AccessCdf, ReuseHistogram and TableSpec of the Java code."""
        fields = use.fields()
        features = ["features"] if len(use.feature_pooling) > 1 else []
        more = ["distinctShare", "rowSpread", *features]
        self.assertEqual({*fields}, {"rows", "poolingFactor", "accessCdf", "reuseHistogram", *more})
        if features:
            of = {feature["name"]: feature["poolingFactor"] for feature in fields["features"]}
            self.assertEqual(of, use.feature_pooling)
            self.assertAlmostEqual(sum(of.values()), fields["poolingFactor"])
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
        sizes = [share["samples"] for share in fields["distinctShare"]]
        self.assertEqual(sizes, sorted(set(sizes)))
        shares = [1, *(share["share"] for share in fields["distinctShare"]), 1e-9]
        self.assertEqual(shares, sorted(shares, reverse=True))
        for spread in fields["rowSpread"]:
            self.assertEqual(len(spread["shares"]), min(64, use.rows))
            self.assertAlmostEqual(sum(spread["shares"]), 1, places=9)

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


def distinct(ids, lengths, sizes):
    """Distinct ids over lookups of disjoint runs of samples, by their size."""
    at = np.append(0, np.cumsum(lengths))
    runs = {size: [ids[at[i] : at[i + size]] for i in range(0, len(lengths) // size * size, size)] for size in sizes}
    return {size: sum(len(set(run.tolist())) for run in of) / sum(map(len, of)) for size, of in runs.items()}


class BatchTest(Assertions):
    def test_distinct_ids_are_those_of_runs_of_samples(self):
        draw = np.random.default_rng(3)
        for count, mean, sizes in ((70_000, 1.5, 8), (20_001, 3, 7), (65, 0.3, 3), (16, 2, 2)):
            lengths = draw.poisson(mean, count)
            ids = SkewedIds(20_000, 1.0).draw(draw, int(lengths.sum()))
            profile = TableProfile("t", 20_000)
            profile.add(ids, lengths=lengths)
            shares = profile.result().distinct_shares
            measured = min(count, 65_536)
            expected = distinct(ids, lengths[:measured], [4**k for k in range(1, sizes + 1)])
            self.assertEqual([(share.samples, share.runs) for share in shares], [(n, measured // n) for n in expected])
            for share in shares:
                self.assertAlmostEqual(share.share, expected[share.samples], places=6)
            self.assert_accepted(profile.result())
            # In batches as a program has them.
            parts, place = TableProfile("t", 20_000), 0
            for part in np.array_split(lengths, 37):
                parts.add(ids[place : place + part.sum()], offsets=np.append(0, np.cumsum(part)))
                place += int(part.sum())
                parts.result()
            self.assertEqual(parts.result(), profile.result())

    def test_ids_that_a_sample_has_twice_repeat(self):
        profile = TableProfile("t", 10)
        profile.add([1, 1, 1, 1, 2, 2, 2, 2], lengths=[4, 0, 0, 4])
        self.assertEqual(profile.result().distinct_shares, [(4, 0.25, 1)])

    def test_shares_are_of_ids_that_a_table_can_have(self):
        # Of 65,536 samples that are measured, each has a lookup; of all 100,000, 2.
        profile = TableProfile("t", 100)
        profile.add(np.arange(65_536) % 100)
        profile.add(np.zeros((34_464, 4), int))
        use = profile.result()
        self.assertEqual([share.share for share in use.distinct_shares][-1], 100 / (65_536 * use.pooling_factor))
        # Half of the samples have no lookup.
        profile = TableProfile("t", 1)
        profile.add(np.zeros(500, int), lengths=[1] * 500 + [0] * 500)
        shares = [share.share for share in profile.result().distinct_shares]
        self.assertEqual(shares[0], 0.5)
        for share in profile.result().distinct_shares:
            self.assertGreaterEqual(share.share * share.samples * 0.5, 1)

    def test_runs_that_need_too_much_memory_are_given_up(self):
        # 131,072 lookups fit, which are 6,553 samples.
        profile = TableProfile("t", 1_000, memory_bytes=LEAST_MEMORY)
        ids = np.random.default_rng(1).integers(0, 1_000, (30_000, 20))
        for part in np.array_split(ids, 11):
            profile.add(part)
        shares = profile.result().distinct_shares
        self.assertEqual([share.samples for share in shares], [4, 16, 64, 256, 1024, 4096])
        self.assertEqual((shares[-1].runs, shares[0].runs), (1, 1024))

    def test_features_of_a_table_repeat_each_others_ids(self):
        features = {"clicked": "item", "bought": "item"}
        profiler = Profiler({"item": 10}, features)
        profiler.add({"clicked": [1, 2, 3, 4], "bought": [4, 3, 2, 1]})
        self.assertEqual(profiler.results()["item"].distinct_shares, [(4, 0.5, 1)])
        apart = Profiler({"item": 10}, features)
        for batch in ({"clicked": [1, 2, 3, 4]}, {"bought": [4, 3, 2, 1]}, {"clicked": [1] * 4, "bought": [1] * 8}):
            apart.add(batch)
        use = apart.results()["item"]
        self.assertEqual(use.distinct_shares, [])
        self.assertTrue(any("batch of table item are unknown" in text for text in use.warnings), use.warnings)

    def test_rows_are_hot_as_trainers_cut_them(self):
        draw = np.random.default_rng(3)
        orders = ["contiguous", "round_robin", "hashed"]
        for rows in (1, 5, 64, 65, 1_000, 600_001, BILLION):
            ids = SkewedIds(rows, 1.0).draw(draw, 50_000)
            whole, *parts = (TableProfile("t", rows, row_orders=orders) for _ in range(3))
            whole.add(ids)
            for part, of in zip(parts, np.array_split(ids, 2)):
                part.add(of)
            parts[0].merge(parts[1])
            use, blocks = whole.result(), min(64, rows)
            self.assertEqual(parts[0].result().row_spread, use.row_spread)
            self.assert_accepted(use)
            for order, of in (("contiguous", ids // math.ceil(rows / blocks)), ("round_robin", ids % blocks)):
                expected = np.bincount(of, minlength=blocks) / len(ids)
                np.testing.assert_allclose(use.row_spread[order], expected, rtol=1e-12)
            self.assertEqual(list(use.row_spread), orders)
            if rows >= 1_000:
                self.assertLess(max(use.row_spread["hashed"]), 0.2)
        # The first number of splitmix64 with seed 0.
        self.assertEqual(hashes(np.zeros(1, int)).tolist(), [0xE220A8397B1DCDAF])
        with self.assertRaisesRegex(ValueError, "row order must be one of contiguous, round_robin, hashed, got sorted"):
            TableProfile("t", 5, row_orders=["sorted"])


class SketchTest(Assertions):
    def stream(self, count=4_000_000, exponent=1.0, rows=BILLION, seed=6):
        return SkewedIds(rows, exponent).draw(np.random.default_rng(seed), count)

    def orders(self):
        """Streams whose order is hard on a sketch."""
        draw = np.random.default_rng(2)
        ids = self.stream(2_000_000)
        _, group, counts = np.unique(ids, return_inverse=True, return_counts=True)
        by_use = np.argsort(counts[group], kind="stable")
        drifting = [(self.stream(200_000, 1.1, seed=seed) + seed * 79_190_000) % BILLION for seed in range(10)]
        half = np.where(draw.random(2_000_000) < 0.5, draw.integers(0, 100_000, 2_000_000) * 9_973, ids)
        return {
            "sorted": np.sort(ids),
            "rare rows first": ids[by_use],
            "rare rows last": ids[by_use[::-1]],
            "drifting": np.concatenate(drifting),
            "many rows of the same use": half,
            "one row": np.where(draw.random(2_000_000) < 0.9, 5, ids),
        }

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
        for name, stream in self.orders().items():
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

    def test_counts_are_within_their_bounds(self):
        for name, stream in self.orders().items():
            with self.subTest(name):
                profile = TableProfile("t", BILLION, memory_bytes=LEAST_MEMORY)
                for part in np.array_split(stream, 3):
                    profile.add(part)
                    profile.result()
                assert_bounds(self, profile._counter, stream)

    def test_small_sketches_keep_their_bounds_through_changing_streams(self):
        draw = np.random.default_rng(8)
        for _ in range(300):
            sketch, ids = RowSketch(64), np.empty(0, int)
            for _ in range(5):
                stream = SkewedIds(int(draw.choice([80, 100, 10**6])), float(draw.choice([0.0, 1.0, 1.5])))
                part = stream.draw(draw, int(draw.integers(1, 400)))
                sketch.add(part)
                sketch.uses()
                ids = np.concatenate((ids, part))
                if sketch._dropped:
                    assert_bounds(self, sketch, ids)


def assert_bounds(test, sketch, ids):
    """What RowSketch promises of its rows, and of those that it lacks."""
    rows, counts = np.unique(ids, return_counts=True)
    there = np.isin(rows, sketch._rows)
    test.assertEqual(np.count_nonzero(there), len(sketch._rows))
    test.assertLess(len(sketch._rows), len(rows))
    test.assertGreaterEqual(sketch._dropped, counts[~there].max())
    test.assertFalse((sketch._in_sample(rows) & ~there).any())
    test.assertFalse(sketch._uncertain[sketch._in_sample(sketch._rows)].any())
    test.assertTrue((sketch._counts <= counts[there]).all())
    test.assertTrue((counts[there] <= sketch._counts + sketch._uncertain).all())


class MergeTest(Assertions):
    def test_merged_counts_are_those_of_the_stream(self):
        ids = SkewedIds(100_000, 1.0).draw(np.random.default_rng(1), 300_000)
        whole = profile_of(ids, 100_000).result()
        parts = [pickle.loads(pickle.dumps(profile_of(part, 100_000))) for part in np.array_split(ids, 3)]
        for other in parts[1:]:
            parts[0].merge(other)
        self.assert_merged(parts[0].result(), whole)

    def assert_merged(self, merged, whole):
        """All but the runs of samples, which begin with each part, is that of the stream."""
        self.assertEqual(replace(merged, distinct_shares=[]), replace(whole, distinct_shares=[]))
        for one, other in zip(merged.distinct_shares, whole.distinct_shares):
            self.assertAlmostEqual(one.share, other.share, delta=0.02)
        self.assertEqual(merged.distinct_shares[0].runs, 49_152)

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

    def test_merged_counts_are_within_their_bounds(self):
        ids = SkewedIds(BILLION, 1.0).draw(np.random.default_rng(1), 2_000_000)
        for begin in (1_950_000, 1_000_000, 50_000):
            one, other = (profile_of(part, BILLION, memory_bytes=LEAST_MEMORY) for part in (ids[:begin], ids[begin:]))
            one.merge(other)
            assert_bounds(self, one._counter, ids)
            one.add(ids)
            one.result()
            assert_bounds(self, one._counter, np.concatenate((ids, ids)))

    def test_merge_of_exact_sketches_is_exact(self):
        ids = np.random.default_rng(1).integers(0, 60_000, 400_000) * 12_345
        parts = [profile_of(part, BILLION, memory_bytes=LEAST_MEMORY) for part in (ids[:150_000], ids[150_000:])]
        parts[0].merge(parts[1])
        whole = profile_of(ids, BILLION, memory_bytes=LEAST_MEMORY).result()
        self.assertEqual(replace(parts[0].result(), distinct_shares=[]), replace(whole, distinct_shares=[]))

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


if __name__ == "__main__":
    unittest.main()
