"""State of fused optimizers under another sharding.

A state has a number for each weight (Adagrad), or one for each row of each shard (row-wise Adagrad): the mean over the
shard's columns of the squared gradients. Where widths change, a new shard's number is the mean of the old ones, weighted
by the columns that it has of each: exactly the state that training with the new sharding would have had, but for what
old shards averaged.

TorchRec writes the numbers for rows of all shards of a table one after another, in the order of columns, then of rows.

Data-parallel tables are updated by the program's dense optimizer. torch.optim.Adagrad has a number for each weight, as
FBGEMM's Adagrad, TorchRec's RowWiseAdagrad one for each row; both add the squared gradients, or their mean, up from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from shardtide.torchrec.modules import collections, parameter_name

# FBGEMM's optimizers that can be moved, by the tensors of a table: none, one number a row, one a weight.
STATES = {"SGD": None, "EXACT_SGD": None, "EXACT_ROWWISE_ADAGRAD": "row", "EXACT_ADAGRAD": "element"}

# Classes of dense optimizers whose state "sum" is what FBGEMM's optimizers have as "momentum1".
_ADAGRADS = ("Adagrad", "RowWiseAdagrad")


def first_states(collection: Any) -> dict[str, list[Any]]:
    """Returns the first state of a collection's tables that have one on this rank: a tensor for each shard."""
    return {
        name.split(".")[-2]: [shard.tensor for shard in next(iter(of_table.values())).local_shards()]
        for name, of_table in collection.fused_optimizer.state_dict()["state"].items()
        if of_table
    }


def learning_rates(collection: Any) -> dict[str, float]:
    return {table: float(optimizer.param_groups[0]["lr"]) for table, optimizer in _optimizers(collection)}


def set_learning_rates(collection: Any, rates: Mapping[str, float]) -> None:
    """Sets the learning rates of this rank's tables, those of other tables aside."""
    for table, optimizer in _optimizers(collection):
        if table in rates:
            optimizer.param_groups[0]["lr"] = rates[table]
            # Of a fused optimizer, a step does nothing but pass the learning rate to the kernel.
            optimizer.step()


def steps(collection: Any) -> dict[str, int]:
    """Returns how many steps the kernels of this rank's tables have counted, on which Adam's correction depends."""
    return {table: int(kernel.iter.item()) for table, kernel in _kernels(collection)}


def set_steps(collection: Any, counts: Mapping[str, int]) -> None:
    """Sets the steps that the kernels of this rank's tables have counted: to the largest of a kernel's tables."""
    largest: dict[int, int] = {}
    for table, kernel in _kernels(collection):
        if table in counts:
            count = largest[id(kernel)] = max(counts[table], largest.get(id(kernel), 0))
            # FBGEMM counts on the host, and takes the number on the device if that on the host is 0.
            kernel.iter.fill_(count)
            kernel.iter_cpu.fill_(count)


def _kernels(collection: Any) -> Iterator[tuple[str, Any]]:
    """Yields each table of this rank with its FBGEMM kernel, which it may share with other tables."""
    for table, optimizer in _optimizers(collection):
        kernel = getattr(optimizer, "_emb_module", None)
        # Only those of optimizers that depend on it have both.
        if hasattr(kernel, "iter") and hasattr(kernel, "iter_cpu"):
            yield table, kernel


def _optimizers(collection: Any) -> Iterator[tuple[str, Any]]:
    """Yields each table of this rank with the optimizer of its kernel, which it may share with other tables."""
    for _, optimizer in collection.fused_optimizer.optimizers:
        for name in optimizer.params:
            yield name.split(".")[-2], optimizer


