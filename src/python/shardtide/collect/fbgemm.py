"""FBGEMM's table-batched operators, which TorchRec trains with: a launch for many tables, the optimizer in backward.

Needs fbgemm_gpu. Arguments are those that TorchRec gives them (torchrec/distributed/batched_embedding_kernel.py of
2026-08). Copies have FBGEMM's dense operator, and an optimizer of PyTorch after it, or `dense_row_wise_adagrad`.

Cached shards (kernel fused_uvm_caching) have operators of their own, one for each width, as TorchRec 1.6.1 groups them
with `prefetch_pipeline` (torchrec/distributed/embedding_sharding.py): a row of FBGEMM's cache is as wide as the widest
table of its operator. Tables of an operator share its cache, whose share of the rows is the mean of theirs, weighted by
rows. Host memory is pinned (`uvm_host_mapped`), never CUDA's managed memory. Prefetching does not wait for the GPU:
numbers of distinct and missing rows stay on it (lru_cache_populate.cu and lru_cache_find.cu of FBGEMM).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Tuple

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    CacheAlgorithm,
    ComputeDevice,
    DenseTableBatchedEmbeddingBagsCodegen,
    EmbeddingLocation,
    PoolingMode,
    SparseType,
    SplitTableBatchedEmbeddingBagsCodegen,
)

from shardtide.collect.operators import EPSILON, Bags, EmbeddingBags, dense_row_wise_adagrad
from shardtide.collect.shapes import Shard
from shardtide.optimizers import OF_COPIES, OPTIMIZERS

_OPTIMIZERS_OF_COPIES: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
}

# Of FBGEMM's counts of a cache, those that are reported, with their positions.
_COUNTS = {"lookups": 1, "rows": 2, "missedRows": 3, "conflicts": 4}

# By the bytes of an element.
_PRECISIONS = {4: SparseType.FP32, 2: SparseType.FP16}

# The rows of a shard that the device holds, and the shard.
Held = Tuple[int, Shard]


class TableBatchedEmbeddings(EmbeddingBags):
    """The shards of a device: one operator for those of the same samples, type, kind and optimizer.

    Cached shards are a kind for each width, and so are unpooled ones. FBGEMM allocates the weights and the state. Copies
    have a dense gradient, and their optimizer apart.

    fill: what each weight is in the beginning
    ValueError: copies have no such optimizer, or there are caches and the device is a CPU
    """

    def __init__(self, shards: Sequence[Held], device: torch.device, learning_rate: float, fill: float):
        groups: dict[tuple[object, ...], list[int]] = {}
        for index, (_, shard) in enumerate(shards):
            groups.setdefault(_kind(shard), []).append(index)
        held = [(indices, [shards[i] for i in indices]) for indices in groups.values()]
        self._groups = [_Group(indices, of, device, learning_rate, fill) for indices, of in held]
        self.has_caches = any(group.is_cached for group in self._groups)

    def join(self, bags: Sequence[Bags]) -> list[Bags]:
        return [group.join(bags) for group in self._groups]

    def prefetch(self, joined: Sequence[Bags]) -> None:
        for group, bags in zip(self._groups, joined):
            if group.is_cached:
                group.operator.prefetch(*bags)

    def count_lookups(self, counted: bool) -> None:
        for group in self._groups:
            if group.is_cached:
                group.operator.gather_uvm_cache_stats = counted

    def cache_counts(self) -> dict[str, float]:
        counts = [group.cache_counts() for group in self._groups if group.is_cached]
        return {name: round(sum(of[name] for of in counts), 1) for name in _COUNTS} if counts else {}

    def forward(self, joined: Sequence[Bags]) -> None:
        for group, bags in zip(self._groups, joined):
            group.output = group.operator(*bags)

    def join_gradients(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [group.join_gradients(gradients) for group in self._groups]

    def backward(self, gradients: Sequence[torch.Tensor]) -> None:
        torch.autograd.backward([group.output for group in self._groups], list(gradients))

    def step(self) -> None:
        for group in self._groups:
            group.step()


class _Group:
    def __init__(
        self, indices: Sequence[int], shards: Sequence[Held], device: torch.device, learning_rate: float, fill: float
    ):
        self.indices = indices
        self.output: torch.Tensor
        self._learning_rate = learning_rate
        first = shards[0][1]
        precision, optimizer = _PRECISIONS[first.bytes_per_element], first.optimizer
        pooling_mode = PoolingMode.SUM if first.pooled else PoolingMode.NONE
        # Of bags, the outputs of a sample's tables lie side by side.
        self._joined_by = 1 if first.pooled else 0
        cuda = device.type == "cuda"
        self._replicated = first.replicated
        self.is_cached = first.cache_share is not None
        if self.is_cached and not cuda:
            raise ValueError(f"caches need a GPU, got {device}")
        self._momentum: list[torch.Tensor] = []
        self._optimizer: torch.optim.Optimizer | None = None
        if self._replicated:
            self.operator = DenseTableBatchedEmbeddingBagsCodegen(
                [(rows, shard.columns) for rows, shard in shards],
                pooling_mode=pooling_mode,
                use_cpu=not cuda,
                weights_precision=precision,
                output_dtype=precision,
            )
        else:
            location = EmbeddingLocation.DEVICE if cuda else EmbeddingLocation.HOST
            cache: dict[str, Any] = {}
            if self.is_cached:
                location = EmbeddingLocation.MANAGED_CACHING
                cache = {
                    "cache_algorithm": CacheAlgorithm.LRU,
                    "cache_load_factor": _load_factor(shards),
                    "cache_precision": precision,
                    "uvm_host_mapped": True,
                    "gather_uvm_cache_stats": True,
                }
            computes = ComputeDevice.CUDA if cuda else ComputeDevice.CPU
            self.operator = SplitTableBatchedEmbeddingBagsCodegen(
                embedding_specs=[(rows, shard.columns, location, computes) for rows, shard in shards],
                pooling_mode=pooling_mode,
                weights_precision=precision,
                output_dtype=precision,
                optimizer=EmbOptimType[OPTIMIZERS[optimizer].fbgemm],
                learning_rate=learning_rate,
                eps=EPSILON,
                device=device,
                **cache,
            )
            if self.is_cached:
                # Made with counts, so that they can be switched on; off, they take no time.
                self.operator.gather_uvm_cache_stats = False
        self.operator.to(device)
        for weight in self.operator.split_embedding_weights():
            weight.fill_(fill)
        if self._replicated and optimizer == "rowwise_adagrad":
            self._momentum = [torch.ones(rows, device=device) for rows, _ in shards]
        elif self._replicated:
            if optimizer not in _OPTIMIZERS_OF_COPIES:
                raise ValueError(f"copies have no optimizer {optimizer}; expected one of {', '.join(OF_COPIES)}")
            self._optimizer = _OPTIMIZERS_OF_COPIES[optimizer]([self.operator.weights], lr=learning_rate)

    def join(self, bags: Sequence[Bags]) -> Bags:
        mine = [bags[i] for i in self.indices]
        starts, begin = [], 0
        for _, offsets in mine:
            starts.append(offsets[:-1] + begin)
            begin += int(offsets[-1])
        last = torch.tensor([begin], device=mine[0][1].device)
        return torch.cat([ids for ids, _ in mine]), torch.cat([*starts, last])

    def join_gradients(self, gradients: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.cat([gradients[i] for i in self.indices], self._joined_by)

    def cache_counts(self) -> dict[str, float]:
        # Beside the property, as that asserts that counting is on.
        counts = self.operator.uvm_cache_stats.tolist()
        return {name: counts[position] / max(1, counts[0]) for name, position in _COUNTS.items()}

    @torch.no_grad()
    def step(self) -> None:
        if not self._replicated:
            return
        if self._optimizer is not None:
            self._optimizer.step()
        flat, first = self.operator.weights.grad, 0
        for weight, momentum in zip(self.operator.split_embedding_weights(), self._momentum):
            gradient = flat[first : first + weight.numel()].view_as(weight)
            dense_row_wise_adagrad(weight, gradient, momentum, self._learning_rate)
            first += weight.numel()
        self.operator.weights.grad = None


def _kind(shard: Shard) -> tuple[object, ...]:
    is_cached = shard.cache_share is not None
    # FBGEMM has unpooled tables of one width in an operator.
    width = shard.columns if is_cached or not shard.pooled else None
    return (shard.samples, shard.bytes_per_element, shard.replicated, shard.optimizer, is_cached, shard.pooled, width)


def _load_factor(shards: Sequence[Held]) -> float:
    """Returns the share of all rows that one cache for all of these shards has."""
    return sum(rows * (shard.cache_share or 0) for rows, shard in shards) / sum(rows for rows, _ in shards)
