"""Training goes on while Kafka is away: two ranks, and a broker that is killed twice.

Needs torch, avro and confluent_kafka, and in the environment REGISTRY and PREFIX (a registry with the schemas of the topics of
this prefix) and BROKER: a command (a list in JSON) that starts a broker, prints "broker at HOST:PORT", and has the same
address and data when it is started again. PythonClientsIT sets them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import records
from shardtide.log import Log

REGISTRY, PREFIX = os.environ["REGISTRY"], os.environ["PREFIX"]
BROKER = json.loads(os.environ["BROKER"])
TRAINING = pathlib.Path(__file__).with_name("training.py")
PATIENCE = 120
# For how long Kafka is away at least; a figure for the documentation needs a minute.
AWAY_SECONDS = float(os.environ.get("AWAY_SECONDS", 0))
READY = "broker at "


class Broker:
    """A broker that can be killed and started again."""

    def __init__(self):
        self.start()

    def start(self):
        self._process = subprocess.Popen(BROKER, stdout=subprocess.PIPE, text=True)
        for line in self._process.stdout:
            if line.startswith(READY):
                self.address = line[len(READY) :].strip()
                self._drain = threading.Thread(target=self._process.stdout.read, daemon=True)
                self._drain.start()
                return
        raise AssertionError("The broker does not start")

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._drain.join()
        self._process.stdout.close()


class Training:
    """Two ranks, and the latest that each printed."""

    def __init__(self, broker, workload, folder):
        command = [sys.executable, "-B", "-u", str(TRAINING), broker.address, REGISTRY, PREFIX, workload, folder]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._lines = queue.Queue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.latest = {}
        self.went = []
        self.closed = {}

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def until(self, condition):
        """Reads what the ranks print until a condition holds of the latest of both."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            if line is None:
                raise AssertionError(f"Training ended with {self._process.wait()} after {self.latest}")
            self.latest[line["rank"]] = line
            if "went" in line:
                self.went.append((line["rank"], line["plan"], line["step"]))
            if len(self.latest) == 2 and condition(self.latest[0], self.latest[1]):
                return self.latest[0]

    def steps(self, count):
        """Reads until both ranks have made more steps, counted from the last that was read."""
        start = max(line["step"] for line in self.latest.values())
        return self.until(lambda a, b: min(a["step"], b["step"]) >= start + count)

    def stop(self):
        """Ends it; returns the last line of rank 0."""
        self._process.stdin.close()
        found = self.until(lambda a, b: "closed" in a)
        assert self._process.wait(PATIENCE) == 0
        return found

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._reading.join(PATIENCE)
        self._process.stdout.close()


class Outage(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_two_ranks(self):
        workload = "trained"
        broker = Broker()
        self.addCleanup(broker.kill)
        records.create_topics(
            broker.address, [PREFIX + topic for topic in ("current-plans", "plan-status", "measured-costs")], 1
        )
        log = Log({"bootstrap.servers": broker.address}, {"url": REGISTRY}, PREFIX)
        log.publish("current-plans", workload, records.plan(log, workload, "first", [0, 1]))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        training = Training(broker, workload, folder.name)
        self.addCleanup(training.kill)
        found = training.until(lambda a, b: a["sent"] > 5)
        self.assertEqual(found["plan"], "first")
        before = training.steps(200)["ms"]

        broker.kill()
        # While the first connection is made, a slow machine may drop reports too.
        dropped = training.latest[0]["dropped"]
        training.until(lambda a, b: a["dropped"] > dropped + 5)
        sent = training.latest[0]["sent"]
        away = []
        end = time.monotonic() + AWAY_SECONDS
        while not away or time.monotonic() < end:
            away.append(training.steps(200)["ms"])
        found = training.latest[0]
        self.assertEqual(found["sent"], sent, "nobody takes reports")
        self.assertGreaterEqual(found["waiting"], 20, "the buffer is full")

        broker.start()
        log.publish("current-plans", workload, records.plan(log, workload, "second", [1, 0]))
        training.until(lambda a, b: a["plan"] == b["plan"] == "second" and a["waiting"] == 0)
        self.assertEqual({rank for rank, _, _ in training.went}, {0, 1})
        self.assertEqual(len({(plan, step) for _, plan, step in training.went}), 1, "at the same step")

        after = training.steps(200)
        print(
            f"ms a step: {before} before, {min(away)} to {max(away)} while Kafka was away, {after['ms']} after;"
            f" {after['dropped']} reports dropped",
            file=sys.stderr,
        )
        broker.kill()
        dropped = training.latest[0]["dropped"]
        training.until(lambda a, b: a["dropped"] > dropped)
        last = training.stop()
        self.assertEqual((last["waiting"], last["failed"]), (0, 0))
        reported = last["step"] // 10 + 2
        self.assertEqual(last["sent"] + last["dropped"], reported, "each report is sent or counted as dropped")

        broker.start()
        log = Log({"bootstrap.servers": broker.address}, {"url": REGISTRY}, PREFIX)
        with log.reader("plan-status", key=workload) as reader:
            statuses = [(r.value["status"], r.value["planId"]) for r in reader.all(PATIENCE)]
        self.assertEqual(statuses, [("FINISHED_MOVING", "first"), ("FINISHED_MOVING", "second")])
        with log.reader("measured-costs", key=workload) as reader:
            steps = [record.value["step"] for record in reader.all(PATIENCE)]
        self.assertEqual(steps, sorted(set(steps)), "in order, none twice")
        # The last may have arrived without an acknowledgement.
        self.assertIn(len(steps) + len(statuses) - last["sent"], (0, 1))


if __name__ == "__main__":
    unittest.main()
