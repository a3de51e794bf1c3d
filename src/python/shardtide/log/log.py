"""Reads and writes Shardtide's Kafka topics.

Errors are those of shardtide.errors everywhere: Unreachable if Kafka or the schema registry cannot be reached,
AccessDenied if the user lacks a right (the message names it), NotFound if there is no such topic or schema,
InvalidRecord for values, and confluent_kafka.KafkaException for all else.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from shardtide.arguments import mapping
from shardtide.errors import AccessDenied, NotFound, TimedOut, Unreachable
from shardtide.log.records import Group, Reader, Sender
from shardtide.log.schemas import REQUEST_SECONDS, Schemas

# The role of ./shardtide rights that may use a topic as the Python clients do; "dashboard" may read all topics.
ROLES = {
    "workload-changes": "publisher",
    "cost-predictions": "publisher",
    "rejected-events": "publisher",
    "current-plans": "trainer",
    "plan-status": "trainer",
    "measured-costs": "trainer",
}

# The lines of librdkafka, which repeat what is raised and logged here. Set a lower level to see them.
librdkafka_logger = logging.getLogger("shardtide.librdkafka")
librdkafka_logger.setLevel(logging.CRITICAL + 1)

LARGEST_RECORD_BYTES = 16 * 1024 * 1024

_UNAUTHORIZED = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
_REFUSED = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)
_UNREACHABLE = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._SSL,
)

# Before this version, librdkafka sends a nonce in SCRAM that brokers of Kafka 3.8.1 and later refuse.
_SCRAM_VERSION = (2, 6, 1)


class Log:
    """A Kafka cluster with its schema registry. May be used by several threads.

    kafka: settings of librdkafka, as confluent-kafka takes them: bootstrap.servers, and those for TLS and SASL
    registry: settings of the registry, as confluent-kafka's client of it takes them; see Schemas
    prefix: prefix of the topics' names, as in the planner's settings
    timeout_seconds: how long a call waits for Kafka, at least 1; for an answer of the registry, 5 s or less

    Version 0.2.0's arguments, addresses as texts and settings, end with the next version.
    """

    def __init__(
        self,
        kafka: Mapping[str, Any] | str,
        registry: Mapping[str, Any] | str,
        prefix: str = "shardtide.",
        settings: Mapping[str, Any] | None = None,
        timeout_seconds: float = 30.0,
    ):
        if isinstance(kafka, str) or isinstance(registry, str) or settings is not None:
            warnings.warn(
                "Log takes dicts: Log({'bootstrap.servers': ...}, {'url': ...})", DeprecationWarning, stacklevel=2
            )
        if timeout_seconds < 1:
            raise ValueError(f"timeout_seconds must be at least 1, got {timeout_seconds}")
        own = {"bootstrap.servers": kafka} if isinstance(kafka, str) else mapping(kafka, "kafka", "settings of librdkafka")
        self._settings = {"error_cb": self._report, **own, **(settings or {})}
        if not self._settings.get("bootstrap.servers"):
            raise ValueError("kafka must have bootstrap.servers, as host:port, separated by commas")
        self.prefix = prefix
        self.timeout_seconds = timeout_seconds
        self._schemas = Schemas(
            {"url": registry} if isinstance(registry, str) else registry, min(REQUEST_SECONDS, timeout_seconds)
        )
        self._address = str(self._settings["bootstrap.servers"])
        self._broker_error: KafkaError | None = None
        self._publishing = threading.Lock()
        self._sender: Sender | None = None

    def publish(self, topic: str, key: str, value: dict[str, Any], until: float = math.inf) -> tuple[int, int]:
        """Writes a value and waits until all in-sync replicas have it; returns its partition and offset.

        After Unreachable, and TimedOut at the time until of time.monotonic(), the record may be in the log or not.
        """
        if self._publishing.acquire(timeout=-1 if until == math.inf else max(0.0, until - time.monotonic())):
            try:
                if self._sender is None:
                    self._sender = self.sender(self.timeout_seconds)
                place = self._sender.send(topic, key, value, cancelled=lambda: time.monotonic() > until)
            finally:
                self._publishing.release()
            if place is not None:
                return place
        raise TimedOut(f"The record was not written to {self.prefix}{topic} in time")

    def sender(self, timeout_seconds: float | None) -> Sender:
        """Returns a Sender of its own; without a timeout it tries for ever, without losing or repeating a record."""
        return Sender(self, timeout_seconds)

    def reader(
        self,
        topic: str,
        new_only: bool = False,
        key: str | None = None,
        key_field: str | None = None,
        until: float = math.inf,
        event_id: str | None = None,
    ) -> Reader:
        """Returns a Reader of a topic.

        new_only: begin at the topic's end instead of its beginning
        key: return only the records of this key
        key_field: the field of a value that must equal the record's key
        until: the time of time.monotonic() at which waits for answers of the brokers end
        event_id: of records whose headers name an event, return only those of this one
        """
        return Reader(self, topic, new_only, key, key_field, until, event_id)

    def group(self, group: str, until: float = math.inf) -> Group:
        """Returns a Group, to be closed. group: its name without the prefix; until: as for reader."""
        return Group(self, group, until)

    def end(self, until: float) -> float:
        """Returns the time of time.monotonic() at which a call that begins now ends, until at most."""
        return min(until, time.monotonic() + self.timeout_seconds)

    def encode(self, topic: str, value: dict[str, Any]) -> bytes:
        return self._schemas.encode(self.prefix + topic, value)

    def decode(self, topic: str, payload: bytes) -> dict[str, Any]:
        return self._schemas.decode(self.prefix + topic, payload)

    def consumer(self, group: str) -> confluent_kafka.Consumer:
        """Returns a consumer of committed records, to be closed. It joins no group unless it subscribes."""
        return confluent_kafka.Consumer(
            {
                **self._settings,
                "group.id": group,
                "enable.auto.commit": False,
                # Where a topic was created again.
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            },
            logger=librdkafka_logger,
        )

    def producer(self, timeout_seconds: float | None) -> confluent_kafka.Producer:
        return confluent_kafka.Producer(
            {
                # librdkafka's default puts a key on another partition than Kafka's Java clients do, and the planner
                # expects all records of a workload on the partition of one number.
                "partitioner": "murmur2_random",
                "message.max.bytes": LARGEST_RECORD_BYTES,
                "linger.ms": 0,
                **self._settings,
                "enable.idempotence": True,
                # With more, the first batches of a producer can be written in the wrong order while their partition
                # changes its leader.
                "max.in.flight": 1,
                # 0 is for ever.
                "message.timeout.ms": 0 if timeout_seconds is None else round(timeout_seconds * 1000),
            },
            logger=librdkafka_logger,
        )

    def problem(self, error: KafkaError, operation: str, topic: str, group: str | None = None) -> Exception:
        """Returns the exception for an error of Kafka's.

        operation: the right that was needed on the topic or group, without the prefix: Read, Write or Describe
        """
        name = self.prefix + topic
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return self._denied("Describe", f"group {self.prefix}{group}", topic)
        if error.code() in _UNAUTHORIZED:
            return self._denied(operation, f"topic {name}", topic)
        if error.code() in _NO_TOPIC:
            return NotFound(
                f"There is no topic {name} at {self._address}; the planner creates its topics when it starts. Check the"
                " prefix"
            )
        if self.refused or error.code() in _REFUSED:
            return AccessDenied(f"Kafka at {self._address} refuses this user: {self._reason(error)}{self._hint()}")
        if error.code() in _UNREACHABLE:
            return Unreachable(f"Kafka at {self._address} does not answer: {self._reason(error)}")
        return KafkaException(error)

    @property
    def broker_problem(self) -> str | None:
        """What the brokers' connections reported last; None if they reported nothing since the last success."""
        return None if self._broker_error is None else f"Kafka at {self._address}: {self._reason(self._broker_error)}"

    @property
    def refused(self) -> bool:
        return self._broker_error is not None and self._broker_error.code() in _REFUSED

    def succeeded(self) -> None:
        self._broker_error = None

    def _report(self, error: KafkaError) -> None:
        # That all brokers are down follows from what was reported of each, which says why.
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self._broker_error is None:
            self._broker_error = error

    def _reason(self, error: KafkaError) -> str:
        # Without the time that it took, which differs each time.
        return re.sub(r" \(after [^()]*(\([^()]*\)[^()]*)*\)$", "", (self._broker_error or error).str())

    def _hint(self) -> str:
        mechanism = str(self._settings.get("sasl.mechanism", self._settings.get("sasl.mechanisms", "")))
        has = confluent_kafka.libversion()[0]
        if not mechanism.startswith("SCRAM") or tuple(map(int, re.findall(r"\d+", has)[:3])) >= _SCRAM_VERSION:
            return ""
        return (
            f". The password may be right: librdkafka {has} cannot use {mechanism} with Kafka 3.8.1 and later; install"
            f" confluent-kafka {'.'.join(map(str, _SCRAM_VERSION))} or later"
        )


    def _denied(self, operation: str, resource: str, topic: str) -> AccessDenied:
        role = ROLES.get(topic, "dashboard")
        return AccessDenied(
            f"This user needs {operation} on {resource}; ./shardtide rights --role {role} prints the commands that grant it"
        )
