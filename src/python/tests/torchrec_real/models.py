"""A model with two collections, one of them weighted, and the same model unsharded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import Tensor, nn
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.types import ShardingEnv
from torchrec.modules.embedding_configs import EmbeddingBagConfig, PoolingType
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor
from torchrec.streamable import Pipelineable

from shardtide import torchrec

SAMPLES = 3
TOLERANCE = 1e-5
LEARNING_RATE = 0.05
EPS = 1e-8
# FBGEMM's optimizers of fused tables.
OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adam": EmbOptimType.ADAM,
}


@dataclass(frozen=True)
class Tables:
    """The tables of a model.

    sizes: rows and columns by name
    means: names of those with MEAN pooling; they have no weights
    shared: names of those that two features look up
    """

    sizes: dict[str, tuple[int, int]]
    means: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    @property
    def weighted(self) -> list[str]:
        """Tables of the weighted collection: every third one, but those with MEAN pooling."""
        return [name for i, name in enumerate(sorted(self.sizes)) if i % 3 == 0 and name not in self.means]

    @property
    def plain(self) -> list[str]:
        """Tables of the other collection."""
        return [name for name in sorted(self.sizes) if name not in self.weighted]

    def features(self, tables: Iterable[str]) -> list[tuple[str, str]]:
        """Returns the features of some tables, each with its table."""
        return [(f"{prefix}_{name}", name) for name in tables for prefix in ("fg" if name in self.shared else "f")]

    def config(self, name: str) -> EmbeddingBagConfig:
        return EmbeddingBagConfig(
            name=name,
            num_embeddings=self.sizes[name][0],
            embedding_dim=self.sizes[name][1],
            feature_names=[feature for feature, _ in self.features([name])],
            pooling=PoolingType.MEAN if name in self.means else PoolingType.SUM,
        )


class Sparse(nn.Module):
    """Two collections, one of them weighted."""

    def __init__(self, tables: Tables):
        super().__init__()
        self.plain = EmbeddingBagCollection(tables=[tables.config(name) for name in tables.plain])
        self.weighted = EmbeddingBagCollection(
            tables=[tables.config(name) for name in tables.weighted], is_weighted=True
        )


class Net(nn.Module):
    """The sum of all outputs of a sample, each times a number of its own, times a dense parameter."""

    def __init__(self, tables: Tables):
        super().__init__()
        self.sparse = Sparse(tables)
        self.features = [tables.features(tables.plain), tables.features(tables.weighted)]
        self.factors = {
            feature: factors(feature, tables.sizes[name][1]) for of in self.features for feature, name in of
        }
        self.dense = nn.Linear(1, 1, bias=False)
        nn.init.ones_(self.dense.weight)

    def forward(self, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        outputs: dict[str, Tensor] = {}
        for features, pooled in zip(
            self.features, (self.sparse.plain(batch.plain), self.sparse.weighted(batch.weighted))
        ):
            of_feature = pooled.to_dict()
            outputs.update({feature: of_feature[feature] for feature, _ in features})
        total = sum((output * self.factors[feature]).sum(1) for feature, output in sorted(outputs.items()))
        return self.dense(total.unsqueeze(1)).mean(), outputs  # type: ignore[union-attr]


def generator(seed: Any) -> torch.Generator:
    return torch.Generator().manual_seed(int.from_bytes(str(seed).encode(), "big") % 2**62)


def factors(feature: str, columns: int) -> Tensor:
    return torch.rand(columns, generator=generator("f" + feature)) + 0.5


def weights(sizes: dict[str, tuple[int, int]]) -> dict[str, Tensor]:
    return {name: torch.randn(*size, generator=generator("w" + name)) for name, size in sizes.items()}


class Batch(Pipelineable):
    """Ids of each feature, the same for the same step and rank; a sample may have none.

    ids: by feature, its table, its lookups of each sample, its ids, and what each id counts
    """

    def __init__(self, tables: Tables, step: int, rank: int):
        self.ids: dict[str, tuple[str, Tensor, Tensor, Tensor]] = {}
        weighted = set(tables.weighted)
        for feature, name in tables.features(tables.sizes):
            g = generator(f"{step} {rank} {feature}")
            lengths = torch.randint(0, 4, (SAMPLES,), generator=g)
            ids = torch.randint(0, tables.sizes[name][0], (int(lengths.sum()),), generator=g)
            scale = torch.rand(len(ids), generator=g) if name in weighted else torch.ones(len(ids))
            if name in tables.means:
                scale = 1 / torch.repeat_interleave(lengths, lengths)
            self.ids[feature] = (name, lengths, ids, scale)
        self.plain = self._jagged(tables.features(tables.plain), weighted=False)
        self.weighted = self._jagged(tables.features(tables.weighted), weighted=True)

    def _jagged(self, features: list[tuple[str, str]], weighted: bool) -> KeyedJaggedTensor:
        _, lengths, values, scales = zip(*(self.ids[feature] for feature, _ in features))
        return KeyedJaggedTensor(
            keys=[feature for feature, _ in features],
            values=torch.cat(values),
            lengths=torch.cat(lengths).int(),
            weights=torch.cat(scales) if weighted else None,
        )

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        return self

    def record_stream(self, stream: Any) -> None:
        pass


class Unsharded:
    """The same training in one process, by the formulas of the optimizers.

    optimizer: sgd; adagrad, with a number for each weight; rowwise_adagrad, with a number for each row of each range of
        columns, of tables that are not copied; adam, of which a step changes all weights
    ranges: of each table that is not copied, the ranges of columns of its shards
    """

    def __init__(self, tables: dict[str, Tensor], optimizer: str, ranges: dict[str, set[tuple[int, int]]]):
        self.tables = {name: table.clone() for name, table in tables.items()}
        self.sums = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.moments = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.dense, self.dense_sum, self.dense_moment = torch.ones(()), torch.zeros(()), torch.zeros(())
        self.optimizer = optimizer
        self.ranges = ranges
        self.steps = 0

    def outputs(self, batch: Batch) -> dict[str, Tensor]:
        found = {}
        for feature, (name, lengths, ids, scales) in batch.ids.items():
            samples = torch.repeat_interleave(torch.arange(SAMPLES), lengths)
            rows = self.tables[name][ids] * scales.unsqueeze(1)
            found[feature] = torch.zeros(SAMPLES, rows.shape[1]).index_add_(0, samples, rows)
        return found

    def step(self, batches: list[Batch]) -> None:
        """Trains on the batches of all ranks: the gradient is that of the mean of their losses."""
        self.steps += 1
        gradients = {name: torch.zeros_like(table) for name, table in self.tables.items()}
        dense = torch.zeros(())
        for batch in batches:
            share = 1 / (SAMPLES * len(batches))
            for feature, output in self.outputs(batch).items():
                name, _, ids, scales = batch.ids[feature]
                f = factors(feature, output.shape[1])
                dense = dense + share * (output * f).sum()
                gradients[name].index_add_(0, ids, share * self.dense * f * scales.unsqueeze(1))
        for name, gradient in gradients.items():
            self.tables[name] -= self._step(gradient, self.sums[name], self.moments[name], self.ranges.get(name))
        self.dense = self.dense - self._step(dense, self.dense_sum, self.dense_moment, None)

    def _step(self, gradient: Tensor, sums: Tensor, moment: Tensor, ranges: set[tuple[int, int]] | None) -> Tensor:
        if self.optimizer == "sgd" or (self.optimizer == "rowwise_adagrad" and ranges is None):
            return LEARNING_RATE * gradient
        if self.optimizer == "adam":
            moment.mul_(0.9).add_(gradient, alpha=0.1)
            sums.mul_(0.999).add_(gradient.square(), alpha=0.001)
            mean, square = moment / (1 - 0.9**self.steps), sums / (1 - 0.999**self.steps)
            return LEARNING_RATE * mean / (square.sqrt() + EPS)
        if ranges is not None and self.optimizer == "rowwise_adagrad":
            for start, end in ranges:
                sums[:, start:end] += gradient[:, start:end].square().mean(1, keepdim=True)
        else:
            sums += gradient.square()
        return LEARNING_RATE * gradient / (sums.sqrt() + EPS)


class Trained:
    """A sharded model beside the same unsharded one.

    optimizer: of fused tables; dense parameters, copies and tables with the kernel dense have the same, SGD instead of
        rowwise_adagrad
    means, shared: as of Tables
    """

    def __init__(
        self, description: dict[str, Any], optimizer: str, means: Iterable[str] = (), shared: Iterable[str] = ()
    ):
        shardings = {name: of for tables in description["plan"].values() for name, of in tables.items()}
        self.sizes = {name: torchrec.modules.table_size(sharding) for name, sharding in shardings.items()}
        self.tables = Tables(self.sizes, frozenset(means), frozenset(shared))
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.net = Net(self.tables)
        torchrec.modules.check_model(self.net, description)
        is_fused = any(sharding["compute_kernel"] == "fused" for sharding in shardings.values())
        fused = {"optimizer": OPTIMIZERS[optimizer], "learning_rate": LEARNING_RATE, "eps": EPS} if is_fused else None
        self.model = DistributedModelParallel(
            self.net,
            env=ShardingEnv.from_process_group(dist.GroupMember.WORLD),
            device=torch.device("cpu"),
            plan=torchrec.conversions.to_sharding_plan(description),
            sharders=[EmbeddingBagCollectionSharder(fused_params=fused)],
        )
        fill(self.model, weights(self.sizes))
        dense = [p for p in self.model.parameters() if not hasattr(p, "_in_backward_optimizers")]
        self.dense_optimizer: torch.optim.Optimizer
        if optimizer == "adagrad":
            self.dense_optimizer = torch.optim.Adagrad(dense, lr=LEARNING_RATE, eps=EPS)
        elif optimizer == "adam":
            self.dense_optimizer = torch.optim.Adam(dense, lr=LEARNING_RATE, eps=EPS)
        else:
            self.dense_optimizer = torch.optim.SGD(dense, lr=LEARNING_RATE)
        ranges = {name: _ranges(sharding) for name, sharding in shardings.items() if "shards" in sharding}
        self.unsharded = Unsharded(weights(self.sizes), optimizer, ranges)
        # Outputs in half precision, and their gradients, are rounded to 11 bits.
        self.half = {name for name, sharding in shardings.items() if sharding.get("output_dtype") == "FP16"}

    def batch(self, step: int, rank: int | None = None) -> Batch:
        return Batch(self.tables, step, self.rank if rank is None else rank)

    def step(self, step: int) -> None:
        """Trains both on a batch, whose outputs must be equal."""
        batch = self.batch(step)
        loss, outputs = self.model(batch)
        for feature, expected in self.unsharded.outputs(batch).items():
            self._equal(batch.ids[feature][0], outputs[feature], expected, f"output of {feature}")
        self.dense_optimizer.zero_grad()
        loss.backward()
        self.dense_optimizer.step()
        self.unsharded.step([self.batch(step, rank) for rank in range(self.world)])

    def check(self) -> None:
        """Checks that both have the same tables."""
        found = whole(parameters(self.model), self.sizes)
        for name, table in self.unsharded.tables.items():
            self._equal(name, found[name], table, f"table {name}")

    def _equal(self, table: str, found: Tensor, expected: Tensor, what: str) -> None:
        equal(found.to(expected.dtype), expected, what, 2e-3 if table in self.half else TOLERANCE)


def _ranges(sharding: dict[str, Any]) -> set[tuple[int, int]]:
    """Returns the ranges of columns of a sharding's shards: from, and the end."""
    return {
        (shard["shard_offsets"][1], shard["shard_offsets"][1] + shard["shard_sizes"][1]) for shard in sharding["shards"]
    }


def equal(found: Tensor, expected: Tensor, what: str, tolerance: float = TOLERANCE) -> None:
    """Checks that tensors are equal but for rounding."""
    torch.testing.assert_close(
        found, expected, rtol=tolerance, atol=tolerance, msg=lambda message: f"{what}: {message}"
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
    totals = {name: torch.zeros(2, *sizes[name]) for name in sorted(sizes)}
    for name, total in totals.items():
        for (row, column), part in shards(tensors[name]) if name in tensors else []:
            place = (slice(row, row + part.shape[0]), slice(column, column + part.shape[1]))
            total[0][place] += part.detach()
            total[1][place] += 1
    joined = torch.cat([total.flatten() for total in totals.values()])
    dist.all_reduce(joined)
    parts = joined.split([total.numel() for total in totals.values()])
    found = {}
    for (name, total), part in zip(totals.items(), parts):
        value, count = part.view_as(total)
        found[name] = value / count.clamp(min=1)
    return found
