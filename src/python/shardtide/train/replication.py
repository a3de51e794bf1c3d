"""The replica groups of a plan: which ranks form a group, and which rank of it is which device of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LAYOUTS = ("CONSECUTIVE", "STRIDED")


class Replication(NamedTuple):
    """How ranks form replica groups (2D parallelism; TorchRec's DMPCollection).

    Each group holds all sharded tables, placed alike, and trains on its part of the batch. The ranks that are the same
    device of a plan, one in each group, average weights and optimizer state every few steps.

    groups: number of groups; must divide the number of ranks
    layout: CONSECUTIVE: group g of R has the ranks from g x ranks / R. STRIDED: it has the ranks g, g + R, g + 2 R ...
    synchronization_steps: steps from one synchronization to the next
    synchronization_ms: what a synchronization is predicted to take
    """

    groups: int = 1
    layout: str = "CONSECUTIVE"
    synchronization_steps: int = 1
    synchronization_ms: float = 0.0

    @property
    def grouping(self) -> tuple[int, str]:
        return self.groups, self.layout

    def ranks_of(self, group: int, ranks: int) -> list[int]:
        """Returns the ranks of a group, of so many of all groups, in the order of the plan's devices."""
        if self.layout == "STRIDED":
            return list(range(group, ranks, self.groups))
        size = ranks // self.groups
        return list(range(group * size, (group + 1) * size))

    def place_of(self, rank: int, ranks: int) -> tuple[int, int]:
        """Returns the group of a rank, and which device of the plan it is."""
        if self.layout == "STRIDED":
            return rank % self.groups, rank // self.groups
        return divmod(rank, ranks // self.groups)

    def per_node(self, ranks: int, per_node: int) -> int:
        """Returns how many ranks of a group are on a node of so many ranks of all groups.

        ValueError unless groups are whole nodes, equal parts of a node, or an equal share of each node.
        """
        size, per_node = ranks // self.groups, min(per_node, ranks)
        if self.groups == 1:
            return per_node
        if self.layout == "STRIDED":
            fits = per_node % self.groups == 0 or self.groups % per_node == 0
            found, expected = max(1, per_node // self.groups), "an equal share of each node"
        else:
            fits = per_node % size == 0 or size % per_node == 0
            found, expected = min(per_node, size), "whole nodes or equal parts of a node"
        if not fits:
            raise ValueError(
                f"Replica groups that are {self.layout.lower()} must be {expected}, got {self.groups} groups of {size}"
                f" ranks with {per_node} ranks per node"
            )
        return found


ONE_GROUP = Replication()


def replication_of(plan: Mapping[str, Any], ranks: int) -> Replication:
    """Returns the replica groups of a ShardingPlan record: one, unless it says otherwise.

    ranks: number of ranks of all groups

    ValueError if the plan is for another number of them, or its replica groups cannot be.
    """
    name, devices = f"Plan {plan['planId']}", len(plan["deviceCosts"])
    record = plan.get("replication") or {}
    found = Replication(
        record.get("groups", 1),
        record.get("layout", "CONSECUTIVE"),
        record.get("synchronizationSteps", 1),
        record.get("synchronizationMs", 0.0),
    )
    if found.groups < 1 or ranks % found.groups:
        raise ValueError(f"{name} has {found.groups} replica groups; must divide the {ranks} ranks of this job")
    if found.layout not in LAYOUTS:
        raise ValueError(f"{name} has replica groups of layout {found.layout}; must be one of {', '.join(LAYOUTS)}")
    if found.synchronization_steps < 1:
        steps = found.synchronization_steps
        raise ValueError(f"{name} synchronizes replica groups every {steps} steps; must be at least 1")
    if devices * found.groups != ranks:
        groups = f"{found.groups} replica groups of " if found.groups > 1 else ""
        raise ValueError(f"{name} is for {groups}{devices} devices; this job has {ranks} ranks")
    return found
