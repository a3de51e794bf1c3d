"""Hashed tables of the reference trainer, examples/dlrm: against hash tables that are dicts, and over gloo.

The sharded ones are real processes of torch.distributed, against an unsharded model whose rows are in a dict.
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import importlib.util
import io
import itertools
import math
import random
import unittest
from unittest import mock

import test_dlrm as base
from layout import Part, TableShape, lay_out
from test_dlrm import PER_NODE, RATE, everywhere, loss, place, plan_of, plan_with, require_close, run_ranks

torch = base.torch
if torch:
    import torch.distributed as dist
    from data import at_step, draw_batch, features, to_record
    from embeddings import ShardedEmbeddings
    from hashed import EMPTY, PROBES, HashedShard, SlotTable, describe_fill, first_weights, home_rows, splitmix64
    from inputs import Bags
    from moves import bytes_under_way
    from shards import Optimizer, shard_bytes
    from shardtide.collect.operators import EPSILON
    from shardtide.train import PlanFollower, Ranks, gather_fills
    from shardtide.waves import MoveWave

SEED = 3
GAMMA = 0x9E3779B97F4A7C15
MASK = 2**64 - 1

# Two hashed tables, one of them unpooled, and one whose ids are rows.
TABLES = [
    TableShape("users", 300, 12, eviction="none"),
    TableShape("items", 11, 8),
    TableShape("clicks", 260, 12, pooled=False, eviction="lfu"),
]
HASHED = (0, 2)

POOLED_KINDS = (
    "TABLE_WISE",
    "ROW_WISE",
    "COLUMN_WISE",
    "GRID_SHARD",
    "TABLE_ROW_WISE",
    "PARTIAL_ROW_WISE",
    "TABLE_COLUMN_WISE",
)
UNPOOLED_KINDS = ("TABLE_WISE", "ROW_WISE", "COLUMN_WISE", "TABLE_COLUMN_WISE")
WHOLE_COLUMNS = ("TABLE_WISE", "ROW_WISE", "TABLE_ROW_WISE", "PARTIAL_ROW_WISE")
# Slots that a table has one after the other, in relation to those that it begins with: prime to the devices, and less.
CAPACITIES = (1.0, 1.37, 2.0, 1.0, 0.91, 3.01)


def mix(number):
    """SplitMix64 with Python's integers."""
    z = (number + GAMMA) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def home(key, slots):
    return (mix(key & MASK) >> 1) % slots


def begin_of(table, key):
    """The weights that an id begins with, by the definition."""
    digest = hashlib.sha256(f"{SEED}/{table.name}".encode()).digest()
    state = mix((key & MASK) ^ int.from_bytes(digest[:8], "big"))
    bound = 1 / math.sqrt(table.rows)
    return [(mix(state + GAMMA * column) >> 40) / 2**24 * 2 * bound - bound for column in range(table.columns)]


def colliding(slots, row, count):
    """Returns ids with one home row."""
    return list(itertools.islice((key for key in itertools.count() if home(key, slots) == row), count))


def table_of(slots, eviction="none", row=0, rows=None):
    part = Part("t", 0, 4, row, slots if rows is None else rows, 0, slots=slots)
    return SlotTable(part, eviction, torch.device("cpu"))


def content(table):
    """Returns the uses of each id, and its slot."""
    held = (table.keys != EMPTY).nonzero().squeeze(1).tolist()
    keys, uses = table.keys.tolist(), table.uses.tolist()
    assert len({keys[slot] for slot in held}) == len(held), "an id has two slots"
    return {keys[slot]: uses[slot] for slot in held}, {keys[slot]: slot for slot in held}


def check_slots(table, slots, first=0):
    """Checks that each id is near its home, and that no empty slot is between."""
    rows = len(table.keys)
    for key, slot in content(table)[1].items():
        distance = (slot - (home(key, slots) - first)) % rows
        assert distance < PROBES, f"{key} is {distance} slots from its home"
        assert all(table.keys[(slot - d) % rows] != EMPTY for d in range(distance)), f"{key} cannot be found"


