"""What shardtide.profile says of hash tables: distinct ids, their growth, and hit shares. Needs numpy.

Parts need pyarrow.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tracemalloc
import unittest
from dataclasses import replace

PACKAGE = str(pathlib.Path(__file__).resolve().parents[3] / "src/python")
sys.path.insert(0, PACKAGE)

from profile_command import CommandCase

try:
    import numpy as np

    from shardtide.profile import HashTableProfile, Profiler
    from profile_benchmark import SkewedIds
    from shardtide.profile.growth import FirstPeriods
    from shardtide.profile.rows import ALL_HASHES
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    np = None

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError:
    pa = None

# The least that a table can have: estimates from 41,120 ids on.
LEAST_MEMORY = 2**24
EXACT_IDS = LEAST_MEMORY // 204 // 2


def profile_of(periods, **options):
    """The profile of a stream with one id a sample, given by period."""
    profile = HashTableProfile("t", memory_bytes=LEAST_MEMORY, **options)
    for period, ids in enumerate(periods):
        profile.begin_period(period)
        for part in np.array_split(ids, 3):
            profile.add(part)
    return profile


def log_of(days, ids, new_ids, lookups, seed=1):
    """Ids by day: all of the first `ids`, and each day so many new ones, are looked up; then random ones again."""
    draw = np.random.default_rng(seed)
    # A bijection of 64 bits: ids lie everywhere.
    spread = np.uint64(0xD1B54A32D192ED03)
    result = []
    for day in range(days):
        known = ids + day * new_ids
        fresh = np.arange(known - new_ids if day else 0, known)
        result.append(np.concatenate((fresh, draw.integers(0, known, lookups))).astype(np.uint64) * spread)
        draw.shuffle(result[-1])
    return result


@unittest.skipUnless(np, "numpy is not installed")
class DistinctIdsTest(unittest.TestCase):
    def test_ids_are_within_3_standard_errors(self):
        scores = []
        for seed in range(10):
            draw = np.random.default_rng(seed)
            for ids in (10, 1_000, 40_000, 50_000, 200_000, 1_000_000):
                with self.subTest(seed=seed, ids=ids):
                    stream = draw.integers(0, 2**64, ids, np.uint64)
                    growth = profile_of([np.concatenate((stream, stream[: ids // 2]))]).result()
                    distinct = len(np.unique(stream))
                    self.assertEqual(growth.lookups, ids + ids // 2)
                    if distinct <= EXACT_IDS:
                        self.assertEqual((growth.ids, growth.ids_error), (distinct, 0.0))
                    else:
                        self.assertLess(growth.ids_error, 0.0075 * ids)
                        self.assertLess(abs(growth.ids - distinct), 3 * growth.ids_error)
                        scores.append((growth.ids - distinct) / growth.ids_error)
        self.assertEqual(len(scores), 30)
        # The stated error is neither much too small nor much too large.
        self.assertLess(0.6, np.sqrt(np.mean(np.square(scores))))
        self.assertLess(np.sqrt(np.mean(np.square(scores))), 1.4)

    def test_ids_in_a_row_are_counted_as_random_ones(self):
        for first, step in ((0, 1), (0, 2**20), (2**64 - 10**6, 1)):
            with self.subTest(first=first, step=step):
                stream = np.uint64(first) + np.arange(300_000, dtype=np.uint64) * np.uint64(step)
                growth = profile_of([stream]).result()
                self.assertLess(abs(growth.ids - 300_000), 3 * growth.ids_error)

    def test_the_sample_is_full_before_it_is_halved(self):
        for ids in (1, 99, 100, 101, 5_000):
            first = FirstPeriods(100)
            first.add(np.arange(ids), np.zeros(ids, np.int32), ALL_HASHES)
            self.assertEqual(first.ids_per_sampled == 1, ids <= 100)
            self.assertEqual(sum(first.new_ids().values()) // first.ids_per_sampled, len(first._ids))
            self.assertLessEqual(len(first._ids), 100)

    def test_memory_is_bounded(self):
        for new_ids in (0, 60_000):
            log = log_of(12, 500_000, new_ids, 100_000)
            tracemalloc.start()
            profile_of(log).result()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            # For the part at hand.
            self.assertLess(peak, LEAST_MEMORY + 8 * 2**20)


@unittest.skipUnless(np, "numpy is not installed")
class GrowthTest(unittest.TestCase):
    def test_known_growth_of_few_ids_is_exact(self):
        growth = profile_of(log_of(9, 5_000, 120, 20_000)).result()
        self.assertEqual([period.new_ids for period in growth.periods], [5_000] + [120] * 8)
        self.assertEqual([period.ids for period in growth.periods], [5_000 + 120 * day for day in range(9)])
        self.assertEqual([period.lookups for period in growth.periods], [25_000] + [20_120] * 8)
        self.assertEqual((growth.ids_per_day, growth.growth_periods, growth.warnings), (120.0, 4, []))

    def test_known_growth_of_many_ids_is_within_its_error(self):
        for seed in range(5):
            growth = profile_of(log_of(14, 1_000_000, 15_000, 200_000, seed)).result()
            self.assertLess(abs(growth.ids - 1_195_000), 3 * growth.ids_error)
            for period in growth.periods[1:]:
                self.assertGreater(period.new_ids_error, 0)
                self.assertLess(abs(period.new_ids - 15_000), 4 * period.new_ids_error)
            # 1 standard error of a period is 4.5%; the median of 7 is off by less.
            self.assertAlmostEqual(growth.ids_per_day / 15_000, 1, delta=0.07)
            self.assertEqual(growth.growth_periods, 7)

    def test_growth_is_the_median_of_the_last_half_of_the_periods(self):
        def new_ids(*counts):
            ends = np.cumsum(counts)
            return profile_of([np.arange(end - count, end) for count, end in zip(counts, ends)])

        for counts, expected, periods, previous in (
            ([100, 7], 7, 1, None),
            ([100, 7, 5], 5, 1, 7),
            ([100, 7, 5, 9], 7, 2, 7),
            ([100, 80, 60, 7, 5, 900], 7, 3, 70),
            ([100] + [50] * 7 + [10, 10, 10, 20, 20, 20, 20], 20, 7, 50),
            ([100] * 20 + [50, 10, 10, 10, 20, 20, 20, 20], 20, 7, 100),
        ):
            with self.subTest(counts):
                growth = new_ids(*counts).result()
                self.assertEqual((growth.ids_per_day, growth.growth_periods), (expected, periods))
                self.assertEqual(growth.previous_ids_per_day, previous)
        self.assertEqual(new_ids(100, 7).result(period_days=0.5).ids_per_day, 14.0)
        self.assertEqual(new_ids(100, 7).result(period_days=7).ids_per_day, 1.0)
        incomplete = new_ids(100, 7, 5, 9, 1).result(is_last_complete=False)
        self.assertEqual((incomplete.ids_per_day, incomplete.growth_periods, incomplete.ids), (7.0, 2, 122))
        self.assertIn("The last period of table t is incomplete: it is not in ids a day", incomplete.warnings)

    def test_growth_of_one_period_is_unknown(self):
        for counts, is_complete, complete in (([100], True, 1), ([100], False, 0), ([100, 5], False, 1)):
            growth = profile_of([np.arange(count) for count in counts]).result(is_last_complete=is_complete)
            self.assertIsNone(growth.ids_per_day)
            self.assertNotIn("idsPerDay", growth.storage())
            self.assertEqual(
                growth.warnings[0],
                f"The growth of table t is unknown: it takes 2 complete periods, got {complete}",
            )

    def test_no_growth_is_zero(self):
        growth = profile_of([np.arange(100)] * 4).result()
        self.assertEqual((growth.ids_per_day, growth.storage()["idsPerDay"]), (0.0, 0.0))

    def test_new_ids_that_still_fall_are_warned_of(self):
        # All ids are older than the stream, which comes to the rare ones late.
        stream = SkewedIds(10_000_000, 1.0).draw(np.random.default_rng(3), 10 * 50_000)
        growth = profile_of(np.array_split(stream, 10)).result()
        self.assertRegex(growth.warnings[0], r"New ids of table t still fall, from [\d,]+ to [\d,]+ a day")
        steady = profile_of(log_of(10, 5_000, 100, 20_000)).result()
        self.assertFalse([warning for warning in steady.warnings if "fall" in warning])

    def test_hit_shares_are_those_of_the_most_used_ids(self):
        rare = np.repeat(np.array([9, 2**63, 5], np.uint64), [2, 2, 1])
        growth = profile_of([np.repeat([7, 3], [10, 5]), rare]).result()
        self.assertEqual(growth.storage(), {"ids": 5, "idsPerDay": 3.0, "hitShares": [0.5, 0.95, 1.0]})
        self.assertEqual(growth.capacities(), [1, 4, 5])
        self.assertEqual(profile_of([np.zeros(9, int)]).result().hit_shares, [1.0])

    def test_hit_shares_of_many_ids_are_within_their_error(self):
        stream = SkewedIds(1_000_000_000, 1.0).draw(np.random.default_rng(2), 3_000_000)
        growth = profile_of(np.array_split(stream, 4)).result()
        counts = np.sort(np.unique(stream, return_counts=True)[1])[::-1]
        exact = np.cumsum(counts) / len(stream)
        capacities = growth.capacities()
        self.assertEqual(capacities[:-1], [4**k for k in range(len(capacities) - 1)])
        self.assertLess(capacities[-2], growth.ids)
        self.assertGreaterEqual(4 * capacities[-2], growth.ids)
        self.assertGreater(growth.hit_shares_error, 0)
        self.assertLess(growth.hit_shares_error, 0.05)
        for capacity, share in zip(capacities[:-1], growth.hit_shares):
            self.assertAlmostEqual(share, exact[capacity - 1], delta=2 * growth.hit_shares_error)
        self.assertEqual(growth.hit_shares[-1], 1.0)

    def test_fields_are_json_and_go_into_a_table(self):
        profiler = Profiler({}, {"clicked": "t", "bought": "t"}, hash_tables=["t"])
        profiler.add({"clicked": [5, 6], "bought": [[5, 5], [6, 7]]})
        profiler.begin_period(1)
        profiler.add({"clicked": np.array([5, 2**64 - 1], np.uint64), "bought": np.zeros((2, 2), int)})
        fields = profiler.growth()["t"].fields()
        self.assertEqual(json.loads(json.dumps(fields)), fields)
        self.assertEqual(
            fields,
            {
                "poolingFactor": 3.0,
                "reuseHistogram": [],
                "distinctShare": [{"samples": 4, "share": 0.4166667}],
                "storage": {"ids": 5, "idsPerDay": 2.0, "hitShares": [0.3333333, 0.9166667, 1.0]},
                "features": [{"name": "clicked", "poolingFactor": 1.0}, {"name": "bought", "poolingFactor": 2.0}],
            },
        )
        self.assertIs(type(fields["storage"]["ids"]), int)
        self.assertIs(type(fields["storage"]["idsPerDay"]), float)


@unittest.skipUnless(np, "numpy is not installed")
class MergeTest(unittest.TestCase):
    def test_periods_merge_to_the_whole_in_any_order(self):
        for log in (log_of(5, 3_000, 200, 4_000), log_of(5, 200_000, 9_000, 50_000)):
            whole = profile_of(log).result()
            parts = []
            for period, ids in enumerate(log):
                # Two workers share each period.
                for half in np.array_split(ids, 2):
                    part = HashTableProfile("t", memory_bytes=LEAST_MEMORY)
                    part.begin_period(period)
                    part.add(half)
                    parts.append(pickle.loads(pickle.dumps(part)))
            for order in (range(10), (9, 0, 4, 3, 8, 7, 1, 2, 6, 5)):
                merged = HashTableProfile("t", memory_bytes=LEAST_MEMORY)
                for place in order:
                    merged.merge(parts[place])
                result = merged.result()
                self.assertEqual(result.periods, whole.periods)
                self.assertEqual(result.ids_per_day, whole.ids_per_day)
                if not whole.ids_error:
                    # Runs of samples begin with each part.
                    self.assertEqual(replace(result, distinct_shares=whole.distinct_shares), whole)
                for one, other in zip(result.hit_shares, whole.hit_shares):
                    error = whole.hit_shares_error + result.hit_shares_error
                    self.assertAlmostEqual(one, other, delta=max(1e-7, 2 * error))

    def test_batches_do_not_change_anything(self):
        log = log_of(3, 150_000, 5_000, 100_000)
        one = HashTableProfile("t", memory_bytes=LEAST_MEMORY)
        for period, ids in enumerate(log):
            one.begin_period(period)
            one.begin_period(period)
            one.add(ids[::-1].reshape(-1, 5))
        other = profile_of([ids.reshape(-1, 5) for ids in log])
        self.assertEqual(one.result().periods, other.result().periods)
        self.assertEqual(other.result(), other.result())

    def test_other_tables_do_not_merge(self):
        one = Profiler({"a": 5}, hash_tables=["t"])
        with self.assertRaisesRegex(ValueError, "hash tables of profilers must be equal to merge them, got t and none"):
            one.merge(Profiler({"a": 5}))
        with self.assertRaisesRegex(ValueError, "memory_bytes of profiles must be equal to merge them"):
            one.merge(Profiler({"a": 5}, memory_bytes=LEAST_MEMORY, hash_tables=["t"]))

    def test_processes_agree(self):
        program = (
            "import numpy as np\n"
            "from shardtide.profile import HashTableProfile\n"
            f"profile = HashTableProfile('t', memory_bytes={LEAST_MEMORY})\n"
            "for period in range(3):\n"
            "    profile.begin_period(period)\n"
            "    profile.add(np.random.default_rng(period).integers(0, 2**64, 90_000, np.uint64))\n"
            "print(profile.result())\n"
        )
        printed = set()
        for seed in ("0", "1", "random"):
            environment = {**os.environ, "PYTHONPATH": PACKAGE, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
            run = subprocess.run(
                [sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True, check=True
            )
            printed.add(run.stdout)
        self.assertEqual(len(printed), 1)
        self.assertIn("lookups=270000", printed.pop())


@unittest.skipUnless(np, "numpy is not installed")
class WrongInputTest(unittest.TestCase):
    def test_ids_have_64_bits(self):
        profile = HashTableProfile("t")
        for ids, message in (
            ([5, 2**64], "ids must be integers, got object"),
            ([0.5], "ids must be integers, got float64"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                profile.add(ids)
        with self.assertRaisesRegex(ValueError, "Table t has no samples of feature t"):
            profile.result()
        profile.add(np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64))
        self.assertEqual(profile.result().ids, 4)
        # Those with a sign are those of the same bits without one.
        profile.add(np.array([-1, -(2**63), 7]))
        profile.add(np.array([-1], np.int8))
        self.assertEqual(profile.result().ids, 5)
        self.assertEqual(profile.result().minus_ones, 0)

    def test_an_id_that_seems_to_stand_for_none_is_said(self):
        said = "Table t has the id -1 in 3 lookups, and no other id below 0: where it stands for no id, leave it out"
        profile, other = HashTableProfile("t"), HashTableProfile("t")
        profile.add([5, -1, -1])
        other.add([-1, 6])
        profile.merge(other)
        self.assertIn(said, profile.result().warnings)
        other.add([-2])
        profile.merge(other)
        self.assertEqual(profile.result().minus_ones, 0)
        self.assertFalse([line for line in profile.result().warnings if "-1" in line])

    def test_time_does_not_go_back(self):
        profiler = Profiler({}, hash_tables=["t", "u"])
        profiler.begin_period(3)
        profiler.add({"t": [1], "u": [2]})
        with self.assertRaisesRegex(ValueError, "period of table t must be at least 3, the current one, got 2"):
            profiler.begin_period(2)
        for period in (-1, 100_000, 1.0, True, "1"):
            with self.assertRaisesRegex(ValueError, "period of table t must be an integer between 0 and 99999, got "):
                profiler.begin_period(period)
        self.assertEqual([period.period for period in profiler.growth()["u"].periods], [3])

    def test_a_period_without_lookups_is_an_error(self):
        profile = HashTableProfile("t")
        profile.add([], lengths=[0, 0])
        with self.assertRaisesRegex(ValueError, "Table t has no lookups: its ids and their growth are unknown"):
            profile.result()
        profile.add([1])
        profile.begin_period(1)
        profile.add([], lengths=[0])
        profile.begin_period(2)
        profile.add([2])
        with self.assertRaisesRegex(ValueError, "Table t has no lookups in period 1: its growth is unknown"):
            profile.result()
        other = HashTableProfile("t")
        for period in range(2):
            other.begin_period(period)
            other.add([9])
        profile.merge(other)
        self.assertEqual([period.lookups for period in profile.result().periods], [2, 1, 1])
        profile.begin_period(3)
        with self.assertRaisesRegex(ValueError, "Table t has no lookups in period 3"):
            profile.result()

    def test_bad_arguments_are_errors(self):
        for make, message in (
            (lambda: HashTableProfile(""), "table name must have 1 to 255 characters"),
            (lambda: HashTableProfile("t", memory_bytes=2**24 - 1), "memory_bytes must be at least 16777216"),
            (lambda: HashTableProfile("t", []), "table t must have a feature, got none"),
            (lambda: Profiler({"t": 5}, hash_tables=["t"]), "hash table t must occur once and have no rows"),
            (lambda: Profiler({}, hash_tables=["t", "t"]), "hash table t must occur once and have no rows"),
            (lambda: Profiler({}, hash_tables="t"), "hash_tables must be a list of names, got str 't'"),
            (lambda: Profiler({"a": 1}, {"f": "c"}, hash_tables=["t"]), "feature f must be one of a, t, got c"),
            (lambda: profile_of([[1]]).result(period_days=0), "period_days must be above 0 and at most 36600, got 0"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                make()


@unittest.skipUnless(np, "numpy is not installed")
class CommandTest(CommandCase):
    def test_files_and_folders_are_periods(self):
        for day, ids in enumerate(([1, 2, 3], [1, 4, 2**62], [5, 5, 5], [6, 7, 8])):
            (self.folder / f"day{day}").mkdir()
            np.savez(self.path(f"day{day}/b.npz"), item=np.array(ids), user=np.arange(3))
            np.save(self.path(f"day{day}/item.npy"), np.array([1]))
        days = [self.path(f"day{day}") for day in range(4)]
        fields, printed, err = self.profile(*days, "--growth", "item", "--period", "12h", "--rows", "user=4")
        self.assertEqual(list(fields), ["user", "item"])
        self.assertEqual(fields["user"]["rows"], 4)
        # New ids: 3, 2, 1, 3; the median of the last two, twice a day.
        storage = {"ids": 9, "idsPerDay": 4.0, "hitShares": [0.375, 0.6875, 1.0]}
        self.assertEqual(fields["item"]["storage"], storage)
        blocks = [block.splitlines() for block in printed.split("\n\n")]
        self.assertEqual([line.split()[0] for line in blocks.pop(0)], ["table", "user"])
        self.assertEqual(
            [line.split() for line in blocks.pop(0)],
            [
                "hash table samples lookups pooling ids error new ids/day median of".split(),
                "item 16 16 1.000 9 exact 4.0 last 2 periods".split(),
            ],
        )
        self.assertEqual(blocks[0][0], "item: new ids by period")
        self.assertEqual(
            [line.split() for line in blocks[0][2:]],
            [
                [days[0], "4", "3", "exact", "3", "exact"],
                [days[1], "4", "2", "exact", "5", "exact"],
                [days[2], "4", "1", "exact", "6", "exact"],
                [days[3], "4", "3", "exact", "9", "exact"],
            ],
        )
        self.assertEqual(
            [line.split() for line in blocks[1][2:]], [["1", "0.3750"], ["4", "0.6875"], ["9", "1.0000"]]
        )
        for block in blocks[:2]:
            self.assertEqual(len({len(line) for line in block[1:]}), 1, block)
        self.assertEqual(json.loads(blocks[2][1]), {"storage": storage})
        self.assertIn("28 ids", err)

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_times_of_samples_make_periods(self):
        day = 20_000 * 86_400
        seconds = [day + 80_000, day + 86_399, day + 86_400, day + 100_000, day + 90_000, day + 2 * 86_400 + 43_200]
        utc = datetime.timezone.utc
        stamps = [datetime.datetime.fromtimestamp(second, utc) for second in seconds]
        east = [stamp.astimezone(datetime.timezone(datetime.timedelta(hours=9))) for stamp in stamps]
        items = pa.array([[1], [1, 2], [3], [4, 4], None, [5, 6]])
        columns = {
            "seconds": pa.array(seconds),
            "narrow": pa.array(seconds, pa.uint32()),
            "nanos": pa.array([second * 10**9 + 5 for second in seconds], pa.timestamp("ns")),
            "zoned": pa.array(east, pa.timestamp("us", "Asia/Tokyo")),
            "date": pa.array([stamp.date() for stamp in stamps], pa.date32()),
        }
        pq.write_table(pa.table({"item": items, **columns}), self.path("log.parquet"))
        results = []
        for column in columns:
            fields, printed, err = self.profile(
                self.path("log.parquet"), "--growth", "item", "--period", "1d", "--time", column
            )
            rows = [line.split() for line in printed.splitlines() if line.startswith("2024-")]
            self.assertEqual(
                rows,
                [
                    ["2024-10-04", "00:00", "3", "2", "exact", "2", "exact"],
                    ["2024-10-05", "00:00", "3", "2", "exact", "4", "exact"],
                    ["2024-10-06", "00:00", "2", "2", "exact", "6", "exact"],
                ],
                column,
            )
            results.append(fields)
            # A date says nothing of the hour.
            self.assertEqual("The last period of table item is incomplete" in err, column != "date")
        self.assertEqual(results[0]["item"]["storage"]["idsPerDay"], 2.0)
        self.assertEqual(results[0]["item"]["poolingFactor"], 8 / 6)
        self.assertEqual(results, [results[0]] * len(results))

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_parts_of_a_day_and_batches_make_no_difference(self):
        log = log_of(4, 60_000, 2_000, 30_000)
        times = [np.sort(np.random.default_rng(day).integers(0, 86_400, len(ids))) for day, ids in enumerate(log)]
        names = []
        for day, (ids, time) in enumerate(zip(log, times)):
            table = pa.table({"item": ids, "time": time + day * 86_400})
            for part, begin in enumerate((0, 40_000)):
                names.append(self.path(f"{day}-{part}.parquet"))
                pq.write_table(table.slice(begin, 40_000 if not part else None), names[-1])
        options = ["--growth", "item", "--period", "1d", "--time", "time"]
        fields, _, err = self.profile(*names, *options)
        self.assertNotIn("incomplete", err)
        storage = fields["item"]["storage"]
        self.assertEqual((storage["ids"], storage["idsPerDay"]), (66_000, 2_000.0))
        folder, _, _ = self.profile(str(self.folder), *options)
        self.assertEqual(folder, fields)
        estimated, printed, _ = self.profile(*names, *options, "--memory-mib", "16")
        self.assertEqual(estimated["item"]["storage"]["ids"], profile_of(log).result().ids)
        self.assertNotIn("exact", printed.split("ids so far")[1].splitlines()[2])

    def test_unknown_growth_is_not_zero(self):
        np.save(self.path("item.npy"), np.arange(100))
        fields, printed, err = self.profile(self.path("item.npy"), "--growth", "item", "--period", "1d")
        self.assertEqual(list(fields["item"]["storage"]), ["ids", "hitShares"])
        self.assertEqual(printed.splitlines()[1].split()[-2:], ["unknown", "-"])
        self.assertNotIn("idsPerDay", printed)
        self.assertIn("The growth of table item is unknown: it takes 2 complete periods, got 1", err)

    def test_bad_input_is_one_line(self):
        for name, ids in (("a/item", [1]), ("b/item", [-1]), ("c/user", [1])):
            (self.folder / name[0]).mkdir()
            np.save(self.path(f"{name}.npy"), np.array(ids))
        (self.folder / "d").mkdir()
        np.savez(self.path("none.npz"), **{"item.values": np.array([], int), "item.lengths": np.array([0])})
        good = self.path("a/item.npy")
        item = ["--growth", "item", "--period", "1d"]
        for arguments, message in (
            ([good, "--growth", "item"], "--growth and --period must come together"),
            ([good, "--rows", "item=9", "--period", "1d"], "--growth and --period must come together"),
            ([good, "--rows", "item=9", "--time", "ts"], "--time must come with --growth"),
            ([*item], "a FILE and --rows TABLE=ROWS or --growth TABLE are expected"),
            ([good, *item, "--growth", "item"], "each table of --rows and --growth must occur once, got item twice"),
            ([good, *item, "--rows", "item=9"], "each table of --rows and --growth must occur once, got item twice"),
            ([good, *item[:3], "1w"], "--period: must be between 1m and 366d, as 30m, 6h or 1d, got 1w"),
            ([good, *item[:3], "0d"], "--period: must be between 1m and 366d, as 30m, 6h or 1d, got 0d"),
            ([good, *item[:3], "367d"], "--period: must be between 1m and 366d, as 30m, 6h or 1d, got 367d"),
            ([self.path("b"), "--rows", "item=9"], "b/item.npy: ids of feature item must be between 0 and 8"),
            ([self.path("c"), *item], "c/user.npy must have one of the features item, got user"),
            ([self.path("d"), *item], "d must have .parquet, .npy, .npz files, got none"),
            ([good, self.path("none.npz"), *item], "Table item has no lookups in the period " + self.path("none.npz")),
            ([good, *item, "--time", "ts"], "item.npy must be a .parquet file, as it must have a column of times, ts"),
        ):
            with self.subTest(message):
                self.assertIn(message, self.error(*arguments))

    @unittest.skipUnless(pa, "pyarrow is not installed")
    def test_bad_times_are_one_line(self):
        day = 86_400
        arguments = [self.path("log.parquet"), "--growth", "item", "--period", "1d", "--time", "ts"]
        for times, message in (
            ([day, 0], "log.parquet: times in column ts must not go back to an earlier period, got 1970-01-01 00:00"),
            ([0, 2 * day], "Table item has no lookups in the period 1970-01-02 00:00"),
            ([0, -1], "Times in column ts of"),
            ([0, 1_700_000_000_000], "must be between 0 and 2^33 seconds since 1970, got 1700000000000. Maybe these"),
            ([0, None], "must have the time of each sample, got 1 null"),
            (["a", "b"], "must hold timestamps, dates, or integers in seconds, got string"),
            ([0.5, 1.5], "must hold timestamps, dates, or integers in seconds, got double"),
        ):
            pq.write_table(pa.table({"item": [1, 2], "ts": times}), self.path("log.parquet"))
            with self.subTest(message):
                self.assertIn(message, self.error(*arguments))
        pq.write_table(pa.table({"item": [1, 2], "ts": [0, 100_000 * 60]}), self.path("log.parquet"))
        message = "period of table item must be an integer between 0 and 99999, got 100000"
        self.assertIn(message, self.error(*arguments, "--period", "1m"))
        pq.write_table(pa.table({"item": [1, 2]}), self.path("log.parquet"))
        self.assertIn("log.parquet must have a column of times, ts, got item", self.error(*arguments))


if __name__ == "__main__":
    unittest.main()
