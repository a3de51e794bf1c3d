"""The order of rows by use, against exact counts, and the files that hold it. Needs numpy; parts need PyTorch."""

from __future__ import annotations

import pathlib
import sys
import tempfile
import tracemalloc
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

import commands

try:
    import numpy as np

    from shardtide.profile import Profiler, RowOrder, TableProfile
    from profile_benchmark import SkewedIds
    from shardtide.profile.order import file_name, spread, write
    from shardtide.profile.rows import RowCounts, RowSketch
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    np = None

try:
    import torch
except ModuleNotFoundError:
    torch = None

LEAST_MEMORY = 2**24
BILLION = 1_000_000_000


def exact_ranks(ids, rows):
    """The rank of each row by sorting all rows by their counts."""
    ranks = np.empty(rows, np.int64)
    ranks[np.argsort(-np.bincount(ids, minlength=rows), kind="stable")] = np.arange(rows)
    return ranks


def ranks_of(counter, rows):
    return np.concatenate(list(counter.ranks(rows)))


@unittest.skipUnless(np, "numpy is not installed")
class OrderTest(unittest.TestCase):
    def test_the_most_used_row_is_first_and_ties_are_in_the_order_of_ids(self):
        profile = TableProfile("t", 8)
        self.assertEqual(profile.order().array.tolist(), list(range(8)))
        profile.add(np.repeat([6, 3, 1, 4], [2, 5, 2, 1]))
        order = profile.order()
        self.assertEqual(order.array.tolist(), [4, 1, 5, 0, 3, 6, 2, 7])
        self.assertEqual((order.rows, profile.known_rows()), (8, 8))
        # More can be added afterwards.
        profile.add([7] * 6)
        self.assertEqual(profile.order().array.tolist(), [5, 2, 6, 1, 4, 7, 3, 0])

    def test_random_ids_have_the_order_of_their_counts(self):
        draw = np.random.default_rng(3)
        for _ in range(60):
            rows = int(draw.choice([1, 2, 50, 3_000, 131_072, 300_001]))
            ids = draw.integers(0, rows, 5_000) if rows < 4 else None
            if ids is None:
                stream = SkewedIds(rows, float(draw.choice([0.0, 0.8, 1.0, 1.5])))
                ids = stream.draw(draw, int(draw.integers(1, 200_000)))
            expected = exact_ranks(ids, rows)
            # Sketches are exact while they have room for all rows in use.
            for counter in (RowCounts(rows), RowSketch(200_000)):
                for part in np.array_split(ids, 3):
                    counter.add(part)
                np.testing.assert_array_equal(ranks_of(counter, rows), expected)
                self.assertEqual(counter.known_rows(rows), rows)

    def test_rows_that_are_not_hot_are_spread_evenly(self):
        ids = SkewedIds(1_000_000, 0.9).draw(np.random.default_rng(5), 2_000_000)
        profile = TableProfile("t", 1_000_000)
        profile.add(ids)
        by_use = profile.order().ranks(ids)
        for hot in (0, 1, 1_024, 65_536):
            ranks = profile.order(hot_rows=hot).ranks(ids)
            np.testing.assert_array_equal(ranks[by_use < hot], by_use[by_use < hot])
            self.assertTrue((ranks[by_use >= hot] >= hot).all())
            for blocks in (2, 8, 128):
                others = ranks[ranks >= hot] - hot
                shares = np.bincount(others // -(-(1_000_000 - hot) // blocks), minlength=blocks) / others.size
                # One block has the most used row of them, more of all lookups than a block's even share if none is hot.
                self.assertLess(np.sort(shares)[-2 if hot < 2 else -1], 1.35 / blocks + 0.03 * (hot < 2))
        for hot in (-1, 1_000_001):
            with self.assertRaisesRegex(ValueError, f"hot rows of table t must be between 0 and 1000000, got {hot}"):
                profile.order(hot)

    def test_ranks_of_every_number_of_rows_stay_ranks(self):
        for rows in (1, 2, 3, 4, 5, 6, 97, 100, 1_024, 30_030):
            ranks = np.arange(rows)
            for hot in {0, 1, rows // 3, rows - 1, rows}:
                self.assertEqual(np.sort(spread(ranks, rows, hot)).tolist(), ranks.tolist())
        # Beyond 2^31 rows no product overflows.
        last = np.array([0, 2**36 - 2, 2**36 - 1])
        spread_out = spread(last, 2**36, 1)
        self.assertEqual(spread_out[0], 0)
        self.assertTrue(((spread_out[1:] >= 1) & (spread_out[1:] < 2**36)).all())

    def test_sketches_know_the_most_used_rows(self):
        draw = np.random.default_rng(8)
        known_of_some = 0
        for _ in range(100):
            rows = int(draw.choice([80, 1_000, 20_000]))
            ids = SkewedIds(rows, float(draw.choice([0.0, 1.0, 1.5]))).draw(draw, int(draw.integers(1, 1_000)))
            sketch = RowSketch(64)
            for part in np.array_split(ids, 5):
                sketch.add(part)
                sketch.uses()
            ranks, known = ranks_of(sketch, rows), sketch.known_rows(rows)
            np.testing.assert_array_equal(np.sort(ranks), np.arange(rows))
            counts = np.bincount(ids, minlength=rows)[np.argsort(ranks)]
            if 0 < known < rows:
                known_of_some += 1
                self.assertGreaterEqual(counts[:known].min(), counts[known:].max())
            elif known:
                np.testing.assert_array_equal(ranks, exact_ranks(ids, rows))
            # Rows that are not kept follow by id.
            others = np.setdiff1d(np.arange(rows), sketch._rows)
            np.testing.assert_array_equal(ranks[others], np.arange(len(sketch._rows), rows))
        self.assertGreater(known_of_some, 20)

    def test_hot_rows_of_a_sketch_have_nearly_the_lookups_of_the_most_used_rows(self):
        rows = 3_000_000
        ids = SkewedIds(rows, 1.0).draw(np.random.default_rng(6), 4_000_000)
        profile = TableProfile("t", rows, memory_bytes=LEAST_MEMORY)
        profile.add(ids)
        order, counts = profile.order(), np.bincount(ids, minlength=rows)
        self.assertLess(1_000, profile.known_rows())
        self.assertLess(profile.known_rows(), 87_381)
        most = np.sort(counts)[::-1]
        for hot, share in ((256, 1), (4_096, 1), (16_384, 0.98)):
            self.assertGreaterEqual(counts[order.array < hot].sum(), share * most[:hot].sum(), hot)

    def test_memory_is_bounded(self):
        with tempfile.TemporaryDirectory() as folder:
            for rows in (2_000_000, 20_000_000):
                profile = TableProfile("t", rows, memory_bytes=LEAST_MEMORY)
                profile.add(SkewedIds(rows, 1.0).draw(np.random.default_rng(6), 3_000_000))
                tracemalloc.start()
                profile.write_order(folder)
                profile.known_rows()
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                # Less than the ranks of all rows.
                self.assertLess(peak, 10 * 2**20, rows)


@unittest.skipUnless(np, "numpy is not installed")
class RanksTest(unittest.TestCase):
    order = RowOrder([2, 0, 3, 1]) if np else None

    def test_ids_of_every_form_have_ranks(self):
        for ids in ([[0, 1], [3, 3]], np.array([[0, 1], [3, 3]], np.int8), np.array([[0, 1], [3, 3]], np.uint64)):
            ranks = self.order.ranks(ids)
            self.assertIs(type(ranks), np.ndarray)
            self.assertEqual((ranks.dtype, ranks.tolist()), (np.int64, [[2, 0], [1, 1]]))
        self.assertEqual(self.order.ranks(2), 3)
        self.assertEqual(self.order.ranks(np.empty((0, 5), np.int32)).shape, (0, 5))
        self.assertEqual(self.order.ranks([]).tolist(), [])

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_tensors_have_tensors_of_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder, "t.npy"), 4, [self.order.array])
            for order in (self.order, RowOrder.read(f"{folder}/t.npy", 4)):
                for ids in (torch.tensor([[0, 3]], dtype=torch.int32), torch.tensor([[0, 3]])):
                    ranks = order.ranks(ids)
                    self.assertTrue(torch.equal(ranks, torch.tensor([[2, 1]])), ranks)
                    self.assertEqual((ranks.dtype, ranks.device), (torch.int64, ids.device))
                self.assertEqual(order.ranks(torch.tensor(3)).item(), 1)
                weight_by_id, weight = torch.rand(4, 2), torch.empty(4, 2)
                weight[order.ranks(torch.arange(order.rows))] = weight_by_id
                self.assertTrue(torch.equal(weight[order.ranks(torch.tensor([3, 0]))], weight_by_id[[3, 0]]))
                self.assertEqual(order.ranks(torch.empty(0, dtype=torch.int64)).tolist(), [])
        with self.assertRaisesRegex(ValueError, "ids must be between 0 and 3, got 4 at position 1"):
            self.order.ranks(torch.tensor([0, 4]))

    def test_other_ids_are_errors(self):
        for ids, message in (
            ([0, -1], "ids must be between 0 and 3, got -1 at position 1"),
            (np.array([[0, 1], [4, 1]]), "ids must be between 0 and 3, got 4 at position 2"),
            (np.array([2**64 - 1], np.uint64), "got 18446744073709551615 at position 0"),
            ([0.0], "ids must be integers, got float64"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                self.order.ranks(ids)

    def test_arrays_that_are_no_order_are_errors(self):
        for array, message in (
            ([0, 1, 1], "array must hold each rank from 0 to 2 once, got none of 2"),
            ([0, 1, 3], "array must hold ranks between 0 and 2, got 3 for row 2"),
            ([0, -1, 2], "array must hold ranks between 0 and 2, got -1 for row 1"),
            ([0.0, 1.0], "array must hold integers in one dimension, got float64 of shape \\(2,\\)"),
            ([[0, 1]], "array must hold integers in one dimension, got int64 of shape \\(1, 2\\)"),
            ([], "array must hold integers in one dimension, got float64 of shape \\(0,\\)"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                RowOrder(array)


@unittest.skipUnless(np, "numpy is not installed")
class FileTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_an_order_is_read_as_it_was_written(self):
        ids = SkewedIds(500_000, 1.0).draw(np.random.default_rng(1), 300_000)
        profile = TableProfile("user/clicks", 500_000)
        for part in np.array_split(ids, 2):
            profile.add(part)
            path = profile.write_order(self.folder)
        self.assertEqual(path, self.folder / "user%2Fclicks.npy")
        self.assertEqual(self.files(), ["user%2Fclicks.npy"])
        array = np.load(path)
        self.assertEqual(array.dtype, np.int32)
        np.testing.assert_array_equal(array, exact_ranks(ids, 500_000))
        np.testing.assert_array_equal(RowOrder.read(str(path), 500_000).ranks(ids), array[ids])

    def test_ranks_beyond_32_bits_have_64(self):
        path = self.folder / "t.npy"
        for rows, dtype in ((2**31, np.int32), (2**31 + 1, np.int64)):
            # The parts matter to the reader, not here.
            write(path, rows, [])
            with open(path, "rb") as file:
                np.lib.format.read_magic(file)
                self.assertEqual(np.lib.format.read_array_header_1_0(file), ((rows,), False, np.dtype(dtype)))

    def test_file_names_differ_as_tables_do(self):
        names = ["a/b", "a%2Fb", "a b", "a.b", "..", ".", "ä", "A_b-c~9", "a\\b", "a:b"]
        files = [file_name(name) for name in names]
        self.assertEqual(files[:3] + files[6:8], ["a%2Fb.npy", "a%252Fb.npy", "a%20b.npy", "%C3%A4.npy", "A_b-c~9.npy"])
        self.assertEqual(len(set(files)), len(names))
        for name in names:
            self.assertEqual(TableProfile(name, 3).write_order(self.folder).parent, self.folder)
        self.assertEqual(self.files(), sorted(files))
        self.assertEqual(TableProfile("t" * 246, 1).write_order(self.folder).name, "t" * 246 + ".npy")
        with self.assertRaisesRegex(ValueError, "table tt+ must have a name of at most 250 characters, got 251: tt"):
            file_name("t" * 247)

    def test_a_file_is_written_completely_or_not_at_all(self):
        profile = TableProfile("t", 5)
        path = profile.write_order(self.folder)
        before = path.read_bytes()
        profile.add([4])
        for function in ("os.fsync", "os.replace"):
            with (
                mock.patch(function, side_effect=OSError("No space left")),
                self.assertRaisesRegex(OSError, "No space"),
            ):
                profile.write_order(self.folder)
            self.assertEqual((self.files(), path.read_bytes()), (["t.npy"], before))
        profile.write_order(self.folder)
        self.assertEqual(RowOrder.read(path, 5).array.tolist(), [1, 2, 3, 4, 0])

    def test_bad_files_are_errors(self):
        path = self.folder / "t.npy"
        for array, message in (
            (np.arange(4), "must hold the ranks of 3 rows, got an array of shape \\(4,\\)"),
            (np.zeros((3, 1), int), "must hold the ranks of 3 rows, got an array of shape \\(3, 1\\)"),
            (np.zeros(3), "must hold integers in one dimension, got float64 of shape \\(3,\\)"),
            (np.array([1, 0, 1]), "must hold each rank from 0 to 2 once, got none of 2"),
            (np.array([1, 0, 3]), "must hold ranks between 0 and 2, got 3 for row 2"),
        ):
            np.save(path, array)
            with self.subTest(message), self.assertRaisesRegex(ValueError, f"t.npy {message}"):
                RowOrder.read(path, 3)
        np.save(path, np.arange(3))
        whole = path.read_bytes()
        for content in (b"", b"none", whole[:-1], whole[:50]):
            path.write_bytes(content)
            with self.subTest(content[:9]), self.assertRaisesRegex(ValueError, "t.npy must hold arrays of integers: "):
                RowOrder.read(path, 3)
        np.savez(self.folder / "t.npz", t=np.arange(3))
        with self.assertRaisesRegex(ValueError, "t.npz must hold the ranks of 3 rows, got several arrays"):
            RowOrder.read(self.folder / "t.npz", 3)
        with self.assertRaises(FileNotFoundError):
            RowOrder.read(self.folder / "none.npy", 3)

    def run_command(self, *arguments):
        """Runs the command; returns its messages, and how it ended."""
        try:
            return commands.run("profile", *arguments)[1], None
        except commands.Ended as e:
            return "", e.message

    def test_the_command_writes_a_file_for_each_table(self):
        ids = SkewedIds(3_000_000, 1.0).draw(np.random.default_rng(6), 1_000_000)
        np.save(self.folder / "user.npy", np.array([3, 3, 1]))
        np.save(self.folder / "item.npy", ids)
        files = [str(self.folder / name) for name in ("user.npy", "item.npy")]
        tables = ["--rows", "user=5", "shop/item=3000000", "--feature", "item=shop/item"]
        orders = self.folder / "deep" / "orders"
        err, ended = self.run_command(*files, *tables, "--memory-mib", "16", "--order", str(orders))
        self.assertIsNone(ended)
        self.assertEqual(sorted(path.name for path in orders.iterdir()), ["shop%2Fitem.npy", "user.npy"])
        self.assertEqual(RowOrder.read(orders / "user.npy", 5).array.tolist(), [2, 1, 3, 0, 4])
        profiler = Profiler({"shop/item": 3_000_000}, {"item": "shop/item"}, LEAST_MEMORY)
        profiler.add({"item": ids})
        order = RowOrder.read(orders / "shop%2Fitem.npy", 3_000_000)
        np.testing.assert_array_equal(order.array, profiler.tables["shop/item"].order().array)
        known = profiler.tables["shop/item"].known_rows()
        self.assertIn(f"Table shop/item uses more rows than its memory can count: the first {known:,} rows", err)
        self.assertNotIn("Table user uses more rows", err)
        hot = ["--order", str(orders), "--hot-rows", "shop/item=4096"]
        self.assertIsNone(self.run_command(*files, *tables, "--memory-mib", "16", *hot)[1])
        spread_order = RowOrder.read(orders / "shop%2Fitem.npy", 3_000_000)
        np.testing.assert_array_equal(spread_order.array < 4096, order.array < 4096)
        self.assertFalse((spread_order.array == order.array).all())

    def test_hot_rows_that_no_table_has_end_the_command(self):
        np.save(self.folder / "t.npy", np.array([1]))
        order = [str(self.folder / "t.npy"), "--rows", "t=5", "--order", str(self.folder / "orders"), "--hot-rows"]
        self.assertIn("table of --hot-rows must be one of --rows, got u", self.run_command(*order, "u=3")[1])
        self.assertIn("hot rows of table t must be between 0 and 5, got 6", self.run_command(*order, "t=6")[1])
        self.assertEqual(self.files(), ["t.npy"])

    def test_what_cannot_be_written_ends_the_command(self):
        np.save(self.folder / "t.npy", np.array([1]))
        ids = str(self.folder / "t.npy")
        _, ended = self.run_command(ids, "--rows", "t=5", "--order", ids)
        self.assertIn("File exists", ended)
        _, ended = self.run_command(ids, "--rows", "t=5", "t" * 247 + "=5", "--order", str(self.folder / "orders"))
        self.assertIn("must have a name of at most 250 characters, got 251", ended)
        self.assertEqual(self.files(), ["t.npy"])


if __name__ == "__main__":
    unittest.main()
