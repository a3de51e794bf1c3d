"""A model with two collections, one of them weighted, and the same model unsharded."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import Tensor, nn
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.types import ShardingEnv
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor
from torchrec.streamable import Pipelineable

from shardtide import torchrec

SAMPLES = 3
LEARNING_RATE = 0.05
EPS = 1e-8
# Of the optimizer of dense parameters, the same as that of fused tables.
OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adam": EmbOptimType.ADAM,
}


class Sparse(nn.Module):
    """Two collections: every third table is in the weighted one."""

    def __init__(self, sizes: dict[str, tuple[int, int]]):
        super().__init__()
        configs = [
            EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=columns, feature_names=["f_" + name])
            for name, (rows, columns) in sorted(sizes.items())
        ]
        self.plain = EmbeddingBagCollection(tables=[c for i, c in enumerate(configs) if i % 3])
        self.weighted = EmbeddingBagCollection(tables=configs[::3], is_weighted=True)


class Net(nn.Module):
    """The sum of all outputs of a sample, each times a number of its own, times a dense parameter."""

    def __init__(self, sizes: dict[str, tuple[int, int]]):
        super().__init__()
        self.sparse = Sparse(sizes)
        self.factors = {name: factors(name, columns) for name, (_, columns) in sizes.items()}
        self.dense = nn.Linear(1, 1, bias=False)
        nn.init.ones_(self.dense.weight)
        self.tables = [[c.name for c in m.embedding_bag_configs()] for m in (self.sparse.plain, self.sparse.weighted)]

    def forward(self, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        outputs: dict[str, Tensor] = {}
        for tables, pooled in zip(self.tables, (self.sparse.plain(batch.plain), self.sparse.weighted(batch.weighted))):
            of_feature = pooled.to_dict()
            outputs.update({name: of_feature["f_" + name] for name in tables})
        total = sum((output * self.factors[name]).sum(1) for name, output in sorted(outputs.items()))
        return self.dense(total.unsqueeze(1)).mean(), outputs  # type: ignore[union-attr]


def generator(seed: Any) -> torch.Generator:
    return torch.Generator().manual_seed(int.from_bytes(str(seed).encode(), "big") % 2**62)


def factors(table: str, columns: int) -> Tensor:
    return torch.rand(columns, generator=generator("f" + table)) + 0.5


def weights(sizes: dict[str, tuple[int, int]]) -> dict[str, Tensor]:
    return {name: torch.randn(*size, generator=generator("w" + name)) for name, size in sizes.items()}


class Batch(Pipelineable):
    """Ids of each table, the same for the same step and rank; a table may have none of a sample."""

    def __init__(self, net: Net, sizes: dict[str, tuple[int, int]], step: int, rank: int):
        self.ids: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        for name, (rows, _) in sizes.items():
            g = generator(f"{step} {rank} {name}")
            lengths = torch.randint(0, 4, (SAMPLES,), generator=g)
            ids = torch.randint(0, rows, (int(lengths.sum()),), generator=g)
            # Only the weighted collection has other weights than 1.
            scale = torch.rand(len(ids), generator=g) if name in net.tables[1] else torch.ones(len(ids))
            self.ids[name] = (lengths, ids, scale)
        self.plain = self._jagged(net.tables[0], weighted=False)
        self.weighted = self._jagged(net.tables[1], weighted=True)

    def _jagged(self, tables: list[str], weighted: bool) -> KeyedJaggedTensor:
        lengths, values, scales = zip(*(self.ids[name] for name in tables))
        return KeyedJaggedTensor(
            keys=["f_" + name for name in tables],
            values=torch.cat(values),
            lengths=torch.cat(lengths).int(),
            weights=torch.cat(scales) if weighted else None,
        )

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        return self

    def record_stream(self, stream: Any) -> None:
        pass


class Unsharded:
    """The same training in one process: SGD, or Adagrad with a number for each weight."""

    def __init__(self, tables: dict[str, Tensor], optimizer: str):
        self.tables = {name: table.clone() for name, table in tables.items()}
        self.sums = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.dense, self.dense_sum = torch.ones(()), torch.zeros(())
        self.optimizer = optimizer

    def outputs(self, batch: Batch) -> dict[str, Tensor]:
        found = {}
        for name, (lengths, ids, scales) in batch.ids.items():
            samples = torch.repeat_interleave(torch.arange(SAMPLES), lengths)
            rows = self.tables[name][ids] * scales.unsqueeze(1)
            found[name] = torch.zeros(SAMPLES, rows.shape[1]).index_add_(0, samples, rows)
        return found

    def step(self, batches: list[Batch]) -> None:
        """Trains on the batches of all ranks: the gradient is that of the mean of their losses."""
        gradients = {name: torch.zeros_like(table) for name, table in self.tables.items()}
        dense = torch.zeros(())
        for batch in batches:
            share = 1 / (SAMPLES * len(batches))
            for name, output in self.outputs(batch).items():
                lengths, ids, scales = batch.ids[name]
                f = factors(name, output.shape[1])
                dense = dense + share * (output * f).sum()
                gradients[name].index_add_(0, ids, share * self.dense * f * scales.unsqueeze(1))
        for name, gradient in gradients.items():
            self.tables[name] -= self._step(gradient, self.sums[name])
        self.dense = self.dense - self._step(dense, self.dense_sum)

    def _step(self, gradient: Tensor, sums: Tensor) -> Tensor:
        if self.optimizer == "sgd":
            return LEARNING_RATE * gradient
        sums += gradient.square()
        return LEARNING_RATE * gradient / (sums.sqrt() + EPS)


class Trained:
    """A sharded model beside the same unsharded one."""

    def __init__(self, description: dict[str, Any], optimizer: str):
        self.sizes = {
            name: torchrec.table_size(sharding)
            for tables in description["plan"].values()
            for name, sharding in tables.items()
        }
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.net = Net(self.sizes)
        torchrec.check_model(self.net, description)
        fused = {"optimizer": OPTIMIZERS[optimizer], "learning_rate": LEARNING_RATE, "eps": EPS}
        self.model = DistributedModelParallel(
            self.net,
            env=ShardingEnv.from_process_group(dist.GroupMember.WORLD),
            device=torch.device("cpu"),
            plan=torchrec.to_sharding_plan(description),
            sharders=[EmbeddingBagCollectionSharder(fused_params=fused)],
        )
        fill(self.model, weights(self.sizes))
        dense = [p for p in self.model.parameters() if not hasattr(p, "_in_backward_optimizers")]
        self.dense_optimizer: torch.optim.Optimizer = (
            torch.optim.Adagrad(dense, lr=LEARNING_RATE, eps=EPS)
            if optimizer == "adagrad"
            else torch.optim.SGD(dense, lr=LEARNING_RATE)
        )
        self.unsharded = Unsharded(weights(self.sizes), optimizer)
        # Of a table with outputs in half precision: its outputs and gradients are rounded to 11 bits.
        self.tolerances = {
            name: {"rtol": 2e-3, "atol": 2e-3}
            for tables in description["plan"].values()
            for name, sharding in tables.items()
            if sharding.get("output_dtype") == "FP16"
        }

    def batch(self, step: int, rank: int | None = None) -> Batch:
        return Batch(self.net, self.sizes, step, self.rank if rank is None else rank)

    def step(self, step: int) -> None:
        """Trains both on a batch, whose outputs must be equal."""
        batch = self.batch(step)
        loss, outputs = self.model(batch)
        for name, expected in self.unsharded.outputs(batch).items():
            self._assert_close(name, outputs[name], expected, "output of")
        self.dense_optimizer.zero_grad()
        loss.backward()
        self.dense_optimizer.step()
        self.unsharded.step([self.batch(step, rank) for rank in range(self.world)])

    def check(self) -> None:
        """Checks that both have the same tables."""
        found = whole(parameters(self.model), self.sizes)
        for name, table in self.unsharded.tables.items():
            self._assert_close(name, found[name], table, "table")

    def _assert_close(self, table: str, found: Tensor, expected: Tensor, what: str) -> None:
        close = self.tolerances.get(table, {})
        torch.testing.assert_close(
            found.to(expected.dtype), expected, msg=lambda m: f"{what} {table}: {m}", **close
        )


def parameters(model: Any) -> dict[str, Any]:
    """Returns the tables' tensors by name."""
    return {k.split(".")[-2]: v for k, v in model.state_dict().items() if ".embedding_bags." in k}


