"""What TorchRec can send with a codec (QComms): by kind of shards and type of devices, the same in both directions.

Found by running each cell on CPUs with TorchRec 1.6.1 and 1.9.2; tests/test_torchrec_limits.py runs them. Shards with
all rows of their table send outputs in an all-to-all. Shards with a part of the rows are summed in a reduce-scatter,
which has neither fp8 nor mx4, so that TorchRec sends fp16, and bf16 backward, without an error; int8 is an error. Those
of unpooled tables are sent in an all-to-all. On CPUs, fp8 is an error, and bf16 sends fp16. On GPUs, fp8 was not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from shardtide.arguments import plain

# Kinds whose shards have a part of their table's rows, and scopes of their collectives.
_ROW_KINDS = ("row_wise", "table_row_wise", "grid_shard")
_COLUMN_KINDS = ("table_wise", "column_wise", "table_column_wise")
_ROW_SCOPES = ("node", "cluster")

# Least width of a column part.
_COLUMN_UNIT = 4


class Codec(NamedTuple):
    """What TorchRec can do with a codec.

    processors: types of devices on which all-to-alls have it
    sums_rows: whether reduce-scatters have it, of pooled tables' shards with a part of the rows
    block: numbers that are encoded together: what a device sends to each other one must be a multiple
    """

    processors: tuple[str, ...]
    sums_rows: bool
    block: int


# TorchRec's CommTypes.
CODECS = {
    "fp32": Codec(("cpu", "cuda"), True, 1),
    "fp16": Codec(("cpu", "cuda"), True, 1),
    "bf16": Codec(("cpu", "cuda"), True, 1),
    "fp8": Codec(("cuda",), False, 1),
    "int8": Codec(("cpu", "cuda"), False, 32),
    "mx4": Codec(("cpu", "cuda"), False, 32),
}


def can_send(codec: str, kind: str, device: str, pooled: bool = True) -> bool:
    """Returns whether TorchRec sends what shards of a kind communicate with a codec. device: cuda or cpu"""
    found = CODECS[codec]
    if pooled and kind in _ROW_KINDS:
        return found.sums_rows
    return kind == "data_parallel" or device in found.processors


def usable(
    cluster: Mapping[str, Any], tables: Sequence[Mapping[str, Any]], device: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the codecs of a ClusterSpec that TorchRec can send whatever the plan, and why not the others.

    A plan has a codec in all collectives of a scope, so that one that a kind of shards cannot send is usable only if no
    table is allowed that kind.
    """
    found, problems = [], []
    for codec in cluster.get("codecs") or ():
        # What is no codec, the planner rejects.
        name = codec.get("name") if isinstance(codec, Mapping) else None
        problem = None if name is None else _problem(name, tables, cluster, device)
        if problem is None:
            found.append(codec)
        else:
            problems.append(f"codec {name}: {problem}")
    return found, problems


def _problem(codec: str, tables: Sequence[Mapping[str, Any]], cluster: Mapping[str, Any], device: str) -> str | None:
    if codec not in CODECS:
        return f"TorchRec has no such codec; must be one of {', '.join(CODECS)}"
    block = CODECS[codec].block
    for table in tables:
        kinds = table.get("constraints", {}).get("kinds") or (*_COLUMN_KINDS, *_ROW_KINDS)
        unable = [kind for kind in kinds if not can_send(codec, kind, device, table.get("pooled", True))]
        if unable:
            return (
                f"TorchRec does not send it on {device} for {', '.join(unable)} tables, which table {table['name']} may"
                " be; must be excluded by its kinds"
            )
        shares = [feature.get("batchShare", 1.0) for feature in table.get("features") or [{}]]
        sends = block > 1 and set(kinds) != {"data_parallel"}
        if sends and any(_least_sent(table, kinds, cluster, share) % block for share in shares):
            parts = f"samples of a device times columns of a part of table {table['name']} must be a multiple"
            return f"TorchRec sends it in blocks of {block} numbers; {parts}"
    return None


def _least_sent(table: Mapping[str, Any], kinds: Iterable[str], cluster: Mapping[str, Any], share: float) -> float:
    """Returns a number of which all that a device sends of a table's feature to another one are multiples."""
    is_cut = any(kind in kinds for kind in ("column_wise", "table_column_wise"))
    columns = plain(table["columns"])
    if not table.get("pooled", True):
        # Any number of lookups, of tables that are cut into two halves at most.
        return columns / 2 if is_cut else columns
    return plain(cluster["batchSize"]) / plain(cluster["devices"]) * share * (_COLUMN_UNIT if is_cut else columns)


def check(scope: str, direction: str, name: str, device: str) -> None:
    """Checks the codec of a plan's collectives on cuda or cpu; ValueError if TorchRec does not send it for the scope."""
    kind = "row_wise" if scope in _ROW_SCOPES else "table_wise"
    known = [codec for codec in CODECS if can_send(codec, kind, device)]
    if name not in known:
        has = f"The {direction} collectives of scope {scope} have codec {name}"
        must = f"must be one of {', '.join(known)}: plan again without codec {name}"
        raise ValueError(f"{has}, which TorchRec does not send there on {device}; {must}")