@unittest.skipUnless(torch, "PyTorch is not installed")
class SlotsTest(unittest.TestCase):
    """A shard's hash table, against a dict."""

    def test_hashes_are_those_of_splitmix64(self):
        states = [0, GAMMA, 2 * GAMMA & MASK]
        signed = torch.tensor([s - 2**64 if s >= 2**63 else s for s in states])
        # The first outputs of the published program with the seed 0.
        expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
        self.assertEqual([hashed & MASK for hashed in splitmix64(signed).tolist()], expected)
        draw = random.Random(1)
        keys = [draw.randrange(2**63) for _ in range(500)] + [0, 2**63 - 1]
        for slots in (1, 7, 4096, 2**36 - 5):
            self.assertEqual(home_rows(torch.tensor(keys), slots).tolist(), [home(key, slots) for key in keys])

    def test_first_weights_depend_on_table_id_and_column_only(self):
        table = TABLES[0]
        keys = torch.tensor([0, 1, 77, 2**63 - 1])
        whole = first_weights(keys, range(12), table, SEED)
        expected = torch.tensor([begin_of(table, key) for key in keys.tolist()], dtype=torch.float64)
        self.assertLess(float((whole.double() - expected).abs().max()), 1e-8)
        self.assertTrue(torch.equal(first_weights(keys.flip(0), range(4, 12), table, SEED).flip(0), whole[:, 4:]))
        self.assertFalse(torch.equal(first_weights(keys, range(12), table, SEED + 1), whole))
        many = first_weights(torch.arange(20_000), range(12), table, SEED) * math.sqrt(table.rows)
        self.assertLessEqual(float(many.abs().max()), 1)
        self.assertAlmostEqual(float(many.mean()), 0, delta=0.01)
        self.assertAlmostEqual(float(many.square().mean()), 1 / 3, delta=0.01)

    def test_it_is_a_dict_while_no_window_is_full(self):
        for case in range(40):
            draw = random.Random(case)
            slots = draw.choice((1, 2, 5, 64, 200, 1000, 5000))
            table = table_of(slots, draw.choice(("none", "lfu")))
            if case % 4:
                space = [draw.randrange(2**63) for _ in range(max(1, slots * 2 // 3))]
            else:
                space = colliding(min(slots, 200), 0, min(slots, 40)) if slots <= 200 else list(range(slots // 2))
            uses, place_of = collections.Counter(), {}
            for _ in range(12):
                ids = [draw.choice(space) for _ in range(draw.randrange(0, 2 * len(space) + 1))]
                known = [draw.choice(space) for _ in range(9)]
                self.assertEqual(table.find(torch.tensor(known)).tolist(), [place_of.get(key, -1) for key in known])
                taken = table.take(torch.tensor(ids, dtype=torch.int64))
                new = set(ids) - uses.keys()
                self.assertEqual(sorted(taken.fresh_ids.tolist()), sorted(new))
                self.assertEqual(table.keys[taken.slots].tolist(), ids)
                self.assertEqual(table.keys[taken.fresh].tolist(), taken.fresh_ids.tolist())
                uses.update(ids)
                self.assertEqual(content(table)[0], uses)
                # Nobody is moved.
                self.assertLessEqual(place_of.items(), content(table)[1].items())
                place_of = content(table)[1]
                self.assertEqual(table.take_counts(), (len(new), 0, 0))
                self.assertEqual(table.ids, len(uses))
            check_slots(table, slots)

    def test_ids_with_one_home_fill_the_slots_behind_it_and_go_round(self):
        slots = 50
        keys = colliding(slots, 47, 50)
        table = table_of(slots)
        self.assertEqual(sorted(table.take(torch.tensor(keys)).slots.tolist()), list(range(slots)))
        self.assertEqual(table.take(torch.tensor(keys[:1] * 3)).slots.tolist(), [47] * 3, "the lowest id was first")
        self.assertEqual(table.take_counts(), (50, 0, 0))

    def test_a_shard_has_the_ids_of_its_rows(self):
        slots = 310
        keys = torch.tensor([random.Random(i).randrange(2**63) for i in range(250)])
        rows = home_rows(keys, slots)
        found = set()
        for first, count in ((0, 110), (110, 103), (213, 97)):
            own = keys[(rows >= first) & (rows < first + count)]
            table = table_of(slots, row=first, rows=count)
            table.take(own)
            check_slots(table, slots, first)
            self.assertEqual(set(content(table)[0]), set(own.tolist()))
            found |= set(own.tolist())
        self.assertEqual(len(found), 250)

    def test_without_eviction_ids_share_the_slots_of_others_when_all_are_taken(self):
        slots = 20
        table = table_of(slots)
        first = list(range(slots))
        table.take(torch.tensor(first))
        before = content(table)
        table.take_counts()
        others = [100, 101, 101, 102]
        taken = table.take(torch.tensor(others + first[:2]))
        self.assertEqual(taken.slots.tolist()[:4], [home(key, slots) for key in others])
        self.assertEqual(len(taken.fresh), 0)
        self.assertEqual(table.take_counts(), (0, 0, 4))
        self.assertEqual(content(table)[1], before[1])
        self.assertEqual(sum(content(table)[0].values()), slots + 2, "lookups of others count for nobody")
        self.assertEqual(table.find(torch.tensor(others)).tolist(), [-1] * 4)

    def test_a_window_that_is_full_counts_as_full_though_others_are_empty(self):
        slots = 1000
        keys = colliding(slots, 990, PROBES + 3)
        table = table_of(slots)
        table.take(torch.tensor(keys[:PROBES]))
        self.assertEqual(table.take(torch.tensor(keys[PROBES:])).slots.tolist(), [990] * 3)
        self.assertEqual(table.take_counts(), (PROBES, 0, 3))

    def test_few_ids_share_slots_until_the_table_is_nearly_full(self):
        slots = 200_000
        table = table_of(slots)
        ids = torch.randperm(slots, generator=torch.Generator().manual_seed(1)) * 1_000_003
        shares = {}
        for step, some in enumerate(ids.split(slots // 10), 1):
            table.take(some)
            shares[step * 10] = 1 - table.ids / (step * slots / 10)
        self.assertEqual(shares[60], 0)
        self.assertLess(shares[80], 0.0005)
        self.assertAlmostEqual(shares[90], 0.004, delta=0.002)
        self.assertAlmostEqual(shares[100], 0.03, delta=0.005)

    def test_the_least_used_id_is_evicted_that_the_step_does_not_use(self):
        """Each step looks up one id that may be new, and some that are there: a simulation says which one goes."""
        for case in range(8):
            draw = random.Random(case)
            slots = (1, 3, 17, 60)[case % 4]
            table = table_of(slots, "lfu")
            held, evicted = {}, 0
            for _ in range(80 + slots):
                known = draw.sample(sorted(held), min(len(held), draw.randrange(4)))
                new = draw.randrange(10**6)
                table.take(torch.tensor(known + [new] * 2))
                slot_of = {slot: key for key, (slot, _) in held.items()}
                window = [(home(new, slots) + distance) % slots for distance in range(slots)]
                for key in known:
                    held[key] = (held[key][0], held[key][1] + 1)
                if new in held:
                    held[new] = (held[new][0], held[new][1] + 2)
                elif free := [slot for slot in window if slot not in slot_of]:
                    held[new] = (free[0], 2)
                elif others := [slot for slot in window if slot_of[slot] not in known]:
                    # The nearest of those that are used alike.
                    victim = min(others, key=lambda slot: held[slot_of[slot]][1])
                    del held[slot_of[victim]]
                    held[new] = (victim, 2)
                    evicted += 1
                uses, place_of = content(table)
                self.assertEqual({key: (place_of[key], uses[key]) for key in uses}, held)
            self.assertGreater(evicted, 0)
            self.assertEqual(table.take_counts().evictions, evicted)

    def test_many_new_ids_of_a_step_evict_different_ids(self):
        slots = 64
        table = table_of(slots, "lfu")
        table.take(torch.tensor([key for key in range(slots) for _ in range(key + 1)]))
        new = list(range(1000, 1040))
        kept = [0, 1, 2]
        table.take_counts()
        taken = table.take(torch.tensor(new + kept))
        self.assertEqual(table.keys[taken.slots].tolist(), new + kept)
        self.assertEqual(table.take_counts(), (40, 40, 0))
        # Those that are used least, but for the step's own.
        self.assertEqual(set(content(table)[0]), {*new, *kept, *range(43, slots)})
        more = list(range(2000, 2100))
        taken = table.take(torch.tensor(more))
        self.assertEqual(len(set(taken.slots.tolist())), slots)
        self.assertEqual(table.take_counts(), (64, 64, 36), "the others find no slot that the step does not use")
        self.assertEqual(int((table.keys[taken.slots] == torch.tensor(more)).sum()), 64)

    def test_a_full_table_of_many_windows_stays_one_in_which_all_is_found(self):
        slots = 1500
        table = table_of(slots, "lfu")
        draw = random.Random(5)
        for step in range(30):
            ids = [int(4000 * draw.random() ** 3) for _ in range(400)]
            before = set(content(table)[0])
            taken = table.take(torch.tensor(ids))
            counts = table.take_counts()
            self.assertEqual(table.keys[taken.slots].tolist(), ids, "none shares a slot")
            after = set(content(table)[0])
            self.assertEqual((len(before - after), len(after - before)), (counts.evictions, counts.insertions))
        check_slots(table, slots)
        self.assertGreater(counts.evictions, 0)
        self.assertEqual(table.find(torch.tensor(sorted(after))).min(), min(content(table)[1].values()))

    def test_the_order_of_lookups_does_not_matter(self):
        for eviction, seed in itertools.product(("none", "lfu"), range(2)):
            draw = random.Random(seed)
            tables = [table_of(150, eviction) for _ in range(2)]
            for _ in range(20):
                ids = [int(400 * draw.random() ** 2) for _ in range(120)]
                tables[0].take(torch.tensor(ids))
                draw.shuffle(ids)
                tables[1].take(torch.tensor(ids))
                self.assertTrue(torch.equal(tables[0].keys, tables[1].keys))
                self.assertTrue(torch.equal(tables[0].uses, tables[1].uses))
            self.assertEqual(tables[0].take_counts(), tables[1].take_counts())

    def test_ids_are_placed_whatever_order_they_come_in(self):
        draw = random.Random(2)
        keys = [draw.randrange(2**63) for _ in range(700)]
        uses = [draw.randrange(1, 30) for _ in keys]
        for slots in (701, 1000, 500, 100):
            tables = []
            for _ in range(3):
                order = draw.sample(range(len(keys)), len(keys))
                tables.append(table_of(slots))
                tables[-1].place(torch.tensor([keys[i] for i in order]), torch.tensor([uses[i] for i in order]))
                check_slots(tables[-1], slots)
            self.assertTrue(all(torch.equal(tables[0].keys, table.keys) for table in tables))
            held = content(tables[0])[0]
            self.assertLessEqual(held.items(), dict(zip(keys, uses)).items())
            self.assertEqual(tables[0].take_counts(), (0, len(keys) - len(held), 0))
            if slots >= 1000:
                self.assertEqual(len(held), 700)
        # Any of them may have any slot.
        self.assertEqual(sorted(held.values()), sorted(uses)[-100:], "those that are used most are kept")

    def test_an_id_that_takes_the_place_of_another_begins_without_state(self):
        shape = TableShape("t", 1, 4, eviction="lfu")
        part = Part("t", 0, 4, 0, 1, 0, slots=1)
        shard = HashedShard(part, shape, Optimizer(RATE), torch.device("cpu"), SEED)
        states = []
        for key in (7, 8):
            for _ in range(2):
                output = shard.forward(torch.tensor([key]), torch.tensor([0, 1]))
                if not states or len(states) == 2:
                    begin = torch.tensor(begin_of(shape, key), dtype=torch.float64)
                    require_close(output[0], begin, f"first weights of {key}")
                output.sum().backward()
                shard.step()
                states.append(float(shard.momentum[0]))
        self.assertEqual(states, [1.0, 2.0, 1.0, 2.0])
        self.assertEqual(shard.take_fill(), ("t", 0, 1, 1, 2, 1, 0))
        self.assertEqual(shard.take_fill(), ("t", 0, 1, 1, 0, 0, 0))

    def test_ids_go_to_the_part_with_their_row(self):
        table = table_of(500)
        keys = list(range(400))
        table.take(torch.tensor(keys))
        parts = [Part("t", 0, 4, row, 300, 0, slots=900) for row in (0, 300, 600)]
        found = [set(table.keys[table.going_to(part)].tolist()) for part in parts]
        self.assertEqual(found, [{k for k in keys if home(k, 900) // 300 == i} for i in range(3)])


def hashed_batches(step, size, known, most=10):
    """Returns the samples and the lookups of each rank, as base.batches(); each step knows more ids.

    known: returns the ids of a table that there are at a step
    """
    found = []
    for (samples, bags), rank in zip(base.batches(step, size, TABLES, most), range(size)):
        for i in HASHED:
            ids = known(TABLES[i], step)
            drawn = bags[TABLES[i].name]
            generator = torch.Generator().manual_seed(step * 100 + rank)
            at = torch.randint(len(ids), drawn.ids.shape, generator=generator)
            bags[TABLES[i].name] = Bags(torch.tensor(ids)[at], drawn.offsets)
        found.append((samples, bags))
    return found


def growing(table, step):
    """Returns ids of an open space: three more each step, and never more than 200."""
    draw = random.Random(table.name)
    return [draw.randrange(2**63) for _ in range(min(200, 40 + 3 * step))]


class Dicts:
    """The model in one process, in float64: the rows of hashed tables are in dicts, from their first lookup on."""

    def __init__(self, items, state, adagrad):
        self.rows = {table.name: {} for table in TABLES}
        self.rows["items"] = {i: (row.double(), s.double()) for i, (row, s) in enumerate(zip(items, state))}
        self.uses = {table.name: collections.Counter() for table in TABLES}
        self.adagrad = adagrad

    def step(self, everyones):
        """Trains on the batches of all ranks; returns the outputs of each."""
        leaves = {table.name: {} for table in TABLES}
        outputs = [
            {table.name: self.forward(table, bags[table.name], leaves) for table in TABLES} for _, bags in everyones
        ]
        total = sum(loss(of_rank) for of_rank in outputs)
        # A step may have no samples at all.
        if total.requires_grad:
            total.backward()
        for table in TABLES:
            for key, leaf in leaves[table.name].items():
                weight, state = self.rows[table.name][key]
                rate = RATE
                if self.adagrad:
                    state = state + leaf.grad.square().mean()
                    rate = RATE / (state.sqrt() + EPSILON)
                self.rows[table.name][key] = (weight - rate * leaf.grad, state)
        return outputs

    def forward(self, table, bags, leaves):
        found = [self.row(table, key, leaves[table.name]) for key in bags.ids.tolist()]
        if table.pooled:
            nothing = torch.zeros(table.columns, dtype=torch.float64)
            found = [sum(found[begin:end], nothing) for begin, end in itertools.pairwise(bags.offsets.tolist())]
        return torch.stack(found) if found else torch.zeros(0, table.columns, dtype=torch.float64)

    def row(self, table, key, leaves):
        self.uses[table.name][key] += 1
        rows = self.rows[table.name]
        if key not in rows:
            rows[key] = (torch.tensor(begin_of(table, key), dtype=torch.float64), torch.zeros((), dtype=torch.float64))
        if key not in leaves:
            leaves[key] = rows[key][0].clone().requires_grad_()
        return leaves[key]


def rows_of(embeddings, table):
    """Returns weights, state and uses of each id on all ranks, by no code of the trainer's.

    Column parts must have the same ids. State is their mean, by width.
    """
    mine = [
        (part, shard.slots.keys, shard.slots.uses, shard.weight, shard.momentum)
        for part, shard in embeddings._shards.items()
        if part.table == table.name
    ]
    found, keys_of = {}, {}
    for part, keys, uses, weight, momentum in itertools.chain(*everywhere(mine)):
        same = keys_of.setdefault(part.row, (keys, uses))
        assert torch.equal(same[0], keys) and torch.equal(same[1], uses), f"{part} has other ids, or uses of them"
        for slot, (key, used) in enumerate(zip(keys.tolist(), uses.tolist())):
            if key == EMPTY:
                continue
            assert part.row <= home(key, part.slots) < part.row + part.rows, f"{part} has {key}"
            row = found.setdefault(key, [torch.full((table.columns,), float("nan")), 0.0, used])
            assert row[0][part.column : part.column + part.columns].isnan().all(), f"{key} is there twice"
            row[0][part.column : part.column + part.columns] = weight[slot]
            if momentum is not None:
                row[1] += float(momentum[slot]) * part.columns / table.columns
    assert not any(row[0].isnan().any() for row in found.values())
    return found


def plain_rows(embeddings, table):
    """Returns weights and state of a table whose ids are rows."""
    mine = [(part, *base.newest(shard)) for part, shard in embeddings._shards.items() if part.table == table.name]
    return base.assembled(itertools.chain(*everywhere(mine)), [table])[0]


def hashed_plan(kinds, variant, devices, capacity):
    """Returns a plan with a kind for each table, and other slots for hashed ones."""
    tables = [t._replace(rows=math.ceil(t.rows * capacity)) if t.hashed else t for t in TABLES]
    return plan_of(kinds, variant, devices, tables)


def walk(world, order, unpooled, adagrad):
    """Goes from kind to kind and to other slots, trains between, compares with dicts; returns the number of ids.

    order: kinds of the pooled hashed table, one after the other
    unpooled: those of the other one, again and again
    """

    def plan(i):
        kinds = [order[i], "ROW_WISE", unpooled[i % len(unpooled)]]
        return hashed_plan(kinds, i, world.size, CAPACITIES[i % len(CAPACITIES)])

    embeddings = ShardedEmbeddings(world, TABLES, plan(0), Optimizer(RATE, adagrad), SEED)
    dicts = Dicts(*plain_rows(embeddings, TABLES[1]), adagrad)
    inserted = collections.Counter()
    step = 0
    for i in range(1, len(order)):
        for _ in range(2):
            everyones = hashed_batches(step, world.size, growing)
            outputs = embeddings.forward(*everyones[world.rank])
            expected = dicts.step(everyones)[world.rank]
            what = f"of {order[i - 1]}, step {step}"
            for table in TABLES:
                require_close(outputs[table.name], expected[table.name], f"{table.name} {what}")
            loss(outputs).backward()
            embeddings.backward()
            step += 1
        before = {i: rows_of(embeddings, TABLES[i]) for i in HASHED}
        embeddings.apply(embeddings.prepare(plan(i)))
        what = f"after {order[i - 1]} to {order[i]}"
        for h in HASHED:
            table = TABLES[h]
            after, rows = rows_of(embeddings, table), dicts.rows[table.name]
            assert before[h].keys() == after.keys() == rows.keys(), f"ids of {table.name} {what}"
            for key, (weight, state, used) in after.items():
                old = before[h][key]
                assert torch.equal(old[0], weight), f"weights of {key} {what}"
                assert used == old[2] == dicts.uses[table.name][key], f"uses of {key} {what}"
                assert not adagrad or state == old[1], f"state of {key} {what}"
                require_close(weight, rows[key][0], f"weights of {key} {what}")
                if adagrad:
                    require_close(torch.tensor(state), rows[key][1], f"state of {key} {what}")
        for table in gather_fills(Ranks(base.PATIENCE), embeddings.take_fills()):
            shards = {shard["rowOffset"]: shard for shard in table["shards"]}.values()
            assert all(s["evictions"] == s["collisions"] == 0 for s in shards), table
            inserted[table["table"]] += sum(shard["insertions"] for shard in shards)
            known = len(dicts.rows[table["table"]])
            # Counts of before the move are in the report after it.
            assert inserted[table["table"]] == sum(shard["ids"] for shard in shards) == known, f"fill {what}"
    return [len(dicts.rows[TABLES[i].name]) for i in HASHED]


def in_waves(world):
    """Goes to another plan a table at a time and trains between; returns the number of ids."""
    first = hashed_plan(["TABLE_WISE", "ROW_WISE", "ROW_WISE"], 0, world.size, 1.0)
    embeddings = ShardedEmbeddings(world, TABLES, first, Optimizer(RATE, False), SEED)
    dicts = Dicts(*plain_rows(embeddings, TABLES[1]), False)
    prepared = embeddings.prepare(hashed_plan(["ROW_WISE", "TABLE_WISE", "COLUMN_WISE"], 1, world.size, 1.4))
    for step, wave in enumerate([None, *TABLES]):
        if wave:
            embeddings.apply_wave(prepared, MoveWave([wave.name], [], 0, False, 0.0, 0.0))
        everyones = hashed_batches(step, world.size, growing)
        outputs = embeddings.forward(*everyones[world.rank])
        expected = dicts.step(everyones)[world.rank]
        for table in TABLES:
            require_close(outputs[table.name], expected[table.name], f"{table.name} after wave {step}")
        loss(outputs).backward()
        embeddings.backward()
    with mock.patch.object(dist, "batch_isend_irecv", side_effect=AssertionError("rows are sent")):
        embeddings.apply(prepared)
    assert embeddings._layout is prepared
    for i in HASHED:
        assert rows_of(embeddings, TABLES[i]).keys() == dicts.rows[TABLES[i].name].keys()
    return [table.rows for table in embeddings._layout.tables]


def evicting(world, kinds):
    """Trains full tables by several plans, with less and less slots; returns what was counted.

    Column parts must have the same ids all the time: rows_of() checks it.
    """
    table = TableShape("users", 60, 12, eviction="lfu")
    embeddings = None
    counted = []
    for i, (kind, slots) in enumerate(kinds):
        plan = plan_of([kind], i, world.size, [table._replace(rows=slots)])
        if embeddings is None:
            embeddings = ShardedEmbeddings(world, [table], plan, Optimizer(RATE, False), SEED)
        else:
            embeddings.apply(embeddings.prepare(plan))
        for step in range(3 * i, 3 * i + 3):
            generator = torch.Generator().manual_seed(step * 10 + world.rank)
            ids = (torch.rand(30, generator=generator) ** 2 * 150).long()
            before = rows_of(embeddings, table)
            outputs = embeddings.forward(30, {"users": Bags(ids, torch.arange(31))})
            after = rows_of(embeddings, table)
            looked_up = set(itertools.chain(*everywhere(ids.tolist())))
            for key in looked_up & after.keys() - before.keys():
                expected = torch.tensor(begin_of(table, key), dtype=torch.float64)
                require_close(after[key][0], expected, f"first weights of {key}, which may have been evicted before")
            for key in (before.keys() & after.keys()) - looked_up:
                assert torch.equal(before[key][0], after[key][0])
            for row, key in enumerate(ids.tolist()):
                if key in after:
                    assert torch.equal(outputs["users"][row], after[key][0]), f"output of {key}"
            loss(outputs).backward()
            embeddings.backward()
        (found,) = gather_fills(Ranks(base.PATIENCE), embeddings.take_fills())
        shards = {shard["rowOffset"]: shard for shard in found["shards"]}.values()
        counted.append([sum(s[name] for s in shards) for name in ("slots", "ids", "insertions", "evictions")])
        held = len(rows_of(embeddings, table))
        assert held == counted[-1][1]
    return counted


def same_bits_twice(world):
    """Trains twice by two plans; returns the number of shards, and whether slots and weights have the same bits."""
    ends = []
    for _ in range(2):
        first = hashed_plan(["ROW_WISE"] * 3, 0, world.size, 0.3)
        second = hashed_plan(["COLUMN_WISE", "TABLE_WISE", "ROW_WISE"], 1, world.size, 0.35)
        embeddings = ShardedEmbeddings(world, TABLES, first, Optimizer(RATE), SEED)
        for step in range(6):
            samples, bags = hashed_batches(step, world.size, growing)[world.rank]
            if step == 3:
                embeddings.apply(embeddings.prepare(second))
            loss(embeddings.forward(samples, bags)).backward()
            embeddings.backward()
        ends.append(
            [
                (shard.part, *shard.tensors, shard.slots.keys, shard.slots.uses)
                for shard in embeddings._held()
                if shard.part.slots
            ]
        )
    return len(ends[0]), all(
        one[0] == other[0] and all(map(torch.equal, one[1:], other[1:])) for one, other in zip(*ends)
    )


def refusals(world):
    """Returns what is said of ids that cannot be, of whole tables, and of a move without room."""
    table = TABLES[0]
    plan = plan_of(["TABLE_WISE"], 0, world.size, [table])
    part = lay_out(plan, [table], world.size, PER_NODE).parts["users"][0]
    optimizer = Optimizer(RATE)
    assert shard_bytes(part, optimizer) == 300 * (13 * 4 + 16)
    wanted = plan_of(["TABLE_WISE"], 1, world.size, [table._replace(rows=500)])
    room = 500 * (13 * 4 + 16) + bytes_under_way(table, world.size)
    met = []
    for limit in (room - 1, room):
        embeddings = ShardedEmbeddings(world, [table], plan, optimizer, SEED, memory_bytes=limit)
        try:
            embeddings.prepare(wanted)
            met.append("room")
        except ValueError as e:
            met.append(str(e))
    for call in (
        lambda: embeddings.forward(1, {"users": Bags(torch.tensor([-1 - world.rank]), torch.tensor([0, 1]))}),
        lambda: embeddings.full_table("users"),
        lambda: embeddings.load_table("users", torch.zeros(300, 12), torch.zeros(300)),
    ):
        try:
            call()
            met.append("nothing")
        except ValueError as e:
            met.append(str(e))
    return met


def program(world, arguments):
    """Runs the program without Kafka, by two plans; returns the reports of fill, and the lines that it prints."""
    import train
    options = train.parse(["kafka", "registry", "--features", "2", "--rows", "1000", "--batch-size", "64", *arguments])
    shapes = [feature.shape for feature in features(2, 1000, 0, hashed=1)]
    wider = [shape._replace(rows=2500) if shape.hashed else shape for shape in shapes]
    first, second = plan_of(["TABLE_WISE"] * 2, 0, world.size, shapes), plan_of(["ROW_WISE"] * 2, 1, world.size, wider)

    class Follower(PlanFollower):
        def __init__(self, log, workload, meter, source, timeout_seconds):
            # The next plan comes after some steps.
            plans = mock.Mock(poll=mock.Mock(side_effect=[None, second]))
            self.ranks, self._meter, self._plans = Ranks(timeout_seconds), meter, log and plans
            self.running, self._next_plan = {**first, "cacheMisses": []}, None
            self.reports = log and reports

        def start(self):
            return self.running

    second.update(generation=2, cacheMisses=[])
    reports = mock.Mock(sent=1, waiting=0, dropped=0, failed=0, problem=None)
    printed = io.StringIO()
    patched = mock.patch.multiple(train, Log=mock.Mock(), Workload=mock.Mock(), PlanFollower=Follower, PRINT_SECONDS=0)
    with patched, contextlib.redirect_stdout(printed):
        train.train(options, world)
    return [call[0] for call in reports.fill.call_args_list], printed.getvalue().splitlines()


@unittest.skipUnless(torch, "PyTorch is not installed")
class HashedTest(unittest.TestCase):
    """Hashed tables of several ranks."""

    def test_results_are_those_of_dicts_whatever_the_plan_and_the_slots(self):
        for devices in (2, 4):
            with self.subTest(devices=devices):
                every = (*POOLED_KINDS, *POOLED_KINDS[::-2], POOLED_KINDS[2])
                order = every if devices == 4 else base.circuit(("TABLE_WISE", "ROW_WISE", "COLUMN_WISE"))
                found = run_ranks(walk, devices, order, UNPOOLED_KINDS, False)
                self.assertTrue(all(min(ids) > 60 for ids in found), found)

    def test_row_wise_states_move_too(self):
        run_ranks(walk, 2, base.circuit(WHOLE_COLUMNS), ("TABLE_WISE", "ROW_WISE"), True)

    def test_waves(self):
        for slots in run_ranks(in_waves, 2):
            self.assertEqual(slots, [420, 11, 364])

    def test_column_parts_have_the_same_ids_while_ids_are_evicted(self):
        kinds = [("COLUMN_WISE", 60), ("COLUMN_WISE", 50), ("TABLE_WISE", 40), ("GRID_SHARD", 41), ("COLUMN_WISE", 20)]
        found = run_ranks(evicting, 2, kinds)
        self.assertEqual(found[0], found[1])
        held = 0
        for (slots, ids, insertions, evictions), (_, capacity) in zip(found[0], kinds):
            self.assertEqual(slots, capacity)
            self.assertEqual(ids, capacity, "it is full")
            self.assertEqual(held + insertions - evictions, ids)
            self.assertGreater(evictions, 0)
            held = ids

    @unittest.skipUnless(importlib.util.find_spec("confluent_kafka"), "Kafka's client is not installed")
    def test_the_program_reports_fill_and_goes_to_plans_with_more_slots(self):
        options = ["--hashed", "1", "--new-ids-per-step", "20", "--steps", "12"]
        options += ["--report-every", "4", "--follow-every", "6"]
        (fills, lines), (others, _) = run_ranks(program, 2, options)
        self.assertEqual(others, [])
        self.assertEqual([plan for plan, _ in fills], ["0", "1", "1"])
        ids = 0
        for (_, (table,)), slots in zip(fills, ([1000], [1250] * 2, [1250] * 2)):
            self.assertEqual(table["table"], "feature_0")
            self.assertEqual([shard["slots"] for shard in table["shards"]], slots)
            self.assertEqual([shard["rank"] for shard in table["shards"]], list(range(len(slots))))
            ids += sum(shard["insertions"] for shard in table["shards"])
            self.assertEqual(sum(shard["ids"] for shard in table["shards"]), ids)
            self.assertGreaterEqual(ids, 80)
        self.assertGreaterEqual(ids, 240)
        self.assertRegex(lines[-2], f", feature_0 is {ids / 2500:.1%} full, 0 evictions, 0 collisions, reports: 1 sent")

    def test_the_same_run_gives_the_same_bits(self):
        for count, same in run_ranks(same_bits_twice, 2):
            self.assertGreater(count, 1)
            self.assertTrue(same)

    def test_what_cannot_be_is_refused(self):
        first, second = run_ranks(refusals, 2)
        self.assertRegex(second[0], 'Moving table "users" needs [0-9]+ bytes on device 1; it has [0-9]+ for shards')
        self.assertEqual((second[1], first[1]), ("room", "room"))
        for rank in (first, second):
            self.assertEqual(
                rank[2],
                'rank 0: table "users" has id -1; must be 0 to 2^63 - 1; rank 1: table "users" has id -2; must be 0 to'
                " 2^63 - 1",
            )
            for text in rank[3:]:
                self.assertEqual(
                    text, 'Table "users" is hashed; whole tables and checkpoints have only those whose ids are rows'
                )


@unittest.skipUnless(torch, "PyTorch is not installed")
class DataTest(unittest.TestCase):
    """Features whose tables are hashed."""

    def test_each_step_brings_new_ids(self):
        declared = features(3, 2000, 1, unpooled=1, hashed=2, eviction="lfu", new_ids=7)
        self.assertEqual([f.shape.eviction for f in declared], ["lfu", "lfu", None, None])
        self.assertEqual([f.shape.rows for f in declared], [f.shape.rows for f in features(3, 2000, 1, 1)])
        seen = [set(), set()]
        for step in range(30):
            batches = [draw_batch(declared, 50, 4, 1, step, rank, torch.device("cpu"), 2) for rank in range(2)]
            self.assertTrue(
                torch.equal(
                    draw_batch(declared, 50, 4, 1, step, 1, torch.device("cpu"), 2).lookups["feature_0"].ids,
                    batches[1].lookups["feature_0"].ids,
                )
            )
            for i, ids in enumerate(seen):
                drawn = [batch.lookups[f"feature_{i}"].ids.tolist() for batch in batches]
                later = set(self.ids(i, declared[i].use.rows + 7 * step, 7))
                self.assertLessEqual(later, set(drawn[0]) | set(drawn[1]))
                self.assertFalse(later & ids, "they are new")
                known = set(self.ids(i, 0, declared[i].use.rows + 7 * step))
                self.assertLessEqual(set(drawn[0] + drawn[1]) - later, known)
                ids.update(*drawn)
        self.assertFalse(seen[0] & seen[1])
        self.assertTrue(all(0 <= key < 2**63 for key in seen[0]))

    def ids(self, index, first, count):
        return [mix(number + index * 2**40) & (2**63 - 1) for number in range(first, first + count)]

    def test_tables_are_described(self):
        hashed, plain = features(2, 2000, 1, hashed=1, eviction="lfu", new_ids=7)
        record = to_record(hashed, 4.0)
        self.assertEqual(record["storage"], {"slotBytes": 16.0, "eviction": "lfu"})
        self.assertEqual(record["constraints"], {"mayBeCached": False})
        self.assertEqual(record["rows"], 2000)
        # Of 1, 4, 16 ... 1024 rows, and all: as there are slots.
        self.assertEqual(len(record["accessCdf"]), 7)
        self.assertNotIn("storage", to_record(plain, 4.0))
        used = at_step(hashed, 0, 2, 30, 30)
        self.assertEqual(used.use.pooling_factor, 2 * hashed.use.pooling_factor)
        self.assertEqual(used._replace(use=hashed.use), hashed)
        with self.assertRaisesRegex(ValueError, "hashed tables must be at most 2, as there are tables, got 3"):
            features(2, 2000, 1, hashed=3)

    def test_fill_is_described(self):
        def shard(offset, ids, slots, evictions=0, collisions=0):
            return {"rowOffset": offset, "ids": ids, "slots": slots, "evictions": evictions, "collisions": collisions}

        tables = [
            {"table": "a", "shards": [shard(0, 5, 10), shard(0, 5, 10)]},
            {"table": "b", "shards": [shard(0, 9, 10, 3), shard(10, 6, 10, 1, 2)]},
        ]
        self.assertEqual(describe_fill(tables), ", b is 75.0% full, 4 evictions, 2 collisions")
        self.assertEqual(describe_fill([]), "")

    @unittest.skipUnless(importlib.util.find_spec("confluent_kafka"), "Kafka's client is not installed")
    def test_options_that_cannot_be_are_refused(self):
        from train import parse

        for options, message in (
            (["--hashed", "-1"], "--hashed must be at least 0, got -1"),
            (["--hashed", "10", "--unpooled", "1"], "--hashed must be at most the 9 tables, got 10"),
            (["--hashed", "1", "--new-ids-per-step", "-5"], "--new-ids-per-step must be at least 0, got -5"),
            (["--hashed", "1", "--save", "x"], "--load and --save must not be given with --hashed"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as printed, self.assertRaises(SystemExit):
                parse(["kafka:9092", "http://registry", *options])
            self.assertIn(message, printed.getvalue())


class PlanTest(unittest.TestCase):
    """Plans of hashed tables; needs no PyTorch."""

    T = TableShape("t", 10, 8, eviction="none")

    def refused(self, plan, message, table=T):
        with self.assertRaises(ValueError) as met:
            lay_out(plan, [table], 4, PER_NODE)
        self.assertEqual(str(met.exception), message)

    def test_a_plan_says_how_many_slots_there_are(self):
        for rows, kind in itertools.product((1, 9, 10, 11, 1000), POOLED_KINDS):
            layout = lay_out(plan_of([kind], 1, 4, [self.T._replace(rows=rows)]), [self.T], 4, PER_NODE)
            self.assertEqual(layout.tables, (self.T._replace(rows=rows),))
            self.assertEqual({part.slots for part in layout.parts["t"]}, {rows})
        whole = base.shard("t", "TABLE_WISE", 0, 8, 0, 10, 1)
        halves = [{**whole, "kind": "ROW_WISE", "rows": 5, "rowOffset": row, "device": row // 5} for row in (0, 6)]
        self.refused(plan_with(halves), 'Table "t" has 8 cells on no device')

    def test_copies_caches_and_groups_are_refused(self):
        whole = base.shard("t", "TABLE_WISE", 0, 8, 0, 10, 1)
        self.refused(
            plan_with(place(self.T, "DATA_PARALLEL", 0, 4)),
            'Table "t" is hashed and has data_parallel shards; each copy would store other ids',
        )
        self.refused(
            plan_with(place(self.T, "ROW_WISE+0.3", 0, 4)),
            'Table "t" is hashed and has hot rows; each copy would store other ids',
        )
        self.refused(
            plan_with([{**whole, "cacheShare": 0.3}]),
            'Table "t" is hashed and has cache share 0.3; this trainer caches no hashed tables',
        )
        groups = {"groups": 2, "layout": "STRIDED", "synchronizationSteps": 1, "synchronizationMs": 1.0}
        self.refused(
            {**plan_with([whole], 2), "replication": groups},
            'Table "t" is hashed and has 2 replica groups; must have one: each group would store other ids',
        )
        self.refused(
            plan_with([whole]),
            'Table "t" has eviction lru; must be one of none, lfu',
            self.T._replace(eviction="lru"),
        )


if __name__ == "__main__":
    unittest.main()
