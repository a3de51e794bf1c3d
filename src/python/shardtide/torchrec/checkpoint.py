"""Checkpoints that any other plan can load: for other kinds, another number of devices, tables that come and go.

torch.distributed.checkpoint cuts tensors again for the shards of the model that loads. Three things are particular:

- Tensors are loaded in place. TorchRec's load_state_dict gives each shard the width of the table's first one, and fails
  with tables of unequal widths.
- Row-wise state has a number for each row of each shard, so that its size depends on the plan. It is loaded whole, a
  table at a time, and averaged for the new shards; see shardtide.torchrec.optimizer_state.
- A data-parallel table has no fused optimizer: its state is in the dense optimizer of the program. It is saved under
  the name that the state of a sharded table has, so that each of the two is loaded as the other.
"""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from shardtide.arguments import read_json
from shardtide.torchrec import optimizer_state
from shardtide.torchrec.conversions import running_description
from shardtide.torchrec.descriptions import shardings_of
from shardtide.torchrec.modules import collections, table_size

# What the checkpoint was saved under.
_DESCRIPTION = "shardtide.json"


def save(model: Any, folder: str | pathlib.Path, dense_optimizer: Any = None) -> None:
    """Saves the parameters of a DistributedModelParallel and the state of its optimizers; on all ranks.

    What the program has besides, such as its step and schedules of learning rates, it saves itself.

    folder: on a file system that all ranks share; what it has is replaced
    dense_optimizer: updates dense parameters and data-parallel tables: a torch.optim.Optimizer, or one of TorchRec's
        that wrap or combine some. Without it, only the state of fused optimizers is saved. Its own state_dict() numbers
        parameters, and under another plan the same number is another parameter
    """
    import torch.distributed as dist
    from torch.distributed import checkpoint

    folder = pathlib.Path(folder)
    found = running_description(model)
    states = {**_fused_states(model), **optimizer_state.dense_states(model, dense_optimizer, found)}
    checkpoint.save({**_parameters(model), **states}, checkpoint_id=str(folder))
    found["learning_rates"] = _of_all_ranks(model, optimizer_state.learning_rates)
    found["optimizer_steps"] = _of_all_ranks(model, optimizer_state.steps)
    if dist.get_rank() == 0:
        (folder / _DESCRIPTION).write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()


def load(model: Any, folder: str | pathlib.Path, dense_optimizer: Any = None) -> list[str]:
    """Loads what save() saved into a model that any plan sharded; on all ranks.

    State of Adagrad follows its table from any plan to any other, to a data-parallel table and from one included. Where
    one side is Adagrad with a number for each weight and the other is row-wise, the number of a row is the mean of its
    weights' numbers, which is exact, or each weight gets the number of its row. The state of a dense optimizer that is
    neither torch.optim.Adagrad nor TorchRec's RowWiseAdagrad is loaded into an optimizer of its class only.

    dense_optimizer: as for save(); its states are overwritten, also those that it makes in its first step

    Returns the names of what was not loaded: parameters and states of this rank that the checkpoint lacks, which keep
    their values; and states of the model's parameters in the checkpoint for which no rank's optimizer has a place, such
    as those of data-parallel tables without a dense_optimizer.

    ValueError if a table has another size in the checkpoint; nothing is loaded then.
    """
    import torch.distributed as dist
    from torch.distributed import checkpoint

    folder = pathlib.Path(folder)
    saved = checkpoint.FileSystemReader(str(folder)).read_metadata().state_dict_metadata
    description = read_json(folder / _DESCRIPTION)
    running = running_description(model)
    now, before = shardings_of(running), shardings_of(description)
    parameters = _parameters(model)
    whole = {name: tensor for name, tensor in parameters.items() if name in saved}
    _check_sizes(whole, saved, folder)
    states = {**_fused_states(model), **optimizer_state.dense_states(model, dense_optimizer, running, saved)}
    known = {name for name in states if name in saved and _is_of_one_optimizer(name, states, saved)}
    converted = {name for name in known if _is_by_row(name, states[name].size()) or _is_by_row(name, saved[name].size)}
    whole.update({name: states[name] for name in known - converted})
    _check_sizes(whole, saved, folder)
    # Each rank reads for itself: ranks have different names.
    checkpoint.load(whole, checkpoint_id=str(folder), no_dist=True)
    for name in sorted(converted):
        table = name.split(".")[-2]
        if len(saved[name].size) == 1:
            _load_by_row(folder, name, saved[name], before[table], now[table], states[name])
        else:
            _load_means(folder, name, saved[name], parameters[_parameter_of(name)], states[name])
    for collection in collections(model).values():
        optimizer_state.set_learning_rates(collection, description["learning_rates"])
        optimizer_state.set_steps(collection, description.get("optimizer_steps", {}))
    prefixes = [f"{kind}optimizer.{name[len('model.') :]}." for name in parameters for kind in ("", "dense_")]
    left = {name for name in saved.keys() - set().union(*_gathered(known)) if name.startswith(tuple(prefixes))}
    return sorted({*parameters, *states} - whole.keys() - converted | left)


