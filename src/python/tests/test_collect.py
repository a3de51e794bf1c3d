"""What shardtide.collect draws, measures and writes. Needs PyTorch for all but the drawing of tables and shards."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import math
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from unittest import mock

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "src/python"
sys.path.insert(0, str(PACKAGE))

import commands

from shardtide.collect import __main__ as command
from shardtide.optimizers import DEFAULT, OF_COPIES, OPTIMIZERS
from shardtide.collect.shapes import (
    BYTES_PER_CACHED_ROW,
    LEAST_CACHED_ROWS,
    MOST_CACHED_ROWS,
    MOST_SHARDS,
    Limits,
    Shard,
    draw_caches,
    draw_shards,
)
from shardtide.collect.tables import GivenTable, Table, draw_table

try:
    import torch

    from shardtide.collect import collectives, ids, machine, measure, run
    from shardtide.collect.operators import EPSILON, EmbeddingBags, ShardOperator
except ModuleNotFoundError:
    torch = None



def held_of(rows, columns, samples, bytes_per_element, replicated, optimizer=DEFAULT, cache_share=None):
    """The rows of a shard that a device holds, and the shard."""
    return rows, Shard(0, columns, samples, 1, replicated, bytes_per_element, optimizer, cache_share)


SKEWED = Table(rows=50_000, pooling_factor=8.0, exponent=1.1, offset=2.0)


class TableTest(unittest.TestCase):
    def test_access_cdf_rises_to_all_lookups(self):
        for index in range(300):
            table = draw_table(7, index)
            shares = table.access_cdf()
            self.assertEqual(len(shares), 1 + math.ceil(math.log(table.rows, 4) - 1e-12), table)
            self.assertEqual(shares, sorted(shares), table)
            self.assertEqual(shares[-1], 1, table)
            self.assertGreater(shares[0], 0, table)

    def test_uniform_use_has_the_share_of_the_rows(self):
        table = Table(rows=1_000, pooling_factor=1, exponent=0, offset=3)
        self.assertAlmostEqual(table.share(250), 0.25)

    def test_exponent_1_is_the_limit_of_its_neighbours(self):
        at, beside = (Table(10_000, 1, exponent, 2).share(16) for exponent in (1, 1 + 1e-7))
        self.assertAlmostEqual(at, beside, places=6)

    def test_seed_and_index_make_a_table(self):
        self.assertEqual(draw_table(1, 2), draw_table(1, 2))
        self.assertNotEqual(draw_table(1, 2), draw_table(1, 3))
        self.assertNotEqual(draw_table(1, 2), draw_table(2, 2))

    def test_too_many_rows_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "rows must be between 1 and 2\\^31, got 4294967296"):
            Table(2**32, 1, 1, 1)


class GivenTableTest(unittest.TestCase):
    """A table of a workload, which says of the 1, 4, 16, ... most used rows how many lookups they have."""

    def given(self, table):
        return GivenTable(table.rows, table.pooling_factor, table.access_cdf())

    def test_distribution_is_that_of_the_table_it_was_computed_from(self):
        for index in range(200):
            table = draw_table(11, index)
            given = self.given(table)
            for ranks in (1, 2, 16, 50, table.rows // 7, table.rows // 3, table.rows):
                if 1 <= ranks <= table.rows:
                    self.assertAlmostEqual(given.share(ranks), table.share(ranks), delta=0.01, msg=(table, ranks))

    def test_a_part_has_its_rows_and_their_lookups(self):
        given = self.given(SKEWED)
        hot, cold = given.part(0, 1_000), given.part(1_000, SKEWED.rows)
        self.assertEqual((hot.rows, cold.rows), (1_000, 49_000))
        self.assertAlmostEqual(hot.pooling_factor + cold.pooling_factor, SKEWED.pooling_factor)
        self.assertAlmostEqual(hot.pooling_factor, SKEWED.pooling_factor * SKEWED.share(1_000), delta=0.05)
        self.assertAlmostEqual(hot.share(16), SKEWED.share(16) / SKEWED.share(1_000), delta=0.01)

    def test_other_distributions_are_an_error(self):
        for rows, shares in ((5, [0.5, 1]), (5, [0.5, 0.4, 1]), (5, [0.1, 0.5, 0.9]), (1, [0.5, 1])):
            with self.assertRaisesRegex(ValueError, "must be . rising shares, the last of them 1"):
                GivenTable(rows, 1.0, shares)


class ShapesTest(unittest.TestCase):
    TABLES = [draw_table(0, index) for index in range(200)]
    CLUSTERS = [2, 4, 8, 16, 32, 64, 128]
    LIMITS = Limits(weight_bytes=2**33, rows=2**28, gradient_elements=2**26)

    def sets(self, limits=LIMITS):
        eligible = [range(0, 100), range(100, 110)]
        return [
            draw_shards(random.Random(seed), self.TABLES, eligible, [4_096, 65_536], limits, self.CLUSTERS)
            for seed in range(1_000)
        ]

    def test_shards_are_of_every_kind(self):
        shards = [shard for shards in self.sets() for shard in shards]
        kinds = {(shard.devices > 1, shard.replicated, shard.bytes_per_element) for shard in shards}
        self.assertEqual(kinds, {(split, copy, size) for split, copy in ((0, 0), (1, 0), (0, 1)) for size in (2, 4)})
        self.assertTrue({2, 4, 8, 16, 32, 64, 128} <= {shard.devices for shard in shards})
        for shard in shards:
            self.assertEqual(shard.columns % 4, 0)
            self.assertTrue(4 <= shard.columns <= 512)
            self.assertLess(shard.table, 110)

    def test_copies_pool_their_part_of_the_batch(self):
        for shards in self.sets():
            batch_sizes = {shard.samples for shard in shards if not shard.replicated}
            self.assertLessEqual(len(batch_sizes), 1)
            for shard in shards:
                if shard.replicated and batch_sizes:
                    self.assertIn(min(batch_sizes) / shard.samples, {2, 4, 8, 16, 32, 64, 128})

    def test_sets_have_1_to_200_shards_within_the_limits(self):
        sets = self.sets()
        self.assertTrue(set(range(1, 21)) <= {len(shards) for shards in sets})
        self.assertGreater(max(map(len, sets)), 100)
        self.assertLessEqual(max(map(len, sets)), MOST_SHARDS)
        # A device of a plan holds many copies of small tables; on 0a08396e, no set had more than 15 shards.
        self.assertGreater(max(sum(shard.replicated for shard in shards) for shards in sets), 25)
        for shards in sets:
            needs = [shard.needs(self.TABLES[shard.table]) for shard in shards]
            self.assertLessEqual(sum(need.weight_bytes for need in needs), self.LIMITS.weight_bytes)
            self.assertLessEqual(sum(need.rows for need in needs), self.LIMITS.rows)
            self.assertLessEqual(sum(need.gradient_elements for need in needs), self.LIMITS.gradient_elements)

    def test_a_set_has_one_optimizer_whose_state_needs_memory(self):
        drawn = [
            draw_shards(random.Random(seed), self.TABLES, [range(200)], [4_096], self.LIMITS, [8], tuple(OPTIMIZERS))
            for seed in range(300)
        ]
        self.assertEqual({len({shard.optimizer for shard in shards}) for shards in drawn}, {1})
        self.assertEqual({shards[0].optimizer for shards in drawn}, set(OPTIMIZERS))
        for shard in (shard for shards in drawn for shard in shards if shard.replicated):
            self.assertIn(shard.optimizer, OF_COPIES)
        table = Table(100, 1.0, 1, 1)
        needs = [Shard(0, 8, 16, bytes_per_element=2, optimizer=name).needs(table) for name in ("sgd", "adagrad", "adam")]
        self.assertEqual([of.weight_bytes for of in needs], [100 * 8 * 2, 100 * 8 * 6, 100 * 8 * 10])

    def test_row_shards_round_rows_up_and_take_their_part_of_the_lookups(self):
        shard = Shard(table=0, columns=8, samples=1_000, devices=8)
        self.assertEqual(shard.rows(Table(17, 4.0, 1, 1)), 3)
        self.assertEqual(shard.lookups(Table(17, 4.0, 1, 1)), 500)
        self.assertEqual(shard.needs(Table(17, 4.0, 1, 1)), Limits(3 * 8 * 4, 3, (1_000 + 500) * 8))

    def cached_sets(self, limits=replace(LIMITS, host_bytes=2**33), cached=1.0, optimizers=("adam",)):
        for seed in range(300):
            caches = draw_caches(random.Random(f"caches/{seed}"), cached)
            draw = random.Random(seed)
            yield draw_shards(draw, self.TABLES, [range(200)], [4_096], limits, [2, 8], optimizers, caches)

    def test_sets_without_caches_are_those_of_earlier_releases(self):
        shards = [
            draw_shards(
                random.Random(seed),
                self.TABLES,
                [range(100), range(100, 110)],
                [4_096, 65_536],
                self.LIMITS,
                [2, 8, 128],
                ("rowwise_adagrad", "adam"),
            )
            for seed in range(300)
        ]
        lines = [json.dumps([shard.to_json() for shard in of]) for of in shards]
        # Of 9c832f74, before there were caches.
        self.assertEqual(hashlib.sha256("".join(lines).encode()).hexdigest()[:16], "968ce74d93b1d57b")

    def test_other_sets_stay_as_they_are_beside_cached_ones(self):
        without = list(self.cached_sets(cached=0.0))
        some = list(self.cached_sets(cached=0.3))
        cached = [any(shard.cache_share is not None for shard in shards) for shards in some]
        self.assertTrue(60 < sum(cached) < 110, sum(cached))
        same = [a == b for a, b, has in zip(without, some, cached) if not has]
        self.assertEqual(set(same), {True})
        self.assertEqual(some, list(self.cached_sets(cached=0.3)))

    def test_cached_shards_are_within_the_limits(self):
        limits = Limits(weight_bytes=2**28, rows=2**28, gradient_elements=2**26, host_bytes=2**33)
        shares, parts, on_host = set(), [], []
        for shards in self.cached_sets(limits):
            cached = [shard for shard in shards if shard.cache_share is not None]
            for shard in cached:
                self.assertFalse(shard.replicated)
                self.assertGreaterEqual(self.TABLES[shard.table].rows, LEAST_CACHED_ROWS)
            self.assertLessEqual(len({shard.cache_share for shard in cached}), 1)
            self.assertLessEqual(sum(shard.rows(self.TABLES[shard.table]) for shard in cached), MOST_CACHED_ROWS)
            needs = [shard.needs(self.TABLES[shard.table]) for shard in shards]
            self.assertLessEqual(sum(need.weight_bytes for need in needs), limits.weight_bytes)
            self.assertLessEqual(sum(need.host_bytes for need in needs), limits.host_bytes)
            on_host.append(sum(need.host_bytes for need in needs))
            shares |= {shard.cache_share for shard in cached}
            may_be = [s for s in shards if not s.replicated and self.TABLES[s.table].rows >= LEAST_CACHED_ROWS]
            if may_be:
                parts.append(len(cached) / len(may_be))
        self.assertTrue(min(shares) < 0.02 and max(shares) > 0.7, (min(shares), max(shares)))
        self.assertGreater(max(on_host), limits.weight_bytes, "more than fits the device")
        self.assertTrue(parts.count(1.0) > 50 and any(0 < part < 1 for part in parts))

    def test_no_host_memory_means_no_caches(self):
        for shards in self.cached_sets(self.LIMITS):
            self.assertEqual({shard.cache_share for shard in shards}, {None})

    def test_state_of_cached_shards_is_in_host_memory(self):
        table = Table(1_000_000, 4.0, 1, 1)
        needs = [
            Shard(0, 8, 16, bytes_per_element=2, optimizer=name, cache_share=0.1).needs(table)
            for name in ("sgd", "rowwise_adagrad", "adam", "partial_rowwise_adam")
        ]
        self.assertEqual([of.host_bytes for of in needs], [10**6 * of for of in (16, 20, 80, 52)])
        self.assertEqual({of.weight_bytes for of in needs}, {10**5 * (16 + BYTES_PER_CACHED_ROW)})
        self.assertEqual({of.rows for of in needs}, {10**6})
        self.assertEqual(Shard(0, 8, 16, cache_share=1e-9).cached_rows(table), 1)
        self.assertEqual(Shard(0, 8, 16).needs(table).host_bytes, 0)

    def test_copies_and_empty_caches_are_errors(self):
        for fields, message in (
            ({"replicated": True, "cache_share": 0.5}, "a copy cannot be cached"),
            ({"cache_share": 0.0}, "above 0 and at most 1, got 0.0"),
            ({"cache_share": 1.5}, "above 0 and at most 1, got 1.5"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                Shard(0, 8, 16, **fields)

    def test_limits_of_earlier_releases_allow_no_caches(self):
        earlier = {"weight_bytes": 5, "rows": 6, "gradient_elements": 7}
        self.assertEqual(Limits(**earlier).host_bytes, 0)

    def test_defaults_are_left_out_of_the_file(self):
        self.assertEqual(Shard(3, 8, 512).to_json(), {"table": 3, "columns": 8, "samples": 512})
        self.assertEqual(
            Shard(3, 8, 512, devices=4, bytes_per_element=2).to_json(),
            {"table": 3, "columns": 8, "samples": 512, "rowShare": 0.25, "bytesPerElement": 2},
        )
        self.assertTrue(Shard(3, 8, 512, replicated=True).to_json()["replicated"])
        self.assertNotIn("optimizer", Shard(3, 8, 512, optimizer="rowwise_adagrad").to_json())
        self.assertEqual(Shard(3, 8, 512, optimizer="adam").to_json()["optimizer"], "adam")
        self.assertNotIn("cacheShare", Shard(3, 8, 512).to_json())
        self.assertEqual(Shard(3, 8, 512, cache_share=0.25).to_json()["cacheShare"], 0.25)


@unittest.skipUnless(torch, "PyTorch is not installed")
class IdsTest(unittest.TestCase):
    def setUp(self):
        self.generator = torch.Generator().manual_seed(3)

    def uses(self, table, lookups, devices=1):
        """How often each row is used, most first."""
        drawn = ids.draw_ids(table, lookups, devices, self.generator)
        rows = -(-table.rows // devices)
        self.assertGreaterEqual(int(drawn.min()), 0)
        self.assertLess(int(drawn.max()), rows)
        return torch.bincount(drawn, minlength=rows).sort(descending=True).values.double()

    def test_most_used_rows_have_their_share_of_the_lookups(self):
        closed = [Table(50_000, 1, exponent, 2.0) for exponent in (0.5, 1.0, 1.3)]
        for table in [*closed, *(GivenTable(table.rows, 1, table.access_cdf()) for table in closed)]:
            uses = self.uses(table, 2_000_000)
            for ranks in (1, 16, 256, 4_096):
                # Sorting by use instead of by rank adds a little.
                self.assertAlmostEqual(float(uses[:ranks].sum()) / 2e6, table.share(ranks), delta=0.01)

    def test_distinct_rows_fit_the_cdf(self):
        lookups = 100_000
        for devices in (1, 8):
            rows = -(-SKEWED.rows // devices)
            ends = [min(SKEWED.rows, row * devices) for row in range(rows + 1)]
            expected = [lookups * (SKEWED.share(end) - SKEWED.share(begin)) for begin, end in zip(ends, ends[1:])]
            distinct = float((self.uses(SKEWED, lookups, devices) > 0).sum())
            self.assertAlmostEqual(distinct / sum(1 - math.exp(-uses) for uses in expected), 1, delta=0.02)

    def test_rows_of_similar_use_lie_apart(self):
        drawn = ids.draw_ids(SKEWED, 100_000, 1, self.generator)
        most_used = torch.bincount(drawn).sort(descending=True).indices[:8].sort().values
        self.assertGreater(int(most_used.diff().min()), 1_000)

    def test_most_used_rows_are_those_that_are_drawn_most_often(self):
        for devices in (1, 8):
            drawn = ids.draw_ids(SKEWED, 500_000, devices, self.generator)
            most = torch.bincount(drawn).sort(descending=True).indices
            expected = ids.most_used(SKEWED, 0, 16, devices, torch.device("cpu"))
            self.assertEqual(set(most[:4].tolist()), set(expected[:4].tolist()))
            self.assertTrue(set(expected.tolist()) <= set(most[:40].tolist()))
            rows = -(-SKEWED.rows // devices)
            every = ids.most_used(SKEWED, 0, rows, devices, torch.device("cpu"))
            self.assertEqual(len(every.unique()), rows)

    def test_bags_of_most_used_rows(self):
        device = torch.device("cpu")
        cached, other = Shard(0, 8, 16, cache_share=0.002), Shard(0, 8, 16)
        used, offsets = measure._most_used(SKEWED, cached, 60, 160, device)
        self.assertEqual(used.tolist(), ids.most_used(SKEWED, 60, 100, 1, device).tolist())
        self.assertEqual((len(offsets), int(offsets[0]), int(offsets[-1])), (17, 0, 40))
        self.assertLessEqual(int(offsets.diff().max()), 3)
        self.assertEqual(len(measure._most_used(SKEWED, cached, 100, 200, device)[0]), 0)
        self.assertEqual(len(measure._most_used(SKEWED, cached, -60, 40, device)[0]), 40)
        self.assertEqual(measure._most_used(SKEWED, other, 0, 100, device)[1].tolist(), [0] * 17)

    def test_histogram_is_that_of_a_batch(self):
        for table in (SKEWED, Table(3_000_000, 1, 0.7, 10.0), Table(7, 1, 0.3, 1.0)):
            uses = self.uses(table, round(65_536 * table.pooling_factor))
            bins = uses[uses > 0].log2().ceil().long().clamp_(0, 16)
            counted = torch.bincount(bins, minlength=17) / len(bins)
            expected = torch.tensor(ids.reuse_histogram(table))
            self.assertAlmostEqual(float(expected.sum()), 1, places=5)
            self.assertLess(float((counted - expected).abs().max()), 0.02, table)

    def test_offsets_share_all_lookups(self):
        offsets = ids.draw_offsets(SKEWED, 512, 4_096, 1, self.generator)
        self.assertEqual((len(offsets), int(offsets[0]), int(offsets[-1])), (513, 0, 4_096))
        self.assertGreaterEqual(int(offsets.diff().min()), 0)
        single = ids.draw_offsets(Table(9, 1, 1, 1), 5, 5, 1, self.generator)
        self.assertEqual(single.tolist(), [0, 1, 2, 3, 4, 5])


@unittest.skipUnless(torch, "PyTorch is not installed")
class OperatorTest(unittest.TestCase):
    ROWS, COLUMNS, SAMPLES = 12, 8, 40

    def test_pools_and_updates_as_row_wise_adagrad_does(self):
        generator = torch.Generator().manual_seed(5)
        for replicated in (False, True):
            for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 2e-2)):
                with self.subTest(replicated=replicated, dtype=dtype):
                    weight = torch.randn(self.ROWS, self.COLUMNS, generator=generator).to(dtype)
                    # Half of the rows are never used; used ones occur often, also twice in a sample.
                    used = torch.randint(self.ROWS // 2, (100,), generator=generator)
                    offsets = ids.draw_offsets(SKEWED, self.SAMPLES, 100, 1, generator)
                    gradient = torch.randn(self.SAMPLES, self.COLUMNS, generator=generator).to(dtype)
                    # The same in float64: a matrix product with how often a sample uses a row.
                    counts = torch.zeros(self.SAMPLES, self.ROWS, dtype=torch.float64)
                    for sample, (begin, end) in enumerate(zip(offsets, offsets[1:])):
                        for row in used[begin:end]:
                            counts[sample, row] += 1
                    by_row = counts.T @ gradient.double()
                    momentum = 1 + by_row.square().mean(1)
                    updated = weight.double() - 0.1 * by_row / (momentum.sqrt() + EPSILON).unsqueeze(1)
                    pooled = counts @ weight.double()

                    state = torch.ones(self.ROWS)
                    operator = ShardOperator(weight, state, replicated, learning_rate=0.1)
                    output = operator.forward(used, offsets)
                    torch.testing.assert_close(output.detach().double(), pooled, rtol=tolerance, atol=tolerance)
                    torch.autograd.backward([output], [gradient])
                    operator.step()
                    torch.testing.assert_close(weight.double(), updated, rtol=tolerance, atol=tolerance)
                    torch.testing.assert_close(state.double(), momentum, rtol=tolerance, atol=tolerance)

    def test_step_needs_a_gradient(self):
        operator = ShardOperator(torch.ones(2, 4), torch.ones(2), False, learning_rate=0.1)
        with self.assertRaisesRegex(RuntimeError, "needs a backward pass"):
            operator.step()


class FakeGpu:
    """A device that takes 0.4 ms for each flush, 2 ms for a pass, and whose host needs 3 ms to launch a pass."""

    FLUSH_MS, PASS_MS, LAUNCH_MS = 0.4, 2.0, 3.0

    def __init__(self):
        # When the host is, and until when the device has work; ms.
        self.host = self.busy = 0.0

    def flush(self, times):
        self.busy = max(self.busy, self.host) + times * self.FLUSH_MS

    def launch(self):
        """Ten kernels, each of which the device runs when it was launched and those before it are over."""
        for _ in range(10):
            self.host += self.LAUNCH_MS / 10
            self.busy = max(self.busy, self.host) + self.PASS_MS / 10

    def synchronize(self):
        self.host = max(self.host, self.busy)

    def clock(self):
        """Stands for shardtide.train's Clock, whose marks are CUDA events."""
        gpu = self

        class FakeClock:
            cuda = True

            def __init__(self, device, computes):
                del device, computes

            def now(self):
                gpu.busy = max(gpu.busy, gpu.host)
                return gpu.busy

            def ms(self, begin, end):
                gpu.host = max(gpu.host, end)
                return end - begin

            def is_ahead(self, mark):
                return gpu.host < mark

        return FakeClock


