"""Values of Avro schemas, as callers give them: with defaults, and checked with messages that name the field."""

from __future__ import annotations

import contextlib
import datetime
import numbers
import uuid
from collections.abc import Mapping
from typing import Any

import avro.schema

from shardtide.arguments import check_text, plain, shown
from shardtide.errors import InvalidRecord

BITS = {"int": 32, "long": 64}

EXPECTED = {
    "array": "a list",
    "boolean": "a bool",
    "bytes": "bytes",
    "double": "a number",
    "float": "a number",
    "int": "an integer of 32 bits",
    "long": "an integer of 64 bits",
    "map": "a dict",
    "null": "None",
    "string": "a str",
    # Of logical types.
    "timestamp-millis": "a datetime with a time zone",
    "uuid": "a uuid.UUID or its text",
}


def with_defaults(schema: avro.schema.Schema, value: Any, path: str = "") -> Any:
    """Returns a value as Avro's writer takes it, in which fields that it leaves out have their defaults.

    So a publisher need not name the fields of later schemas. Scalars and arrays of numpy, tuples and UUIDs are taken as
    what they hold. A bool is no integer, and a str no list.

    path: of the value, for messages: such as changes[0].table

    InvalidRecord names the field, what is expected, and the value with its type.
    """
    value = plain(value)
    if schema.type == "record":
        return _record(schema, value, path)
    if schema.type == "union":
        return _branch(schema, value, path)
    if schema.type == "array":
        if type(value).__module__ == "numpy":
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            raise _invalid(path, "a list", value)
        return [with_defaults(schema.items, item, f"{path}[{place}]") for place, item in enumerate(value)]
    if schema.type == "map":
        if not isinstance(value, Mapping):
            raise _invalid(path, "a dict", value)
        return {
            check_text(key, path): with_defaults(schema.values, item, f"{path}[{key!r}]") for key, item in value.items()
        }
    return _primitive(schema, value, path)


def _record(schema: Any, value: Any, path: str) -> dict[str, Any]:
    begin = f"{path}: " if path else ""
    known = [field.name for field in schema.fields]
    names = ", ".join(known)
    if not isinstance(value, Mapping):
        raise InvalidRecord(f"{begin}{schema.name} must be a dict with {names}, got {shown(value)}")
    unknown = ", ".join(sorted(map(str, value.keys() - set(known))))
    if unknown:
        raise InvalidRecord(f"{begin}{schema.name} has no field {unknown}; expected {names}")
    complete = {}
    for field in schema.fields:
        if field.name in value:
            own = f"{path}.{field.name}" if path else field.name
            complete[field.name] = with_defaults(field.type, value[field.name], own)
        elif field.has_default:
            # Avro's schemas are JSON, which has no bytes.
            is_bytes = field.type.type == "bytes"
            complete[field.name] = field.default.encode("iso-8859-1") if is_bytes else field.default
        else:
            raise InvalidRecord(f"{begin}{schema.name} needs {field.name}: {field.doc}")
    return complete


def _branch(schema: Any, value: Any, path: str) -> Any:
    """Returns a value of the first type of a union that takes it; records differ by their fields."""
    records = [branch for branch in schema.schemas if branch.type == "record"]
    if records and isinstance(value, Mapping):
        for branch in records:
            needed = {field.name for field in branch.fields if not field.has_default}
            if len(records) == 1 or needed <= value.keys() <= {field.name for field in branch.fields}:
                return with_defaults(branch, value, path)
        begin = f"{path}: a" if path else "A"
        raise InvalidRecord(
            f"{begin} value with the fields {', '.join(sorted(map(str, value))) or 'none'}; expected those of one of "
            + ", ".join(f"{branch.name} ({', '.join(field.name for field in branch.fields)})" for branch in records)
        )
    for branch in schema.schemas:
        with contextlib.suppress(ValueError):
            return with_defaults(branch, value, path)
    raise _invalid(path, " or ".join(_expected(branch) for branch in schema.schemas), value)


def _primitive(schema: Any, value: Any, path: str) -> Any:
    logical, kind = schema.props.get("logicalType"), schema.type
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if logical == "uuid":
        with contextlib.suppress(ValueError, AttributeError, TypeError):
            return str(value if isinstance(value, uuid.UUID) else uuid.UUID(value))
    elif logical == "timestamp-millis":
        if isinstance(value, datetime.datetime) and value.utcoffset() is not None:
            return value
    elif kind in BITS:
        limit = 2 ** (BITS[kind] - 1)
        if is_number and isinstance(value, numbers.Integral) and -limit <= value < limit:
            return int(value)
    elif kind in ("double", "float") and is_number:
        return float(value)
    elif kind == "string" and isinstance(value, str):
        return check_text(str(value), path)
    elif kind in ("bytes", "fixed") and isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    elif (kind == "boolean" and isinstance(value, bool)) or (kind == "null" and value is None):
        return value
    elif kind == "enum" and isinstance(value, str) and value in schema.symbols:
        return value
    raise _invalid(path, _expected(schema), value)


def _expected(schema: Any) -> str:
    if schema.type == "enum":
        return f"one of {', '.join(schema.symbols)}"
    if schema.type == "record":
        return f"a dict of {schema.name}"
    return EXPECTED.get(schema.props.get("logicalType"), EXPECTED.get(schema.type, str(schema.type)))


def _invalid(path: str, expected: str, value: Any) -> InvalidRecord:
    return InvalidRecord(f"{path or 'The value'} must be {expected}, got {shown(value)}")
