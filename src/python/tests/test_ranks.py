"""Ranks that agree on plans, or fail together, and what they measure: real processes of torch.distributed over gloo.

test_ranks.py CASE FOLDER RANK SIZE runs one rank of a case, and prints what it met as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.train import PlanFollower, Ranks, StepMeter
from shardtide.train import follower as follower_module

TORCH = importlib.util.find_spec("torch") is not None
PATIENCE = 60
# Ranks wait for each other at most so long, where one of them is dead.
RANK_SECONDS = 3


def record(plan_id, devices):
    return {"planId": plan_id, "deviceCosts": [{}] * devices}


class Plans:
    """A subscriber that has one plan to take."""

    def __init__(self, plan):
        self.plan = plan

    def poll(self):
        plan, self.plan = self.plan, None
        return plan


class Reports:
    """Remembers what was reported."""

    def __init__(self):
        self.statuses = []
        self.costs = []

    def rejected(self, *status):
        self.statuses.append(("rejected", *status))

    def finished_moving(self, *status):
        self.statuses.append(("finished", *status))

    def measured(self, *costs):
        self.costs.append(costs)


class Model:
    def __init__(self, prepare=lambda: None, apply=lambda: None):
        self.prepare = lambda plan: prepare()
        self.apply = lambda prepared: apply()


def follower(ranks, size, running="old"):
    """Returns a follower that runs a plan and has another one to go to."""
    made = PlanFollower.__new__(PlanFollower)
    made.ranks, made.running, made._meter, made._next_plan = ranks, record(running, size), None, None
    made._plans = Plans(record("new", size)) if ranks.rank == 0 else None
    made.reports = Reports() if ranks.rank == 0 else None
    return made


def fail(text):
    raise ValueError(text)


def agree(ranks):
    plans = follower(ranks, ranks.size)
    went = plans.follow(7, Model())
    return {"went": went, "runs": plans.running["planId"], "statuses": plans.reports and plans.reports.statuses}


def refuse(ranks):
    plans = follower(ranks, ranks.size)
    moved = []
    model = Model(lambda: fail('no room for "ads"') if ranks.rank == 1 else None, lambda: moved.append(1))
    went = plans.follow(7, model)
    return {"went": went, "moved": moved, "statuses": plans.reports and plans.reports.statuses}


def fail_while_moving(ranks):
    follower(ranks, ranks.size).follow(7, Model(apply=lambda: fail("disk is full") if ranks.rank == 1 else None))


def die_while_moving(ranks):
    import torch
    import torch.distributed as distributed

    def apply():
        if ranks.rank == 1:
            os._exit(9)
        distributed.all_reduce(torch.ones(1))

    follower(ranks, ranks.size).follow(7, Model(apply=apply))


def die_before(ranks):
    if ranks.rank == 1:
        os._exit(9)
    follower(ranks, ranks.size).follow(7, Model())


def differ(ranks):
    follower(ranks, ranks.size, f"plan of rank {ranks.rank}").follow(7, Model())


def raise_at_the_start(ranks):
    plans = follower(ranks, ranks.size)
    plans._first = lambda seconds: (None, LookupError("no plan")) if ranks.rank == 0 else (None, None)
    plans.start()


def compute(seconds):
    """Keeps a processor busy."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def step(meter, rank, collective=None):
    import torch
    import torch.distributed as distributed

    with meter.step():
        with meter.computation("forward"):
            # Rank 1 comes late to the first collective.
            compute(0.02 + 0.15 * rank)
        with meter.collective("all_to_all", "forward", "device"):
            time.sleep(0.01)
            distributed.all_reduce(torch.ones(1))
        with meter.collective("all_to_all", "backward", "device"):
            time.sleep(0.01)
        with meter.computation("backward"):
            compute(0.01)
        if collective:
            with meter.collective(*collective):
                pass


def measure(ranks):
    meter = StepMeter(every=3)
    for _ in range(7):
        step(meter, ranks.rank)
    costs = meter.costs(ranks)
    return {"steps": costs.steps, "devices": costs.devices, "collectives": costs.collectives, "ms": costs.ms}


def measure_other_collectives(ranks):
    meter = StepMeter(every=1)
    step(
        meter, ranks.rank, ("all_gather", "backward", "cluster") if ranks.rank else ("all_reduce", "backward", "copies")
    )
    meter.costs(ranks)


def measure_nothing(ranks):
    return {"costs": StepMeter(every=3).costs(ranks)}


def main(case, folder, rank, size):
    import torch.distributed as distributed

    import torch

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    try:
        ranks = Ranks(RANK_SECONDS)
        ranks.gather(None)  # All are connected before one may end.
        found = globals()[case](ranks)
    except Exception as e:
        found = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(found), flush=True)
    # Not a regular end: ranks that died cannot take part in it.
    os._exit(0)


