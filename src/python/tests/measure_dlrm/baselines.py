"""Table-wise placements without a cost model, to compare plans with."""

from __future__ import annotations

import pathlib
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "examples/dlrm"))

from data import Feature


def random_devices(features: Sequence[Feature], devices: int, seed: int) -> list[int]:
    """Returns a random device of each table."""
    draw = random.Random(f"placement/{seed}")
    return [draw.randrange(devices) for _ in features]


def greedy(features: Sequence[Feature], devices: int, load: Callable[[Feature], float]) -> list[int]:
    """Returns a device of each table: the one with the highest load first, each to the device with the least so far."""
    placed = [0] * len(features)
    loads = [0.0] * devices
    for index in sorted(range(len(features)), key=lambda i: (-load(features[i]), i)):
        device = loads.index(min(loads))
        placed[index] = device
        loads[device] += load(features[index])
    return placed


def size(feature: Feature) -> float:
    """Bytes of the weights, but for a constant factor."""
    return feature.shape.rows * feature.shape.columns


def lookups(feature: Feature) -> float:
    """Elements that a sample reads: ids times columns."""
    return feature.use.pooling_factor * feature.shape.columns


def torchrec(feature: Feature) -> float:
    """Bytes of a table-wise shard's forward pass for a sample, as TorchRec's estimator counts them.

    8 for each id, 4 x max(columns, 32) for each row that is read, 4 for each output element; times 1.75 for fewer than
    64 columns and 1.15 for fewer than 128, where its kernels reach less bandwidth. Backward is twice that.
    """
    ids, columns = feature.use.pooling_factor, feature.shape.columns
    penalty = 1.75 if columns < 64 else 1.15 if columns < 128 else 1.0
    return (8 * ids + 4 * ids * max(columns, 32) + 4 * columns) * penalty


def plan_of(name: str, features: Sequence[Feature], devices: Sequence[int], world_size: int) -> dict[str, Any]:
    """Returns a plan with the fields of a ShardingPlan that training needs: each table whole on a device."""
    shards = [
        {
            "table": feature.shape.name,
            "kind": "TABLE_WISE",
            "columnOffset": 0,
            "columns": feature.shape.columns,
            "rowOffset": 0,
            "rows": feature.shape.rows,
            "device": device,
        }
        for feature, device in zip(features, devices)
    ]
    return plan_record(name, shards, world_size)


def plan_record(name: str, shards: Sequence[dict[str, Any]], world_size: int) -> dict[str, Any]:
    """Returns the fields of a ShardingPlan that training and descriptions need."""
    return {
        "workloadId": name,
        "generation": 0,
        "planId": name,
        "previousPlanId": None,
        "predictedMs": 0.0,
        "shards": list(shards),
        "deviceCosts": [{}] * world_size,
    }