def states(model: Any) -> dict[str, Any]:
    """Returns the first states of fused optimizers by table, of tables that this rank has."""
    state = model.fused_optimizer.state_dict()["state"]
    return {k.split(".")[-2]: next(iter(v.values())) for k, v in state.items() if v}


def shards(tensor: Any) -> list[tuple[list[int], Tensor]]:
    """Returns this rank's parts of a tensor with their offsets."""
    if hasattr(tensor, "local_shards"):
        return [(list(shard.metadata.shard_offsets), shard.tensor) for shard in tensor.local_shards()]
    return [([0] * tensor.dim(), tensor)]


def fill(model: Any, tables: dict[str, Tensor]) -> None:
    for name, tensor in parameters(model).items():
        for (row, column), part in shards(tensor):
            part.copy_(tables[name][row : row + part.shape[0], column : column + part.shape[1]])


def whole(tensors: dict[str, Any], sizes: dict[str, tuple[int, int]]) -> dict[str, Tensor]:
    """Returns whole tensors on all ranks, from each rank's parts; of copies, the mean."""
    found = {}
    for name in sorted(sizes):
        total, count = torch.zeros(2, *sizes[name])
        for (row, column), part in shards(tensors[name]) if name in tensors else []:
            place = (slice(row, row + part.shape[0]), slice(column, column + part.shape[1]))
            total[place] += part.detach()
            count[place] += 1
        dist.all_reduce(total)
        dist.all_reduce(count)
        found[name] = total / count.clamp(min=1)
    return found
