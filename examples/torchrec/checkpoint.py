"""Trains a TorchRec model under a plan, goes on from a checkpoint of any other plan, and saves one.

torchrun --nproc-per-node 4 checkpoint.py --plan 4-devices.json --folder checkpoint
torchrun --nproc-per-node 2 checkpoint.py --plan 2-devices.json --folder checkpoint

--plan    a line that shardtide-py convert wrote, for as many devices as there are processes
--folder  a checkpoint, on a file system that all processes share; it is read if it is there, and written at the end

This is how a model goes to a plan that a running one cannot go to: other kinds, another number of devices. The model
has the tables of the plan; a real one has its own, and takes the plan from shardtide.train.PlanFollower.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
from typing import Any

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import nn
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from shardtide.arguments import read_json
from shardtide.torchrec import checkpoint
from shardtide.torchrec.conversions import to_sharding_plan
from shardtide.torchrec.modules import check_model, table_size

SAMPLES = 64


class Net(nn.Module):
    """A click probability from one table for each feature."""

    def __init__(self, sizes: dict[str, tuple[int, int]]):
        super().__init__()
        self.collection = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=columns, feature_names=[name])
                for name, (rows, columns) in sizes.items()
            ]
        )
        self.features = list(sizes)
        self.top = nn.Linear(sum(columns for _, columns in sizes.values()), 1)

    def forward(self, ids: KeyedJaggedTensor) -> torch.Tensor:
        # By name: the order of outputs in values() depends on the plan.
        pooled = self.collection(ids).to_dict()
        return self.top(torch.cat([pooled[name] for name in self.features], 1)).squeeze(1)  # type: ignore[no-any-return]


def batch(sizes: dict[str, tuple[int, int]], step: int) -> tuple[KeyedJaggedTensor, torch.Tensor]:
    """Returns ids, one of each feature for each sample, and clicks; the same on all ranks."""
    g = torch.Generator().manual_seed(step)
    ids = [torch.randint(0, rows, (SAMPLES,), generator=g) for rows, _ in sizes.values()]
    clicks = (torch.stack(ids).sum(0) % 2).float()
    lengths = torch.ones(SAMPLES * len(ids), dtype=torch.int32)
    return KeyedJaggedTensor(keys=list(sizes), values=torch.cat(ids), lengths=lengths), clicks


def train(description: dict[str, Any], folder: pathlib.Path, steps: int, device: torch.device) -> dict[str, Any]:
    """Trains some steps; returns the first step, the loss of a batch before and after them, and what was not loaded."""
    # The model's only collection, whatever path the plan was written for.
    (tables,) = description["plan"].values()
    description = {**description, "plan": {"collection": tables}}
    sizes = {name: table_size(sharding) for name, sharding in tables.items()}
    net = Net(sizes)
    check_model(net, description)
    model = DistributedModelParallel(
        net,
        device=device,
        plan=to_sharding_plan(description),
        sharders=[
            EmbeddingBagCollectionSharder(
                fused_params={"optimizer": EmbOptimType.EXACT_ROWWISE_ADAGRAD, "learning_rate": 0.1}
            )
        ],
    )
    # Fused tables update themselves; data-parallel ones and dense layers have this optimizer. As its state is saved and
    # loaded with the model's, a table takes it along where it becomes data-parallel, or ceases to be.
    dense = torch.optim.Adagrad([p for p in model.parameters() if not hasattr(p, "_in_backward_optimizers")], lr=0.1)
    first, missing = 0, None
    if (folder / "steps").exists():
        missing = checkpoint.load(model, folder, dense)
        first = int((folder / "steps").read_text(encoding="utf-8"))

    def loss(step: int) -> torch.Tensor:
        ids, clicks = batch(sizes, step)
        return nn.functional.binary_cross_entropy_with_logits(model(ids.to(device)), clicks.to(device))

    before = loss(0).item()
    for step in range(first, first + steps):
        dense.zero_grad()
        loss(step).backward()
        dense.step()
    checkpoint.save(model, folder, dense)
    if dist.get_rank() == 0:
        (folder / "steps").write_text(str(first + steps), encoding="utf-8")
    dist.barrier()
    return {"first": first, "before": before, "after": loss(0).item(), "missing": missing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if cuda else "cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    description = read_json(arguments.plan)
    if description["world_size"] != dist.get_world_size():
        raise SystemExit(f"The plan is for {description['world_size']} devices, got {dist.get_world_size()} processes")
    found = train(description, arguments.folder, arguments.steps, device)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
