"""Reads and writes Shardtide's topics from Python.

Records are in the schema registry's framing: a zero byte, four bytes of schema id, Avro. Works with Debian's
python3-confluent-kafka and python3-avro, and with the same packages of any other origin (confluent-kafka, avro).
"""

import base64
import collections
import io
import json
import struct
import time
import urllib.error
import urllib.parse
import urllib.request

import avro.errors
import avro.io
import avro.schema
import confluent_kafka as kafka

Record = collections.namedtuple("Record", "key value partition offset")


class Log:
    """A Kafka cluster with its schema registry.

    bootstrap_servers: host:port, several with commas between
    registry_url: the registry's address; https://user:password@host if it asks who calls
    prefix: before the name of each topic, as in the planner's settings
    settings: any of librdkafka's, such as those for TLS and SASL
    opener: opens the registry's addresses; one of urllib's, with certificates of its own, say
    """

    def __init__(self, bootstrap_servers, registry_url, prefix="shardtide.", settings=None, opener=None):
        self.prefix = prefix
        self.settings = {"bootstrap.servers": bootstrap_servers, **(settings or {})}
        address = urllib.parse.urlsplit(registry_url.rstrip("/"))
        self._registry_url = address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
        self._opener = opener or urllib.request.build_opener()
        if address.username:
            who = f"{urllib.parse.unquote(address.username)}:{urllib.parse.unquote(address.password or '')}"
            self._opener.addheaders.append(("Authorization", "Basic " + base64.b64encode(who.encode()).decode()))
        self._schemas = {}
        self._producer = None

    def publish(self, topic, key, value):
        """Writes a value (a dict) and waits until the cluster has it; returns its partition and offset.

        Fields that are left out take their defaults. Fails with KafkaException if the cluster does not take the record,
        with ValueError if the value does not fit the schema, with LookupError if the registry does not have the schema, and
        with an error of urllib's if it is away.
        """
        payload = self._encode(topic, value)
        if self._producer is None:
            self._producer = kafka.Producer(
                {
                    # A workload is on the partition of one number in every topic, and it is Java's clients that the
                    # planner has the numbers from. librdkafka's own default is another one.
                    "partitioner": "murmur2_random",
                    "enable.idempotence": True,
                    "message.max.bytes": 16 * 1024 * 1024,
                    **self.settings,
                }
            )
        reports = []
        self._producer.produce(
            self.prefix + topic, payload, key.encode(), on_delivery=lambda error, message: reports.append((error, message))
        )
        self._producer.flush()
        error, message = reports[0]
        if error:
            raise kafka.KafkaException(error)
        return message.partition(), message.offset()

    def reader(self, topic, new_only=False):
        """Returns a Reader of a topic: from its beginning, or of what comes from now on."""
        return Reader(self, topic, new_only)

    def ask(self, change, patience=60):
        """Publishes a WorkloadChange and waits for what becomes of it.

        Returns ("plan", ShardingPlan), ("infeasible", InfeasibleWorkload) or ("rejected", RejectedEvent). Where the
        change lies in the log says which answer is its own: a rejection names just that place, a plan the place of the
        last change that it answers. TimeoutError after patience seconds: the planner is busy, or does not run.
        """
        # From before the change is published: nothing that follows it is missed.
        readers = {
            "plan": self.reader("sharding-plans", new_only=True),
            "infeasible": self.reader("infeasible-workloads", new_only=True),
            "rejected": self.reader("rejected-events", new_only=True),
        }
        try:
            partition, offset = self.publish("workload-changes", change["workloadId"], change)
            place = {"topic": self.prefix + "workload-changes", "partition": partition, "offset": offset}
            end = time.monotonic() + patience
            while time.monotonic() < end:
                for kind, reader in readers.items():
                    record = reader.poll(0.05)
                    if record is None:
                        continue
                    source = record.value["source"]
                    if source == place:
                        return kind, record.value
                    if kind != "rejected" and record.value["workloadId"] == change["workloadId"]:
                        # One answer to several changes names the last of them.
                        if source["offset"] > offset:
                            return kind, record.value
        finally:
            for reader in readers.values():
                reader.close()
        raise TimeoutError(f"No answer within {patience} s to the change at {place}")

    def decode(self, payload):
        """Returns the value of a record as a dict; ValueError if it is not in the registry's framing."""
        if len(payload) < 5 or payload[0] != 0:
            raise ValueError("Not in the registry's framing: a zero byte, four bytes of schema id, Avro")
        schema = self._schema(f"/schemas/ids/{struct.unpack('>I', payload[1:5])[0]}")[1]
        return avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(payload[5:])))

    def _encode(self, topic, value):
        # The newest schema that is registered: the planner registers each topic's as <topic>-value when it starts.
        subject = urllib.parse.quote(self.prefix + topic + "-value", safe="")
        schema_id, schema = self._schema(f"/subjects/{subject}/versions/latest")
        out = io.BytesIO()
        out.write(struct.pack(">bI", 0, schema_id))
        try:
            avro.io.DatumWriter(schema).write(_complete(schema, value), avro.io.BinaryEncoder(out))
        except (avro.errors.AvroException, AttributeError, TypeError) as e:
            raise ValueError(f"Not a value of {topic}: {e}") from e
        return out.getvalue()

    def _schema(self, path):
        if path not in self._schemas:
            try:
                with self._opener.open(self._registry_url + path, timeout=10) as answer:
                    found = json.load(answer)
            except urllib.error.HTTPError as e:
                if e.code != 404:
                    raise
                raise LookupError(
                    f"The registry at {self._registry_url} has no {path}. Maybe no planner with the prefix"
                    f" {self.prefix} has started there yet"
                ) from e
            self._schemas[path] = (found.get("id"), avro.schema.parse(found["schema"]))
        return self._schemas[path]


