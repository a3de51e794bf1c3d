"""The reference trainer, examples/dlrm: real processes of torch.distributed over gloo, against the unsharded model."""

from __future__ import annotations

import contextlib
import datetime
import gc
import importlib.util
import io
import itertools
import math
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import sys
import tempfile
import time
import traceback
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "examples/dlrm")]

from layout import SCOPES, TableShape, lay_out

try:
    import numpy
    import torch
    import torch.distributed as dist
    from caches import CacheUse, RowCache, describe_misses
    from checkpoints import load, save
    from data import at_step, draw_batch, features, to_record
    from embeddings import ShardedEmbeddings
    from inputs import Bags
    from model import DenseModel, loss_of
    from moves import bytes_under_way
    from shards import Optimizer, Shard, host_bytes, shard_bytes
    from shardtide.collect.operators import EPSILON
    from shardtide.train import Ranks, StepMeter
    from shardtide.waves import MoveWave
    from world import World
except ModuleNotFoundError:
    torch = None

KINDS = sorted(SCOPES)
# Rows of whole columns, whose row-wise state does not depend on the plan.
WHOLE_COLUMNS = ("DATA_PARALLEL", "PARTIAL_ROW_WISE", "ROW_WISE", "TABLE_ROW_WISE", "TABLE_WISE")

# The last table leaves devices without rows.
TABLES = [TableShape("users", 50, 12), TableShape("items", 11, 8), TableShape("tiny", 3, 8)]
# One pooled table between two that are not.
UNPOOLED = [TABLES[0]._replace(pooled=False), TABLES[1], TABLES[2]._replace(pooled=False)]

# Kinds of unpooled tables. Behind +: the share of the rows that are hot rows, at least one.
UNPOOLED_KINDS = ("TABLE_WISE", "COLUMN_WISE", "TABLE_COLUMN_WISE", "ROW_WISE", "DATA_PARALLEL")
HOT_KINDS = ("ROW_WISE+0.3", "ROW_WISE+0.7", "COLUMN_WISE+0.3", "TABLE_WISE+0.7")
HOT_WHOLE_COLUMNS = ("TABLE_WISE", "ROW_WISE", "DATA_PARALLEL", "ROW_WISE+0.3", "TABLE_WISE+0.7")
HOT_POOLED_KINDS = ("GRID_SHARD+0.3", "TABLE_ROW_WISE+0.7", "ROW_WISE+0.3", "TABLE_COLUMN_WISE+0.7", "ROW_WISE")

# Behind @: the cached share of the rows. The smallest caches have one row.
CACHED_KINDS = (
    "TABLE_WISE@0.001",
    "COLUMN_WISE@0.1",
    "GRID_SHARD@0.3",
    "TABLE_ROW_WISE@1",
    "ROW_WISE@0.3",
    "TABLE_WISE",
)
CACHED_WHOLE_COLUMNS = ("TABLE_WISE@0.1", "ROW_WISE@0.001", "TABLE_ROW_WISE@0.5", "ROW_WISE@1", "DATA_PARALLEL")
CACHED_HOT_KINDS = ("ROW_WISE+0.3@0.3", "TABLE_COLUMN_WISE+0.7@0.1", "COLUMN_WISE@0.1", "ROW_WISE+0.3", "ROW_WISE@1")

# In order of use.
SKEWED = TableShape("skewed", 1000, 12, pooled=False)

PER_NODE = 2
RATE = 0.1

# Sharded and unsharded sums are of float32 in another order: of the largest value, so much may differ.
TOLERANCE = 1e-5

PATIENCE = 60
# Ranks wait for each other at most so long where one of them does not answer.
RANK_SECONDS = 3


def shard(table, kind, column, columns, row, rows, device):
    names = ("table", "kind", "columnOffset", "columns", "rowOffset", "rows", "device")
    return dict(zip(names, (table, kind, column, columns, row, rows, device)))