@unittest.skipUnless(TORCH, "torch is not installed")
class SeveralRanks(unittest.TestCase):
    def run_ranks(self, case, size=3):
        """Runs a case on several ranks; returns what each printed, None for one that died."""
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", __file__, case.__name__, folder]
            processes = [
                subprocess.Popen([*command, str(rank), str(size)], stdout=subprocess.PIPE, text=True)
                for rank in range(size)
            ]
            printed = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        return [json.loads(text) if text else None for text in printed]

    def errors(self, case):
        return [found and found["error"] for found in self.run_ranks(case)]

    def test_all_go_to_a_plan_at_the_same_step(self):
        found = self.run_ranks(agree)
        self.assertEqual([(rank["went"], rank["runs"]) for rank in found], [(True, "new")] * 3)
        self.assertEqual(found[0]["statuses"], [["finished", "new", 7, 1, 1]])

    def test_what_one_rank_refuses_no_rank_applies(self):
        found = self.run_ranks(refuse)
        self.assertEqual([(rank["went"], rank["moved"]) for rank in found], [(False, [])] * 3)
        self.assertEqual(found[0]["statuses"], [["rejected", "new", 7, 'rank 1: no room for "ads"']])

    def test_a_failure_while_shards_move_is_an_error_on_all(self):
        expected = "ReshardFailed: Moving shards to plan new failed: rank 1: ValueError: disk is full"
        self.assertEqual(self.errors(fail_while_moving), [expected] * 3)

    def test_a_rank_that_dies_while_shards_move_is_named_on_all_others(self):
        found = self.errors(die_while_moving)
        self.assertIsNone(found[1])
        for rank in (0, 2):
            self.assertIn("ReshardFailed: Moving shards to plan new failed: Rank 1 of 3 does not answer", found[rank])

    def test_a_rank_that_died_before_is_named(self):
        found = self.errors(die_before)
        for rank in (0, 2):
            self.assertIn("RankLost: Rank 1 of 3 does not answer", found[rank])

    def test_ranks_that_run_different_plans(self):
        runs = ", ".join(f"rank {rank} runs plan of rank {rank}" for rank in range(3))
        self.assertEqual(self.errors(differ), [f"RuntimeError: All ranks must run one plan; {runs}"] * 3)

    def test_all_raise_what_rank_0_met_at_the_start(self):
        self.assertEqual(self.errors(raise_at_the_start), ["LookupError: no plan"] * 3)

    def test_what_a_step_costs(self):
        first, second = self.run_ranks(measure, size=2)
        self.assertEqual(first, second, "the same on all ranks")
        self.assertEqual(first["steps"], 2)
        early, late = first["devices"]
        self.assertGreater(late["forwardComputeMs"], early["forwardComputeMs"] + 100)
        self.assertGreater(early["forwardCommMs"], late["forwardCommMs"] + 75, "the wait for the late rank")
        by_direction = {c["direction"]: c["ms"] for c in first["collectives"]}
        for device, forward, backward in zip((early, late), by_direction["forward"], by_direction["backward"]):
            self.assertGreaterEqual(device["forwardCommMs"], forward)
            self.assertAlmostEqual(device["backwardCommMs"], backward)
            self.assertGreaterEqual(device["computeMs"], device["forwardComputeMs"] + 9.9)
            # The late rank's 150 ms are not in the collective of the other.
            self.assertLess(abs(by_direction["forward"][0] - by_direction["forward"][1]), 75)
        begin = max(device["computeMs"] + device["backwardCommMs"] for device in (early, late))
        self.assertAlmostEqual(first["ms"], begin + max(by_direction["forward"]), msg="without idle time")

    def test_collectives_that_not_all_ranks_measured(self):
        expected = "ValueError: Rank 0 did not measure all_gather backward cluster, which other ranks did"
        self.assertEqual(self.errors(measure_other_collectives)[:2], [expected] * 2)

    def test_no_measured_step(self):
        self.assertEqual(self.run_ranks(measure_nothing, size=2), [{"costs": None}] * 2)


class OneRank(unittest.TestCase):
    def test_without_torch_distributed_a_job_has_one_rank(self):
        ranks = Ranks()
        self.assertEqual((ranks.rank, ranks.size, ranks.from_first(3), ranks.gather(4)), (0, 1, 3, [4]))

    def test_unknown_names_and_numbers(self):
        with self.assertRaisesRegex(ValueError, "every must be at least 1, got 0"):
            StepMeter(every=0)
        meter = StepMeter(every=1)
        with meter.step():
            with self.assertRaisesRegex(ValueError, "direction must be one of forward, backward, got sideways"):
                with meter.computation("sideways"):
                    pass
            with self.assertRaisesRegex(ValueError, "scope must be one of device, node, cluster, copies, got rack"):
                with meter.collective("all_to_all", "forward", "rack"):
                    pass

    def test_a_step_that_fails_is_not_measured(self):
        meter = StepMeter(every=1)
        with self.assertRaises(KeyError), meter.step(), meter.computation("forward"):
            raise KeyError("batch")
        self.assertIsNone(meter.costs(Ranks()))

    def test_reasons_name_their_ranks(self):
        problems = follower_module.by_rank
        self.assertEqual(problems([None, None]), "")
        self.assertEqual(problems(["a", "a"]), "a")
        self.assertEqual(problems(["a", None, "a", "b"]), "ranks 0, 2: a; rank 3: b")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in globals():
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    unittest.main()
