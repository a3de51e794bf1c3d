"""Replica groups of the reference trainer, examples/dlrm: real processes of torch.distributed over gloo.

Against as many unsharded models as there are groups, which are averaged every few steps.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pathlib
import tempfile
import types
import unittest
from unittest import mock

import test_dlrm as base
from layout import TableShape, lay_out
from shardtide.train.replication import replication_of
from test_dlrm import PER_NODE, RATE, TABLES, UNPOOLED, everywhere, loss, plan_of, plan_with, require_close, run_ranks

torch = base.torch
if torch:
    import replicas
    import torch.distributed as dist
    from checkpoints import load, save
    from data import features
    from embeddings import ShardedEmbeddings
    from inputs import Bags
    from model import DenseModel
    from moves import bytes_under_way
    from replicas import describe_synchronization
    from shards import Optimizer
    from shardtide.train import PlanFollower, Ranks, StepMeter
    from test_ranks import Plans, Reports

# The ranks of each group of 4 ranks, 2 a node, and the ranks of a group that are on a node.
GROUPS = {
    (1, "CONSECUTIVE"): ([[0, 1, 2, 3]], 2),
    (2, "CONSECUTIVE"): ([[0, 1], [2, 3]], 2),
    (2, "STRIDED"): ([[0, 2], [1, 3]], 1),
    (4, "CONSECUTIVE"): ([[0], [1], [2], [3]], 1),
    (4, "STRIDED"): ([[0], [1], [2], [3]], 1),
}
# Of 8 ranks: groups of several nodes.
MORE_GROUPS = {
    (2, "CONSECUTIVE"): ([[0, 1, 2, 3], [4, 5, 6, 7]], 2),
    (2, "STRIDED"): ([[0, 2, 4, 6], [1, 3, 5, 7]], 1),
    (4, "STRIDED"): ([[0, 4], [1, 5], [2, 6], [3, 7]], 1),
}
# Of one rank each, groups are the same with both layouts.
SEVERAL = [(2, "CONSECUTIVE"), (2, "STRIDED"), (4, "STRIDED")]

# Kinds of tables, and whether their row-wise state does not depend on the plan.
MIXES = [
    (("GRID_SHARD", "TABLE_ROW_WISE", "ROW_WISE"), TABLES, False),
    (("COLUMN_WISE", "DATA_PARALLEL", "TABLE_COLUMN_WISE"), TABLES, False),
    (("TABLE_ROW_WISE", "ROW_WISE", "DATA_PARALLEL"), TABLES, True),
    (("ROW_WISE+0.3", "TABLE_WISE", "DATA_PARALLEL"), UNPOOLED, True),
    (("TABLE_WISE@0.1", "ROW_WISE+0.3@0.3", "TABLE_ROW_WISE@0.5"), TABLES, True),
]


def grouped(kinds, variant, grouping, steps=1, tables=TABLES, groups=GROUPS):
    """Returns a plan with a kind for each table, in replica groups."""
    ranks, per_node = groups[grouping]
    plan = plan_of(kinds, variant, len(ranks[0]), tables, per_node)
    names = ("groups", "layout", "synchronizationSteps", "synchronizationMs")
    return {**plan, "replication": dict(zip(names, (*grouping, steps, 1.5)))}


def of_groups(embeddings, ranks, tables):
    """Returns the weights and states of each group, by the ranks of each."""
    found = everywhere([(part, *base.newest(shard)) for part, shard in embeddings._shards.items()])
    return [base.assembled([s for rank in group for s in found[rank]], tables) for group in ranks]


class Simulation:
    """An unsharded model for each group; they are averaged every few steps."""

    def __init__(self, found, adagrad, tables, ranks, steps):
        self.models = [base.Unsharded([w for w, _ in of], [s for _, s in of], adagrad, tables) for of in found]
        self.ranks = ranks
        self.steps = steps
        self.since = 0

    def step(self, everyones):
        """Trains; returns the outputs of each rank."""
        outputs = {}
        for model, group in zip(self.models, self.ranks):
            # As a job of its own whose loss is the mean of its samples.
            found = model.step([everyones[rank] for rank in group], len(self.ranks))
            outputs.update(zip(group, found))
        self.since += 1
        if self.since >= self.steps:
            self.average()
        return outputs

    @torch.no_grad() if torch else lambda f: f
    def average(self):
        self.since = 0
        for same in (*zip(*(m.weights for m in self.models)), *zip(*(m.states for m in self.models))):
            mean = torch.stack(same).mean(0)
            for tensor in same:
                tensor.copy_(mean)

    def require_close(self, found, adagrad, what):
        for group, model in zip(found, self.models):
            for (weight, state), w, s in zip(group, model.weights, model.states):
                require_close(weight, w, f"weights {what}")
                if adagrad:
                    require_close(state, s, f"state {what}")


def agree(world, cases, groups):
    """Trains in groups and compares with the simulation, after each step; returns how often groups differed."""
    differed = 0
    # Rows in host memory are averaged in several pieces.
    replicas.ELEMENTS_AT_ONCE = 50
    for number, (grouping, kinds, tables, adagrad, steps) in enumerate(cases):
        ranks, what = groups[grouping][0], f"of {kinds} in {grouping}, every {steps} steps"
        plan = grouped(kinds, number, grouping, steps, tables, groups)
        embeddings = ShardedEmbeddings(world, tables, plan, Optimizer(RATE, adagrad))
        begin = of_groups(embeddings, ranks, tables)
        simulation = Simulation(begin, adagrad, tables, ranks, steps)
        plain = base.Unsharded([w for w, _ in begin[0]], [s for _, s in begin[0]], adagrad, tables)
        assert embeddings.synchronization_ms() is None
        # Of seven batches, the fourth has no samples: groups would stay equal.
        for step in (0, 1, 2, 4):
            everyones = base.batches(7 * number + step, world.size, tables)
            samples, bags = everyones[world.rank]
            outputs = embeddings.forward(samples, bags)
            expected = simulation.step(everyones)[world.rank]
            plain.step(everyones)
            for table in tables:
                require_close(outputs[table.name], expected[table.name], f"{table.name} {what}, step {step}")
            loss(outputs).backward()
            embeddings.backward()
            found = of_groups(embeddings, ranks, tables)
            simulation.require_close(found, adagrad, f"{what}, step {step}")
            same = all(base.same_bits(group, found[0]) for group in found)
            assert same or simulation.since, f"groups differ {what}, step {step}"
            differed += not same
            if steps == 1 and not adagrad:
                for (weight, _), w in zip(found[0], plain.weights):
                    require_close(weight, w, f"weights of the whole batch {what}, step {step}")
        assert (embeddings.synchronization_ms() or 0) > 0, f"nothing was measured {what}"
    return differed


def regroup(world):
    """Goes through plans in other groups, of other kinds and with other intervals; returns the number of plans."""
    tables = TABLES
    path = [
        ((1, "CONSECUTIVE"), ("ROW_WISE", "TABLE_WISE", "DATA_PARALLEL"), 1),
        ((2, "CONSECUTIVE"), ("TABLE_ROW_WISE", "TABLE_WISE", "ROW_WISE"), 4),
        # Other shards in the same groups, which differ.
        ((2, "CONSECUTIVE"), ("TABLE_WISE", "ROW_WISE+0.3", "DATA_PARALLEL"), 4),
        ((2, "STRIDED"), ("TABLE_WISE", "ROW_WISE+0.3", "DATA_PARALLEL"), 4),
        ((4, "CONSECUTIVE"), ("TABLE_WISE@0.3", "ROW_WISE+0.3", "TABLE_WISE"), 4),
        ((2, "STRIDED"), ("ROW_WISE@0.3", "TABLE_WISE@0.5", "TABLE_WISE"), 4),
        # Another interval only, after 3 of 4 steps.
        ((2, "STRIDED"), ("ROW_WISE@0.3", "TABLE_WISE@0.5", "TABLE_WISE"), 2),
        ((1, "CONSECUTIVE"), ("TABLE_ROW_WISE", "TABLE_WISE", "ROW_WISE"), 1),
    ]
    embeddings = simulation = None
    for number, (grouping, kinds, steps) in enumerate(path):
        ranks = GROUPS[grouping][0]
        # The shards of the plans with another interval are the same.
        plan = grouped(kinds, 5 if number == 6 else number, grouping, steps)
        if embeddings is None:
            embeddings = ShardedEmbeddings(world, tables, plan, Optimizer(RATE))
            simulation = Simulation(of_groups(embeddings, ranks, tables), True, tables, ranks, steps)
        else:
            before, sent = of_groups(embeddings, simulation.ranks, tables), embeddings.sent_bytes
            embeddings.apply(embeddings.prepare(plan))
            after = of_groups(embeddings, ranks, tables)
            assert embeddings.sent_bytes == sent
            if simulation.ranks == ranks:
                assert all(base.same_bits(*pair) for pair in zip(before, after)), f"bits change to plan {number}"
            else:
                simulation.average()
                if all(base.same_bits(group, before[0]) for group in before):
                    assert base.same_bits(after[0], before[0]), f"bits change to plan {number}"
                assert all(base.same_bits(group, after[0]) for group in after), f"groups differ in plan {number}"
                states = [model.states for model in simulation.models]
                simulation = Simulation(
                    [[*zip(simulation.models[0].weights, states[0])]] * len(ranks), True, tables, ranks, steps
                )
                for model in simulation.models:
                    model.weights = [w.detach().clone().requires_grad_() for w in model.weights]
                    model.states = [s.clone() for s in model.states]
            simulation.steps = steps
            simulation.require_close(after, True, f"in plan {number}")
        for step in range(3):
            everyones = base.batches(10 * number + step, world.size, tables)
            samples, bags = everyones[world.rank]
            loss(embeddings.forward(samples, bags)).backward()
            embeddings.backward()
            simulation.step(everyones)
        simulation.require_close(of_groups(embeddings, ranks, tables), True, f"trained by plan {number}")
    return len(path)


def alone(world, grouping):
    """Trains the first group while the others do nothing; returns what each rank sent."""
    ranks = GROUPS[grouping][0]
    tables = [base.SKEWED, *TABLES]
    kinds = ("ROW_WISE+0.01", "GRID_SHARD", "ROW_WISE", "DATA_PARALLEL")
    plan = grouped(kinds, 1, grouping, 2, tables)
    meter = StepMeter(world.device, every=1)
    embeddings = ShardedEmbeddings(world, tables, plan, Optimizer(RATE), meter=meter)
    before = of_groups(embeddings, ranks, tables)
    everyones = [
        (200, {**skewed, **bags})
        for (_, skewed), (_, bags) in zip(
            base.skewed_batches(world.size), [(0, {t.name: empty(200) for t in TABLES})] * world.size
        )
    ]

    def step():
        with meter.step():
            loss(embeddings.forward(*everyones[world.rank])).backward()
            embeddings.backward()

    if world.rank in ranks[0]:
        # A message to another group would wait until the test fails.
        step()
    after = of_groups(embeddings, ranks, tables)
    assert not base.same_bits(after[0], before[0])
    assert all(base.same_bits(group, old) for group, old in zip(after[1:], before[1:]))
    group = next(group for group in ranks if world.rank in group)
    cells = 0
    for s in plan["shards"]:
        for rank in group if s["table"] == base.SKEWED.name else ():
            ids = everyones[rank][1][base.SKEWED.name].ids
            if s["device"] >= 0 and group[s["device"]] == world.rank != rank:
                cells += s["columns"] * int(((ids >= s["rowOffset"]) & (ids < s["rowOffset"] + s["rows"])).sum())
    own = plan_of(kinds[1:2], 2, len(group), TABLES[:1], GROUPS[grouping][1])["shards"]
    if world.rank not in ranks[0]:
        step()
    # Grid shards on nodes of one device send outputs of all samples to the other devices of the group.
    if GROUPS[grouping][1] == 1:
        cells += sum(s["columns"] for s in own if group[s["device"]] == world.rank) * 200 * (len(group) - 1)
    assert embeddings.sent_bytes == 4 * cells, f"{embeddings.sent_bytes} bytes are sent, expected {4 * cells}"
    step()
    synchronized = of_groups(embeddings, ranks, tables)
    assert all(base.same_bits(of, synchronized[0]) for of in synchronized)
    return embeddings.sent_bytes


def empty(samples):
    return Bags(torch.zeros(0, dtype=torch.int64), torch.zeros(samples + 1, dtype=torch.int64))


def bad_batches(world, grouping):
    """Gives rank 1 a wrong batch; returns what each rank met."""
    embeddings = ShardedEmbeddings(world, TABLES, grouped(["ROW_WISE"] * 3, 0, grouping, 2), Optimizer(RATE))
    ids, offsets = torch.tensor([1, 2]), torch.tensor([0, 1, 2])
    good = {table.name: Bags(ids, offsets) for table in TABLES}
    try:
        embeddings.forward(2, {**good, "tiny": Bags(ids + 1, offsets)} if world.rank == 1 else good)
    except ValueError as e:
        return str(e)
    return None


def checkpoint(world, folder):
    """Saves between two synchronizations, and loads in other groups; returns whether all bits are equal."""
    model = DenseModel(TABLES, 4, seed=1)
    kinds = ("ROW_WISE", "TABLE_WISE@0.3", "DATA_PARALLEL")
    embeddings = ShardedEmbeddings(world, TABLES, grouped(kinds, 0, (2, "STRIDED"), 5), Optimizer(RATE))
    base.train(embeddings, world, 0, 3)
    before = of_groups(embeddings, GROUPS[2, "STRIDED"][0], TABLES)
    save(pathlib.Path(folder), embeddings, TABLES, model, 3)
    dist.barrier()
    saved = base.all_gathered(embeddings)
    answers = [not base.same_bits(before[0], before[1])]
    for grouping in GROUPS:
        other = ShardedEmbeddings(world, TABLES, grouped(kinds[::-1], 1, grouping), Optimizer(RATE), seed=5)
        answers.append(load(pathlib.Path(folder), other, TABLES, model) == 3)
        answers.append(base.same_bits(base.all_gathered(other), saved))
    return answers


def refusals(world):
    """Returns what prepare() says of plans in groups that cannot be, and of one that there is no room for."""
    table = TableShape("users", 50, 12)
    optimizer = Optimizer(RATE)
    row = 4 * 13
    room = 50 * row + bytes_under_way(table, 4)
    plan = grouped(["ROW_WISE"], 0, (1, "CONSECUTIVE"), tables=[table])
    embeddings = ShardedEmbeddings(world, [table], plan, optimizer, memory_bytes=room)
    before = base.gathered(embeddings, table)
    met = []
    several = grouped(["ROW_WISE"], 0, (2, "STRIDED"), tables=[table])
    whole = grouped(["TABLE_WISE"], 0, (4, "STRIDED"), tables=[table])
    for wanted in ({**several, "deviceCosts": [{}] * 4}, whole, several):
        try:
            prepared = embeddings.prepare(wanted)
            met.append("room")
        except ValueError as e:
            met.append(str(e))
    assert base.same_bits([base.gathered(embeddings, table)], [before])
    embeddings.apply(prepared)
    assert base.same_bits([base.gathered(embeddings, table)], [before])
    return met


def measured(world, grouping):
    """Returns the ranks whose costs are reported, and the costs of ranks in another order, with those of all."""
    kinds = ("TABLE_WISE", "GRID_SHARD", "ROW_WISE")
    meter = StepMeter(world.device, every=2)
    plan = grouped(kinds, 1, grouping)
    embeddings = ShardedEmbeddings(world, TABLES, plan, Optimizer(RATE), meter=meter)
    for step in range(4):
        with meter.step():
            base.train(embeddings, world, step, 1)
    ranks, steps = Ranks(base.PATIENCE), meter._steps
    whole = meter.costs(ranks)
    follower = made_follower(ranks, meter, plan)
    meter._steps = steps
    follower.report(4)
    return whole, follower.reports and follower.reports.costs


def made_follower(ranks, meter, plan, wanted=None):
    """Returns a follower without Kafka that runs a plan and has another one to go to."""
    made = PlanFollower.__new__(PlanFollower)
    made.ranks, made.running, made._meter, made._next_plan = ranks, plan, meter, None
    made._plans = Plans(wanted) if ranks.rank == 0 else None
    made.reports = Reports() if ranks.rank == 0 else None
    return made


def follow(world, wanted):
    """Goes to a plan of other groups; returns whether it did, and the statuses."""
    plan = {**grouped(["ROW_WISE"] * 3, 0, (2, "STRIDED"), 3), "planId": "old"}
    embeddings = ShardedEmbeddings(world, TABLES, plan, Optimizer(RATE))
    base.train(embeddings, world, 0, 1)
    follower = made_follower(Ranks(base.PATIENCE), None, plan, wanted)
    went = follower.follow(7, embeddings)
    return went, follower.reports and follower.reports.statuses


def dlrm(world, cases):
    """Trains a DLRM with SGD in each case; returns the losses."""
    return [losses_of_dlrm(world, *case) for case in cases]


def losses_of_dlrm(world, grouping, steps):
    declared = features(3, 2000, 1)
    tables = [feature.shape for feature in declared]
    plan = grouped(["ROW_WISE", "TABLE_WISE", "DATA_PARALLEL"], 0, grouping, steps, tables)
    embeddings = ShardedEmbeddings(world, tables, plan, Optimizer(1.0, False))
    return base.train_dlrm(world, embeddings, tables, 32, 11, lambda step: declared)


class Follower(PlanFollower if torch else object):
    """A follower without Kafka, of the plan of a class."""

    plan = None

    def __init__(self, log, workload, meter, source, timeout_seconds):
        self.ranks, self.running, self._meter, self._plans = Ranks(timeout_seconds), self.plan, meter, None
        self._next_plan = None
        self.reports = log and mock.Mock(sent=1, waiting=0, dropped=0, failed=0, problem=None)

    def start(self):
        return self.running


def program(world, arguments, grouping):
    """Runs the program without Kafka; returns the lines that it prints."""
    import train

    declared = features(2, 1000, 0)
    tables = [feature.shape for feature in declared]
    Follower.plan = {**grouped(["TABLE_WISE"] * 2, 0, grouping, 3, tables), "cacheMisses": []}
    printed = io.StringIO()
    options = train.parse(["kafka", "registry", "--features", "2", "--rows", "1000", *arguments])
    patched = mock.patch.multiple(train, Log=mock.Mock(), Workload=mock.Mock(), PlanFollower=Follower, PRINT_SECONDS=0)
    with patched, contextlib.redirect_stdout(printed):
        train.train(options, world)
    return printed.getvalue().splitlines()


@unittest.skipUnless(torch, "PyTorch is not installed")
class GroupsTest(unittest.TestCase):
    def cases(self, groups, mixes):
        """Returns all mixes in all groups: SGD and every step; Adagrad, if it can be compared, and every 3 steps."""
        every = [(g, kinds, tables, False, 1) for g in groups for kinds, tables, _ in mixes]
        return every, [(g, kinds, tables, adagrad, 3) for g in groups for kinds, tables, adagrad in mixes]

    def test_groups_agree_with_simulated_models_and_with_the_whole_batch_if_each_step_is_synchronized(self):
        every_step, others = self.cases(SEVERAL, MIXES)
        self.assertEqual(run_ranks(agree, 4, every_step, GROUPS), [0] * 4)
        # All but the third of 4 steps.
        self.assertEqual(run_ranks(agree, 4, others, GROUPS), [3 * len(others)] * 4)

    def test_groups_of_several_nodes_agree(self):
        _, others = self.cases(MORE_GROUPS, MIXES[:1])
        self.assertEqual(run_ranks(agree, 8, others, MORE_GROUPS), [3 * len(others)] * 8)

    def test_adagrad_agrees_if_each_step_is_synchronized(self):
        cases = [(grouping, *MIXES[2][:2], True, 1) for grouping in SEVERAL]
        self.assertEqual(run_ranks(agree, 4, cases, GROUPS), [0] * 4)

    def test_plans_with_other_groups_are_gone_to_while_training(self):
        self.assertEqual(run_ranks(regroup, 4), [8] * 4)

    def test_nothing_is_sent_to_other_groups_between_synchronizations(self):
        for grouping in ((2, "CONSECUTIVE"), (2, "STRIDED")):
            with self.subTest(grouping):
                self.assertGreater(min(run_ranks(alone, 4, grouping)), 0)

    def test_a_wrong_batch_is_an_error_in_its_group(self):
        wrong = 'rank 1: table "tiny" has id 3; must be 0 to 2'
        self.assertEqual(run_ranks(bad_batches, 4, (2, "CONSECUTIVE")), [wrong, wrong, None, None])
        self.assertEqual(run_ranks(bad_batches, 4, (2, "STRIDED")), [None, wrong, None, wrong])

    def test_checkpoints_have_the_mean_of_the_groups_and_are_loaded_in_any_groups(self):
        with tempfile.TemporaryDirectory() as folder:
            for answers in run_ranks(checkpoint, 4, folder):
                self.assertEqual(answers, [True] * (1 + 2 * len(GROUPS)))

    def test_groups_that_cannot_be_are_refused_while_training(self):
        for rank, (wrong, without, with_room) in enumerate(run_ranks(refusals, 4)):
            self.assertEqual(wrong, "Plan 0 is for 2 replica groups of 4 devices; this job has 4 ranks")
            # Each rank gets the whole table, beside its quarter.
            self.assertRegex(without, rf'Moving table "users" needs \d+ bytes on device {rank}; it has \d+ for shards')
            self.assertEqual(with_room, "room")

    def test_costs_are_those_of_the_first_group(self):
        for grouping in ((2, "CONSECUTIVE"), (2, "STRIDED")):
            with self.subTest(grouping):
                found = run_ranks(measured, 4, grouping)
                first_group = GROUPS[grouping][0][0]
                whole, ((plan_id, step, steps, devices, collectives),) = found[0]
                self.assertEqual((plan_id, step, steps), ("1", 4, 2))
                self.assertEqual(devices, [whole.devices[rank] for rank in first_group])
                self.assertEqual(len(collectives), len(whole.collectives))
                for part, of_all in zip(collectives, whole.collectives):
                    self.assertEqual(part, {**of_all, "ms": [of_all["ms"][rank] for rank in first_group]})
                self.assertEqual([reports for _, reports in found[1:]], [None] * 3)

    def test_a_follower_goes_to_plans_in_groups_of_its_ranks(self):
        plan = {**grouped(["TABLE_WISE"] * 3, 1, (4, "STRIDED")), "planId": "new"}
        found = run_ranks(follow, 4, plan)
        self.assertEqual([went for went, _ in found], [True] * 4)
        self.assertEqual(found[0][1], [("finished", "new", 7, 1, 1)])
        found = run_ranks(follow, 4, {**plan, "replication": {"groups": 3}})
        self.assertEqual([went for went, _ in found], [False] * 4)
        reason = "Plan new has 3 replica groups; must divide the 4 ranks of this job"
        self.assertEqual(found[0][1], [("rejected", "new", 7, reason)])

    def test_a_dlrm_learns_alike_in_groups(self):
        cases = [((1, "CONSECUTIVE"), 1), ((2, "STRIDED"), 1), ((4, "STRIDED"), 5)]
        one, two, seldom = run_ranks(dlrm, 4, cases)[0]
        for step, (expected, found) in enumerate(zip(one, two)):
            self.assertAlmostEqual(found, expected, places=4, msg=f"step {step}")
        self.assertNotAlmostEqual(seldom[-1], one[-1], places=5)
        self.assertAlmostEqual(seldom[-1], one[-1], delta=0.02)

    @unittest.skipUnless(importlib.util.find_spec("confluent_kafka"), "Kafka's client is not installed")
    def test_the_program_prints_the_time_of_synchronizations(self):
        options = ["--steps", "8", "--batch-size", "64", "--report-every", "2", "--measure-every", "2"]
        first, *others = run_ranks(program, 4, options, (2, "STRIDED"))
        self.assertEqual(others, [[]] * 3)
        self.assertEqual(len(first), 9)
        # The first synchronization is in the third step; times are gathered after the fourth.
        for line in first[:3]:
            self.assertNotIn("synchronization", line)
        for line in first[3:8]:
            self.assertRegex(line, r", synchronization \d+\.\d ms every 3 steps \(predicted 1\.5\), reports: 1 sent")

    @unittest.skipUnless(importlib.util.find_spec("confluent_kafka"), "Kafka's client is not installed")
    def test_the_options_are_published(self):
        import train as trainer

        def published(*options):
            workload = mock.Mock()
            world = types.SimpleNamespace(size=4, per_node=2, device=torch.device("cpu"))
            parsed = trainer.parse(["broker", "registry", *options])
            trainer.create(workload, parsed, [], Optimizer(RATE), world, 1, 0)
            cluster = workload.create.call_args[0][0]
            return {name: cluster.get(name) for name in ("replicaGroups", "synchronizationSteps")}

        self.assertEqual(published(), {"replicaGroups": None, "synchronizationSteps": None})
        self.assertEqual(
            published("--replica-groups", "1", "2", "--synchronize-every", "10"),
            {"replicaGroups": [1, 2], "synchronizationSteps": 10},
        )
        for option, name in (("--replica-groups", "replica-groups"), ("--synchronize-every", "synchronize-every")):
            with self.assertRaises(SystemExit), mock.patch("sys.stderr") as stderr:
                trainer.parse(["broker", "registry", option, "0"])
            printed = "".join(call[0][0] for call in stderr.write.call_args_list)
            self.assertIn(f"--{name} must be at least 1, got 0", printed)

    def test_the_time_of_synchronizations_is_shown_beside_the_predicted_one(self):
        plan = {"replication": {"groups": 2, "synchronizationSteps": 10, "synchronizationMs": 11.04}}
        self.assertEqual(
            describe_synchronization([3.0, 12.34, None], plan),
            ", synchronization 12.3 ms every 10 steps (predicted 11.0)",
        )
        plan["replication"]["synchronizationSteps"] = 1
        self.assertEqual(describe_synchronization([3.0], plan), ", synchronization 3.0 ms every step (predicted 11.0)")
        self.assertEqual(describe_synchronization([None] * 3, plan), "")


class PlanTest(unittest.TestCase):
    """Replica groups that cannot be; needs no PyTorch."""

    T = TableShape("t", 10, 8)
    WHOLE = base.shard("t", "TABLE_WISE", 0, 8, 0, 10, 0)

    def refused(self, message, devices, replication, ranks=4, per_node=PER_NODE, whole=WHOLE):
        plan = {**plan_with([whole], devices), "replication": replication}
        with self.assertRaises(ValueError) as met:
            lay_out(plan, [self.T], ranks, per_node)
        self.assertEqual(str(met.exception), message)

    def test_plans_without_groups_have_one(self):
        for replication in ({}, {"replication": None}, {"replication": {"groups": 1}}):
            found = replication_of({**plan_with([], 4), **replication}, 4)
            self.assertEqual((found.groups, found.ranks_of(0, 4), found.per_node(4, 8)), (1, [0, 1, 2, 3], 4))

    def test_which_ranks_form_a_group(self):
        for groups, size in ((GROUPS, 4), (MORE_GROUPS, 8)):
            for grouping, (ranks, per_node) in groups.items():
                found = replication_of(grouped([], 0, grouping, tables=[], groups=groups), size)
                self.assertEqual([found.ranks_of(group, size) for group in range(grouping[0])], ranks)
                self.assertEqual(found.per_node(size, PER_NODE), per_node)
                for group, of_group in enumerate(ranks):
                    for device, rank in enumerate(of_group):
                        self.assertEqual(found.place_of(rank, size), (group, device))

    def test_groups_that_cannot_be(self):
        text = "must divide the 4 ranks of this job"
        for groups in (0, -2, 3, 8):
            self.refused(f"Plan p has {groups} replica groups; {text}", 2, {"groups": groups})
        self.refused(
            "Plan p has replica groups of layout DIAGONAL; must be one of CONSECUTIVE, STRIDED",
            2,
            {"groups": 2, "layout": "DIAGONAL"},
        )
        self.refused(
            "Plan p synchronizes replica groups every 0 steps; must be at least 1",
            2,
            {"groups": 2, "synchronizationSteps": 0},
        )
        self.refused("Plan p is for 2 replica groups of 3 devices; this job has 4 ranks", 3, {"groups": 2})
        # Devices are those of a group.
        self.refused(
            'Table "t" is table_wise and has columns 0+8, rows 0+10 on device 2; expected devices 0 to 1',
            2,
            {"groups": 2},
            whole={**self.WHOLE, "device": 2},
        )

    def test_groups_that_do_not_fit_to_nodes(self):
        expected = "whole nodes or equal parts of a node"
        self.refused(
            f"Replica groups that are consecutive must be {expected}, got 2 groups of 3 ranks with 2 ranks per node",
            3,
            {"groups": 2},
            ranks=6,
        )
        self.refused(
            "Replica groups that are strided must be an equal share of each node, got 2 groups of 3 ranks with 3 ranks"
            " per node",
            3,
            {"groups": 2, "layout": "STRIDED"},
            ranks=6,
            per_node=3,
        )


if __name__ == "__main__":
    unittest.main()