@unittest.skipUnless(torch, "PyTorch is not installed")
class QueueTest(unittest.TestCase):
    """Events on a GPU measure launches, unless all of them are over when the GPU begins."""

    has_caches = False

    def setUp(self):
        self.gpu = FakeGpu()
        self.queues = []
        for patched in (
            mock.patch.object(measure, "Clock", self.gpu.clock()),
            mock.patch.object(measure.torch.cuda, "synchronize", lambda _: self.gpu.synchronize()),
            mock.patch.object(measure.time, "perf_counter", lambda: self.gpu.host / 1e3),
            mock.patch.object(measure.torch, "Generator", mock.MagicMock()),
            mock.patch.object(measure, "_inputs"),
            mock.patch.object(measure, "_gradient"),
            mock.patch.object(measure, "_most_used"),
        ):
            patched.start()
            self.addCleanup(patched.stop)

    def times(self):
        """What Meter measures of a set on this GPU."""
        gpu, queues = self.gpu, self.queues
        operators = mock.Mock(has_caches=self.has_caches)
        operators.prefetch.side_effect = lambda _: gpu.launch()
        operators.cache_counts.return_value = {"rows": 7.0, "missedRows": 2.0}
        operators.forward.side_effect = operators.backward.side_effect = lambda _: gpu.launch()

        class FakeMeter(measure.Meter):
            def __init__(self):
                self._device = mock.Mock(type="cuda")

            def _operators(self, tables, shards):
                return operators

            def _flush(self, times):
                queues.append(times)
                gpu.flush(times)

        self.operators = operators
        shard = Shard(0, 8, 16, cache_share=0.1 if self.has_caches else None)
        return FakeMeter().measure([SKEWED], [shard], 1)

    def test_work_is_queued_until_all_is_launched(self):
        times = self.times()
        # On 0a08396e, passes began on an idle device: 3.2 ms, of which the device waits 1.2 ms for launches.
        self.assertAlmostEqual(times.forward_ms, FakeGpu.PASS_MS)
        self.assertAlmostEqual(times.backward_ms, FakeGpu.PASS_MS)
        self.assertAlmostEqual(times.launch_ms, 2 * FakeGpu.LAUNCH_MS)
        self.assertTrue(times.is_queued)
        self.assertNotIn("queued", times.to_json())
        # 4 flushes last 1.6 ms, less than launching.
        self.assertEqual(sorted(set(self.queues)), [measure.FLUSHES, 2 * measure.FLUSHES])

    def test_prefetching_is_a_part_of_the_forward_pass(self):
        self.has_caches = True
        times = self.times()
        self.assertAlmostEqual(times.prefetch_ms, FakeGpu.PASS_MS)
        self.assertAlmostEqual(times.forward_ms, 2 * FakeGpu.PASS_MS)
        self.assertAlmostEqual(times.backward_ms, FakeGpu.PASS_MS)
        self.assertTrue(times.is_queued)
        self.assertEqual(times.to_json()["prefetch_ms"], 2.0)
        self.assertEqual(times.to_json()["cache"], {"rows": 7.0, "missedRows": 2.0})

    def test_caches_are_filled_before_and_counted_apart(self):
        self.has_caches = True
        with mock.patch.object(measure, "FETCHED_AT_A_TIME", 2_000):
            self.times()
        done = [name for name, *_ in self.operators.method_calls if name != "join"]
        # 5,000 rows are cached.
        untimed = 3 + measure.CACHE_WARM_UPS
        self.assertEqual(done[: done.index("prefetch") - 1].count("forward"), untimed)
        counted = [i for i, name in enumerate(done) if name == "count_lookups"]
        self.assertEqual(counted[1] - counted[0] - 1, measure.COUNTED_WARM_UPS)
        self.assertEqual(counted[0], untimed - measure.COUNTED_WARM_UPS)
        self.assertLess(counted[1], done.index("prefetch"))

    def test_sets_without_caches_say_nothing_of_them(self):
        fields = self.times().to_json()
        self.assertFalse({"prefetch_ms", "cache"} & set(fields))
        self.assertFalse(self.operators.prefetch.called or self.operators.count_lookups.called)

    def test_a_host_that_launches_too_slowly_is_said(self):
        self.gpu.LAUNCH_MS = 1_000.0
        times = self.times()
        self.assertEqual(max(self.queues), measure.MOST_FLUSHES)
        self.assertGreater(times.forward_ms, 100)
        self.assertIs(times.to_json()["queued"], False)

    def test_repetitions_follow_the_noise(self):
        self.times()
        steady = len(self.queues) - sum(queue == measure.FLUSHES for queue in self.queues)
        self.assertEqual(steady, 2 * measure.REPETITIONS)
        self.queues.clear()
        noise = random.Random(3)
        launch = self.gpu.launch

        def launch_with_noise():
            self.gpu.PASS_MS = noise.uniform(1, 3)
            launch()

        self.gpu.launch = launch_with_noise
        self.times()
        noisy = len(self.queues) - sum(queue == measure.FLUSHES for queue in self.queues)
        self.assertEqual(noisy, 2 * measure.MOST_REPETITIONS["cuda"])


