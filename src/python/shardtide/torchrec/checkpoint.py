"""Checkpoints that any other plan can load: for other kinds, another number of devices, tables that come and go.

torch.distributed.checkpoint cuts tensors again for the shards of the model that loads. Two things are particular:

- Tensors are loaded in place. TorchRec's load_state_dict gives each shard the width of the table's first one, and fails
  with tables of unequal widths.
- Row-wise state has a number for each row of each shard, so that its size depends on the plan. It is loaded whole, a
  table at a time, and averaged for the new shards; see shardtide.torchrec.optimizer_state.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from shardtide.arguments import read_json
from shardtide.torchrec.conversions import running_description
from shardtide.torchrec.modules import collections
from shardtide.torchrec.optimizer_state import add_part, common_columns, learning_rates, set_learning_rates

# What the checkpoint was saved under.
_DESCRIPTION = "shardtide.json"


def save(model: Any, folder: str | pathlib.Path) -> None:
    """Saves the parameters of a DistributedModelParallel and the state of its fused optimizers; on all ranks.

    What the program has besides, such as the optimizer of dense parameters and the step, it saves itself.

    folder: on a file system that all ranks share; what it has is replaced
    """
    import torch.distributed as dist
    from torch.distributed import checkpoint

    folder = pathlib.Path(folder)
    checkpoint.save({**_parameters(model), **_states(model)}, checkpoint_id=str(folder))
    own = {table: rate for module in collections(model).values() for table, rate in learning_rates(module).items()}
    rates: list[dict[str, float]] = [{}] * dist.get_world_size()
    dist.all_gather_object(rates, own)
    if dist.get_rank() == 0:
        found = running_description(model)
        found["learning_rates"] = {name: rate for of_rank in rates for name, rate in sorted(of_rank.items())}
        (folder / _DESCRIPTION).write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()


def load(model: Any, folder: str | pathlib.Path) -> list[str]:
    """Loads what save() saved into a model that any plan sharded; on all ranks.

    Returns the parameters and states of this rank that the checkpoint lacks: those of new tables, and of tables that
    were data-parallel, whose optimizer is the program's own. They keep the values that they have.

    ValueError if a table has another size in the checkpoint; nothing is loaded then.
    """
    from torch.distributed import checkpoint

    folder = pathlib.Path(folder)
    saved = checkpoint.FileSystemReader(str(folder)).read_metadata().state_dict_metadata
    description = read_json(folder / _DESCRIPTION)
    wanted = {**_parameters(model), **_states(model)}
    missing = sorted(name for name in wanted if name not in saved)
    by_row = {name for name, tensor in wanted.items() if name in saved and _is_by_row(name, tensor)}
    whole = {name: tensor for name, tensor in wanted.items() if name in saved and name not in by_row}
    for name, tensor in whole.items():
        if tuple(tensor.size()) != tuple(saved[name].size):
            raise ValueError(
                f"{name} is {list(saved[name].size)} in {folder} and {list(tensor.size())} in the model; must be equal"
            )
    # Each rank reads for itself: ranks have different names.
    checkpoint.load(whole, checkpoint_id=str(folder), no_dist=True)
    now = _tables(running_description(model))
    before = _tables(description)
    for name in sorted(by_row):
        table = name.split(".")[-2]
        _load_by_row(folder, name, saved[name], before[table]["shards"], now[table], wanted[name])
    for collection in collections(model).values():
        set_learning_rates(collection, description["learning_rates"])
    return missing


def _load_by_row(folder: pathlib.Path, name: str, saved: Any, old: Any, sharding: dict[str, Any], tensor: Any) -> None:
    import torch
    import torch.distributed as dist
    from torch.distributed import checkpoint

    state = torch.empty(saved.size, dtype=saved.properties.dtype)
    checkpoint.load({name: state}, checkpoint_id=str(folder), no_dist=True)
    # Of each range of columns: all rows, from one shard or several.
    rows = max(shard["shard_offsets"][0] + shard["shard_sizes"][0] for shard in old)
    ranges = [shard for shard in old if shard["shard_offsets"][0] == 0 and shard["shard_sizes"][0] > 0]
    own = [shard for owner, shard in zip(sharding["ranks"], sharding["shards"]) if owner == dist.get_rank()]
    targets = [shard.tensor for shard in tensor.local_shards()]
    for target in targets:
        target.zero_()
    for part in common_columns(ranges, own):
        first = own[part.new]["shard_offsets"][0]
        end = first + own[part.new]["shard_sizes"][0]
        value = state[part.old * rows : (part.old + 1) * rows][first:end]
        add_part(part, value.to(targets[part.new].device), targets[part.new], own[part.new])


def _tables(description: dict[str, Any]) -> dict[str, Any]:
    return {table: sharding for tables in description["plan"].values() for table, sharding in tables.items()}


def _is_by_row(name: str, tensor: Any) -> bool:
    return name.startswith("optimizer.") and len(tensor.size()) == 1


def _parameters(model: Any) -> dict[str, Any]:
    """Returns tensors by name; of sharded tables, the shards of this rank."""
    import torch

    return {
        f"model.{name}": tensor
        for name, tensor in model.state_dict().items()
        if isinstance(tensor, torch.Tensor) or hasattr(tensor, "local_shards")
    }


def _states(model: Any) -> dict[str, Any]:
    return {
        f"optimizer.{name}.{state}": tensor
        for name, states in model.fused_optimizer.state_dict()["state"].items()
        for state, tensor in states.items()
        if hasattr(tensor, "local_shards")
    }
