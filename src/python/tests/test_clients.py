"""The clients against a real broker and a registry, without a planner: the tests write what a planner would.

Needs avro and confluent_kafka, and in the environment KAFKA, REGISTRY and PREFIX: a broker, and a registry that has the
schemas of the topics with this prefix. PythonClientsIT sets them.
"""

import http.server
import os
import random
import socket
import threading
import time
import unittest
import urllib.request
import uuid

import records
from shardtide.log import Accepted, Log, PlanSubscriber, Rejected, TrainerReports, WorkloadPublisher

KAFKA, REGISTRY, PREFIX = (os.environ[name] for name in ("KAFKA", "REGISTRY", "PREFIX"))
TOPICS = (
    "workload-changes",
    "cost-predictions",
    "rejected-events",
    "current-plans",
    "plan-status",
    "measured-costs",
)
PARTITIONS = 2
PATIENCE = 60


def setUpModule():
    records.create_topics(KAFKA, [PREFIX + topic for topic in TOPICS], PARTITIONS)


def new_log(**more):
    return Log({"bootstrap.servers": KAFKA}, {"url": REGISTRY}, PREFIX, **more)


def change(log):
    return records.value(log, "workload-changes", workloadId=f"w-{uuid.uuid4()}")


def read_change(log, workload):
    """Waits for a published change and returns its place."""
    with log.reader("workload-changes", key=workload) as reader:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            record = reader.poll()
            if record is not None:
                return {"topic": PREFIX + "workload-changes", "partition": record.partition, "offset": record.offset}
    raise AssertionError(f"No change of {workload}")


class Addresses(unittest.TestCase):
    def test_texts_of_the_last_version_warn_of_the_dicts(self):
        with self.assertWarnsRegex(DeprecationWarning, "Log takes dicts: Log"):
            old = Log(KAFKA, REGISTRY, PREFIX, {"client.id": "old"})
        with old.reader("current-plans") as plans:
            self.assertEqual(list(plans.all(PATIENCE)), [])

    def test_wrong_ones_are_named(self):
        for kafka, told in (({}, "kafka must have bootstrap.servers"), (None, "kafka must be an object with settings")):
            with self.assertRaisesRegex(ValueError, told):
                Log(kafka, {"url": REGISTRY})


