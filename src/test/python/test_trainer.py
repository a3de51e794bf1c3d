"""PlanFollower, PlanSubscriber and TrainerReports with a Kafka that is made up. Needs no other package."""

from __future__ import annotations

import collections
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/main/python"))

from shardtide.log import PlanSubscriber, TrainerReports
from shardtide.log.reports import COSTS, STATUS
from shardtide.torchrec import NotReshardable, changes
from shardtide.train import PlanFollower

PATIENCE = 60
DEVICE = {"computeMs": 1.0, "forwardCommMs": 1.0, "backwardCommMs": 1.0}

Record = collections.namedtuple("Record", "key value")


def plan(plan_id, kind="TABLE_WISE"):
    shard = {"table": "t", "kind": kind, "columnOffset": 0, "columns": 8, "rowOffset": 0, "rows": 10, "device": 0}
    return {
        "workloadId": "w",
        "generation": 1,
        "planId": plan_id,
        "predictedMs": 1.0,
        "shards": [shard],
        "deviceCosts": [{}],
    }


class FakeLog:
    """A cluster with one topic of plans; while it is away, every call to it waits."""

    prefix = "p."
    broker_problem = None

    def __init__(self, *plans, error=None):
        self.sent = []
        self.plans = list(plans)
        self.error = error
        self.send_errors = []
        self.there = threading.Event()
        self.there.set()
        self.called = threading.Semaphore(0)

    def reader(self, topic, key, key_field):
        assert (topic, key, key_field) == ("current-plans", "w", "workloadId")
        self.there.wait()
        if self.error:
            raise self.error
        return FakeReader(self)

    def sender(self, timeout_seconds):
        assert timeout_seconds is None
        return self

    def send(self, topic, key, value, cancelled):
        self.called.release()
        while not self.there.wait(0.01):
            if cancelled():
                return None
        if self.send_errors:
            raise self.send_errors.pop(0)
        self.sent.append((topic, value))
        return 0, len(self.sent)


class FakeReader:
    def __init__(self, log):
        self.log = log
        self.at = 0
        # A topic holds older plans before the latest.
        self.behind = len(log.plans)

    @property
    def caught_up(self):
        return self.at >= self.behind

    def poll(self, seconds):
        self.log.there.wait()
        if self.at < len(self.log.plans):
            self.at += 1
            found = self.log.plans[self.at - 1]
            if isinstance(found, Exception):
                self.log.plans[self.at - 1] = plan("read again")
                raise found
            return Record("w", found)
        threading.Event().wait(0.01)
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def wait_for(condition):
    """Waits until a condition holds; fails after a long time."""
    for _ in range(PATIENCE * 100):
        found = condition()
        if found:
            return found
        threading.Event().wait(0.01)
    raise AssertionError("It does not happen")