def split_rows(table, kind, column, columns, first, devices):
    """Returns the shards of a column range whose rows are split over devices."""
    block = -(-table.rows // devices)
    starts = range(0, table.rows, block)
    return [
        shard(table.name, kind, column, columns, row, min(block, table.rows - row), first + i)
        for i, row in enumerate(starts)
    ]


def hot_rows(table, share):
    return max(1, int(table.rows * float(share)))


def place(table, kind, variant, devices, per_node=PER_NODE):
    """Returns the shards of a table; other variants have other devices and cuts."""
    kind, _, cached = kind.partition("@")
    if cached:
        found = place(table, kind, variant, devices, per_node)
        return [s if s["kind"] == "DATA_PARALLEL" else {**s, "cacheShare": float(cached)} for s in found]
    kind, _, share = kind.partition("+")
    if share:
        hot = hot_rows(table, share)
        others = place(table._replace(rows=table.rows - hot), kind, variant, devices, per_node)
        copy = shard(table.name, "DATA_PARALLEL", 0, table.columns, 0, hot, -1)
        return [copy, *({**other, "rowOffset": other["rowOffset"] + hot} for other in others)]
    nodes = max(1, devices // per_node)
    node = variant % nodes * per_node
    # Of unequal widths; in every third variant whole.
    cuts = [(0, 4), (4, table.columns - 4)] if variant % 3 else [(0, table.columns)]
    if kind == "DATA_PARALLEL":
        return [shard(table.name, kind, 0, table.columns, 0, table.rows, -1)]
    if kind == "TABLE_WISE":
        return [shard(table.name, kind, 0, table.columns, 0, table.rows, variant % devices)]
    if kind == "ROW_WISE":
        return split_rows(table, kind, 0, table.columns, 0, devices)
    if kind == "TABLE_ROW_WISE":
        return split_rows(table, kind, 0, table.columns, node, per_node)
    if kind == "PARTIAL_ROW_WISE":
        # On one device to all of them, in another order in each variant; fewer if some would have no rows.
        blocks = split_rows(table, kind, 0, table.columns, 0, variant % devices + 1)
        order = [(variant + (i if variant % 2 else -i)) % devices for i in range(devices)]
        return [{**block, "device": device} for block, device in zip(blocks, order)]
    if kind == "GRID_SHARD":
        # Both parts on one node, or on different ones.
        firsts = [(variant + i * (variant % 2)) % nodes * per_node for i in range(len(cuts))]
        return [s for (c, w), first in zip(cuts, firsts) for s in split_rows(table, kind, c, w, first, per_node)]
    at = [node + i % per_node if kind == "TABLE_COLUMN_WISE" else (variant + i) % devices for i in range(len(cuts))]
    # Sometimes both parts on one device.
    at = [at[0]] * len(at) if variant % 5 == 4 else at
    return [shard(table.name, kind, c, w, 0, table.rows, device) for (c, w), device in zip(cuts, at)]


def plan_of(kinds, variant, devices, tables=TABLES, per_node=PER_NODE):
    """Returns a plan with a kind for each table."""
    shards = [s for i, table in enumerate(tables) for s in place(table, kinds[i], variant + i, devices, per_node)]
    return {"planId": str(variant), "deviceCosts": [{}] * devices, "shards": shards}


def plan_with(shards, devices=4):
    return {"planId": "p", "deviceCosts": [{}] * devices, "shards": shards}


def circuit(kinds):
    """Returns kinds in an order in which each follows each one once, itself included."""
    left = {kind: list(kinds) for kind in kinds}
    path, found = [kinds[0]], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            found.append(path.pop())
    return found[::-1]


def run_ranks(case, size, *arguments, seconds=PATIENCE, dying=()):
    """Runs a case on ranks that are processes of their own; returns what each returned, None of those that die."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        pipes = [context.Pipe(duplex=False) for _ in range(size)]
        processes = [
            context.Process(target=_rank, args=(case, rank, size, folder, pipes[rank][1], arguments))
            for rank in range(size)
        ]
        try:
            for process in processes:
                process.start()
            found = [None] * size
            waiting = {pipes[rank][0]: rank for rank in range(size) if rank not in dying}
            end = time.monotonic() + seconds
            while waiting:
                ready = multiprocessing.connection.wait(waiting, max(0, end - time.monotonic()))
                if not ready:
                    raise AssertionError(f"Ranks {sorted(waiting.values())} of {size} do not end within {seconds} s")
                for receiver in ready:
                    rank = waiting.pop(receiver)
                    ok, found[rank] = receiver.recv()
                    if not ok:
                        raise AssertionError(f"Rank {rank}: {found[rank]}")
            return found
        finally:
            for process in processes:
                process.kill()
                process.join()


def _rank(case, rank, size, folder, sender, arguments):
    try:
        torch.set_num_threads(1)
        store = dist.FileStore(f"{folder}/store", size)
        timeout = datetime.timedelta(seconds=RANK_SECONDS if case in LOSSES else PATIENCE)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timeout)
        world = World(PER_NODE, torch.device("cpu"), timeout.total_seconds())
        sender.send((True, case(world, *arguments)))
    except BaseException:
        sender.send((False, traceback.format_exc()))
    finally:
        # The others may still need this process.
        time.sleep(PATIENCE)


def everywhere(value):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def gathered(embeddings, table):
    return all_gathered(embeddings, [table])[0]


def newest(shard):
    """Returns a shard's weights and state; rows that a cache holds are newer there. Changes nothing."""
    if shard.cache is None:
        return shard.weight, shard.momentum
    found = [shard.weight.clone(), None if shard.momentum is None else shard.momentum.clone()]
    for tensor, cached in zip(found, shard.cache._cached):
        tensor[shard.cache._rows] = cached[: len(shard.cache._rows)]
    return found


def all_gathered(embeddings, tables=TABLES):
    """Returns tables' weights and states as shards have them, by no code of the trainer's; copies must be equal."""
    mine = [(part, *newest(shard)) for part, shard in embeddings._shards.items()]
    return assembled(itertools.chain(*everywhere(mine)), tables)


def assembled(shards, tables):
    """Returns tables' weights and states, from parts with theirs; copies must be equal."""
    weights = {table.name: torch.full((table.rows, table.columns), float("nan")) for table in tables}
    states = {table.name: torch.zeros(table.rows) for table in tables}
    taken = {}
    for part, cells, state in shards:
        if part in taken:
            assert torch.equal(taken[part], cells), f"copies of {part.table} differ"
            continue
        taken[part] = cells
        rows = slice(part.row, part.row + part.rows)
        weights[part.table][rows, part.column : part.column + part.columns] = cells
        if state is not None:
            states[part.table][rows] += state * (part.columns / weights[part.table].shape[1])
    for name, weight in weights.items():
        assert not weight.isnan().any(), f"{name} has cells nowhere"
    return [(weights[table.name], states[table.name]) for table in tables]


def batches(step, size, tables=TABLES, most=6):
    """Returns the samples and the lookups of each rank: of different numbers of samples and ids, and sometimes none."""
    found = []
    for rank in range(size):
        generator = torch.Generator().manual_seed(step * 100 + rank)
        samples = 0 if step % 7 == 3 else int(torch.randint(most + 1, (1,), generator=generator))
        bags = {}
        for table in tables:
            # The first few samples have no ids.
            lengths = torch.randint(0, 5, (samples,), generator=generator) * (torch.arange(samples) > 0)
            offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
            bags[table.name] = Bags(torch.randint(table.rows, (int(offsets[-1]),), generator=generator), offsets)
        found.append((samples, bags))
    return found


def loss(outputs):
    """A loss whose gradient differs from cell to cell."""
    return sum((o.square() * 0.5 + o * torch.arange(1, o.shape[1] + 1) * 0.1).sum() for o in outputs.values())


class Unsharded:
    """The same model in one process, in float64."""

    def __init__(self, weights, states, adagrad, tables=TABLES):
        self.tables = tables
        self.weights = [weight.double().requires_grad_() for weight in weights]
        self.states = [state.double() for state in states]
        self.adagrad = adagrad

    def forward(self, bags):
        return {
            table.name: torch.nn.functional.embedding_bag(
                bags[table.name].ids, weight, bags[table.name].offsets, mode="sum", include_last_offset=True
            )
            if table.pooled
            else weight[bags[table.name].ids]
            for table, weight in zip(self.tables, self.weights)
        }

    def step(self, all_batches, weight_of_loss=1):
        """Trains on the batches of all ranks; returns the outputs of each."""
        outputs = [self.forward(bags) for _, bags in all_batches]
        (weight_of_loss * sum(loss(output) for output in outputs)).backward()
        with torch.no_grad():
            for weight, state in zip(self.weights, self.states):
                if self.adagrad:
                    state += weight.grad.square().mean(1)
                    weight -= RATE * weight.grad / (state.sqrt() + EPSILON)[:, None]
                else:
                    weight -= RATE * weight.grad
                weight.grad = None
        return outputs


def require_close(found, expected, what):
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    if not expected.numel():
        return
    limit = TOLERANCE * max(1e-3, float(expected.detach().abs().max()))
    worst = float((found.double() - expected).detach().abs().max())
    assert worst <= limit, f"{what} differs by {worst}, more than {limit}"


def train(embeddings, world, first, steps, tables=TABLES):
    for step in range(first, first + steps):
        samples, bags = batches(step, world.size, tables)[world.rank]
        outputs = embeddings.forward(samples, bags)
        loss(outputs).backward()
        embeddings.backward()


def same_bits(found, expected):
    return all(torch.equal(a, b) for pair, other in zip(found, expected) for a, b in zip(pair, other))


def walk(world, kinds, adagrad, tables=TABLES):
    """Goes from each kind to each, trains between, and compares with the unsharded model; returns the changes."""
    order = circuit(kinds)
    shift = (0, 2, 3)

    def plan(i):
        # The first and the last are the same kind.
        return plan_of([order[(i + s) % (len(order) - 1)] for s in shift], i, world.size, tables)

    embeddings = ShardedEmbeddings(world, tables, plan(0), Optimizer(RATE, adagrad))
    changes = set()
    for i in range(1, len(order)):
        before = all_gathered(embeddings, tables)
        embeddings.apply(embeddings.prepare(plan(i)))
        changes.add((order[i - 1], order[i]))
        after = all_gathered(embeddings, tables)
        what = f"after {order[i - 1]} to {order[i]}"
        for table, old, new in zip(tables, before, after):
            assert torch.equal(old[0], new[0]), f"weights of {table.name} {what}"
            if adagrad:
                assert torch.equal(old[1], new[1]), f"state of {table.name} {what}"
        unsharded = Unsharded([w for w, _ in after], [s for _, s in after], adagrad, tables)
        for step in range(2 * i, 2 * i + 2):
            everyones = batches(step, world.size, tables)
            samples, bags = everyones[world.rank]
            outputs = embeddings.forward(samples, bags)
            expected = unsharded.step(everyones)[world.rank]
            for table in tables:
                require_close(outputs[table.name], expected[table.name], f"{table.name} {what}, step {step}")
            loss(outputs).backward()
            embeddings.backward()
        for table, (weight, state), w, s in zip(
            tables, all_gathered(embeddings, tables), unsharded.weights, unsharded.states
        ):
            require_close(weight, w, f"weights of {table.name} trained {what}")
            if adagrad:
                require_close(state, s, f"state of {table.name} trained {what}")
    return len(changes)


def go_in_waves(world):
    """Goes to other kinds a table at a time and trains between; returns the number of tables."""
    embeddings = ShardedEmbeddings(
        world, TABLES, plan_of(["TABLE_WISE", "ROW_WISE", "DATA_PARALLEL"], 0, world.size), Optimizer(RATE, False)
    )
    wanted = plan_of(["ROW_WISE", "COLUMN_WISE", "TABLE_WISE"], 1, world.size)
    prepared = embeddings.prepare(wanted)
    unsharded = Unsharded([w for w, _ in all_gathered(embeddings, TABLES)], [torch.zeros(1)] * len(TABLES), False)
    for made, table in enumerate(TABLES):
        embeddings.apply_wave(prepared, MoveWave([table.name], [], 0, False, 0.0, 0.0))
        for other in TABLES:
            moved = other in TABLES[: made + 1]
            assert (embeddings._layout.parts[other.name] == prepared.parts[other.name]) == moved, other.name
        everyones = batches(made, world.size, TABLES)
        outputs = embeddings.forward(*everyones[world.rank])
        expected = unsharded.step(everyones)[world.rank]
        for other in TABLES:
            require_close(outputs[other.name], expected[other.name], f"{other.name} after wave {made + 1}")
        loss(outputs).backward()
        embeddings.backward()
    with mock.patch.object(dist, "batch_isend_irecv", side_effect=AssertionError("rows are sent")):
        embeddings.apply(prepared)
    for table, (weight, _), w in zip(TABLES, all_gathered(embeddings, TABLES), unsharded.weights):
        require_close(weight, w, f"weights of {table.name}")
    return len(TABLES)


def skewed_batches(size, step=0):
    """Returns the samples and the lookups of each rank of a table in order of use."""
    found = []
    for rank in range(size):
        generator = torch.Generator().manual_seed(step * 100 + rank)
        lengths = torch.randint(0, 21, (200,), generator=generator)
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        ids = (torch.rand(int(offsets[-1]), generator=generator) ** 4 * SKEWED.rows).long()
        found.append((len(lengths), {SKEWED.name: Bags(ids, offsets)}))
    return found


def sent_bytes(world, kinds):
    """Returns what this rank sends of the outputs with each kind, compared with what the batch and the plan say."""
    everyones = skewed_batches(world.size)
    found = []
    for kind in itertools.chain(*kinds):
        plan = plan_of([kind], 1, world.size, [SKEWED])
        embeddings = ShardedEmbeddings(world, [SKEWED], plan, Optimizer(RATE))
        before = embeddings.sent_bytes
        embeddings.forward(*everyones[world.rank])
        cells = 0
        for s in plan["shards"]:
            for rank, (_, bags) in enumerate(everyones):
                ids = bags[SKEWED.name].ids
                if s["device"] == world.rank != rank:
                    cells += s["columns"] * int(((ids >= s["rowOffset"]) & (ids < s["rowOffset"] + s["rows"])).sum())
        found.append(embeddings.sent_bytes - before)
        assert found[-1] == 4 * cells, f"{kind} sends {found[-1]} bytes, expected {4 * cells}"
    return [found[i : i + len(kinds[0])] for i in range(0, len(found), len(kinds[0]))]


def states(world):
    """Cuts and joins columns under row-wise Adagrad; returns states before, of the parts, and after."""
    table = TABLES[0]
    (whole,), parts = place(table, "TABLE_WISE", 0, world.size), place(table, "COLUMN_WISE", 1, world.size)
    embeddings = ShardedEmbeddings(world, [table], plan_with([whole], world.size), Optimizer(RATE))
    train(embeddings, world, 0, 3, [table])
    before = gathered(embeddings, table)[1]
    embeddings.apply(embeddings.prepare(plan_with(parts, world.size)))
    cut = [shard.momentum.clone() for found in everywhere(embeddings._shards) for shard in found.values()]
    train(embeddings, world, 4, 3, [table])
    trained = {
        part.columns: shard.momentum for found in everywhere(embeddings._shards) for part, shard in found.items()
    }
    unsharded = Unsharded([gathered(embeddings, table)[0]], [torch.zeros(1)], False, [table])
    embeddings.apply(embeddings.prepare(plan_with([whole], world.size)))
    assert torch.equal(gathered(embeddings, table)[0].double(), unsharded.weights[0])
    joined = gathered(embeddings, table)[1]
    return [t.tolist() for t in (before, *cut, trained[4], trained[8], joined)]


def twice(world):
    """Trains twice with each kind; returns whether all bits are equal, and whether the first weights were."""
    first = equal = None
    for kind, tables in itertools.chain(
        zip((*KINDS, *CACHED_KINDS[1:3]), itertools.repeat(TABLES)), zip(HOT_KINDS[:2], itertools.repeat(UNPOOLED))
    ):
        ends = []
        for _ in range(2):
            plan = plan_of([kind] * 3, 1, world.size, tables)
            embeddings = ShardedEmbeddings(world, tables, plan, Optimizer(RATE))
            begin = all_gathered(embeddings, tables)
            equal = (first is None or same_bits(begin, first)) and equal is not False
            first = begin
            train(embeddings, world, 0, 5, tables)
            ends.append(all_gathered(embeddings, tables))
        equal = equal and same_bits(*ends)
    return equal


def bad_batches(world):
    """Gives rank 1 wrong batches; returns what each rank met, and whether nothing changed."""
    embeddings = ShardedEmbeddings(world, TABLES, plan_of(KINDS[1:4], 1, world.size), Optimizer(RATE))
    ids, offsets = torch.tensor([1, 2]), torch.tensor([0, 1, 2])
    good = {table.name: Bags(ids, offsets) for table in TABLES}
    bad = [
        {**good, "tiny": Bags(torch.tensor([1, 3]), offsets)},
        {**good, "items": Bags(torch.tensor([-1, 3]), offsets)},
        {**good, "items": Bags(ids, torch.tensor([0, 2]))},
        {**good, "items": Bags(ids, torch.tensor([0, 2, 1]))},
        {"users": good["users"]},
        {**good, "more": Bags(ids, offsets)},
    ]
    before = all_gathered(embeddings)
    met = []
    for batch in bad:
        try:
            embeddings.forward(2, batch if world.rank == 1 else good)
            met.append("nothing")
        except ValueError as e:
            met.append(str(e))
    unchanged = same_bits(all_gathered(embeddings), before)
    train(embeddings, world, 0, 1)
    return met, unchanged


def rooms(world):
    """Returns what prepare() says of a move that devices have no room for, and of the same with room."""
    table = TABLES[0]
    whole = place(table, "TABLE_WISE", 0, world.size)
    wanted = plan_with(place(table, "TABLE_WISE", 1, world.size), world.size)
    optimizer = Optimizer(RATE)
    bytes_of_table = table.rows * (table.columns + 1) * 4
    enough = bytes_of_table + bytes_under_way(table, world.size)
    met = []
    for room in (enough - 1, enough):
        embeddings = ShardedEmbeddings(world, [table], plan_with(whole, world.size), optimizer, memory_bytes=room)
        before = gathered(embeddings, table)
        try:
            prepared = embeddings.prepare(wanted)
            met.append("room")
        except ValueError as e:
            met.append(str(e))
        if all(answer == "room" for answer in everywhere(met[-1])):
            embeddings.apply(prepared)
            assert embeddings._layout is prepared
        assert same_bits([gathered(embeddings, table)], [before])
    assert (
        shard_bytes(next(iter(lay_out(wanted, [table], world.size, PER_NODE).parts["users"])), optimizer)
        == bytes_of_table
    )
    return met


def measured(world):
    """Returns the costs of a plan with all four scopes."""
    kinds = ("TABLE_WISE", "GRID_SHARD", "ROW_WISE", "DATA_PARALLEL")
    tables = [*TABLES, TableShape("copied", 5, 4)]
    meter = StepMeter(world.device, every=2)
    plan = plan_of(kinds, 1, world.size, tables)
    embeddings = ShardedEmbeddings(world, tables, plan, Optimizer(RATE), meter=meter)
    for step in range(4):
        with meter.step():
            train(embeddings, world, step, 1, tables)
    return meter.costs(Ranks(PATIENCE))


def dlrm(world, kinds, unpooled=0):
    """Trains a DLRM, going to another plan in the middle; returns the losses."""
    declared = features(3 - unpooled, 2000, 1, unpooled)
    tables = [feature.shape for feature in declared]
    plans = [plan_of([kind] * 3, 1, world.size, tables) for kind in kinds]
    embeddings = ShardedEmbeddings(world, tables, plans[0], Optimizer(0.1))

    def used(step):
        if step == 40:
            embeddings.apply(embeddings.prepare(plans[1]))
        return [at_step(f, i, 3, step, 30) for i, f in enumerate(declared)]

    return train_dlrm(world, embeddings, tables, 64, 80, used)


def train_dlrm(world, embeddings, tables, samples, steps, used):
    """Trains a DLRM with SGD and returns the loss of each step; its dense layers must be the same on all ranks.

    used: returns the features of a step, before it begins
    """
    model = DenseModel(tables, 4, seed=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        batch = draw_batch(used(step), samples, 4, 1, step, world.rank, world.device)
        logits = model(batch.dense, embeddings.forward(samples, batch.lookups), batch.lookups)
        part = loss_of(logits, batch.labels, samples * world.size)
        part.backward()
        embeddings.backward()
        model.sum_gradients()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(part.detach_())
        losses.append(float(part))
    parameters = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    assert all(torch.equal(parameters, other) for other in everywhere(parameters)), "dense models differ"
    return losses


class LfuCache:
    """What a cache of so many rows misses, by the definition: from the lookups of all steps so far, without state."""

    def __init__(self, rows, places):
        self.uses = numpy.zeros(rows, dtype=numpy.int64)
        self.places = places

    def holds(self):
        """Returns the most used rows; of rows that are used alike, the first ones."""
        order = numpy.argsort(-self.uses, kind="stable")[: self.places]
        return order[self.uses[order] > 0]

    def step(self, ids):
        """Returns how many lookups miss."""
        missed = int((~numpy.isin(ids, self.holds())).sum())
        numpy.add.at(self.uses, ids, 1)
        return missed


def cached(world, kinds):
    """Trains with caches; returns the measured use of each kind, and that of a direct simulation."""
    found = []
    for kind in kinds:
        plan = plan_of([kind], 1, world.size, [SKEWED])
        embeddings = ShardedEmbeddings(world, [SKEWED], plan, Optimizer(RATE))
        simulated = [
            (s, LfuCache(s["rows"], math.ceil(s["cacheShare"] * s["rows"]))) for s in plan["shards"] if s["device"] >= 0
        ]
        for period in range(2):
            lookups = missed = 0
            for step in range(3):
                everyones = skewed_batches(world.size, 3 * period + step)
                samples, bags = everyones[world.rank]
                loss(embeddings.forward(samples, bags)).backward()
                embeddings.backward()
                ids = torch.cat([bags[SKEWED.name].ids for _, bags in everyones]).numpy()
                for s, cache in simulated:
                    own = ids[(ids >= s["rowOffset"]) & (ids < s["rowOffset"] + s["rows"])] - s["rowOffset"]
                    lookups, missed = lookups + len(own), missed + cache.step(own)
            found.append((kind, embeddings.cache_use(), {SKEWED.name: CacheUse(lookups, missed)}))
        for part, shard in embeddings._shards.items():
            if shard.cache:
                held = next(c.holds() for s, c in simulated if (s["rowOffset"], s["columnOffset"]) == part[3:0:-2])
                assert sorted(shard.cache._rows.tolist()) == sorted(held), f"{kind} holds other rows"
    return found


def users(tensor):
    """Returns how many tensors keep the memory of one."""
    found = (other for other in gc.get_objects() if type(other) is torch.Tensor)
    return sum(other.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr() for other in found)


def resized(world):
    """Changes the sizes of caches where they are; returns the misses of one batch with each, and whether bits changed.

    The sizes go from 1 row to all rows and back.
    """
    embeddings = None
    misses, unchanged = [], True
    bags = skewed_batches(world.size)[world.rank]
    for share in (0.001, 0.1, 1, 0.1):
        plan = plan_of([f"ROW_WISE+0.01@{share}"], 1, world.size, [SKEWED])
        if embeddings is None:
            embeddings = ShardedEmbeddings(world, [SKEWED], plan, Optimizer(RATE))
        else:
            before = all_gathered(embeddings, [SKEWED])
            prepared = embeddings.prepare(plan)
            for shard in embeddings._shards.values():
                assert shard.cache is None or users(shard.cache._cached[0]) == 1, "the old cache will not be freed"
            with mock.patch.object(dist, "batch_isend_irecv", side_effect=AssertionError("rows are sent")):
                embeddings.apply(prepared)
            unchanged &= same_bits(all_gathered(embeddings, [SKEWED]), before)
        loss(embeddings.forward(*bags)).backward()
        embeddings.backward()
        misses.append(embeddings.cache_use()[SKEWED.name].missed)
    return misses, unchanged


def host_rooms(world):
    """Returns what is said of caches that host memory has no room for, and of the same with room."""
    table = TABLES[0]
    whole, caches = (plan_of([kind], 0, world.size, [table]) for kind in ("TABLE_WISE", "TABLE_WISE@0.1"))
    moved, larger, elsewhere = (
        plan_of([kind], i, world.size, [table])
        for i, kind in ((1, "TABLE_WISE@0.1"), (0, "TABLE_WISE@0.5"), (1, "TABLE_WISE"))
    )
    optimizer = Optimizer(RATE)
    part = lay_out(caches, [table], world.size, PER_NODE).parts["users"][0]
    row = 4 * (table.columns + 1)
    assert (shard_bytes(part, optimizer), host_bytes(part, optimizer)) == (5 * row, 50 * row)
    enough = 50 * row + bytes_under_way(table, world.size)
    met = []
    for first, then, room in (
        (caches, whole, 50 * row - 1),
        (whole, caches, enough - 1),
        (whole, caches, enough),
        (caches, moved, enough),
        (caches, larger, 50 * row),
        (whole, elsewhere, 0),
    ):
        try:
            embeddings = ShardedEmbeddings(world, [table], first, optimizer, host_memory_bytes=room)
            met.append("room")
        except ValueError as e:
            met.append(str(e))
        if any(answer != "room" for answer in everywhere(met[-1])):
            continue
        before = gathered(embeddings, table)
        try:
            prepared = embeddings.prepare(then)
        except ValueError as e:
            met[-1] = str(e)
        if all(answer == "room" for answer in everywhere(met[-1])):
            embeddings.apply(prepared)
            assert embeddings._layout is prepared
        assert same_bits([gathered(embeddings, table)], [before])
    # The smaller cache is freed before there is the larger one.
    embeddings = ShardedEmbeddings(world, [table], caches, optimizer, memory_bytes=25 * row)
    embeddings.apply(embeddings.prepare(larger))
    return met


def published(world, arguments):
    """Returns the cluster that train.py publishes."""
    from train import create, parse

    class Published:
        def create(self, cluster, tables):
            self.cluster = cluster

    found = Published()
    options = parse(["kafka:9092", "http://registry", *arguments])
    create(found, options, features(1, 10, 1), Optimizer(RATE), world, 2**30, int(options.host_memory_gib * 2**30))
    return found.cluster


class Directions:
    """A meter that knows in which direction computation is."""

    def __init__(self):
        self.now = None

    @contextlib.contextmanager
    def computation(self, direction):
        self.now = direction
        yield
        self.now = None

    def collective(self, *_):
        return contextlib.nullcontext()


def directions_of_caches(world):
    """Returns in which computation caches fetch rows and write them back."""
    meter, found = Directions(), set()
    embeddings = ShardedEmbeddings(
        world, TABLES, plan_of(["TABLE_WISE@0.1"] * 3, 0, world.size), Optimizer(RATE), meter=meter
    )
    append, settle = RowCache._append, RowCache.settle

    def fetches(cache, rows):
        found.add(("fetch", meter.now))
        append(cache, rows)

    def settles(cache):
        if len(cache._rows) > cache._places:
            found.add(("write", meter.now))
        settle(cache)

    with mock.patch.object(RowCache, "_append", fetches), mock.patch.object(RowCache, "settle", settles):
        train(embeddings, world, 0, 3)
    return found


def checkpoint(world, folder, saved, loaded):
    """Saves with one plan and loads with another; returns whether all bits are equal."""
    model = DenseModel(TABLES, 4, seed=1)
    embeddings = ShardedEmbeddings(world, TABLES, plan_of(saved, 0, world.size), Optimizer(RATE))
    train(embeddings, world, 0, 2)
    save(pathlib.Path(folder), embeddings, TABLES, model, 2)
    dist.barrier()
    other = ShardedEmbeddings(world, TABLES, plan_of(loaded, 1, world.size), Optimizer(RATE), seed=5)
    # Caches hold rows that are replaced.
    train(other, world, 0, 1)
    step = load(pathlib.Path(folder), other, TABLES, model)
    refused = None
    try:
        sgd = ShardedEmbeddings(world, TABLES, plan_of(KINDS[:3], 1, world.size), Optimizer(RATE, False))
        load(pathlib.Path(folder), sgd, TABLES, model)
    except ValueError as e:
        refused = str(e)
    return step, same_bits(all_gathered(other), all_gathered(embeddings)), refused


def lose(world, how):
    """Loses the last rank while tables move; returns what the others met and after how many seconds."""
    embeddings = ShardedEmbeddings(world, TABLES, plan_of(["TABLE_WISE"] * 3, 1, world.size), Optimizer(RATE))
    prepared = embeddings.prepare(plan_of(["ROW_WISE"] * 3, 1, world.size))
    if world.rank == world.size - 1:

        def end(*_):
            os._exit(1) if how == "ends" else time.sleep(PATIENCE)

        Shard.paste = end
    begin = time.monotonic()
    try:
        embeddings.apply(prepared)
        return "nothing", 0
    except RuntimeError as e:
        return str(e), time.monotonic() - begin


LOSSES = (lose,)


@unittest.skipUnless(torch, "PyTorch is not installed")
class ShardedTest(unittest.TestCase):
    def assert_equal_on_all(self, found, expected):
        for rank, answer in enumerate(found):
            self.assertEqual(answer, expected, f"rank {rank}")

    def test_it_trains_between_two_waves_of_moves(self):
        self.assert_equal_on_all(run_ranks(go_in_waves, 2), len(TABLES))

    def test_every_change_of_kind_agrees_with_the_unsharded_model(self):
        for size in (2, 4):
            with self.subTest(ranks=size):
                self.assert_equal_on_all(run_ranks(walk, size, KINDS, False), 64)

    def test_row_wise_adagrad_agrees_where_columns_are_whole(self):
        for size in (2, 4):
            with self.subTest(ranks=size):
                self.assert_equal_on_all(run_ranks(walk, size, WHOLE_COLUMNS, True), 25)

    def test_unpooled_tables_agree_with_the_unsharded_model(self):
        self.assert_equal_on_all(run_ranks(walk, 4, UNPOOLED_KINDS + HOT_KINDS, False, UNPOOLED), 81)
        self.assert_equal_on_all(run_ranks(walk, 2, UNPOOLED_KINDS, False, UNPOOLED), 25)

    def test_unpooled_tables_agree_under_row_wise_adagrad_where_columns_are_whole(self):
        self.assert_equal_on_all(run_ranks(walk, 4, HOT_WHOLE_COLUMNS, True, UNPOOLED), 25)

    def test_pooled_tables_with_hot_rows_agree_with_the_unsharded_model(self):
        for size in (2, 4):
            with self.subTest(ranks=size):
                self.assert_equal_on_all(run_ranks(walk, size, HOT_POOLED_KINDS, False), 25)

    def test_cached_tables_agree_with_the_unsharded_model(self):
        self.assert_equal_on_all(run_ranks(walk, 4, CACHED_KINDS, False), 36)

    def test_cached_tables_agree_under_row_wise_adagrad_where_columns_are_whole(self):
        self.assert_equal_on_all(run_ranks(walk, 2, CACHED_WHOLE_COLUMNS, True), 25)

    def test_unpooled_tables_cached_behind_hot_rows_agree_with_the_unsharded_model(self):
        self.assert_equal_on_all(run_ranks(walk, 2, CACHED_HOT_KINDS, False, UNPOOLED), 25)

    def test_misses_are_those_of_the_most_used_rows(self):
        kinds = ("TABLE_WISE@0.001", "TABLE_WISE@0.2", "COLUMN_WISE@0.1", "ROW_WISE@0.05", "ROW_WISE+0.01@0.3")
        for found in run_ranks(cached, 2, kinds):
            for kind, measured, simulated in found:
                with self.subTest(kind):
                    self.assertEqual(measured, simulated)
                    self.assertGreater(measured[SKEWED.name].missed, 0)

    def test_a_cache_of_another_size_stays_where_it_is_and_knows_the_most_used_rows(self):
        for misses, unchanged in run_ranks(resized, 2):
            one, few, all_rows, few_again = misses
            self.assertTrue(unchanged)
            self.assertGreater(one, few)
            self.assertGreater(few, 0)
            self.assertEqual((all_rows, few_again), (0, few))

    def test_host_memory_without_room_refuses_the_plan(self):
        first_rank, second_rank = run_ranks(host_rooms, 2)
        text = r"{} needs \d+ bytes in host memory for device 0; it has \d+ for shards"
        self.assertRegex(first_rank[0], text.format("The first plan"))
        self.assertRegex(first_rank[1], text.format('Moving table "users"'))
        self.assertEqual(first_rank[2:], ["room"] * 4)
        self.assertEqual(second_rank, ["room"] * 6)

    def test_fetching_rows_is_forward_computation_and_writing_them_back_is_backward(self):
        self.assert_equal_on_all(run_ranks(directions_of_caches, 1), {("fetch", "forward"), ("write", "backward")})

    @unittest.skipUnless(importlib.util.find_spec("confluent_kafka"), "Kafka's client is not installed")
    def test_host_memory_is_published_with_the_cluster(self):
        for arguments, expected in (([], 0), (["--host-memory-gib", "1.5"], 3 * 2**29)):
            (cluster,) = run_ranks(published, 1, arguments)
            self.assertEqual(cluster["hostMemoryBytesPerDevice"], expected)
        from train import parse

        with contextlib.redirect_stderr(io.StringIO()) as printed, self.assertRaises(SystemExit):
            parse(["kafka:9092", "http://registry", "--host-memory-gib", "-1"])
        self.assertIn("--host-memory-gib must be at least 0, got -1.0", printed.getvalue())

    def test_misses_are_shown_beside_those_that_the_plan_predicts(self):
        plan = {"cacheMisses": [{"table": "a", "lookupShare": 0.1}, {"table": "b", "lookupShare": 0.5}]}
        use = {"a": CacheUse(300, 33), "b": CacheUse(100, 27)}
        self.assertEqual(describe_misses(use, plan), ", cache misses 15.0% of lookups (predicted 20.0%)")
        self.assertEqual(describe_misses(use, {"cacheMisses": []}), ", cache misses 15.0% of lookups")
        self.assertEqual(describe_misses({}, plan), "")
        self.assertEqual(describe_misses({"a": CacheUse(0, 0)}, plan), "")

    def test_bytes_on_the_wire_fall_by_the_share_of_lookups_that_hot_rows_serve(self):
        kinds = ("TABLE_WISE", "COLUMN_WISE", "ROW_WISE")
        found = run_ranks(sent_bytes, 4, [[kind, f"{kind}+0.01", f"{kind}+0.1"] for kind in kinds])
        for i, kind in enumerate(kinds):
            without, *with_hot_rows = [sum(of_rank[i][j] for of_rank in found) for j in range(3)]
            for share, total in zip(("0.01", "0.1"), with_hot_rows):
                with self.subTest(kind, share=share):
                    lookups = torch.cat([bags[SKEWED.name].ids for _, bags in skewed_batches(4)])
                    served = float((lookups < hot_rows(SKEWED, share)).double().mean())
                    self.assertGreater(served, 0.3)
                    # Ranks have not quite the same share.
                    self.assertAlmostEqual(total / without, 1 - served, delta=0.02)

    def test_state_is_copied_where_columns_are_cut_and_its_mean_by_width_where_they_are_joined(self):
        for before, *cut, narrow, wide, joined in run_ranks(states, 4):
            self.assertEqual(cut, [before, before])
            self.assertNotEqual(narrow, wide)
            for four, eight, twelve in zip(narrow, wide, joined):
                self.assertAlmostEqual(twelve, (4 * four + 8 * eight) / 12, places=5)

    def test_bits_depend_on_nothing_but_the_plan_and_first_weights_not_even_on_that(self):
        self.assert_equal_on_all(run_ranks(twice, 4), True)

    def test_a_wrong_batch_of_a_rank_is_an_error_on_all_before_anything_changes(self):
        expected = [
            'rank 1: table "tiny" has id 3; must be 0 to 2',
            'rank 1: table "items" has id -1; must be 0 to 10',
            'rank 1: table "items" has 2 offsets; must be 3, for 2 samples',
            'rank 1: table "items" has offsets that do not rise from 0 to 2, its number of ids',
            'rank 1: the batch has no lookups of table "items"; expected ids, which may be empty',
            'rank 1: the batch has lookups of table "more", which the model does not have',
        ]
        self.assert_equal_on_all(run_ranks(bad_batches, 4), (expected, True))

    def test_a_device_without_room_refuses_the_plan(self):
        # What the first sends, and what the second receives, is under way in memory too.
        for rank, (without, with_room) in enumerate(run_ranks(rooms, 2)):
            self.assertRegex(without, rf'Moving table "users" needs \d+ bytes on device {rank}; it has \d+ for shards')
            self.assertEqual(with_room, "room")

    def test_each_collective_is_measured_on_each_device(self):
        expected = [
            ("all_gather", "backward", "cluster"),
            ("all_gather", "backward", "node"),
            ("all_reduce", "backward", "copies"),
            ("all_to_all", "backward", "device"),
            ("all_to_all", "backward", "node"),
            ("all_to_all", "forward", "device"),
            ("all_to_all", "forward", "node"),
            ("reduce_scatter", "forward", "cluster"),
            ("reduce_scatter", "forward", "node"),
        ]
        for costs in run_ranks(measured, 4):
            self.assertEqual(costs.steps, 2)
            names = [(c["collective"], c["direction"], c["scope"]) for c in costs.collectives]
            self.assertEqual(sorted(names), expected)
            for device in costs.devices:
                self.assertGreater(device["forwardComputeMs"], 0)
                self.assertGreater(device["computeMs"], device["forwardComputeMs"])

    def test_a_dlrm_learns_alike_with_any_plans(self):
        found = [run_ranks(dlrm, 2, kinds) for kinds in (("ROW_WISE", "DATA_PARALLEL"), ("TABLE_WISE", "GRID_SHARD"))]
        for losses in found:
            self.assert_equal_on_all(losses, losses[0])
            begin, end = sum(losses[0][:10]) / 10, sum(losses[0][-10:]) / 10
            self.assertLess(end, begin - 0.05)
        # Row-wise Adagrad of cut columns is another optimizer from step 40 on.
        for one, other in zip(found[0][0][:40], found[1][0][:40]):
            self.assertAlmostEqual(one, other, places=4)

    def test_a_dlrm_with_unpooled_tables_learns_alike_with_any_plans(self):
        found = [
            run_ranks(dlrm, 2, kinds, 2)
            for kinds in (("ROW_WISE+0.1", "TABLE_WISE"), ("DATA_PARALLEL", "ROW_WISE+0.3"))
        ]
        for losses in found:
            self.assert_equal_on_all(losses, losses[0])
            begin, end = sum(losses[0][:10]) / 10, sum(losses[0][-10:]) / 10
            self.assertLess(end, begin - 0.05)
        for one, other in zip(found[0][0], found[1][0]):
            self.assertAlmostEqual(one, other, places=3)

    def test_rows_of_unpooled_tables_are_drawn_in_order_of_use(self):
        declared = features(2, 5000, 1, 2)
        self.assertEqual([to_record(feature, 4.0)["pooled"] for feature in declared], [True, True, False, False])
        batch = draw_batch(declared, 1000, 4, 1, 0, 0, torch.device("cpu"))
        for shape, use, _ in declared[2:]:
            ids = batch.lookups[shape.name].ids
            self.assertEqual(len(ids), 1000 * use.pooling_factor)
            for hot in (1, 16, 64, 256):
                self.assertAlmostEqual(float((ids < hot).double().mean()), use.share(hot), delta=0.02)

    def test_a_checkpoint_is_loaded_with_another_plan(self):
        for saved, loaded in (
            (HOT_WHOLE_COLUMNS[2:], HOT_WHOLE_COLUMNS[1:]),
            (CACHED_WHOLE_COLUMNS[:3], CACHED_WHOLE_COLUMNS[2:]),
        ):
            with self.subTest(saved=saved), tempfile.TemporaryDirectory() as folder:
                for step, equal, refused in run_ranks(checkpoint, 2, folder, saved, loaded):
                    self.assertEqual((step, equal), (2, True))
                    self.assertIn('Table "users" has weights (50, 12), row-wise state; expected (50, 12), no', refused)

    def test_a_rank_that_is_lost_while_tables_move_is_an_error_on_all_others(self):
        for how in ("ends", "hangs"):
            with self.subTest(how):
                for what, seconds in run_ranks(lose, 4, how, dying=(3,))[:3]:
                    self.assertNotEqual(what, "nothing")
                    self.assertLess(seconds, 5 * RANK_SECONDS)


class LayoutTest(unittest.TestCase):
    """Plans that cannot be applied; needs no PyTorch."""

    T = TableShape("t", 10, 8)

    def refused(self, shards, message, devices=4, tables=(T,)):
        with self.assertRaises(ValueError) as met:
            lay_out(plan_with(shards, devices), tables, 4, PER_NODE)
        self.assertEqual(str(met.exception), message)

    def test_plans_of_every_kind_are_laid_out(self):
        for kind, variant, devices in itertools.product(KINDS, range(6), (2, 4)):
            layout = lay_out(plan_of([kind] * 3, variant, devices), TABLES, devices, PER_NODE)
            for table in TABLES:
                held = [part for device in range(devices) for part in layout.held(device) if part.table == table.name]
                cells = sum(part.rows * part.columns for part in set(held))
                self.assertEqual(cells, table.rows * table.columns)
                self.assertEqual(layout.scopes[table.name], SCOPES[kind])

    def test_other_tables_and_devices(self):
        whole = shard("t", "TABLE_WISE", 0, 8, 0, 10, 1)
        self.refused([whole], "Plan p is for 2 devices; this job has 4 ranks", devices=2)
        self.refused([], 'Table "t" of the model is missing in the plan, which has none')
        self.refused([whole, {**whole, "table": "u"}], 'Table "u" of the plan is unknown to the model, which has "t"')
        self.refused(
            [{**whole, "rows": 9}], 'Table "t" has 9 rows and 8 columns in the plan; the model\'s has 10 and 8'
        )
        self.refused(
            [{**whole, "device": 4}],
            'Table "t" is table_wise and has columns 0+8, rows 0+10 on device 4; expected devices 0 to 3',
        )

    def test_cells_that_are_missing_or_twice(self):
        left, right = (shard("t", "COLUMN_WISE", c, 4, 0, 10, 0) for c in (0, 4))
        self.refused(
            [left, right, {**left, "device": 2}],
            'Table "t" has cells twice: columns 0+4, rows 0+10 on device 0, and columns 0+4, rows 0+10 on device 2',
        )
        self.refused([right], 'Table "t" has 40 cells on no device')

    def test_shards_that_are_not_of_their_kind(self):
        whole = shard("t", "TABLE_WISE", 0, 8, 0, 10, 1)
        left, right = (shard("t", "TABLE_COLUMN_WISE", c, 4, 0, 10, c // 2) for c in (0, 4))
        wrong = [
            ([left, right], "one node of 2 devices"),
            ([{**whole, "kind": "DATA_PARALLEL"}], "one shard, on device -1"),
            ([{**whole, "kind": "ROW_WISE"}], "columns 0+8, rows 0+3 on device 0; columns 0+8, rows 3+3 on device 1;"),
            (
                [shard("t", "TABLE_ROW_WISE", 0, 8, row, 5, 1 + row // 5) for row in (0, 5)],
                "columns 0+8, rows 0+5 on device 0; columns 0+8, rows 5+5 on device 1",
            ),
            (
                [shard("t", "GRID_SHARD", 0, 8, 0, 5, 0), shard("t", "GRID_SHARD", 0, 8, 5, 5, 3)],
                "columns 0+8, rows 0+5 on device 0; columns 0+8, rows 5+5 on device 1",
            ),
            (
                [shard("t", "PARTIAL_ROW_WISE", 0, 8, row, 5, 3) for row in (0, 5)],
                "each block on a device of its own",
            ),
            (
                [shard("t", "PARTIAL_ROW_WISE", 0, 8, row, rows, row) for row, rows in ((0, 3), (3, 7))],
                "blocks of 5 rows, the last of those that are left",
            ),
            (
                [shard("t", "PARTIAL_ROW_WISE", c, 4, 0, 10, c // 4) for c in (0, 4)],
                "all columns in each shard",
            ),
        ]
        for shards, expected in wrong:
            with self.subTest(shards), self.assertRaises(ValueError) as met:
                lay_out(plan_with(shards), [self.T], 4, PER_NODE)
            self.assertIn(f"; expected {expected}", str(met.exception))
        with self.assertRaisesRegex(ValueError, "has shards of kinds COLUMN_WISE, TABLE_WISE; must be of one kind"):
            lay_out(plan_with([whole, {**whole, "kind": "COLUMN_WISE"}]), [self.T], 4, PER_NODE)

    def test_unpooled_tables_and_hot_rows_are_laid_out(self):
        kinds = [kind + share for kind in UNPOOLED_KINDS for share in ("", "+0.3", "+0.7")]
        kinds = [kind for kind in kinds if not kind.startswith("DATA_PARALLEL+")]
        for kind, variant, devices in itertools.product(kinds, range(6), (2, 4)):
            layout = lay_out(plan_of([kind] * 3, variant, devices, UNPOOLED), UNPOOLED, devices, PER_NODE)
            for table in UNPOOLED:
                parts = layout.parts[table.name]
                self.assertEqual(sum(part.rows * part.columns for part in parts), table.rows * table.columns)
                copied = [part.rows for part in parts if layout.scope(part) == "copies"]
                _, _, share = kind.partition("+")
                whole = [table.rows] if kind == "DATA_PARALLEL" else []
                self.assertEqual(copied, [hot_rows(table, share)] if share else whole)

    def test_unpooled_tables_of_kinds_that_sum_are_refused(self):
        unpooled = self.T._replace(pooled=False)
        for kind in ("TABLE_ROW_WISE", "GRID_SHARD", "PARTIAL_ROW_WISE"):
            for share in ("", "+0.3"):
                self.refused(
                    place(unpooled, kind + share, 0, 4),
                    f'Table "t" is unpooled and {kind.lower()}; must be one of table_wise, column_wise,'
                    " table_column_wise, row_wise, data_parallel",
                    tables=(unpooled,),
                )

    def test_cached_tables_are_laid_out(self):
        for kind in ("TABLE_WISE", "COLUMN_WISE", "TABLE_COLUMN_WISE", "TABLE_ROW_WISE", "GRID_SHARD", "ROW_WISE"):
            for text, share in (("0.3", 0.3), ("1", 1.0)):
                layout = lay_out(plan_of([f"{kind}@{text}"] * 3, 1, 4), TABLES, 4, PER_NODE)
                self.assertEqual({part.cache_share for parts in layout.parts.values() for part in parts}, {share})
        layout = lay_out(plan_of(["ROW_WISE+0.3@0.2"], 0, 2, [TABLES[0]]), TABLES[:1], 2, PER_NODE)
        self.assertEqual([part.rows_on_device for part in layout.parts["users"]], [15, 4, 4])

    def test_caches_that_cannot_be_are_refused(self):
        whole = shard("t", "TABLE_WISE", 0, 8, 0, 10, 1)
        left, right = (shard("t", "COLUMN_WISE", c, 4, 0, 10, 0) for c in (0, 4))
        for share in (0, -0.5, 1.5):
            self.refused(
                [{**whole, "cacheShare": share}], f'Table "t" has cache share {share}; must be above 0 and at most 1'
            )
        self.refused(
            [{**left, "cacheShare": 0.5}, right], 'Table "t" has shards with cache shares 0.5, None; must be one'
        )
        self.refused(
            [{**shard("t", "DATA_PARALLEL", 0, 8, 0, 10, -1), "cacheShare": 0.5}],
            'Table "t" has copies with cache share 0.5; copies have no cache',
        )

    def test_hot_rows_that_are_not_the_first_rows_are_refused(self):
        def copy(column, columns, row, rows, device=-1):
            return shard("t", "DATA_PARALLEL", column, columns, row, rows, device)

        def others(row, rows=None):
            return shard("t", "TABLE_WISE", 0, 8, row, 10 - row if rows is None else rows, 1)

        expected = "must be one shard of columns 0+8, rows 0+1 to 0+9 on device -1"
        wrong = [
            ([copy(0, 8, 7, 3)], others(0, 7), "columns 0+8, rows 7+3 on device -1"),
            ([copy(0, 4, 0, 3)], others(3), "columns 0+4, rows 0+3 on device -1"),
            ([copy(0, 8, 0, 3, 2)], others(3), "columns 0+8, rows 0+3 on device 2"),
            ([copy(0, 8, 0, 10)], others(3), "columns 0+8, rows 0+10 on device -1"),
            (
                [copy(0, 8, 0, 1), copy(0, 8, 1, 2)],
                others(3),
                "columns 0+8, rows 0+1 on device -1; columns 0+8, rows 1+2 on device -1",
            ),
        ]
        for copies, rest, found in wrong:
            self.refused([*copies, rest], f'Table "t" has hot rows {found}; {expected}')
        for row in (2, 4):
            self.refused(
                [copy(0, 8, 0, 3), others(row)],
                f'Table "t" has 3 hot rows, and other shards that begin at row {row}; must begin at row 3',
            )
        self.refused(
            [copy(0, 8, 0, 3), copy(0, 8, 3, 7)],
            'Table "t" is data_parallel and has columns 0+8, rows 0+3 on device -1; columns 0+8, rows 3+7 on device -1;'
            " expected one shard, on device -1",
        )
        # Blocks are those of the rows that are left.
        blocks = place(self.T._replace(rows=7), "ROW_WISE", 0, 4)
        moved = [{**block, "rowOffset": block["rowOffset"] + 3} for block in blocks]
        lay_out(plan_with([copy(0, 8, 0, 3), *moved]), [self.T], 4, PER_NODE)
        with self.assertRaisesRegex(ValueError, "rows 3\\+2 on device 0; columns 0\\+8, rows 5\\+2 on device 1"):
            lay_out(plan_with([copy(0, 8, 0, 3), {**others(3), "kind": "ROW_WISE"}]), [self.T], 4, PER_NODE)
        with self.assertRaisesRegex(ValueError, "has shards of kinds COLUMN_WISE, TABLE_WISE; must be of one kind"):
            lay_out(
                plan_with([copy(0, 8, 0, 3), others(3), {**others(3), "kind": "COLUMN_WISE"}]), [self.T], 4, PER_NODE
            )


if __name__ == "__main__":
    unittest.main()