def dense_states(
    model: Any, optimizer: Any, running: Mapping[str, Any], saved: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the states of a program's dense optimizer by name, as tensors that share memory with them.

    State of a data-parallel table that a fused optimizer has as well has the name of that,
    "optimizer.P.TABLE.momentum1" for the parameter P. All other state is "dense_optimizer.P.CLASS.STATE".

    model: a DistributedModelParallel
    optimizer: as for checkpoint.save(); None: no states. States of parameters that are not the model's are left out,
        and so are those of tables that are sharded with the kernel dense, whose parameters are parts
    running: the description that the model runs
    saved: metadata of tensors of a checkpoint by name: a parameter without any state, which the optimizer has not
        updated yet, gets those of the checkpoint, with zeros
    """
    tables = {
        parameter_name(path, collection, table): (table, "shards" in sharding)
        for path, collection in collections(model).items()
        for table, sharding in running["plan"][path].items()
    }
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found: dict[str, Any] = {}
    for plain in _plain_optimizers(optimizer):
        kind = type(plain).__name__
        for group in plain.param_groups:
            for parameter in group["params"]:
                name = names.get(id(parameter))
                table, is_sharded = tables.get(name or "", (None, False))
                if name is None or is_sharded:
                    continue
                own = f"dense_optimizer.{name}.{kind}."
                states = plain.state.get(parameter) or {}
                if not states and saved is not None:
                    states = _zeros(parameter, group, {n[len(own) :]: saved[n] for n in saved if n.startswith(own)})
                    if states:
                        plain.state[parameter] = states
                for state, tensor in states.items():
                    if not hasattr(tensor, "dim") or (state == "step" and group.get("lr_decay") == 0):
                        # Adagrad's step counts for a decay of the learning rate only.
                        continue
                    if table is not None and state == "sum" and kind in _ADAGRADS:
                        # RowWiseAdagrad's is one column.
                        by_row = tensor.dim() == 2 and tensor.shape[1] == 1
                        found[f"optimizer.{name}.{table}.momentum1"] = tensor.squeeze(1) if by_row else tensor
                    else:
                        found[own + state] = tensor
    return found


def _zeros(parameter: Any, group: Mapping[str, Any], states: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tensors for states of a checkpoint, where PyTorch's optimizers have them: steps may be on the CPU."""
    import torch

    of_steps = parameter.device if group.get("capturable") or group.get("fused") else "cpu"
    devices = {state: of_steps if state == "step" else parameter.device for state in states}
    return {
        state: torch.zeros(saved.size, dtype=saved.properties.dtype, device=devices[state])
        for state, saved in states.items()
    }


def _plain_optimizers(optimizer: Any) -> Iterator[Any]:
    """Yields the optimizers of PyTorch that one of TorchRec's combines or wraps; any other one as it is."""
    if hasattr(optimizer, "optimizers"):
        for _, part in optimizer.optimizers:
            yield from _plain_optimizers(part)
    elif hasattr(optimizer, "_optimizer"):
        yield from _plain_optimizers(optimizer._optimizer)
    elif optimizer is not None:
        yield optimizer


class Part(NamedTuple):
    """What two shards have in common: columns from start to end of the table, and their numbers in their lists."""

    old: int
    new: int
    start: int
    end: int


def common_columns(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yields each range of columns that shards before and after have in common, in the order of the lists."""
    for i, old in enumerate(before):
        for j, new in enumerate(after):
            start = max(shard["shard_offsets"][1] for shard in (old, new))
            end = min(shard["shard_offsets"][1] + shard["shard_sizes"][1] for shard in (old, new))
            if start < end:
                yield Part(i, j, start, end)


def add_part(part: Part, value: Any, target: Any, new: Mapping[str, Any]) -> None:
    """Adds a value of a part, [rows, columns] or [rows], to the state of its new shard, which was 0 before the first."""
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
    own_old, own_new = ([i for i, r in enumerate(of["ranks"]) if r == rank] for of in (before, after))
    operations, received = [], []
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
    for work in dist.batch_isend_irecv(operations) if operations else ():
        work.wait()
    for part, value, target, shard in received:
        add_part(part, value, target, shard)
