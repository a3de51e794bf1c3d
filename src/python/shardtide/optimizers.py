"""Optimizers of embedding tables: their names in samples and workloads, and what state they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shardtide.arguments import shown


@dataclass(frozen=True)
class Optimizer:
    """An optimizer's state, all of it float32.

    per_element: numbers of each element of a table
    per_row: numbers of each row
    fbgemm: its name in FBGEMM's EmbOptimType
    """

    per_element: int
    per_row: int
    fbgemm: str


OPTIMIZERS = {
    "sgd": Optimizer(0, 0, "EXACT_SGD"),
    "rowwise_adagrad": Optimizer(0, 1, "EXACT_ROWWISE_ADAGRAD"),
    "adagrad": Optimizer(1, 0, "EXACT_ADAGRAD"),
    "adam": Optimizer(2, 0, "ADAM"),
    "partial_rowwise_adam": Optimizer(1, 1, "PARTIAL_ROWWISE_ADAM"),
    "lamb": Optimizer(2, 0, "LAMB"),
}

# Of shards that do not name one.
DEFAULT = "rowwise_adagrad"

# Of copies: partial_rowwise_adam and lamb exist in FBGEMM's fused operator only, which copies do not use.
OF_COPIES = ("sgd", "rowwise_adagrad", "adagrad", "adam")

# What shardtide.collect.operators has.
OF_EMBEDDING_BAG = ("sgd", "rowwise_adagrad")

# What FBGEMM has on CPUs.
OF_FBGEMM_CPU = ("sgd", "rowwise_adagrad", "adagrad")

# Other names, without regard to case and underscores: members of FBGEMM's EmbOptimType and their values, such as
# EXACT_ROWWISE_ADAGRAD and exact_row_wise_adagrad; classes of torch.optim and torchrec.optim, such as Adagrad. What they
# name has the state of OPTIMIZERS.
_OTHER_NAMES = {
    other.replace("_", "").lower(): name for name, of in OPTIMIZERS.items() for other in (name, of.fbgemm)
}


def optimizer_name(optimizer: Any, what: str = "optimizer") -> str:
    """Returns the name in OPTIMIZERS of an optimizer; ValueError if it has none, as PARTIAL_ROWWISE_LAMB.

    optimizer: one of OPTIMIZERS, FBGEMM's EmbOptimType or its name or value, or a class of torch.optim or torchrec.optim
        or its name
    what: what messages call it
    """
    name = optimizer.__name__ if isinstance(optimizer, type) else getattr(optimizer, "name", optimizer)
    found = _OTHER_NAMES.get(name.lower().replace("_", "")) if isinstance(name, str) else None
    if found is None:
        got = name if isinstance(name, str) else shown(name)
        raise ValueError(f"{what} must be one of {', '.join(OPTIMIZERS)}, or FBGEMM's name of one, got {got}")
    return found


def supported(operator: str, device_type: str) -> tuple[str, ...]:
    """Returns the optimizers that an operator (fbgemm or embedding_bag) has on a type of devices (cuda or cpu)."""
    if operator != "fbgemm":
        return OF_EMBEDDING_BAG
    return tuple(OPTIMIZERS) if device_type == "cuda" else OF_FBGEMM_CPU
