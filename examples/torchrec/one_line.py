"""Trains a TorchRec model whose plan is Shardtide's, then goes on after one of its tables has grown.

python one_line.py --program ./shardtide
python one_line.py --bootstrap-servers HOST:PORT --registry URL

Without Kafka, it starts the program `shardtide` for each plan; with it, it publishes the model's tables and takes the
planner's plan. The line that a program of yours needs is marked below.

It starts processes that train on CPUs with gloo, each on its part of every batch. All of them also train the unsharded
model on whole batches, and compare: it prints a line of JSON, and fails unless both have the same losses.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import tempfile
from typing import Any

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import multiprocessing, nn
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner import ParameterConstraints
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from shardtide.log import Log
from shardtide.torchrec import LogSource, ProgramSource, ShardtidePlanner
from shardtide.torchrec.sources import PlanSource

# Rows and columns of each table, by collection; each has a feature of its name.
TABLES = {
    "of_users": {"user": (600, 64), "city": (50, 16)},
    "of_items": {"item": (2000, 32), "shop": (300, 32), "brand": (90, 8)},
}
GROWN = {"item": 3000}
# As for TorchRec's own planner. Without them, all of these small tables would be copied to each device.
CONSTRAINTS = {
    "user": ParameterConstraints(sharding_types=["column_wise"], min_partition=16),
    "item": ParameterConstraints(sharding_types=["table_wise", "column_wise"]),
    "shop": ParameterConstraints(sharding_types=["table_wise"]),
    "city": ParameterConstraints(sharding_types=["data_parallel"]),
}
LOOKUPS = 2
SAMPLES = 32
STEPS = 5
LEARNING_RATE = 0.5
TOLERANCE = 1e-5


class Net(nn.Module):
    """A click probability from two collections.

    rows: by table, of those that have other rows than TABLES says
    """

    def __init__(self, rows: dict[str, int]):
        super().__init__()
        self.rows = {name: rows.get(name, size[0]) for tables in TABLES.values() for name, size in tables.items()}
        self.collections = nn.ModuleDict(
            {
                path: EmbeddingBagCollection(
                    tables=[
                        EmbeddingBagConfig(
                            name=name, num_embeddings=self.rows[name], embedding_dim=columns, feature_names=[name]
                        )
                        for name, (_, columns) in tables.items()
                    ]
                )
                for path, tables in TABLES.items()
            }
        )
        self.top = nn.Linear(sum(columns for tables in TABLES.values() for _, columns in tables.values()), 1)

    def forward(self, ids: KeyedJaggedTensor) -> torch.Tensor:
        # By name: the order of outputs in values() depends on the plan.
        found = {name: value for part in self.collections.values() for name, value in part(ids).to_dict().items()}
        return self.top(torch.cat([found[name] for name in self.rows], 1)).squeeze(1)  # type: ignore[no-any-return]


def batch(rows: dict[str, int], step: int, part: int = 0, parts: int = 1) -> tuple[KeyedJaggedTensor, torch.Tensor]:
    """Returns a part of a batch: ids, LOOKUPS of each feature for each sample, and clicks."""
    g = torch.Generator().manual_seed(step)
    ids = [torch.randint(0, count, (SAMPLES, LOOKUPS), generator=g) for count in rows.values()]
    clicks = (torch.stack(ids).sum((0, 2)) % 2).float()
    own = [of_feature[part::parts] for of_feature in ids]
    lengths = torch.full((len(own) * len(own[0]),), LOOKUPS, dtype=torch.int32)
    values = torch.cat([of_feature.flatten() for of_feature in own])
    return KeyedJaggedTensor(keys=list(rows), values=values, lengths=lengths), clicks[part::parts]


def loss(model: nn.Module, ids: KeyedJaggedTensor, clicks: torch.Tensor) -> torch.Tensor:
    return nn.functional.binary_cross_entropy_with_logits(model(ids), clicks)


def train(
    model: nn.Module, optimizer: torch.optim.Optimizer, rows: dict[str, int], part: int, parts: int
) -> list[float]:
    """Trains on a part of each batch; returns the losses of the whole batches."""
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        found = loss(model, *batch(rows, step, part, parts))
        found.backward()
        optimizer.step()
        mean = found.detach().clone()
        if parts > 1:
            dist.all_reduce(mean)
        losses.append(mean.item() / parts)
    return losses


def weights_of(model: DistributedModelParallel) -> dict[str, torch.Tensor]:
    """Returns the whole tables and all else of a sharded model, by name, on all ranks."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict().items():
        if not hasattr(tensor, "local_shards"):
            found[name] = tensor.detach().clone()
            continue
        own = [(shard.metadata.shard_offsets, shard.tensor.detach()) for shard in tensor.local_shards()]
        parts: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(parts, own)
        found[name] = torch.empty(tensor.size())
        for (row, column), part in (shard for of_rank in parts for shard in of_rank):
            found[name][row : row + part.size(0), column : column + part.size(1)] = part
    return found


