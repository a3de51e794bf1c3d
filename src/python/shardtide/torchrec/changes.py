"""What changes from one description to another, and whether a running model can go there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shardtide.errors import ShardtideError
from shardtide.torchrec.descriptions import COLUMN_KINDS
from shardtide.torchrec.modules import table_size

_KERNEL_FIELDS = ("compute_kernel", "enforce_hbm", "stochastic_rounding", "output_dtype")
# Fields of a sharding that a running model does not tell: a move keeps its optimizer, and what only cached tables have.
_KEPT = ("optimizer", "enforce_hbm")


class NotReshardable(ShardtideError, ValueError):
    """A running model cannot go from one plan to the other: restart from a checkpoint, see shardtide.torchrec.checkpoint.

    problems: the reasons, a sentence each
    """

    def __init__(self, problems: Sequence[str]):
        super().__init__("; ".join(problems))
        self.problems = list(problems)

    def __reduce__(self) -> tuple[type[NotReshardable], tuple[list[str]]]:
        return type(self), (self.problems,)


def changes(running: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns what to reshard to go from one description to another.

    The result has "plan": for each module with changes, the tables that change with their new sharding; and
    "moved_elements", the number of weights that change their device. NotReshardable if more differs than which devices
    have which columns.
    """
    problems = []
    if "dmp_collection" in running or "dmp_collection" in wanted:
        problems.append("The running plan or the new one has replica groups; must be one, restart from a checkpoint")
    was, new = running["world_size"], wanted["world_size"]
    if was != new:
        differ = f"The running plan is for {was} devices and the new one for {new}"
        problems.append(f"{differ}; the number must not change, since a process group keeps it")
    modules, others = sorted(running["plan"]), sorted(wanted["plan"])
    if modules != others:
        problems.append(f"The running plan is for modules {modules} and the new one for {others}; must be the same")
    if problems:
        raise NotReshardable(problems)
    changed: dict[str, dict[str, Any]] = {}
    moved = 0
    for module in others:
        before, after = _placements(running["plan"][module]), _placements(wanted["plan"][module])
        for table in sorted(before.keys() | after.keys()):
            problem = _problem(table, before.get(table), after.get(table))
            if problem:
                problems.append(problem)
            elif before[table] != after[table]:
                changed.setdefault(module, {})[table] = after[table]
                ranks = zip(_rank_of_each_column(before[table]), _rank_of_each_column(after[table]))
                moved += table_size(after[table])[0] * sum(b != a for b, a in ranks)
    if problems:
        raise NotReshardable(problems)
    return {"plan": changed, "moved_elements": moved}


def _placements(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        table: {field: value for field, value in sharding.items() if field not in _KEPT}
        for table, sharding in tables.items()
    }


def _problem(table: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str | None:
    of = f'Table "{table}"'
    if before is None or after is None:
        return f"{of} is {'new' if before is None else 'missing'}; must be the tables of the running plan"
    new, old = table_size(after), table_size(before)
    if new != old:
        return f"{of} is {new[0]} rows by {new[1]} columns and was {old[0]} by {old[1]}; its size must not change"
    if before == after:
        return None
    if any("uvm" in sharding["compute_kernel"] for sharding in (before, after)):
        return f"{of} is or was cached; reshard moves only tables in device memory, restart from a checkpoint"
    was, kind = before["sharding_type"], after["sharding_type"]
    by_columns = was in COLUMN_KINDS and kind in COLUMN_KINDS
    if not by_columns or kind == "table_column_wise":
        change = "with other shards" if was == kind else f"and was {was}"
        remedy = "use reshardable plans" if by_columns else "restart from a checkpoint"
        return f"{of} is {kind} {change}; reshard moves only table_wise and column_wise shards, {remedy}"
    if was != kind:
        return f"{of} is {kind} and was {was}; reshard keeps the sharding type, use reshardable plans"
    if any(before.get(field) != after.get(field) for field in _KERNEL_FIELDS):
        change = f"{of} has another kernel, output type or rounding than before"
        return f"{change}; reshard keeps them, restart from a checkpoint"
    if len(set(after["ranks"])) < len(after["ranks"]):
        return f"{of} has shards on ranks {after['ranks']}; reshard supports one per rank, use reshardable plans"
    return None


def _rank_of_each_column(sharding: dict[str, Any]) -> Iterator[int]:
    for rank, shard in zip(sharding["ranks"], sharding["shards"]):
        yield from [rank] * shard["shard_sizes"][1]
