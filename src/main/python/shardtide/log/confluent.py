"""Confluent's Avro deserializer, as far as Schemas needs it. Needs confluent-kafka[avro]: fastavro and requests."""

from __future__ import annotations

import uuid
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from requests.exceptions import RequestException


class ConfluentDecoder:
    """Decodes records with the schemas of a registry.

    url: address of the registry, without the user
    user: user:password for basic authentication; None without
    """

    def __init__(self, url: str, user: str | None):
        self._client = SchemaRegistryClient({"url": url, **({"basic.auth.user.info": user} if user else {})})
        self._deserializers: dict[str, AvroDeserializer] = {}

    def decode(self, schema: str, payload: bytes) -> Any:
        """Returns the value of a framed record in the form of a schema, which is JSON.

        LookupError if the registry does not have the record's schema, PermissionError if it refuses the user,
        ConnectionError if it does not answer; any other exception if the bytes are not a value.
        """
        if schema not in self._deserializers:
            self._deserializers[schema] = AvroDeserializer(self._client, schema, lambda value, _: _plain(value))
        try:
            return self._deserializers[schema](payload, None)
        except SchemaRegistryError as e:
            if e.http_status_code in (401, 403):
                raise PermissionError(str(e)) from e
            raise (LookupError if e.error_code == 40403 else ConnectionError)(str(e)) from e
        except RequestException as e:
            raise ConnectionError(str(e)) from e


def _plain(value: Any) -> Any:
    """Returns a value with UUIDs as texts, as avro has them."""
    if isinstance(value, dict):
        return {name: _plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, uuid.UUID) else value
