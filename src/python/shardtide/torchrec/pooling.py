"""MEAN pooling: which plans TorchRec computes right.

Found by running all pairs of kinds with TorchRec 1.6.1 (tests/test_torchrec_real.py runs them):

- Shards with all rows of their table, and copies, divide their sums by the number of lookups.
- A row_wise or table_row_wise MEAN table has its sums divided after the reduce-scatter, and with it the outputs of all
  tables of its collection that are not row_wise or table_row_wise: those of SUM tables too, and those of MEAN tables a
  second time.
- A grid_shard MEAN table is divided only if its collection has a row_wise or table_row_wise MEAN table.
- In a weighted collection, a row_wise or table_row_wise MEAN table is divided by the sum of the weights, all others by
  the number of lookups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shardtide.arguments import texts

# Kinds of a MEAN table that are right whatever the kinds of other tables.
MEAN_KINDS = ("table_wise", "column_wise", "table_column_wise", "data_parallel")

# Kinds whose MEAN is computed for a whole collection.
_DIVIDED_TOGETHER = ("row_wise", "table_row_wise")


def mean_kinds(table: str, kinds: Any = ()) -> list[str]:
    """Returns the kinds of shards that a MEAN table may have, of those that are allowed, if any; ValueError if none."""
    wanted = texts(kinds, f"kinds of table {table}", "kinds of shards")
    found = [kind for kind in MEAN_KINDS if not wanted or kind in wanted]
    if not found:
        raise ValueError(
            f"kinds of table {table}, which has MEAN pooling, must include one of {', '.join(MEAN_KINDS)}, got"
            f" {', '.join(wanted)}: with others, TorchRec divides wrong outputs"
        )
    return found


def mean_problems(
    module: str, shardings: Mapping[str, Mapping[str, Any]], poolings: Mapping[str, str], is_weighted: bool
) -> Iterator[str]:
    """Yields why TorchRec would compute wrong outputs of a collection, a sentence for each table that is to blame.

    poolings: of its tables: SUM or MEAN
    """
    kinds = {table: shardings[table]["sharding_type"] for table in poolings if table in shardings}
    together = [t for t, kind in kinds.items() if kind in _DIVIDED_TOGETHER and poolings[t] == "MEAN"]
    grids = [table for table, kind in kinds.items() if kind == "grid_shard" and poolings[table] == "MEAN"]
    others = [table for table, kind in kinds.items() if kind not in _DIVIDED_TOGETHER and table not in grids]
    remedy = f"must be one of {', '.join(MEAN_KINDS)}: publish it with its pooling, or with these kinds"
    for table in together or grids:
        of = f'module "{module}" has MEAN pooling and is {kinds[table]}'
        if table in grids:
            yield f'Table "{table}" of {of}, whose outputs TorchRec does not divide; {remedy}'
        elif is_weighted:
            divides = "TorchRec divides by the sum of weights instead of the number of lookups"
            yield f'Table "{table}" of weighted {of}, so that {divides}; {remedy}'
        elif others:
            yield f'Table "{table}" of {of}, so that TorchRec divides the outputs of {_some(others, kinds)} too; {remedy}'


def _some(tables: Sequence[str], kinds: Mapping[str, str]) -> str:
    shown = ", ".join(f'"{table}" ({kinds[table]})' for table in tables[:3])
    return shown if len(tables) <= 3 else f"{shown} and {len(tables) - 3} more"