@unittest.skipIf(importlib.util.find_spec("fbgemm_gpu") is None, "FBGEMM is not installed")
class TableBatchedTest(unittest.TestCase):
    """With FBGEMM's operators."""

    @classmethod
    def setUpClass(cls):
        from shardtide.collect.fbgemm import TableBatchedEmbeddings

        cls.operators = TableBatchedEmbeddings

    def test_it_computes_what_single_operators_do(self):
        generator = torch.Generator().manual_seed(5)
        held = [
            held_of(rows, columns, samples, 4, replicated)
            for rows, columns, samples, replicated in (
                (12, 8, 40, False),
                (30, 4, 40, False),
                (9, 12, 10, True),
                (7, 4, 10, True),
                (20, 8, 10, False),
            )
        ]
        bags = [
            (
                torch.randint(rows, (100,), generator=generator),
                ids.draw_offsets(SKEWED, shard.samples, 100, 1, generator),
            )
            for rows, shard in held
        ]
        gradients = [torch.randn(shard.samples, shard.columns, generator=generator) for _, shard in held]
        batched = self.operators(held, torch.device("cpu"), 0.1, 0.5)
        weights = [torch.full((rows, shard.columns), 0.5) for rows, shard in held]
        # FBGEMM's state begins with 0, that of copies with 1.
        states = [torch.full((rows,), float(shard.replicated)) for rows, shard in held]
        single = EmbeddingBags(
            [ShardOperator(w, m, shard.replicated, 0.1) for w, m, (_, shard) in zip(weights, states, held)]
        )
        for operators in (single, batched):
            for _ in range(2):
                operators.forward(operators.join(bags))
                operators.backward(operators.join_gradients(gradients))
                operators.step()
        found = {}
        for group in batched._groups:
            found.update(zip(group.indices, group.operator.split_embedding_weights()))
        for index, weight in enumerate(weights):
            torch.testing.assert_close(found[index], weight, rtol=1e-5, atol=1e-6)
        self.assertEqual([group.indices for group in batched._groups], [[0, 1], [2, 3], [4]])

    def test_optimizers_compute_what_their_formulas_say(self):
        generator = torch.Generator().manual_seed(7)
        rows, columns, samples, rate = 12, 8, 20, 0.1
        for name in ("sgd", "adagrad", "rowwise_adagrad"):
            for replicated in (False, True):
                with self.subTest(name, replicated=replicated):
                    used = torch.randint(rows, (60,), generator=generator)
                    offsets = ids.draw_offsets(SKEWED, samples, 60, 1, generator)
                    gradient = torch.randn(samples, columns, generator=generator)
                    held = held_of(rows, columns, samples, 4, replicated, name)
                    batched = self.operators([held], torch.device("cpu"), rate, 0.5)
                    batched.forward(batched.join([(used, offsets)]))
                    batched.backward(batched.join_gradients([gradient]))
                    batched.step()
                    owners = torch.repeat_interleave(torch.arange(samples), offsets.diff())
                    by_row = torch.zeros(rows, columns).index_add_(0, used, gradient[owners])
                    # The state of row-wise Adagrad begins with 1 for copies.
                    scale = {
                        "sgd": torch.ones(1),
                        "adagrad": by_row.abs() + EPSILON,
                        "rowwise_adagrad": (by_row.square().mean(1, keepdim=True) + replicated).sqrt() + EPSILON,
                    }[name]
                    (weight,) = batched._groups[0].operator.split_embedding_weights()
                    torch.testing.assert_close(weight, 0.5 - rate * by_row / scale, rtol=1e-4, atol=1e-6)

    def test_shards_of_other_optimizers_are_other_launches(self):
        held = [held_of(5, 4, 8, 4, False, name) for name in ("sgd", "adagrad", "sgd")]
        batched = self.operators(held, torch.device("cpu"), 0.1, 0.5)
        self.assertEqual([group.indices for group in batched._groups], [[0, 2], [1]])

    def test_caches_need_a_gpu(self):
        held = [held_of(5, 4, 8, 4, False, cache_share=0.5)]
        with self.assertRaisesRegex(ValueError, "caches need a GPU, got cpu"):
            self.operators(held, torch.device("cpu"), 0.1, 0.5)
        limits = Limits(weight_bytes=2**20, rows=2**12, gradient_elements=2**20)
        self.assertFalse(measure.Meter(torch.device("cpu"), limits, "fbgemm").has_caches)
        batched = self.operators([held_of(5, 4, 8, 4, False)], torch.device("cpu"), 0.1, 0.5)
        self.assertFalse(batched.has_caches)
        self.assertEqual(batched.cache_counts(), {})

    def cached_on_gpu(self, held):
        """Operators of a GPU, whose methods check their arguments only, and what they were given."""
        from shardtide.collect import fbgemm

        real, made = fbgemm.SplitTableBatchedEmbeddingBagsCodegen, []

        class Checked:
            uvm_cache_stats = torch.tensor([5, 500, 200, 50, 10, 0])

            def __init__(self, *arguments, **options):
                inspect.signature(real.__init__).bind(self, *arguments, **options)
                self.options, self.calls = options, []
                made.append(self)

            def to(self, device):
                return self

            def split_embedding_weights(self):
                return []

            def prefetch(self, *arguments):
                inspect.signature(real.prefetch).bind(self, *arguments)
                self.calls.append("prefetch")

            def __call__(self, *arguments):
                inspect.signature(real.forward).bind(self, *arguments)
                self.calls.append("forward")

        with mock.patch.object(fbgemm, "SplitTableBatchedEmbeddingBagsCodegen", Checked):
            return self.operators(held, torch.device("cuda"), 0.1, 0.5), made

    def test_cached_shards_have_fbgemms_arguments(self):
        from fbgemm_gpu import split_table_batched_embeddings_ops_training as training

        shards = ((100, 8, 0.5), (300, 8, 0.1), (50, 4, 0.2), (50, 8, None), (60, 4, None))
        held = [held_of(rows, columns, 16, 2, False, cache_share=share) for rows, columns, share in shards]
        batched, made = self.cached_on_gpu(held)
        # One operator for each width with a cache, and one of the others; the share is the mean of rows.
        self.assertEqual([group.indices for group in batched._groups], [[0, 1], [2], [3, 4]])
        self.assertAlmostEqual(made[0].options["cache_load_factor"], (100 * 0.5 + 300 * 0.1) / 400)
        self.assertAlmostEqual(made[1].options["cache_load_factor"], 0.2)
        for operator in made[:2]:
            self.assertIs(operator.options["uvm_host_mapped"], True)
            self.assertEqual(operator.options["cache_algorithm"], training.CacheAlgorithm.LRU)
            self.assertEqual(operator.options["cache_precision"], training.SparseType.FP16)
            places = {place for _, _, place, _ in operator.options["embedding_specs"]}
            self.assertEqual(places, {training.EmbeddingLocation.MANAGED_CACHING})
            self.assertIs(operator.gather_uvm_cache_stats, False)
        self.assertFalse({"cache_load_factor", "uvm_host_mapped"} & set(made[2].options))
        self.assertTrue(batched.has_caches)
        joined = batched.join([(torch.zeros(16, dtype=torch.int64), torch.arange(17)) for _ in held])
        batched.prefetch(joined)
        batched.forward(joined)
        self.assertEqual([of.calls for of in made], [["prefetch", "forward"], ["prefetch", "forward"], ["forward"]])
        batched.count_lookups(True)
        self.assertEqual([of.gather_uvm_cache_stats for of in made[:2]], [True, True])
        # Of 5 steps, of two operators.
        counts = {"lookups": 200.0, "rows": 80.0, "missedRows": 20.0, "conflicts": 4.0}
        self.assertEqual(batched.cache_counts(), counts)

    def test_counts_are_where_fbgemm_has_them(self):
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import UVMCacheStatsIndex

        from shardtide.collect import fbgemm

        names = ("num_requested_indices", "num_unique_indices", "num_unique_misses", "num_conflict_unique_misses")
        self.assertEqual(list(fbgemm._COUNTS.values()), [UVMCacheStatsIndex[name].value for name in names])
        self.assertEqual(UVMCacheStatsIndex.num_calls.value, 0)

    def test_copies_need_an_optimizer_of_copies(self):
        held = [held_of(5, 4, 8, 4, True, "lamb")]
        with self.assertRaisesRegex(ValueError, "copies have no optimizer lamb; expected one of sgd, rowwise_adagrad"):
            self.operators(held, torch.device("cpu"), 0.1, 0.5)

    def test_memory_is_not_held_twice(self):
        limits = Limits(weight_bytes=2**20, rows=2**12, gradient_elements=2**20)
        meter = measure.Meter(torch.device("cpu"), limits, "fbgemm")
        # FBGEMM allocates what it needs; on 0a08396e, weights and state were reserved beside it.
        held = [value for value in vars(meter).values() if isinstance(value, torch.Tensor)]
        self.assertEqual(sum(tensor.nbytes for tensor in held), measure.FLUSHED_BYTES["cpu"])
        times = meter.measure([SKEWED], [Shard(0, 8, 16), Shard(0, 8, 4, replicated=True, optimizer="adagrad")], 1)
        self.assertGreater(times.backward_ms, 0)
        self.assertIsNone(times.launch_ms, "on a CPU, the host computes")


