"""Reads and writes the records of a topic; shardtide.log.Log creates readers and senders."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple

import confluent_kafka as kafka

from shardtide.arguments import Closing
from shardtide.errors import Unreachable
from shardtide.log.schemas import UndecidedSchema, UndecodableRecord

if TYPE_CHECKING:
    from shardtide.log.log import Log

logger = logging.getLogger("shardtide")

POLL_SECONDS = 0.1

EVENT_ID = "shardtide.event.id"
"""The header of a record on cost-predictions that has the id of its event."""

_NO_COORDINATOR = (kafka.KafkaError._TIMED_OUT, kafka.KafkaError._WAIT_COORD)
_NO_LEADER = (kafka.KafkaError.LEADER_NOT_AVAILABLE, kafka.KafkaError.NOT_LEADER_FOR_PARTITION)


class Record(NamedTuple):
    """A record of a topic; value is None for a deleted key."""

    key: str | None
    value: dict[str, Any] | None
    partition: int
    offset: int


def _left(end: float, most: float = math.inf) -> float:
    """Returns the seconds until a time of time.monotonic(), more than none: negative ones are for ever in Kafka."""
    return max(POLL_SECONDS, min(most, end - time.monotonic()))


class Reader(Closing):
    """Reads the committed records of all partitions of a topic, without a consumer group.

    skipped: number of records that could not be decoded: they are logged and skipped
    caught_up: whether all records were read that were in the topic when the reader was created
    """

    def __init__(
        self,
        log: Log,
        topic: str,
        new_only: bool,
        key: str | None,
        key_field: str | None,
        until: float,
        event_id: str | None = None,
    ):
        self.skipped = 0
        self._log = log
        self._until = until
        self._topic = topic
        self._key = key
        self._key_field = key_field
        self._event_id = None if event_id is None else event_id.encode()
        self._waiting: kafka.Message | None = None
        self._consumer = log.consumer("none")
        try:
            self._next = self._assign(new_only)
            self._behind = set(self._next)
        except kafka.KafkaException as e:
            self._consumer.close()
            raise log.problem(e.args[0], "Read", topic) from e

    def _assign(self, new_only: bool) -> dict[int, int]:
        name = self._log.prefix + self._topic
        found = self._metadata(name)
        if found.error:
            raise kafka.KafkaException(found.error)
        starts = {
            partition: self._end(partition) if new_only else kafka.OFFSET_BEGINNING for partition in found.partitions
        }
        self._consumer.assign([kafka.TopicPartition(name, partition, start) for partition, start in starts.items()])
        return starts

    def _metadata(self, name: str) -> Any:
        end = self._log.end(self._until)
        while True:
            try:
                found = self._consumer.list_topics(name, timeout=_left(end, 1.0)).topics[name]
                self._log.succeeded()
                return found
            except kafka.KafkaException:
                # Calls back with what is wrong; there is no record yet that it could return.
                self._consumer.poll(0)
                if self._log.refused or time.monotonic() > end:
                    raise

    def _end(self, partition: int) -> int:
        end = self._log.end(self._until)
        while True:
            try:
                return self._consumer.get_watermark_offsets(
                    kafka.TopicPartition(self._log.prefix + self._topic, partition), timeout=_left(end)
                )[1]
            except kafka.KafkaException as e:
                # A leader is being elected, as after a topic was created.
                if e.args[0].code() not in _NO_LEADER or time.monotonic() > end:
                    raise
                time.sleep(POLL_SECONDS)

    @property
    def caught_up(self) -> bool:
        return not self._behind

    def ends(self) -> dict[int, int]:
        """Returns the offset after the last record of each partition, open transactions included."""
        try:
            return {partition: self._end(partition) for partition in self._next}
        except kafka.KafkaException as e:
            raise self._log.problem(e.args[0], "Read", self._topic) from e

    def is_past(self, ends: dict[int, int]) -> bool:
        """Returns whether all records before some ends were read."""
        return all(self._next[partition] >= end for partition, end in ends.items())

    def poll(self, seconds: float = 1.0) -> Record | None:
        """Returns the next record, or None if none arrives in time or the end of a partition was reached.

        A record whose schema the registry does not give, though it gives others, is waited for, 5 s at most.
        ConnectionError if the registry does not answer; the next call tries the same record again.
        """
        end = time.monotonic() + seconds
        while True:
            message, self._waiting = self._waiting, None
            if message is None:
                message = self._consumer.poll(max(0.0, end - time.monotonic()))
            if message is None:
                return None
            if message.error():
                if self._take_error(message):
                    return None
            else:
                try:
                    record = self._decode(message)
                except UndecidedSchema:
                    left = end - time.monotonic()
                    if left <= 0:
                        return None
                    time.sleep(min(left, POLL_SECONDS))
                    continue
                self._next[message.partition()] = message.offset() + 1
                if record is not None:
                    return record

    def _take_error(self, message: kafka.Message) -> bool:
        """Returns whether a partition's end was reached."""
        code = message.error().code()
        if code == kafka.KafkaError._PARTITION_EOF:
            # Beyond the last record where markers of transactions follow it.
            self._next[message.partition()] = max(self._next[message.partition()], message.offset())
            self._behind.discard(message.partition())
            return True
        # librdkafka looks for the coordinator of a group that is never joined.
        if code == kafka.KafkaError.GROUP_AUTHORIZATION_FAILED:
            return False
        raise self._log.problem(message.error(), "Read", self._topic)

    def _decode(self, message: kafka.Message) -> Record | None:
        key = None if message.key() is None else message.key().decode(errors="replace")
        if self._key is not None and key != self._key:
            return None
        if self._event_id is not None and self._is_of_another_event(message):
            return None
        try:
            value = None if message.value() is None else self._log.decode(self._topic, message.value())
            if value is not None and self._key_field and value[self._key_field] != key:
                raise UndecodableRecord(f"The key is {key!r}; expected {self._key_field}, {value[self._key_field]!r}")
        except UndecodableRecord as e:
            self.skipped += 1
            place = message.topic(), message.partition(), message.offset()
            logger.warning("Skipped a record of topic %s, partition %d, offset %d: %s", *place, e)
            return None
        except (ConnectionError, LookupError, PermissionError):
            self._waiting = message
            raise
        return Record(key, value, message.partition(), message.offset())

    def _is_of_another_event(self, message: kafka.Message) -> bool:
        """Returns whether headers say so; records of planners before 0.3.0 have none."""
        ids = [value for name, value in message.headers() or () if name == EVENT_ID]
        return bool(ids) and ids[-1] != self._event_id

    def all(self, timeout_seconds: float = 60.0) -> Iterator[Record]:
        """Yields the records up to the topic's end as it was when this was created; Unreachable if they do not arrive."""
        end = time.monotonic() + timeout_seconds
        while not self.caught_up:
            record = self.poll(POLL_SECONDS)
            if record is not None:
                yield record
            elif time.monotonic() > end:
                name = self._log.prefix + self._topic
                raise Unreachable(f"The end of topic {name} was not reached within {timeout_seconds} s")

    def close(self) -> None:
        self._consumer.close()