def fill(model: DistributedModelParallel, weights: dict[str, torch.Tensor]) -> None:
    """Sets the weights of a sharded model, each rank those of its shards."""
    for name, tensor in model.state_dict().items():
        if not hasattr(tensor, "local_shards"):
            tensor.copy_(weights[name])
            continue
        for part in tensor.local_shards():
            (row, column), (rows, columns) = part.metadata.shard_offsets, part.metadata.shard_sizes
            part.tensor.copy_(weights[name][row : row + rows, column : column + columns])


def keep(net: Net, weights: dict[str, torch.Tensor]) -> None:
    """Sets a model's weights to those of a smaller one; rows that it did not have stay as they are."""
    for name, tensor in net.state_dict().items():
        tensor[: len(weights[name])] = weights[name]


def source(arguments: argparse.Namespace) -> PlanSource:
    if arguments.bootstrap_servers:
        return LogSource(Log({"bootstrap.servers": arguments.bootstrap_servers}, {"url": arguments.registry}, arguments.prefix))
    return ProgramSource(arguments.program)


def shard(net: Net, arguments: argparse.Namespace) -> tuple[DistributedModelParallel, ShardtidePlanner]:
    sharders = [
        EmbeddingBagCollectionSharder(
            fused_params={"optimizer": EmbOptimType.EXACT_SGD, "learning_rate": LEARNING_RATE}
        )
    ]
    planner = ShardtidePlanner(
        source(arguments),
        arguments.workload,
        cluster={"memoryBytesPerDevice": 2**30, "batchSize": SAMPLES, "hardware": arguments.hardware},
        lookups={name: LOOKUPS for name in net.rows},
        constraints=CONSTRAINTS,
        device="cpu",
    )
    pg = dist.group.WORLD
    model = DistributedModelParallel(
        net,
        device=torch.device("cpu"),
        plan=planner.collective_plan(net, sharders, pg),  # This is the line.
        sharders=sharders,
    )
    return model, planner


def run(rank: int, arguments: argparse.Namespace, folder: str) -> None:
    """Trains on a rank, once with TABLES and once with GROWN."""
    ranks = arguments.processes
    # As torchrun sets it: all processes are on one node.
    os.environ["LOCAL_WORLD_SIZE"] = str(ranks)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    found: dict[str, Any] = {"plans": []}
    weights: dict[str, torch.Tensor] = {}
    difference = 0.0
    for grown in ({}, GROWN):
        torch.manual_seed(1)
        net = Net(grown)
        if weights:
            keep(net, weights)
        whole = copy.deepcopy(net)
        model, planner = shard(net, arguments)
        # DistributedModelParallel draws new weights for all tables.
        fill(model, whole.state_dict())
        # Fused tables update themselves; data-parallel ones and dense layers have this optimizer.
        own = [p for p in model.parameters() if not hasattr(p, "_in_backward_optimizers")]
        losses = train(model, torch.optim.SGD(own, LEARNING_RATE), net.rows, rank, ranks)
        expected = train(whole, torch.optim.SGD(whole.parameters(), LEARNING_RATE), net.rows, 0, 1)
        weights = weights_of(model)
        difference = max(
            [difference]
            + [abs(ours - theirs) for ours, theirs in zip(losses, expected)]
            + [(weights[name] - tensor).abs().max().item() for name, tensor in whole.state_dict().items()]
        )
        assert planner.description is not None
        kinds = {
            table: sharding["sharding_type"]
            for tables in planner.description["plan"].values()
            for table, sharding in tables.items()
        }
        generation = planner.description["generation"]
        found["plans"].append(
            {"by": planner.planned_by, "generation": generation, "kinds": kinds, "losses": losses}
        )
    found["largest_difference"] = difference
    if rank == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()
    if not difference < TOLERANCE:
        raise SystemExit(f"Sharded and unsharded training differ by {difference}; must be below {TOLERANCE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the program shardtide; default: that of the PATH")
    parser.add_argument("--bootstrap-servers", help="plan with Kafka: host:port, separated by commas")
    parser.add_argument("--registry", help="with --bootstrap-servers: the schema registry")
    parser.add_argument("--prefix", default="shardtide.", help="of the topics")
    parser.add_argument("--workload", default="one-line")
    parser.add_argument("--hardware", default="h200", help="whose costs plans are made for")
    parser.add_argument("--processes", type=int, default=4)
    arguments = parser.parse_args()
    if bool(arguments.bootstrap_servers) != bool(arguments.registry):
        parser.error("--bootstrap-servers and --registry must be given together")
    with tempfile.TemporaryDirectory() as folder:
        # Forked: each has what this process imported.
        multiprocessing.start_processes(run, (arguments, folder), nprocs=arguments.processes, start_method="fork")


if __name__ == "__main__":
    main()
