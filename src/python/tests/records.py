"""Records for tests: values of a schema with some fields set, and bytes that are no values."""

from __future__ import annotations

import copy
import datetime
import pathlib
import random
import sys
import uuid
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from shardtide.log import Log

EXAMPLES = {"string": "", "bytes": b"", "boolean": False, "double": 0.0, "float": 0.0, "null": None}


def example(schema: Any) -> Any:
    """Returns a value of a schema: defaults, or else zeros, empty texts and lists, the first of several."""
    if schema.type == "record":
        return {
            field.name: copy.deepcopy(field.default)
            if field.has_default and field.type.type != "bytes"
            else example(field.type)
            for field in schema.fields
        }
    if schema.type == "array":
        return []
    if schema.type == "map":
        return {}
    if schema.type == "enum":
        return schema.symbols[0]
    if schema.type == "union":
        return example(schema.schemas[0])
    logical = schema.props.get("logicalType")
    if logical == "timestamp-millis":
        return datetime.datetime.now(datetime.timezone.utc)
    if logical == "uuid":
        return str(uuid.uuid4())
    return EXAMPLES.get(schema.type, 0)


def drawn(schema: Any, random: random.Random, depth: int = 0) -> Any:
    """Returns a drawn value of a schema, with short lists. Some records contain themselves: it ends at a depth."""
    deep = depth > 12
    if schema.type == "record":
        return {field.name: drawn(field.type, random, depth + 1) for field in schema.fields}
    if schema.type == "array":
        return [drawn(schema.items, random, depth + 1) for _ in range(0 if deep else random.randrange(3))]
    if schema.type == "map":
        return {"key": drawn(schema.values, random, depth + 1)}
    if schema.type == "union":
        return drawn(schema.schemas[0 if deep else random.randrange(len(schema.schemas))], random, depth + 1)
    if schema.type == "enum":
        return random.choice(schema.symbols)
    if schema.props.get("logicalType"):
        return example(schema)
    if schema.type in ("int", "long"):
        return random.randrange(100)
    return example(schema)


def value(log: Log, topic: str, **fields: Any) -> dict[str, Any]:
    """Returns a value of a topic with some fields set."""
    schema = log._schemas._latest_of(log.prefix + topic)[1]
    return {**example(schema), **fields}


def plan(log: Log, workload: str, plan_id: str, devices: list[int]) -> dict[str, Any]:
    """Returns a ShardingPlan of tables of 10 rows and 8 columns; table t0 is on the first of the devices, and so on."""
    shards = [
        {
            "table": f"t{i}",
            "kind": "TABLE_WISE",
            "columnOffset": 0,
            "columns": 8,
            "rowOffset": 0,
            "rows": 10,
            "device": device,
        }
        for i, device in enumerate(devices)
    ]
    cost = {"computeMs": 1.0, "forwardCommMs": 1.0, "backwardCommMs": 1.0, "memoryBytes": 1}
    return value(
        log, "current-plans", workloadId=workload, planId=plan_id, generation=1, shards=shards, deviceCosts=[cost, cost]
    )


def publish_bytes(
    log: Log, topic: str, records: list[tuple[bytes | None, bytes | None]], headers: dict[str, bytes] | None = None
) -> None:
    """Writes keys and values as they are, each with the same headers."""
    producer = log.producer(30)
    errors = []
    for key, payload in records:
        producer.produce(
            log.prefix + topic,
            payload,
            key,
            headers=list((headers or {}).items()),
            on_delivery=lambda error, _: errors.append(error),
        )
    producer.flush()
    assert errors == [None] * len(records), errors


def undecodable(log: Log, topic: str, key: bytes, good: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """Returns records of a key that are no values of a topic."""
    framed = log.encode(topic, good)
    other = log.encode("plan-status", value(log, "plan-status"))
    payloads = [
        b"",
        b"\0\0\0",
        b"not avro at all",
        b"{}",
        framed[:1] + (2**31).to_bytes(4, "big") + framed[5:],
        framed[:-1],
        framed[:5] + b"\xff" * 40,
        other,
    ]
    return [(key, payload) for payload in payloads]


def create_topics(bootstrap_servers: str, names: list[str], partitions: int) -> None:
    """Creates topics that do not exist yet."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    for future in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        try:
            future.result(30)
        except confluent_kafka.KafkaException as e:
            if e.args[0].code() != confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                raise