class Reader:
    """Reads a topic, all partitions, without a consumer group: only what is committed."""

    def __init__(self, log, topic, new_only):
        self._log = log
        self._consumer = kafka.Consumer(
            {
                "group.id": "none",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                **log.settings,
            }
        )
        name = log.prefix + topic
        found = self._consumer.list_topics(name, timeout=10).topics[name]
        if found.error:
            self._consumer.close()
            raise kafka.KafkaException(found.error)
        self._behind = set(found.partitions)
        starts = []
        for partition in found.partitions:
            first, last = self._consumer.get_watermark_offsets(kafka.TopicPartition(name, partition), timeout=10)
            starts.append(kafka.TopicPartition(name, partition, last if new_only else first))
        self._consumer.assign(starts)

    def poll(self, seconds=1.0):
        """Returns the next Record, or None if there was none for so long. A deleted key's value is None."""
        message = self._consumer.poll(seconds)
        if message is None:
            return None
        if message.error():
            if message.error().code() == kafka.KafkaError._PARTITION_EOF:
                self._behind.discard(message.partition())
                return None
            raise kafka.KafkaException(message.error())
        value = None if message.value() is None else self._log.decode(message.value())
        key = None if message.key() is None else message.key().decode(errors="replace")
        return Record(key, value, message.partition(), message.offset())

    def all(self):
        """Yields the records up to the topic's end as it is now."""
        while self._behind:
            record = self.poll()
            if record is not None:
                yield record

    def close(self):
        self._consumer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _complete(schema, value):
    """Returns a value with the defaults of the fields that it leaves out, which Avro's writer does not put in.

    So a publisher need not know of fields that a later schema has.
    """
    if schema.type == "record" and isinstance(value, dict):
        unknown = value.keys() - {field.name for field in schema.fields}
        if unknown:
            raise ValueError(f"{schema.name} has no field {sorted(unknown)}; legal are {[f.name for f in schema.fields]}")
        complete = {}
        for field in schema.fields:
            if field.name in value:
                complete[field.name] = _complete(field.type, value[field.name])
            elif field.has_default:
                complete[field.name] = field.default
            else:
                raise ValueError(f"{schema.name} lacks {field.name}: {field.doc}")
        return complete
    if schema.type == "array" and isinstance(value, list):
        return [_complete(schema.items, item) for item in value]
    if schema.type == "union" and isinstance(value, dict):
        # Records of a union are told apart by their fields.
        for branch in schema.schemas:
            if branch.type == "record" and value.keys() <= {field.name for field in branch.fields}:
                return _complete(branch, value)
    return value
