"""PlanFollower, PlanSubscriber and TrainerReports with a Kafka that is made up. Needs confluent_kafka and avro."""

from __future__ import annotations

import collections
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.log import PlanSubscriber, TrainerReports
from shardtide.log.reports import COSTS, FILLS, STATUS
from shardtide.train import FillReporter, PlanFollower, ReshardFailed, ShardFill, StepMeter
from shardtide.waves import move_waves

PATIENCE = 60
DEVICE = {"computeMs": 1.0, "forwardCommMs": 1.0, "backwardCommMs": 1.0}

Record = collections.namedtuple("Record", "key value")


def plan(plan_id, devices=1):
    shard = {
        "table": "t",
        "kind": "TABLE_WISE",
        "columnOffset": 0,
        "columns": 8,
        "rowOffset": 0,
        "rows": 10,
        "device": 0,
    }
    return {
        "workloadId": "w",
        "generation": 1,
        "planId": plan_id,
        "predictedMs": 1.0,
        "shards": [shard],
        "deviceCosts": [{}] * devices,
    }


def moving_plan(plan_id, previous, tables=("a", "b")):
    """A plan of one device, and moves that copy its tables to all others, of which there are none."""
    moves = [
        {
            "table": table,
            "columnOffset": 0,
            "columns": 8,
            "rowOffset": 0,
            "rows": 10,
            "fromDevice": 0,
            "toDevice": -1,
            "bytes": 0,
        }
        for table in tables
    ]
    found = plan(plan_id)
    cost = {**DEVICE, "backwardCommMs": 1.0, "memoryBytes": 100}
    found.update(
        previousPlanId=previous,
        moves=moves,
        moveOrder=[{"move": m, "stage": "DIRECT"} for m in range(len(moves))],
        deviceCosts=[cost],
        explanations=[],
        settings={"moveGigabytesPerSecond": 10.0, "moveOverheadMs": 2.5, "reshardMs": 1000.0},
    )
    return found


class FakeLog:
    """A cluster with one topic of plans; while it is away, every call to it waits."""

    prefix = "p."
    broker_problem = None

    def __init__(self, *plans, error=None, workload="w"):
        self.workload = workload
        self.sent = []
        self.plans = list(plans)
        self.error = error
        self.send_errors = []
        self.there = threading.Event()
        self.there.set()
        self.called = threading.Semaphore(0)

    def reader(self, topic, key, key_field):
        assert (topic, key, key_field) == ("current-plans", self.workload, "workloadId")
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


class Model:
    """Goes from plan to plan; remembers which, and refuses or fails if it is told to."""

    def __init__(self, refuses=None, fails=None):
        self.went = []
        self.refuses = refuses
        self.fails = fails

    def prepare(self, plan):
        if self.refuses:
            raise ValueError(self.refuses)
        return plan["planId"]

    def apply(self, prepared):
        if self.fails:
            raise RuntimeError(self.fails)
        self.went.append(prepared)


class WaveModel(Model):
    """Goes to plans wave by wave; remembers which tables went."""

    def apply_wave(self, prepared, wave):
        self.apply(f"{prepared}:{','.join(wave.tables)}")


def a_table_each(plan):
    """The waves of a plan, each of one table."""
    found = move_waves(plan)
    (wave,) = found.waves
    return found._replace(waves=[wave._replace(tables=[table]) for table in wave.tables])


