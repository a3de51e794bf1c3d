"""Events that publishers write."""

from __future__ import annotations

import datetime
import numbers
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from shardtide.arguments import MAX_SHOWN, items, mapping

# The largest number of a report of fill, as avro/FillReport.avsc says.
MOST_COUNTED = 2**50


def workload_change(workload: str, changes: Sequence[dict[str, Any]], source: str) -> dict[str, Any]:
    """Returns a WorkloadChange of now, with an id of its own.

    changes: with the fields of avro/WorkloadChange.avsc; they are applied together or not at all
    source: who publishes it, shown to people

    ValueError if two changes are of one table, or of the cluster.
    """
    event = {
        "eventId": str(uuid.uuid4()),
        "workloadId": workload,
        "occurredAt": datetime.datetime.now(datetime.timezone.utc),
        "source": source,
        "changes": items(changes, "changes", "dicts"),
    }
    check_distinct(event)
    return event


def table_resized(name: str, rows: int, reason: str = "") -> dict[str, Any]:
    """Returns the change that gives a hashed table other slots, and changes nothing else of it.

    rows: slots that it has from now on, 1 to 2^36; the planner checks the range
    reason: why, for people: plans tell it; at most 500 characters, none of them a control character
    """
    return {"tableName": name, "rows": rows, "resizeReason": reason}


def check_distinct(event: Mapping[str, Any]) -> None:
    """ValueError if two changes of an event are of one table, or of the cluster: the later one would undo the earlier."""
    seen: dict[str, int] = {}
    changes = mapping(event, "change", "the fields of WorkloadChange").get("changes") or ()
    for place, change in enumerate(changes):
        subject = _subject(change)
        if subject is None:
            continue
        if subject in seen:
            raise ValueError(
                f"An event must have at most one change of {subject}, got changes[{seen[subject]}] and"
                f" changes[{place}]: {_difference(changes[seen[subject]], change)}. Maybe rename one, leave one out, or"
                " publish two events"
            )
        seen[subject] = place


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Returns which fields of two objects differ, with their values."""
    fields = []
    for name in dict.fromkeys((*first, *second)):
        before, after = repr(first.get(name)), repr(second.get(name))
        if before != after:
            # Longer ones, such as histograms, are named only.
            fields.append(f"{name} {before} and {after}" if len(before) + len(after) <= MAX_SHOWN else name)
    return f"they differ in {', '.join(fields)}" if fields else "they are equal"


def _subject(change: Any) -> str | None:
    if not isinstance(change, Mapping):
        return None
    if "cluster" in change:
        return "the cluster"
    table = change.get("table")
    name = table.get("name") if isinstance(table, Mapping) else change.get("tableName", change.get("name"))
    return None if name is None else f'table "{name}"'


def _difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    for kind in ("cluster", "table"):
        if kind in first and kind in second:
            return differences(first[kind], second[kind])
    # Said in this order, whichever comes first.
    verbs = {"table": "sets", "tableName": "resizes", "name": "drops"}
    one, *other = [verb for field, verb in verbs.items() if field in first or field in second]
    if other:
        return f"one {one} it, the other {other[0]} it"
    return differences(first, second) if one == "resizes" else "both drop it"


def check_fills(tables: Sequence[Mapping[str, Any]]) -> None:
    """Checks the tables of a report of fill, as far as their schema does not; ValueError names what is wrong."""
    if not tables:
        raise ValueError("tables must be at least one, got none")
    names: set[object] = set()
    for table in tables:
        name, shards = table.get("table"), table.get("shards")
        if name in names:
            raise ValueError(f'tables must have each table once, got "{name}" twice')
        names.add(name)
        if not shards:
            raise ValueError(f'shards of table "{name}" must be at least one, got none')
        for shard in shards:
            for field, value in shard.items():
                least = 1 if field == "slots" else 0
                if isinstance(value, numbers.Integral) and not least <= int(value) <= MOST_COUNTED:
                    raise ValueError(f'{field} of table "{name}" must be between {least} and 2^50, got {value}')
