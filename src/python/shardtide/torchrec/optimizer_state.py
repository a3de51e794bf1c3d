"""State of fused optimizers under another sharding.

A state has a number for each weight (Adagrad), or one for each row of each shard (row-wise Adagrad): the mean over the
shard's columns of the squared gradients. Where widths change, a new shard's number is the mean of the old ones, weighted
by the columns that it has of each: exactly the state that training with the new sharding would have had, but for what
old shards averaged.

TorchRec writes the numbers for rows of all shards of a table one after another, in the order of columns, then of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# FBGEMM's optimizers that can be moved, by the tensors of a table: none, one number a row, one a weight.
STATES = {
    "SGD": None,
    "EXACT_SGD": None,
    "EXACT_ROWWISE_ADAGRAD": "row",
    "EXACT_ADAGRAD": "element",
}


def first_states(collection: Any) -> dict[str, list[Any]]:
    """Returns the first state of a collection's tables that have one on this rank: a tensor for each shard."""
    return {
        name.split(".")[-2]: [shard.tensor for shard in next(iter(of_table.values())).local_shards()]
        for name, of_table in collection.fused_optimizer.state_dict()["state"].items()
        if of_table
    }


def learning_rates(collection: Any) -> dict[str, float]:
    """Returns the learning rates of this rank's tables, which schedules may have changed."""
    return {table: float(optimizer.param_groups[0]["lr"]) for table, optimizer in _optimizers(collection)}


def set_learning_rates(collection: Any, rates: Mapping[str, float]) -> None:
    """Sets the learning rates of this rank's tables, those of other tables aside."""
    for table, optimizer in _optimizers(collection):
        if table in rates:
            optimizer.param_groups[0]["lr"] = rates[table]
            # Of a fused optimizer, a step does nothing but pass the learning rate to the kernel.
            optimizer.step()


def _optimizers(collection: Any) -> Iterator[tuple[str, Any]]:
    """Yields each table of this rank with the optimizer of its kernel, which it may share with other tables."""
    for _, optimizer in collection.fused_optimizer.optimizers:
        for name in optimizer.params:
            yield name.split(".")[-2], optimizer


class Part(NamedTuple):
    """What two shards have in common: columns from start to end of the table, and their numbers in their lists."""

    old: int
    new: int
    start: int
    end: int


def common_columns(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yields each range of columns that an old and a new shard have in common, in the order of the lists.

    before, after: shards of a table's sharding in a description
    """
    for i, old in enumerate(before):
        for j, new in enumerate(after):
            start = max(old["shard_offsets"][1], new["shard_offsets"][1])
            end = min(_end(old), _end(new))
            if start < end:
                yield Part(i, j, start, end)


def _end(shard: Mapping[str, Any]) -> int:
    return int(shard["shard_offsets"][1] + shard["shard_sizes"][1])


def add_part(part: Part, value: Any, target: Any, new: Mapping[str, Any]) -> None:
    """Adds the state of a part to the state of its new shard, whose state was 0 before the first part.

    value: of the part's columns: [rows, columns], or [rows] of the old shard
    target: of the new shard: [rows, columns] or [rows]
    """
    if target.dim() == 1:
        target.add_(value, alpha=(part.end - part.start) / new["shard_sizes"][1])
    else:
        first = new["shard_offsets"][1]
        target[:, part.start - first : part.end - first].copy_(value)


def move(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    old: Sequence[Any],
    new: Sequence[Any],
    by_row: bool,
    rank: int,
    group: Any,
) -> None:
    """Sends the state of a table whose shards have all rows to where its new shards are. Call it on all ranks.

    before, after: shardings of a description
    old, new: this rank's tensors of state, in the order of its shards; new ones are overwritten
    by_row: whether the state is one number a row
    group: the process group; its ranks are those of the shardings
    """
    import torch
    import torch.distributed as dist

    for target in new:
        target.zero_()
    own_old = [i for i, r in enumerate(before["ranks"]) if r == rank]
    own_new = [i for i, r in enumerate(after["ranks"]) if r == rank]
    operations = []
    received = []
    for part in common_columns(before["shards"], after["shards"]):
        source, destination = before["ranks"][part.old], after["ranks"][part.new]
        shard = after["shards"][part.new]
        if source == rank:
            value = old[own_old.index(part.old)]
            if not by_row:
                first = before["shards"][part.old]["shard_offsets"][1]
                # Neither NCCL nor gloo sends what is not contiguous.
                value = value[:, part.start - first : part.end - first].contiguous()
            if destination == rank:
                add_part(part, value, new[own_new.index(part.new)], shard)
            else:
                operations.append(dist.P2POp(dist.isend, value, destination, group))
        elif destination == rank:
            target = new[own_new.index(part.new)]
            size = target.shape if by_row else (target.shape[0], part.end - part.start)
            value = torch.empty(size, dtype=target.dtype, device=target.device)
            operations.append(dist.P2POp(dist.irecv, value, source, group))
            received.append((part, value, target, shard))
    if operations:
        for work in dist.batch_isend_irecv(operations):
            work.wait()
    for part, value, target, shard in received:
        add_part(part, value, target, shard)