class Following(unittest.TestCase):
    def follower(self, log, **more):
        follower = PlanFollower(log, "w", **more)
        self.addCleanup(log.there.set)
        self.addCleanup(follower.close)
        return follower

    def statuses(self, log):
        return [(v["status"], v["planId"], v["step"], v["reason"]) for topic, v in log.sent if topic == STATUS]

    def test_it_starts_with_the_latest_plan_and_goes_to_the_next(self):
        log = FakeLog(plan("old"), plan("first"))
        follower = self.follower(log)
        self.assertEqual(follower.start(5, PATIENCE)["plan_id"], "first")
        self.assertFalse(follower.follow(6, self.fail))
        log.plans += [plan("between"), plan("next")]
        went = []
        apply = lambda running, wanted: went.append((running["plan_id"], wanted["plan_id"]))
        wait_for(lambda: follower.follow(7, apply) and follower.running["plan_id"] == "next")
        self.assertEqual(went[-1][1], "next")
        self.assertTrue(follower.reports.flush(PATIENCE))
        self.assertEqual(self.statuses(log)[0], ("FINISHED_MOVING", "first", 5, None))
        self.assertEqual(self.statuses(log)[-1], ("FINISHED_MOVING", "next", 7, None))

    def test_a_plan_that_cannot_be_applied_is_rejected_once(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)

        def apply(running, wanted):
            raise NotReshardable(["too hard"])

        log.plans.append(plan("hard"))
        with self.assertLogs("shardtide", "WARNING"):
            wait_for(lambda: follower.follow(1, apply) or follower.reports.sent == 2)
            for step in range(2, 50):
                self.assertFalse(follower.follow(step, apply))
        self.assertEqual(follower.running["plan_id"], "first")
        self.assertEqual(
            self.statuses(log), [("FINISHED_MOVING", "first", 0, None), ("REJECTED", "hard", 1, "too hard")]
        )

    def test_a_plan_that_torchrec_cannot_run_is_rejected(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans.append(plan("copies", kind="DATA_PARALLEL"))
        with self.assertLogs("shardtide", "WARNING"):
            wait_for(lambda: follower.follow(1, self.fail) or follower.reports.sent == 2)
        self.assertEqual(self.statuses(log)[1][:3], ("REJECTED", "copies", 1))
        self.assertIn("data_parallel shard on device 0; must be -1", self.statuses(log)[1][3])

    def test_a_change_that_needs_a_restart_is_rejected_with_the_reason(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans.append(plan("rows", kind="ROW_WISE"))
        with self.assertLogs("shardtide", "WARNING"):
            wait_for(lambda: follower.follow(1, changes) or follower.reports.sent == 2)
        self.assertEqual(follower.running["plan_id"], "first")
        self.assertEqual(self.statuses(log)[1][:3], ("REJECTED", "rows", 1))
        self.assertIn("is row_wise and was column_wise", self.statuses(log)[1][3])
        self.assertIn("restart from a checkpoint", self.statuses(log)[1][3])

    def test_a_deleted_workload_keeps_its_plan(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans += [None]
        for step in range(100):
            self.assertFalse(follower.follow(step, self.fail))

    def test_all_ranks_raise_what_the_reading_rank_met(self):
        for error in (PermissionError("no right"), LookupError("no topic")):
            shared = []
            with self.assertLogs("shardtide", "WARNING"), self.assertRaisesRegex(type(error), str(error)):
                reading = self.follower(FakeLog(error=error), share=lambda value: shared.append(value) or value)
                reading.start(0, PATIENCE)
            other = PlanFollower(None, "w", share=lambda _: shared[0])
            with self.assertRaisesRegex(type(error), str(error)):
                other.start(0, PATIENCE)

    def test_no_plan(self):
        with self.assertRaisesRegex(LookupError, "Workload w has no plan on p.current-plans"):
            self.follower(FakeLog()).start(0, PATIENCE)

    def test_kafka_that_is_away_at_the_start(self):
        log = FakeLog(plan("first"))
        log.there.clear()
        with self.assertRaisesRegex(ConnectionError, "p.current-plans was not reached within 0.1 s"):
            self.follower(log).start(0, 0.1)

    def test_training_goes_on_while_kafka_is_away(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log, capacity=10)
        follower.start(0, PATIENCE)
        self.assertTrue(follower.reports.flush(PATIENCE))
        log.there.clear()
        with self.assertLogs("shardtide", "WARNING") as logs:
            for step in range(1, 1001):
                self.assertFalse(follower.follow(step, self.fail))
                follower.measured(step, 1, [DEVICE])
            # One may be on its way.
            self.assertIn(follower.reports.waiting, (10, 11))
            self.assertEqual(follower.reports.dropped, 1000 - follower.reports.waiting)
        # At 1, 2, 4 ... 512.
        self.assertEqual(len(logs.output), 10)
        log.plans.append(plan("next"))
        log.there.set()
        self.assertTrue(follower.reports.flush(PATIENCE))
        self.assertEqual(follower.reports.sent + follower.reports.dropped, 1001)
        steps = [value["step"] for topic, value in log.sent if topic == COSTS]
        self.assertEqual(steps[-10:], list(range(991, 1001)), "the newest are kept, in order")
        wait_for(lambda: follower.follow(1001, lambda running, wanted: None))
        self.assertEqual(follower.running["plan_id"], "next")

    def test_costs_of_another_number_of_devices_are_refused(self):
        follower = self.follower(FakeLog(plan("first")))
        follower.start(0, PATIENCE)
        with self.assertRaisesRegex(ValueError, "devices must have 1 entries, got 2"):
            follower.measured(1, 1, [DEVICE, DEVICE])
        with self.assertRaisesRegex(ValueError, "steps must be at least 1, got 0"):
            follower.measured(1, 0, [DEVICE])


class Reporting(unittest.TestCase):
    def test_statuses_come_before_costs_and_are_not_dropped_for_them(self):
        log = FakeLog()
        log.there.clear()
        reports = TrainerReports(log, "w", capacity=2)
        reports.measured("p", 0, 1, [DEVICE])
        self.assertTrue(log.called.acquire(timeout=PATIENCE))
        with self.assertLogs("shardtide", "WARNING"):
            for step in range(1, 5):
                reports.measured("p", step, 1, [DEVICE])
            reports.adopted("p", 5)
            reports.finished_moving("p", 6)
        log.there.set()
        self.assertTrue(reports.flush(PATIENCE))
        reports.close()
        self.assertEqual(
            [(topic, value["step"]) for topic, value in log.sent],
            [(COSTS, 0), (STATUS, 5), (STATUS, 6), (COSTS, 3), (COSTS, 4)],
        )
        self.assertEqual((reports.sent, reports.dropped), (5, 2))

    def test_closing_drops_what_cannot_be_sent(self):
        log = FakeLog()
        log.there.clear()
        reports = TrainerReports(log, "w")
        for step in range(5):
            reports.measured("p", step, 1, [DEVICE])
        with self.assertLogs("shardtide", "WARNING") as logs:
            reports.close(0.1)
            reports.adopted("p", 6)
        self.assertEqual((reports.sent, reports.dropped, reports.waiting), (0, 6, 0))
        self.assertIn("Dropped a report to the planner, 5 so far: it is closed", logs.output[0])
        self.assertFalse(reports._thread.is_alive())
        reports.close()

    def test_what_can_be_tried_again_is_and_what_cannot_is_counted(self):
        log = FakeLog()
        log.send_errors += [ConnectionError("the registry is away"), PermissionError("no right")]
        with self.assertLogs("shardtide", "WARNING") as logs, TrainerReports(log, "w") as reports:
            reports.adopted("p", 1)
            wait_for(lambda: reports.failed)
            self.assertEqual(reports.problem, "no right")
            reports.adopted("p", 2)
            self.assertTrue(reports.flush(PATIENCE))
            self.assertIsNone(reports.problem)
        self.assertEqual((reports.sent, reports.failed), (1, 1))
        self.assertEqual(
            [line.partition("planner ")[2] for line in logs.output], ["wait: the registry is away", "fail: no right"]
        )

    def test_an_outage_is_logged_once(self):
        log = FakeLog()
        log.there.clear()
        log.broker_problem = "Kafka at k: refused"
        with self.assertLogs("shardtide", "WARNING") as logs:
            reports = TrainerReports(log, "w")
            reports.adopted("p", 1)
            wait_for(lambda: reports.problem)
            log.there.set()
            self.assertTrue(reports.flush(PATIENCE))
            reports.close()
        self.assertEqual([line.partition("planner ")[2] for line in logs.output], ["wait: Kafka at k: refused"])


class Subscribing(unittest.TestCase):
    def test_a_record_that_waits_for_the_registry_is_read_again(self):
        log = FakeLog(plan("old"), ConnectionError("the registry is away"))
        with self.assertLogs("shardtide", "WARNING"), PlanSubscriber(log, "w") as plans:
            wait_for(lambda: plans.problem)
            self.assertIsNone(plans.take(), "an older plan is not the latest")
            log.plans.append(plan("read again"))
            self.assertEqual(plans.first(PATIENCE)["planId"], "read again")
            self.assertIsNone(plans.problem)

    def test_a_topic_that_is_read_again_gives_no_plan_twice(self):
        log = FakeLog(plan("old"), plan("first"), RuntimeError("the reader is broken"))
        with self.assertLogs("shardtide", "WARNING"), PlanSubscriber(log, "w") as plans:
            self.assertEqual(plans.first(PATIENCE)["planId"], "read again")
            self.assertIsNone(plans.take())

    def test_a_plan_of_a_generation(self):
        log = FakeLog(plan("first"))
        with PlanSubscriber(log, "w") as plans:
            self.assertEqual(plans.wait(1, PATIENCE)["planId"], "first")
            with self.assertRaisesRegex(TimeoutError, "Workload w has no plan of generation 2 after 0.1 s"):
                plans.wait(2, 0.1)


if __name__ == "__main__":
    unittest.main()
