"""Optimizers of embedding tables: their names in samples and workloads, and what state they keep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Optimizer:
    """An optimizer's state, all of it float32.

    per_element: numbers of each element of a table
    per_row: numbers of each row
    """

    per_element: int
    per_row: int


OPTIMIZERS = {
    "sgd": Optimizer(0, 0),
    "rowwise_adagrad": Optimizer(0, 1),
    "adagrad": Optimizer(1, 0),
    "adam": Optimizer(2, 0),
    "partial_rowwise_adam": Optimizer(1, 1),
    "lamb": Optimizer(2, 0),
}

# Of shards that do not name one.
DEFAULT = "rowwise_adagrad"

# Of copies: partial_rowwise_adam and lamb exist in FBGEMM's fused operator only, which copies do not use.
OF_COPIES = ("sgd", "rowwise_adagrad", "adagrad", "adam")

# What shardtide.collect.operators has.
OF_EMBEDDING_BAG = ("sgd", "rowwise_adagrad")

# What FBGEMM has on CPUs.
OF_FBGEMM_CPU = ("sgd", "rowwise_adagrad", "adagrad")


def supported(operator: str, device_type: str) -> tuple[str, ...]:
    """Returns the optimizers that an operator (fbgemm or embedding_bag) has on a type of devices (cuda or cpu)."""
    if operator != "fbgemm":
        return OF_EMBEDDING_BAG
    return tuple(OPTIMIZERS) if device_type == "cuda" else OF_FBGEMM_CPU
