"""Events that publishers write."""

from __future__ import annotations

import datetime
import uuid
from typing import Any, Sequence


def workload_change(workload: str, changes: Sequence[dict[str, Any]], source: str) -> dict[str, Any]:
    """Returns a WorkloadChange of now, with an id of its own.

    workload: whose tables or cluster change
    changes: with the fields of avro/WorkloadChange.avsc; they are applied together or not at all
    source: who publishes it, shown to people
    """
    return {
        "eventId": str(uuid.uuid4()),
        "workloadId": workload,
        "occurredAt": datetime.datetime.now(datetime.timezone.utc),
        "source": source,
        "changes": list(changes),
    }
