"""Writes shardtide/records.pyi, the types of records for editors and mypy, from the schemas: run it when they change."""

from __future__ import annotations

import json
import pathlib
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
STUB = ROOT / "src/python/shardtide/records.pyi"
TOPICS = ("WorkloadChange", "CostPredictions", "RejectedEvent", "ShardingPlan", "PlanStatus", "MeasuredCosts", "FillReport")
PRIMITIVES = {"string": "str", "long": "int", "double": "float", "boolean": "bool", "null": "None"}


def text() -> str:
    """Returns the stub: a TypedDict for each record. Fields with defaults may be left out where one is published."""
    found: dict[str, str] = {}
    for topic in TOPICS:
        type_of(json.loads((ROOT / f"avro/next/{topic}.avsc").read_text(encoding="utf-8")), found)
    head = '"""Records of the log, by the names of their schemas in avro/: written by tests/typed_records.py."""\n\n'
    imports = "import datetime\nfrom typing import TypedDict\n\nfrom typing_extensions import NotRequired\n"
    return head + imports + "".join(found.values())


def type_of(schema: Any, found: dict[str, str]) -> str:
    if isinstance(schema, list):
        return " | ".join(dict.fromkeys(type_of(branch, found) for branch in schema))
    if isinstance(schema, str):
        name = schema.rpartition(".")[2]
        return PRIMITIVES.get(name, name)
    kind = schema["type"]
    if kind == "array":
        return f"list[{type_of(schema['items'], found)}]"
    if kind == "map":
        return f"dict[str, {type_of(schema['values'], found)}]"
    if kind == "record":
        # First, since a record may have itself.
        found.setdefault(schema["name"], "")
        lines = [f"\nclass {schema['name']}(TypedDict):\n"]
        for field in schema["fields"]:
            of = type_of(field["type"], found)
            lines.append(f"    {field['name']}: {f'NotRequired[{of}]' if 'default' in field else of}\n")
        found[schema["name"]] = "".join(lines)
        return str(schema["name"])
    if schema.get("logicalType") == "timestamp-millis":
        return "datetime.datetime"
    if kind == "enum":
        # By its name, it may come again.
        PRIMITIVES[schema["name"]] = "str"
        return "str"
    return type_of(kind, found)


if __name__ == "__main__":
    STUB.write_text(text(), encoding="utf-8")