class Sender:
    """Writes records one after the other and waits for each. For one thread at a time; may be used after an error."""

    def __init__(self, log: Log, timeout_seconds: float | None):
        self._log = log
        self._timeout_seconds = timeout_seconds
        self._producer: kafka.Producer | None = None

    def send(
        self, topic: str, key: str, value: dict[str, Any], cancelled: Callable[[], bool] = lambda: False
    ) -> tuple[int, int] | None:
        """Writes a value; returns its partition and offset, or None if it was cancelled; it may be in the log then.

        cancelled: called several times a second; ends the call once it returns True
        """
        payload = self._log.encode(topic, value)
        if self._log.refused:
            # A producer does not repeat what it reported; another one finds out whether the user is accepted now.
            self._producer = None
            self._log.succeeded()
        if self._producer is None:
            self._producer = self._log.producer(self._timeout_seconds)
        producer = self._producer
        name, reports = self._log.prefix + topic, []
        try:
            producer.produce(name, payload, key.encode(), on_delivery=lambda *report: reports.append(report))
            while not reports:
                # librdkafka would try until the time-out, as a sender without one does: a certificate may be renewed.
                refused = self._timeout_seconds is not None and self._log.refused
                if refused or cancelled():
                    producer.purge()
                    self._producer = None
                    if refused:
                        raise self._log.problem(kafka.KafkaError(kafka.KafkaError._AUTHENTICATION), "Write", topic)
                    return None
                # Raises a fatal error, which no delivery reports: a user without any right to write, for example.
                producer.poll(POLL_SECONDS)
        except kafka.KafkaException as e:
            self._producer = None
            raise self._log.problem(e.args[0], "Write", topic) from e
        error, message = reports[0]
        if error:
            # A producer that met a fatal error sends nothing any more.
            self._producer = None
            raise self._log.problem(error, "Write", topic)
        self._log.succeeded()
        return message.partition(), message.offset()


class Group(Closing):
    """Reads how far a consumer group is, without joining it."""

    def __init__(self, log: Log, group: str, until: float):
        self._log = log
        self._group = group
        self._until = until
        self._consumer = log.consumer(log.prefix + group)

    def committed(self, topic: str, partition: int) -> int | None:
        """Returns the next offset that the group will read, or None if it has committed none."""
        end = self._log.end(self._until)
        asked = [kafka.TopicPartition(self._log.prefix + topic, partition)]
        while True:
            try:
                (found,) = self._consumer.committed(asked, timeout=_left(end, 1.0))
                break
            except kafka.KafkaException as e:
                # Without the right, the group's coordinator is looked for again and again; only poll() tells.
                message = self._consumer.poll(0)
                error = message.error() if message is not None else e.args[0]
                if error.code() not in _NO_COORDINATOR or time.monotonic() > end:
                    raise self._log.problem(error, "Describe", topic, self._group) from e
        if found.error:
            raise self._log.problem(found.error, "Describe", topic, self._group)
        return found.offset if found.offset >= 0 else None

    def close(self) -> None:
        self._consumer.close()