def _check_sizes(tensors: Mapping[str, Any], saved: Mapping[str, Any], folder: pathlib.Path) -> None:
    for name, tensor in tensors.items():
        there, here = list(saved[name].size), list(tensor.size())
        if here != there:
            raise ValueError(f"{name} is {there} in {folder} and {here} in the model; must be equal")


def _of_all_ranks(model: Any, of: Any) -> dict[str, Any]:
    """Returns what a function of a collection returns for its tables on each rank, in one dict."""
    own = {table: value for module in collections(model).values() for table, value in of(module).items()}
    return {table: value for of_rank in _gathered(own) for table, value in sorted(of_rank.items())}


def _gathered(own: Any) -> list[Any]:
    import torch.distributed as dist

    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, own)
    return found


def _load_by_row(
    folder: pathlib.Path, name: str, saved: Any, old: dict[str, Any], new: dict[str, Any], tensor: Any
) -> None:
    """Loads a state with a number for each row of each shard, into one of other shards or with one for each weight."""
    import torch
    from torch.distributed import checkpoint

    state = torch.empty(saved.size, dtype=saved.properties.dtype)
    checkpoint.load({name: state}, checkpoint_id=str(folder), no_dist=True)
    # Of each range of columns: all rows, from one shard or several.
    rows, _ = table_size(old)
    ranges = [s for s in old.get("shards", [_whole(old)]) if s["shard_offsets"][0] == 0 and s["shard_sizes"][0] > 0]
    own, targets = _own_shards(new), _local_tensors(tensor)
    for target in targets:
        target.zero_()
    for part in optimizer_state.common_columns(ranges, own):
        shard, target = own[part.new], targets[part.new]
        first = part.old * rows + shard["shard_offsets"][0]
        value = state[first : first + shard["shard_sizes"][0]].to(target.device)
        if target.dim() == 2:
            value = value.unsqueeze(1).expand(-1, part.end - part.start)
        optimizer_state.add_part(part, value, target, shard)


def _load_means(folder: pathlib.Path, name: str, saved: Any, parameter: Any, tensor: Any) -> None:
    """Loads a state with a number for each weight into one with a number for each row of each shard: their mean."""
    import torch
    from torch.distributed import checkpoint
    from torch.distributed._shard.sharded_tensor import Shard, ShardedTensor

    dtype = saved.properties.dtype
    parts: Any
    if hasattr(parameter, "local_shards"):
        metadata = copy.deepcopy(parameter.metadata())
        metadata.tensor_properties.dtype, metadata.tensor_properties.requires_grad = dtype, False
        parts = ShardedTensor._init_from_local_shards_and_global_metadata(
            [Shard(torch.zeros_like(s.tensor, dtype=dtype), s.metadata) for s in parameter.local_shards()],
            metadata,
            parameter._process_group,
        )
    else:
        parts = torch.empty(saved.size, dtype=dtype)
    checkpoint.load({name: parts}, checkpoint_id=str(folder), no_dist=True)
    for part, target in zip(_local_tensors(parts), _local_tensors(tensor)):
        target.copy_(part.mean(1))


def _own_shards(sharding: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a table's shards of this rank; of a data-parallel table, one with all of it."""
    import torch.distributed as dist

    placed = zip(sharding["ranks"], sharding.get("shards", ()))
    own = [shard for owner, shard in placed if owner == dist.get_rank()]
    return own if "shards" in sharding else [_whole(sharding)]


def _whole(sharding: Mapping[str, Any]) -> dict[str, Any]:
    return {"shard_offsets": [0, 0], "shard_sizes": list(table_size(sharding))}


def _local_tensors(tensor: Any) -> list[Any]:
    return [shard.tensor for shard in tensor.local_shards()] if hasattr(tensor, "local_shards") else [tensor]


def _is_by_row(name: str, size: Any) -> bool:
    return name.startswith("optimizer.") and len(size) == 1


def _is_of_one_optimizer(name: str, states: Mapping[str, Any], saved: Mapping[str, Any]) -> bool:
    """Returns whether the table or parameter of a state has the same states in the model and the checkpoint.

    Adam's first state has the name of Adagrad's only one.
    """
    of = name.rpartition(".")[0] + "."
    return {n for n in states if n.startswith(of)} == {n for n in saved if n.startswith(of)}


def _parameter_of(name: str) -> str:
    """Returns the name of a table's parameter: "model.P.weight" for the state "optimizer.P.weight.TABLE.STATE"."""
    return "model." + name.split(".", 1)[1].rsplit(".", 2)[0]


def _parameters(model: Any) -> dict[str, Any]:
    """Returns tensors by name; of sharded tables, the shards of this rank."""
    import torch

    found = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    return {name: of for name, of in found.items() if isinstance(of, torch.Tensor) or hasattr(of, "local_shards")}


def _fused_states(model: Any) -> dict[str, Any]:
    return {
        f"optimizer.{name}.{state}": tensor
        for name, states in model.fused_optimizer.state_dict()["state"].items()
        for state, tensor in states.items()
        if hasattr(tensor, "local_shards")
    }
