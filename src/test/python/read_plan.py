"""Reads the first plan of a topic as any Python client would, and prints it as JSON.

Needs Debian's python3-confluent-kafka and python3-avro.
Usage: read_plan.py BOOTSTRAP_SERVERS REGISTRY_URL TOPIC
"""

import io
import json
import struct
import sys
import urllib.request

import avro.io
import avro.schema
import confluent_kafka


def main(bootstrap_servers, registry_url, topic):
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "python",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    try:
        for _ in range(60):
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                raise SystemExit(str(message.error()))
            print(json.dumps(decode(registry_url, message.value()), default=str))
            return
        raise SystemExit("no plan within a minute")
    finally:
        consumer.close()


def decode(registry_url, value):
    magic, schema_id = struct.unpack(">bI", value[:5])
    assert magic == 0, "not in the registry's framing"
    with urllib.request.urlopen(f"{registry_url}/schemas/ids/{schema_id}") as answer:
        schema = avro.schema.parse(json.load(answer)["schema"])
    return avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(value[5:])))


if __name__ == "__main__":
    main(*sys.argv[1:])