@unittest.skipUnless(torch, "PyTorch is not installed")
class CommandTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        patched = mock.patch.object(machine, "free_bytes", return_value=100 * 2**20)
        patched.start()
        self.addCleanup(patched.stop)

    def arguments(self, out, *options):
        folder = str(self.folder / out)
        # PyTorch's operator, whether FBGEMM is installed or not: the last of equal options counts.
        of_torch = ["--operator", "embedding_bag"]
        return ["--out", folder, "--device", "cpu", "--tables", "20", "--batch-sizes", "8", "16", *of_torch, *options]

    def collect(self, out, *options):
        """Runs the command, and returns what it wrote to standard error."""
        return commands.run("collect", *self.arguments(out, *options))[1]

    def error(self, *options):
        """Runs the command, which must fail, and returns its message."""
        with self.assertRaises(commands.Ended) as ended:
            commands.run("collect", *self.arguments("a", *options))
        return ended.exception.message

    def lines(self, out, name):
        return [json.loads(line) for line in (self.folder / out / name).read_text().splitlines()]

    def shards(self, out, split):
        return [line["shards"] for line in self.lines(out, f"{split}/compute.jsonl")]

    def test_folder_has_the_layout_of_samples(self):
        self.assertIn("60 computations, 0 collectives; done", self.collect("a", "--samples", "60"))
        tables = self.lines("a", "tables.jsonl")
        self.assertEqual([table["name"] for table in tables], [f"t{index}" for index in range(20)])
        for table in tables:
            self.assertEqual(len(table["reuseHistogram"]), 17)
            self.assertAlmostEqual(sum(table["reuseHistogram"]), 1, places=4)
            self.assertEqual(table["accessCdf"][-1], 1)
        train, valid = self.lines("a", "train/compute.jsonl"), self.lines("a", "valid/compute.jsonl")
        self.assertEqual((len(train), len(valid)), (54, 6))
        for line in train + valid:
            self.assertGreater(line["forward_ms"], 0)
            self.assertGreater(line["backward_ms"], line["optimizer_ms"])
            self.assertGreater(line["optimizer_ms"], 0)
        # Tables 9 and 19 are held back.
        self.assertFalse({9, 19} & {shard["table"] for line in train for shard in line["shards"]})
        self.assertTrue({9, 19} & {shard["table"] for line in valid for shard in line["shards"]})
        info = json.loads((self.folder / "a/run-info.json").read_text())
        self.assertEqual(info["samples"], {"compute": 60, "collectives": 0})
        self.assertEqual(info["runs"][0]["torch"], torch.__version__)
        self.assertEqual((info["torch"], info["clock"], info["hardware"]), (torch.__version__, "idle", None))
        self.assertEqual(info["repetitions"], {"least": 3, "most": 5})
        self.assertTrue(any("collectives" in line for line in info["notCovered"]))

    def test_some_samples_are_measured_again(self):
        self.collect("a", "--samples", "63")
        self.assertEqual([line["compute"] for line in self.lines("a", "repeats.jsonl")], [0])
        noise = json.loads((self.folder / "a/run-info.json").read_text())["noise"]["compute"]
        self.assertEqual(noise["repeatedSamples"], 1)
        self.assertGreater(noise["meanRelativeDifference"], 0)

    def test_interrupted_run_continues_with_the_samples_of_a_whole_one(self):
        self.collect("whole", "--samples", "35")
        self.collect("parts", "--samples", "12")
        # Killed while it wrote a line.
        with (self.folder / "parts/train/compute.jsonl").open("a") as file:
            file.write('{"shards":[{"table":3,"col')
        with (self.folder / "parts/tables.jsonl").open("r+") as file:
            file.truncate(1_000)
        # Memory that is free today must not change what is drawn.
        with mock.patch.object(machine, "free_bytes", return_value=80 * 2**20):
            self.collect("parts", "--samples", "35")
        for split in ("train", "valid"):
            self.assertEqual(self.shards("parts", split), self.shards("whole", split))
        self.assertEqual(self.lines("parts", "tables.jsonl"), self.lines("whole", "tables.jsonl"))
        info = json.loads((self.folder / "parts/run-info.json").read_text())
        self.assertEqual([run["firstSample"] for run in info["runs"]], [0, 12])

    def test_lost_samples_are_an_error(self):
        self.collect("a", "--samples", "35")
        (self.folder / "a/train/compute.jsonl").write_text("")
        self.assertIn("lacks compute samples between others", self.error("--samples", "40"))

    def test_a_set_for_which_the_operator_fails_is_skipped(self):
        attempts = []
        real = measure.Meter.measure

        def fail_sometimes(meter, tables, shards, seed):
            attempts.append(seed)
            if len(attempts) in (3, 5):
                raise RuntimeError("no kernel image is available\nfor execution on the device")
            return real(meter, tables, shards, seed)

        # On 0a08396e, the run ended.
        with mock.patch.object(measure.Meter, "measure", fail_sometimes):
            said = self.collect("a", "--samples", "20")
        self.assertIn("2 sets could not be measured and were skipped, the first one, 2: no kernel image", said)
        self.assertEqual([line["compute"] for line in self.lines("a", "skipped.jsonl")], [2, 4])
        info = json.loads((self.folder / "a/run-info.json").read_text())
        self.assertEqual((info["samples"]["compute"], set(info["skipped"])), (18, {"2", "4"}))
        # Numbers of samples are those of a run that skips nothing.
        self.collect("a", "--samples", "25")
        self.collect("whole", "--samples", "25")
        whole = self.shards("whole", "train")
        self.assertEqual(self.shards("a", "train"), [of for i, of in enumerate(whole) if i not in (2, 4)])

    def test_a_device_on_which_all_fails_ends_the_run(self):
        with mock.patch.object(measure.Meter, "measure", side_effect=torch.cuda.OutOfMemoryError("out of memory")):
            with self.assertRaises(commands.Ended) as ended:
                self.collect("a", "--samples", "20")
        message = f"the last {run.MOST_FAILURES} computations failed; the last one: out of memory"
        self.assertEqual((ended.exception.status, ended.exception.message.splitlines()[-1]), (1, f"shardtide-py collect: {message}"))

    def test_a_doubtful_gpu_is_said(self):
        samples = mock.Mock(skipped={}, not_queued=3)
        samples.noise.return_value = {"medianRelativeDifference": 0.068}
        said = "\n".join(command._summary(self.folder, samples, {"throttled": ["heat"]}, "cuda"))
        self.assertIn("they differ by 6.8%", said)
        self.assertIn("more than 1%; do other programs use this GPU?", said)
        self.assertIn("lowers its clocks because of heat", said)
        self.assertIn('3 samples are marked "queued":false', said)

    def test_reasons_for_low_clocks_are_bits(self):
        gpu = mock.Mock(type="cuda")
        for bits, reasons in (("0x0000000000000001", []), ("0x0000000000000024", ["heat", "power"]), ("[N/A]", [])):
            with mock.patch.object(machine, "_nvidia_smi", return_value={machine.THROTTLE_FIELD: bits}):
                self.assertEqual(machine.throttled(gpu), reasons)

    def test_folders_of_earlier_releases_continue_without_caches(self):
        self.collect("a", "--samples", "1")
        path = self.folder / "a/run-info.json"
        info = json.loads(path.read_text())
        self.assertEqual((info["options"].pop("cached"), info["options"]["limits"].pop("host_bytes")), (0.0, 0))
        path.write_text(json.dumps(info))
        self.assertIn("2 computations", self.collect("a", "--samples", "2"))
        self.assertIn("cacheShare: all rows are in device memory", json.loads(path.read_text())["notCovered"])

    def test_samples_of_two_cards_need_two_folders(self):
        self.collect("a", "--samples", "1")
        other = {**machine.describe(torch.device("cpu")), "device": "another card"}
        with mock.patch.object(machine, "describe", return_value=other):
            self.assertRegex(self.error("--samples", "2"), "has samples with device .*, not another card; name another")

    def test_time_ends_a_run(self):
        self.assertRegex(self.collect("a", "--minutes", "0.001"), r"\d+ computations, 0 collectives; done")

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_gpu_is_measured(self):
        with mock.patch.object(machine, "free_bytes", return_value=4 * 2**30):
            self.collect("a", "--samples", "63", "--device", "cuda")
        for line in self.lines("a", "train/compute.jsonl"):
            self.assertGreater(line["forward_ms"], 0)
            self.assertGreater(line["backward_ms"], line["optimizer_ms"])
        info = json.loads((self.folder / "a/run-info.json").read_text())
        self.assertEqual(info["runs"][0]["device"], torch.cuda.get_device_name())
        self.assertGreater(info["runs"][0]["copyGigabytesPerSecond"], 0)

    def test_fbgemm_must_be_installed(self):
        with mock.patch.object(machine.importlib.util, "find_spec", return_value=None):
            self.assertIn("--operator fbgemm needs the package fbgemm_gpu", self.error("--operator", "fbgemm"))

    def test_bad_options_are_one_line(self):
        self.collect("a", "--samples", "1")
        for options, message in (
            (["--minutes", "0"], "--minutes: must be above 0, got 0"),
            (["--samples", "many"], "--samples: invalid literal for int() with base 10: 'many'"),
            (["--batch-sizes", "-4"], "--batch-sizes: must be above 0, got -4"),
            (["--tables", "9"], "--tables: must be at least 10, got 9"),
            (["--optimizers", "adam"], "operator embedding_bag has no optimizer adam on cpu; expected sgd, rowwise_ad"),
            (["--cached", "0.5"], "--cached needs a GPU and --operator fbgemm, got cpu and "),
            (["--cached", "1.5"], "--cached: must be between 0 and 1, got 1.5"),
            (["--cached", "all"], "--cached: could not convert string to float: 'all'"),
            (["--host-memory-mib", "0"], "--host-memory-mib: must be above 0, got 0"),
            (["--device", "tpu"], "--device must be cuda, cuda:N, cpu or auto, got tpu"),
            (["--seed", "1"], "has samples with seed 0, not 1; name another folder"),
        ):
            with self.subTest(options):
                error = self.error(*options).strip()
                self.assertIn(message, error)
                self.assertEqual(len(error.splitlines()), 1)
                self.assertTrue(error.startswith("shardtide-py collect: "))