# A follower calls it for no plan.
NO_MODEL = None


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
        self.assertEqual(follower.start(5, PATIENCE)["planId"], "first")
        self.assertFalse(follower.follow(6, NO_MODEL))
        log.plans += [plan("between"), plan("next")]
        model = Model()
        wait_for(lambda: follower.follow(7, model) and follower.running["planId"] == "next")
        self.assertEqual(model.went[-1], "next")
        self.assertTrue(follower.reports.flush(PATIENCE))
        self.assertEqual(self.statuses(log)[0], ("FINISHED_MOVING", "first", 5, None))
        self.assertEqual(self.statuses(log)[-1], ("FINISHED_MOVING", "next", 7, None))

    def test_waves_are_made_between_steps_and_reported_each(self):
        log = FakeLog(plan("first"))
        meter = StepMeter(every=1)
        follower = self.follower(log, meter=meter)
        follower.start(0, PATIENCE)
        log.plans.append(moving_plan("next", "first"))
        model = WaveModel()
        wait_for(lambda: follower.follow_wave(1, model, a_table_each))
        self.assertEqual(model.went, ["next:a"])
        self.assertEqual([wave.tables for wave in follower.waves_left], [["b"]])
        self.assertEqual(follower.running["planId"], "first")
        with self.assertRaisesRegex(RuntimeError, r"follow_wave\(\) has 1 waves left to make"):
            follower.follow(2, model)
        with meter.step(), meter.computation("forward"):
            pass
        follower.report(2)
        follower.measured(2, 1, [DEVICE])
        # A newer plan waits for the last wave.
        log.plans.append(moving_plan("newer", "next"))
        self.assertTrue(follower.follow_wave(3, model, a_table_each))
        self.assertEqual(model.went, ["next:a", "next:b", "next"])
        self.assertEqual((follower.running["planId"], follower.waves_left), ("next", []))
        wait_for(lambda: follower.follow_wave(4, model))
        self.assertEqual(model.went[3:], ["newer:a,b", "newer"])
        self.assertTrue(follower.reports.flush(PATIENCE))
        reported = [
            (v["status"], v["planId"], v["step"], v.get("wave"), v.get("waves")) for topic, v in log.sent if topic == STATUS
        ]
        self.assertEqual(
            reported[1:],
            [
                ("ADOPTED", "next", 1, None, None),
                ("FINISHED_MOVING", "next", 1, 1, 2),
                ("FINISHED_MOVING", "next", 3, 2, 2),
                ("ADOPTED", "newer", 4, None, None),
                ("FINISHED_MOVING", "newer", 4, None, None),
            ],
        )
        self.assertEqual([value for topic, value in log.sent if topic == COSTS], [], "costs of neither plan")

    def test_moves_from_another_plan_than_the_running_one_are_not_made_in_waves(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans.append(moving_plan("next", "unknown"))
        model = WaveModel()
        wait_for(lambda: follower.follow_wave(1, model))
        self.assertEqual((model.went, follower.running["planId"]), (["next"], "next"))

    def test_a_wave_that_fails_ends_training(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans.append(moving_plan("next", "first"))
        with self.assertRaisesRegex(ReshardFailed, "Moving shards to plan next failed: RuntimeError: no memory"):
            wait_for(lambda: follower.follow_wave(1, WaveModel(fails="no memory")))

    def test_a_wave_out_of_range_is_not_reported(self):
        follower = self.follower(FakeLog(plan("first")))
        with self.assertRaisesRegex(ValueError, "wave must be between 1 and its waves, got wave 3 of 2"):
            follower.reports.finished_moving("p", 1, 3, 2)

    def test_a_plan_that_cannot_be_applied_is_rejected_once(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)

        model = Model(refuses="too hard")
        log.plans.append(plan("hard"))
        with self.assertLogs("shardtide", "WARNING"):
            wait_for(lambda: follower.follow(1, model) or follower.reports.sent == 2)
            for step in range(2, 50):
                self.assertFalse(follower.follow(step, model))
        self.assertEqual(follower.running["planId"], "first")
        self.assertEqual(
            self.statuses(log), [("FINISHED_MOVING", "first", 0, None), ("REJECTED", "hard", 1, "too hard")]
        )

    def test_a_plan_for_another_number_of_devices_is_rejected(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans.append(plan("wide", devices=2))
        with self.assertLogs("shardtide", "WARNING"):
            wait_for(lambda: follower.follow(1, NO_MODEL) or follower.reports.sent == 2)
        self.assertEqual(
            self.statuses(log)[1], ("REJECTED", "wide", 1, "Plan wide is for 2 devices; this job has 1 ranks")
        )
        with self.assertRaisesRegex(ValueError, "Plan wide is for 2 devices; this job has 1 ranks"):
            self.follower(FakeLog(plan("wide", devices=2))).start(0, PATIENCE)

    def test_a_failure_while_shards_move_ends_training(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans.append(plan("next"))
        with self.assertRaisesRegex(ReshardFailed, "Moving shards to plan next failed: RuntimeError: no memory"):
            wait_for(lambda: follower.follow(1, Model(fails="no memory")))

    def test_what_the_meter_measured_is_reported_with_the_plan_that_ran(self):
        log = FakeLog(plan("first"))
        meter = StepMeter(every=2)
        follower = self.follower(log, meter=meter)
        follower.start(0, PATIENCE)

        def steps(count):
            for _ in range(count):
                with meter.step(), meter.computation("forward"):
                    pass

        steps(1)
        follower.report(0)
        steps(4)
        follower.report(4)
        steps(2)
        log.plans.append(plan("next"))
        wait_for(lambda: follower.follow(6, Model()))
        follower.report(7)
        self.assertTrue(follower.reports.flush(PATIENCE))
        costs = [(value["planId"], value["step"], value["steps"]) for topic, value in log.sent if topic == COSTS]
        self.assertEqual(costs, [("first", 4, 2)], "neither an unmeasured step nor one of the plan before")

    def test_a_deleted_workload_keeps_its_plan(self):
        log = FakeLog(plan("first"))
        follower = self.follower(log)
        follower.start(0, PATIENCE)
        log.plans += [None]
        for step in range(100):
            self.assertFalse(follower.follow(step, NO_MODEL))

    def test_it_raises_what_it_met_at_the_start(self):
        for error in (PermissionError("no right"), LookupError("no topic")):
            with self.assertLogs("shardtide", "WARNING"), self.assertRaisesRegex(type(error), str(error)):
                self.follower(FakeLog(error=error)).start(0, PATIENCE)

    def test_only_rank_0_has_a_log(self):
        with self.assertRaisesRegex(ValueError, "log must be given on rank 0 only; this is rank 0"):
            PlanFollower(None, "w")

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
                self.assertFalse(follower.follow(step, NO_MODEL))
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
        wait_for(lambda: follower.follow(1001, Model()))
        self.assertEqual(follower.running["planId"], "next")

    def test_costs_of_another_number_of_devices_are_refused(self):
        follower = self.follower(FakeLog(plan("first")))
        follower.start(0, PATIENCE)
        with self.assertRaisesRegex(ValueError, "devices must have 1 entries, got 2"):
            follower.measured(1, 1, [DEVICE, DEVICE])
        with self.assertRaisesRegex(ValueError, "steps must be at least 1, got 0"):
            follower.measured(1, 0, [DEVICE])


    def test_a_meter_without_marks_is_an_error_unless_the_device_has_no_shards(self):
        log = FakeLog({**plan("first"), "shards": []})
        meter = StepMeter(every=1)
        follower = self.follower(log, meter=meter)
        follower.start(0, PATIENCE)

        def step(number):
            with meter.step():
                pass
            follower.report(number)

        step(1)
        for device in (0, -1):
            log.plans.append({**plan(f"on {device}"), "shards": [{**plan("next")["shards"][0], "device": device}]})
            wait_for(lambda: follower.follow(2, Model()))
            with self.assertRaisesRegex(ValueError, "computeMs of device 0 must be above 0, .* with meter.computation"):
                step(3)
        self.assertTrue(follower.reports.flush(PATIENCE))
        self.assertEqual([value["step"] for topic, value in log.sent if topic == COSTS], [1])


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

    def test_fills_have_ids_of_their_own_and_later_times(self):
        log = FakeLog()
        table = {"table": "t", "shards": [{"rank": 0, "slots": 8, "ids": 3}]}
        with TrainerReports(log, "w", run="r") as reports, TrainerReports(log, "w", run="s") as others:
            for _ in range(20):
                reports.fill("p", [table])
                others.fill("p", [table])
            self.assertTrue(reports.flush(PATIENCE) and others.flush(PATIENCE))
        values = [value for topic, value in log.sent if topic == FILLS]
        self.assertEqual(len({value["reportId"] for value in values}), 40)
        for run in "rs":
            times = [value["measuredAt"] for value in values if value["run"] == run]
            millis = [int(time.timestamp() * 1000) for time in times]
            self.assertEqual(millis, sorted(set(millis)), "in milliseconds, as records have them")

    def test_fills_that_are_wrong_are_refused(self):
        shard = {"rank": 0, "slots": 8, "ids": 3}
        with TrainerReports(FakeLog(), "w") as reports:
            for tables, message in (
                ([], "tables must be at least one, got none"),
                ([{"table": "t", "shards": []}], 'shards of table "t" must be at least one, got none'),
                ([{"table": "t", "shards": [shard]}] * 2, 'tables must have each table once, got "t" twice'),
                (
                    [{"table": "t", "shards": [{**shard, "slots": 0}]}],
                    'slots of table "t" must be between 1 and 2^50, got 0',
                ),
                (
                    [{"table": "t", "shards": [{**shard, "ids": -1}]}],
                    'ids of table "t" must be between 0 and 2^50, got -1',
                ),
                (
                    [{"table": "t", "shards": [{**shard, "collisions": 2**50 + 1}]}],
                    f'collisions of table "t" must be between 0 and 2^50, got {2**50 + 1}',
                ),
            ):
                with self.assertRaises(ValueError) as met:
                    reports.fill("p", tables)
                self.assertEqual(str(met.exception), message)
            self.assertEqual(reports.waiting, 0)

    def test_fills_that_have_no_topic_are_counted_and_logged_once(self):
        log = FakeLog()
        log.send = lambda topic, key, value, cancelled: (
            FakeLog.send(log, topic, key, value, cancelled) if topic != FILLS else self.missing()
        )
        with self.assertLogs("shardtide", "WARNING") as logs, TrainerReports(log, "w") as reports:
            for step in range(3):
                reports.fill("p", [{"table": "t", "shards": [{"rank": 0, "slots": 8, "ids": 3}]}])
                self.assertTrue(reports.flush(PATIENCE))
                self.assertEqual(reports.problem, "no topic. Maybe the planner runs without growth.enabled=true")
                reports.measured("p", step, 1, [DEVICE])
                self.assertTrue(reports.flush(PATIENCE))
        self.assertEqual((reports.sent, reports.failed), (3, 3))
        self.assertEqual(
            [line.partition("planner ")[2] for line in logs.output],
            ["fail: no topic. Maybe the planner runs without growth.enabled=true"],
        )

    def missing(self):
        raise LookupError("no topic")


class Filling(unittest.TestCase):
    def test_the_fill_of_all_shards_is_reported_every_so_many_steps(self):
        log = FakeLog(plan("first"))
        with PlanFollower(log, "w") as follower:
            follower.start(0, PATIENCE)
            fills = FillReporter(follower, 3)
            taken = []

            def take():
                taken.append(len(taken))
                return [ShardFill("v", 5, 5, 4), ShardFill("t", 0, 8, len(taken), 3, 2, 1), ShardFill("v", 0, 5, 5)]

            found = [fills.step(take) for _ in range(7)]
            self.assertTrue(follower.reports.flush(PATIENCE))
        self.assertEqual([bool(each) for each in found], [False, False, True, False, False, True, False])
        sent = [value for topic, value in log.sent if topic == FILLS]
        self.assertEqual([value["tables"] for value in sent], [found[2], found[5]])
        self.assertEqual({value["planId"] for value in sent}, {"first"})
        self.assertEqual(
            found[5][0],
            {
                "table": "t",
                "shards": [
                    {"rank": 0, "rowOffset": 0, "slots": 8, "ids": 2, "insertions": 3, "evictions": 2, "collisions": 1}
                ],
            },
        )
        self.assertEqual([shard["rowOffset"] for shard in found[5][1]["shards"]], [0, 5])

    def test_a_job_without_hashed_tables_reports_nothing(self):
        log = FakeLog(plan("first"))
        with PlanFollower(log, "w") as follower:
            follower.start(0, PATIENCE)
            self.assertEqual(FillReporter(follower, 1).step(lambda: []), [])
            self.assertTrue(follower.reports.flush(PATIENCE))
        self.assertEqual([topic for topic, _ in log.sent], [STATUS])

    def test_the_interval_is_at_least_one_step(self):
        with self.assertRaisesRegex(ValueError, "every must be at least 1, got 0"):
            FillReporter(None, 0)


class Subscribing(unittest.TestCase):
    def test_a_record_that_waits_for_the_registry_is_read_again(self):
        log = FakeLog(plan("old"), ConnectionError("the registry is away"))
        with self.assertLogs("shardtide", "WARNING"), PlanSubscriber(log, "w") as plans:
            wait_for(lambda: plans.problem)
            self.assertIsNone(plans.poll(), "an older plan is not the latest")
            log.plans.append(plan("read again"))
            self.assertEqual(plans.get(timeout=PATIENCE)["planId"], "read again")
            self.assertIsNone(plans.problem)

    def test_a_topic_that_is_read_again_gives_no_plan_twice(self):
        log = FakeLog(plan("old"), plan("first"), RuntimeError("the reader is broken"))
        with self.assertLogs("shardtide", "WARNING"), PlanSubscriber(log, "w") as plans:
            self.assertEqual(plans.get(timeout=PATIENCE)["planId"], "read again")
            self.assertIsNone(plans.poll())

    def test_a_plan_of_a_generation(self):
        log = FakeLog(plan("first"))
        with PlanSubscriber(log, "w") as plans:
            self.assertEqual(plans.get(1, PATIENCE)["planId"], "first")
            with self.assertRaisesRegex(TimeoutError, "Workload w has no plan of generation 2 after 0.1 s"):
                plans.get(2, 0.1)

    def test_a_poll_waits_for_a_plan_that_is_new(self):
        log = FakeLog()
        with PlanSubscriber(log, "w") as plans:
            self.assertIsNone(plans.poll())
            self.assertIsNone(plans.poll(0.05))
            log.plans.append(plan("first"))
            self.assertEqual(plans.poll(PATIENCE)["planId"], "first")
            self.assertIsNone(plans.poll(0.05))

    def test_names_of_the_last_version_warn_of_the_new_ones(self):
        with PlanSubscriber(FakeLog(plan("first")), "w") as plans:
            with self.assertWarnsRegex(DeprecationWarning, r"first ends with the next version: get\(timeout=...\)"):
                self.assertEqual(plans.first(PATIENCE)["planId"], "first")
            with self.assertWarnsRegex(DeprecationWarning, r"take ends with the next version: poll\(\)"):
                self.assertIsNone(plans.take())
            with self.assertWarnsRegex(DeprecationWarning, r"wait ends with the next version: get\("):
                self.assertEqual(plans.wait(1, timeout_seconds=PATIENCE)["planId"], "first")


if __name__ == "__main__":
    unittest.main()