class Outcomes(unittest.TestCase):
    """Between garbage on both topics, a publisher finds the outcome of its change."""

    def outcome(self, answer, **fields):
        """Publishes a change, calls answer(log, change, place) as soon as it is in the log, returns the outcome."""
        log = new_log()
        published = {**change(log), **fields}
        found = []
        publisher = threading.Thread(
            target=lambda: found.append(WorkloadPublisher(log).publish_and_wait(published, PATIENCE))
        )
        publisher.start()
        place = read_change(new_log(), published["workloadId"])
        key = published["workloadId"].encode()
        for topic in ("cost-predictions", "rejected-events"):
            garbage = records.undecodable(log, topic, key, records.value(log, topic))
            self.garbage = len(garbage)
            records.publish_bytes(log, topic, garbage + [(None, b"no key"), (b"\xff", None), (key, None)])
        answer(log, published, place)
        publisher.join(2 * PATIENCE)
        return found[0]

    def test_the_time_out_is_for_the_whole_call(self):
        """A broker that accepts connections and is silent; by itself, each call would wait for ten minutes."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            log = Log({"bootstrap.servers": f"127.0.0.1:{silent.getsockname()[1]}"}, {"url": REGISTRY}, PREFIX, timeout_seconds=600)
            with self.assertRaises((ConnectionError, TimeoutError)):
                WorkloadPublisher(log).publish_and_wait(change(log), timeout_seconds=2)
            with self.assertRaisesRegex(TimeoutError, "was not written to .*workload-changes in time"):
                log.publish("workload-changes", "w", change(log), until=time.monotonic() + 1)

    def test_accepted_with_a_generation(self):
        def answer(log, published, place):
            workload = published["workloadId"]
            for event_id, generation in ((str(uuid.uuid4()), 6), (published["eventId"], 7)):
                prediction = records.value(
                    log,
                    "cost-predictions",
                    workloadId=workload,
                    eventId=event_id,
                    generation=generation,
                    costsOf="simulated",
                )
                log.publish("cost-predictions", workload, prediction)

        with self.assertLogs("shardtide", "WARNING") as logs:
            self.assertEqual(self.outcome(answer), Accepted(7, "simulated"))
        self.assertEqual(
            len([line for line in logs.output if f"of topic {PREFIX}cost-predictions, part" in line]), self.garbage
        )

    def test_predictions_of_other_events_are_not_decoded(self):
        """Bytes that no decoder takes stand for them."""
        log = new_log()
        key, mine, other = b"w", str(uuid.uuid4()), str(uuid.uuid4())
        good = log.encode("cost-predictions", records.value(log, "cost-predictions", eventId=mine))
        with log.reader("cost-predictions", new_only=True, key="w", event_id=mine) as reader:
            for event_id in (other, mine):
                payload = good if event_id == mine else b"noise"
                header = {"shardtide.event.id": event_id.encode()}
                records.publish_bytes(log, "cost-predictions", [(key, payload)], header)
            records.publish_bytes(log, "cost-predictions", [(key, good)])
            found = []
            end = time.monotonic() + PATIENCE
            while len(found) < 2 and time.monotonic() < end:
                found += filter(None, [reader.poll()])
            self.assertEqual([str(record.value["eventId"]) for record in found], [mine, mine])
            self.assertEqual(reader.skipped, 0)

    def test_an_event_id_is_a_uuid_and_not_a_text(self):
        for written in (str.upper, uuid.UUID, lambda text: text.replace("-", ""), "urn:uuid:{}".format):
            canonical = str(uuid.uuid4())

            def answer(log, published, place):
                workload = published["workloadId"]
                prediction = records.value(
                    log, "cost-predictions", workloadId=workload, eventId=canonical, generation=7
                )
                log.publish("cost-predictions", workload, prediction)

            with self.subTest(written(canonical)):
                self.assertEqual(self.outcome(answer, eventId=written(canonical)).generation, 7)

    def test_an_event_id_that_is_no_uuid_is_not_published(self):
        log = new_log()
        for publish in (WorkloadPublisher(log).publish, WorkloadPublisher(log).publish_and_wait):
            with self.assertRaisesRegex(ValueError, "eventId must be a UUID such as .*, got '7-seven'"):
                publish({**change(log), "eventId": "7-seven"})

    def test_rejected_with_a_reason(self):
        def answer(log, published, place):
            for offset in (place["offset"] + 1, place["offset"]):
                event = records.value(
                    log, "rejected-events", source={**place, "offset": offset}, reason="R", message=str(offset)
                )
                log.publish("rejected-events", published["workloadId"], event)

        outcome = self.outcome(answer)
        self.assertIsInstance(outcome, Rejected)
        self.assertEqual(outcome.reason, "R")

    def test_accepted_without_a_cluster(self):
        def answer(log, published, place):
            # The planner's group has read past the change, and nothing follows.
            consumer = log.consumer(PREFIX + "workload")
            topic = records.confluent_kafka.TopicPartition(place["topic"], place["partition"], place["offset"] + 1)
            consumer.commit(offsets=[topic], asynchronous=False)
            consumer.close()

        self.assertEqual(self.outcome(answer), Accepted(None))

    def test_no_planner(self):
        log = new_log()
        with self.assertRaisesRegex(TimeoutError, f"of {PREFIX}workload-changes; check that a planner runs"):
            WorkloadPublisher(log).publish_and_wait(change(log), 2)

    def test_a_wrong_value_is_not_published(self):
        log = new_log()
        wrong = change(log)
        del wrong["source"]
        with self.assertRaisesRegex(ValueError, "WorkloadChange needs source"):
            WorkloadPublisher(log).publish_and_wait(wrong)


class Plans(unittest.TestCase):
    def test_records_that_cannot_be_decoded_are_skipped(self):
        log = new_log()
        workload = f"w-{uuid.uuid4()}"
        key = workload.encode()
        first, second = (records.plan(log, workload, plan_id, [0, 1]) for plan_id in ("first", "second"))
        garbage = records.undecodable(log, "current-plans", key, first)
        # A good plan under the key of another workload.
        garbage.append((key, log.encode("current-plans", records.plan(log, "other", "foreign", [0, 1]))))
        records.publish_bytes(log, "current-plans", garbage)
        log.publish("current-plans", workload, first)
        records.publish_bytes(log, "current-plans", garbage)
        with self.assertLogs("shardtide", "WARNING") as logs, PlanSubscriber(log, workload) as plans:
            self.assertEqual(plans.get(timeout=PATIENCE)["planId"], "first")
            self.assertIsNone(plans.poll())
            records.publish_bytes(log, "current-plans", garbage)
            log.publish("current-plans", workload, second)
            self.assertEqual(self.next(plans)["planId"], "second")
        skipped = [line for line in logs.output if "Skipped a record" in line]
        self.assertEqual(len(skipped), 3 * len(garbage))
        self.assertRegex(skipped[0], rf"Skipped a record of topic {PREFIX}current-plans, partition \d, offset \d+: ")
        with log.reader("current-plans", key=workload, key_field="workloadId") as reader:
            self.assertEqual([record.value["planId"] for record in reader.all()], ["first", "second"])
            self.assertEqual(reader.skipped, 3 * len(garbage))

    def next(self, plans):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            plan = plans.poll()
            if plan:
                return plan
            time.sleep(0.01)
        raise AssertionError("No plan")

    def test_random_records(self):
        log = new_log()
        workload = f"w-{uuid.uuid4()}"
        random_bytes = random.Random(15)
        foreign = []
        framed = log.encode("current-plans", records.plan(log, workload, "p", [0, 1]))
        for _ in range(1000):
            payload = random_bytes.randbytes(random_bytes.randrange(60))
            # Half of them name the right schema.
            foreign.append((workload.encode(), framed[:5] + payload if random_bytes.random() < 0.5 else payload))
        records.publish_bytes(log, "current-plans", foreign)
        log.publish("current-plans", workload, records.plan(log, workload, "p", [0, 1]))
        with self.assertLogs("shardtide", "WARNING"), log.reader("current-plans", key=workload) as reader:
            self.assertEqual([record.value["planId"] for record in reader.all()], ["p"])
            self.assertEqual(reader.skipped, 1000)

    def test_a_deleted_workload_has_no_plan(self):
        log = new_log()
        workload = f"w-{uuid.uuid4()}"
        log.publish("current-plans", workload, records.plan(log, workload, "p", [0, 1]))
        records.publish_bytes(log, "current-plans", [(workload.encode(), None)])
        with PlanSubscriber(log, workload) as plans:
            with self.assertRaisesRegex(LookupError, f"Workload {workload} has no plan on {PREFIX}current-plans"):
                plans.get(timeout=PATIENCE)

    def test_records_wait_for_the_registry(self):
        log = new_log()
        workload = f"w-{uuid.uuid4()}"
        log.publish("current-plans", workload, records.plan(log, workload, "p", [0, 1]))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Faulty) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            behind = Log({"bootstrap.servers": KAFKA}, {"url": f"http://127.0.0.1:{server.server_port}"}, PREFIX)
            Faulty.well = False
            with behind.reader("current-plans", key=workload) as reader:
                with self.assertRaisesRegex(ConnectionError, "does not answer: 503"):
                    list(reader.all())
                with self.assertRaisesRegex(ConnectionError, "503"):
                    reader.poll()
                Faulty.well = True
                self.assertEqual([record.value["planId"] for record in reader.all()], ["p"])
                self.assertEqual(reader.skipped, 0)
            server.shutdown()


class Faulty(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the registry, unless it is not well."""

    well = True

    def do_GET(self):
        if Faulty.well:
            with urllib.request.urlopen(REGISTRY + self.path) as response:
                body = response.read()
            self.send_response(200)
        else:
            body = b"<html>"
            self.send_response(503)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Reports(unittest.TestCase):
    def test_reports_arrive_in_order(self):
        log = new_log()
        workload = f"w-{uuid.uuid4()}"
        device = {"computeMs": 1.0, "forwardComputeMs": 0.25, "forwardCommMs": 0.0, "backwardCommMs": 2.0}
        backward = {"collective": "all_reduce", "direction": "backward", "scope": "copies", "ms": [2.0]}
        with TrainerReports(log, workload, "test", run="r") as reports:
            reports.adopted("p", 1)
            reports.finished_moving("p", 2)
            reports.rejected("q", 3, "why")
            for step in range(100):
                reports.measured("p", step, 1, [{"computeMs": 1.0, "forwardCommMs": 0.0, "backwardCommMs": 2.0}])
            # No bytes are a float, so the value does not match its schema.
            reports.measured("p", 100, 1, [{"computeMs": b"", "forwardCommMs": 0.0, "backwardCommMs": 2.0}])
            reports.measured("p", 101, 1, [device], [backward])
            self.assertTrue(reports.flush(PATIENCE))
            self.assertEqual((reports.sent, reports.failed, reports.dropped, reports.waiting), (104, 1, 0, 0))
        with log.reader("plan-status", key=workload) as reader:
            statuses = [record.value for record in reader.all()]
        self.assertEqual(
            [(s["status"], s["planId"], s["step"], s["reason"], s["run"], s["source"]) for s in statuses],
            [
                ("ADOPTED", "p", 1, None, "r", "test"),
                ("FINISHED_MOVING", "p", 2, None, "r", "test"),
                ("REJECTED", "q", 3, "why", "r", "test"),
            ],
        )
        with log.reader("measured-costs", key=workload) as reader:
            measured = [record.value for record in reader.all()]
        self.assertEqual([m["step"] for m in measured], [*range(100), 101])
        self.assertEqual(measured[7]["measurementId"], "test/r/7")
        self.assertIsNone(measured[7]["devices"][0]["forwardComputeMs"])
        self.assertEqual((measured[7]["collectives"], measured[-1]["collectives"]), ([], [backward]))
        self.assertEqual(measured[-1]["devices"], [device])


class Unreachable(unittest.TestCase):
    """A broker that is not there is named in one line, in time."""

    def setUp(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{taken.getsockname()[1]}"
        self.log = Log({"bootstrap.servers": self.address}, {"url": REGISTRY}, PREFIX, timeout_seconds=1)

    def test_reading(self):
        with self.assertRaisesRegex(ConnectionError, f"Kafka at {self.address} does not answer: .*refused"):
            self.log.reader("current-plans")

    def test_writing(self):
        with self.assertRaisesRegex(ConnectionError, f"Kafka at {self.address} does not answer: .*refused"):
            self.log.publish("plan-status", "w", records.value(self.log, "plan-status"))

    def test_no_topic(self):
        log = new_log()
        log.prefix = PREFIX + "none."
        with self.assertRaisesRegex(LookupError, f"There is no topic {PREFIX}none.current-plans at {KAFKA}"):
            log.reader("current-plans")


if __name__ == "__main__":
    unittest.main()