@unittest.skipUnless(torch, "PyTorch is not installed")
class RanksTest(unittest.TestCase):
    """Two processes on one node, and four on two, as torchrun starts them."""

    def collect(self, folder, size, per_node, *options):
        """Runs all ranks; returns what rank 0 wrote to standard error."""
        store = socket.create_server(("127.0.0.1", 0))
        port = store.getsockname()[1]
        store.close()
        arguments = ["--out", folder, "--device", "cpu", "--tables", "20", "--batch-sizes", "8"]
        arguments += ["--clusters", "2", "4", "--memory-mib", "100", "--operator", "embedding_bag"]
        ranks = []
        for rank in range(size):
            environment = {
                **os.environ,
                "PYTHONPATH": str(PACKAGE),
                "RANK": str(rank),
                "WORLD_SIZE": str(size),
                "LOCAL_WORLD_SIZE": str(per_node),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
            command = [sys.executable, "-B", "-W", "error", "-m", "shardtide.collect", *arguments, *options]
            ranks.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        errors = [rank.communicate(timeout=400)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * size, errors)
        self.assertEqual(errors[1:], [""] * (size - 1), "rank 0 speaks for all")
        return errors[0]

    def lines(self, folder, name):
        return [json.loads(line) for line in (pathlib.Path(folder) / name).read_text().splitlines()]

    def test_computations_and_collectives_of_two_nodes(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.collect(folder, 4, 2, "--samples", "128")
            self.assertIn("128 computations, 32 collectives; done", said)
            train, valid = (self.lines(folder, f"{split}/collectives.jsonl") for split in ("train", "valid"))
            self.assertEqual((len(train), len(valid)), (29, 3))
            shapes = {(line["devices"], line["devicesPerNode"]) for line in train}
            self.assertEqual(shapes, {(2, 2), (4, 2), (2, 1)}, "in a node, of both, one of each")
            self.assertEqual({line["collective"] for line in train}, set(collectives.COLLECTIVES))
            for line in train:
                if line["collective"] == "all_to_all":
                    self.assertEqual(len(line["ms"]), line["devices"])
                    self.assertEqual(len(line["bytesPerPeer"]), line["devices"])
                    self.assertGreater(max(line["bytesPerPeer"]), 0)
                else:
                    self.assertGreater(line["ms"], 0)
                    self.assertEqual(line["bytes"] % (4 * line["devices"]), 0)
            # A continued run draws what a whole one would have drawn.
            self.collect(folder, 4, 2, "--samples", "136")
            self.assertEqual(len(self.lines(folder, "train/compute.jsonl")), 123)

    def test_groups_of_devices(self):
        shapes = [(shape.ranks, shape.per_node) for shape in collectives.group_shapes(6, 3)]
        self.assertEqual(shapes, [((0, 1), 2), ((0, 1, 2), 3), (tuple(range(6)), 3), ((0, 3), 1)])
        self.assertEqual(collectives.group_shapes(1, 1), [])
        self.assertEqual([s.per_node for s in collectives.group_shapes(2, 1)], [1])

    def test_sizes_are_within_the_limits(self):
        groups = collectives.group_shapes(4, 2)
        for seed in range(500):
            shape = collectives.draw_collective(random.Random(seed), groups, 2**20)
            sent = sum(shape.elements) if shape.name != "all_to_all" else max(shape.elements) * len(shape.elements)
            self.assertLessEqual(4 * sent, 2**20 + 16)
            self.assertGreater(sent, 0)


if __name__ == "__main__":
    unittest.main()
