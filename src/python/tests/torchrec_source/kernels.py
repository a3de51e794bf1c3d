"""FBGEMM's embedding kernels in plain torch: sums of rows, with the optimizer in the backward pass or without."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class EmbOptimType(enum.Enum):
    """Names and values of FBGEMM's optimizers that TorchRec names."""

    SGD = "sgd"
    EXACT_SGD = "exact_sgd"
    LAMB = "lamb"
    ADAM = "adam"
    EXACT_ADAGRAD = "exact_adagrad"
    EXACT_ROWWISE_ADAGRAD = "exact_row_wise_adagrad"
    ROWWISE_ADAGRAD = "row_wise_adagrad"
    LARS_SGD = "lars_sgd"
    PARTIAL_ROWWISE_ADAM = "partial_row_wise_adam"
    PARTIAL_ROWWISE_LAMB = "partial_row_wise_lamb"
    SHAMPOO = "shampoo"
    SHAMPOO_V2 = "shampoo_v2"
    SHAMPOO_MRS = "shampoo_mrs"
    SHAMPOO_V2_MRS = "shampoo_v2_mrs"
    LION = "lion"
    ADAMW = "adamw"
    EMAINPLACE = "ema_inplace"
    ENSEMBLE_ROWWISE_ADAGRAD = "ensemble_row_wise_adagrad"
    NONE = "none"


class EmbeddingLocation(enum.IntEnum):
    DEVICE = 0
    MANAGED = 1
    MANAGED_CACHING = 2
    HOST = 3
    MTIA = 4


class ComputeDevice(enum.IntEnum):
    CPU = 0
    CUDA = 1
    MTIA = 2


class PoolingMode(enum.IntEnum):
    SUM = 0
    MEAN = 1
    NONE = 2


class SparseType(enum.Enum):
    FP32 = "fp32"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    INT2 = "int2"
    BF16 = "bf16"
    MX4 = "mx4"
    NFP8 = "nfp8"


class BoundsCheckMode(enum.IntEnum):
    FATAL = 0
    WARNING = 1
    IGNORE = 2
    NONE = 3
    V2_IGNORE = 4
    V2_WARNING = 5
    V2_FATAL = 6


class CacheAlgorithm(enum.Enum):
    LRU = 0
    LFU = 1


class BackendType(enum.IntEnum):
    SSD = 0
    DRAM = 1
    PS = 2


def _features(indices: Tensor, offsets: Tensor, weights: Tensor | None, count: int) -> Any:
    """Yields each feature's ids, the sample of each id, and the weight of each id."""
    batch = (offsets.numel() - 1) // count
    for i in range(count):
        ends = offsets[i * batch : (i + 1) * batch + 1].long()
        first, last = int(ends[0]), int(ends[-1])
        samples = torch.repeat_interleave(torch.arange(batch), ends.diff())
        yield indices[first:last].long(), samples, None if weights is None else weights[first:last].unsqueeze(1)


def _sums(table: Tensor, ids: Tensor, samples: Tensor, weights: Tensor | None, batch: int) -> Tensor:
    rows = table[ids] if weights is None else table[ids] * weights
    return torch.zeros(batch, table.shape[1]).index_add(0, samples, rows)


class _Lookup(torch.autograd.Function):
    """The sums of a fused kernel, whose backward pass updates the weights."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, kernel: Any, indices: Tensor, offsets: Tensor, weights: Tensor | None) -> Tensor:
        ctx.kernel, ctx.weights = kernel, weights
        ctx.save_for_backward(indices, offsets)
        return kernel.sums(kernel.split_embedding_weights(), indices, offsets, weights)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        ctx.kernel.update(*ctx.saved_tensors, ctx.weights, gradient)
        return torch.zeros(1), None, None, None, None


class _Kernel(nn.Module):
    """Tables one after another in one tensor."""

    def __init__(self, sizes: Sequence[tuple[int, int]], feature_table_map: Sequence[int] | None, mode: Any):
        super().__init__()
        if mode not in (None, PoolingMode.SUM):
            raise NotImplementedError(f"pooling must be SUM, got {mode}")
        self.sizes = list(sizes)
        self.feature_table_map = list(feature_table_map or range(len(sizes)))
        self.pooling_mode = PoolingMode.SUM
        offsets = [0, *itertools.accumulate(rows * columns for rows, columns in sizes)]
        self.weights_physical_offsets, self.elements = offsets[:-1], offsets[-1]

    def split(self, weights: Tensor) -> list[Tensor]:
        return [
            weights[offset : offset + rows * columns].view(rows, columns)
            for offset, (rows, columns) in zip(self.weights_physical_offsets, self.sizes)
        ]

    def sums(self, tables: Sequence[Tensor], indices: Tensor, offsets: Tensor, weights: Tensor | None) -> Tensor:
        """Returns [batch, columns of all features]."""
        count = len(self.feature_table_map)
        batch = (offsets.numel() - 1) // count
        features = _features(indices, offsets, weights, count)
        return torch.cat(
            [
                _sums(tables[table], ids, samples, of_ids, batch)
                for table, (ids, samples, of_ids) in zip(self.feature_table_map, features)
            ],
            1,
        )

    def reset_cache_states(self) -> None:
        pass

    def flush(self) -> None:
        pass


class SplitTableBatchedEmbeddingBagsCodegen(_Kernel):
    """The fused kernel: SGD, Adagrad, row-wise Adagrad and Adam, without bias correction."""

    def __init__(
        self,
        embedding_specs: Sequence[tuple[int, int, Any, Any]],
        feature_table_map: Sequence[int] | None = None,
        pooling_mode: Any = None,
        weights_precision: Any = SparseType.FP32,
        optimizer: EmbOptimType = EmbOptimType.EXACT_SGD,
        learning_rate: float = 0.01,
        eps: float = 1e-8,
        **_: Any,
    ):
        super().__init__([spec[:2] for spec in embedding_specs], feature_table_map, pooling_mode)
        # Compared with values of EmbeddingLocation.
        self.embedding_specs = [(*spec[:2], int(spec[2]), spec[3]) for spec in embedding_specs]
        self.weights_precision = weights_precision
        self.int8_emb_row_dim_offset = 0
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.eps = eps
        self.weights_host = nn.Parameter(torch.zeros(self.elements))
        self.weights_dev = torch.empty(0)
        self.weights_uvm = torch.empty(0)
        # Makes autograd call the backward pass.
        self.hook = torch.zeros(1, requires_grad=True)
        of_row = optimizer == EmbOptimType.EXACT_ROWWISE_ADAGRAD
        self.names: tuple[str, ...] = {
            EmbOptimType.EXACT_ADAGRAD: ("sum",),
            EmbOptimType.EXACT_ROWWISE_ADAGRAD: ("sum",),
            EmbOptimType.ADAM: ("exp_avg", "exp_avg_sq"),
        }.get(optimizer, ())
        self.states = [
            tuple(torch.zeros(rows) if of_row else torch.zeros(rows, columns) for _ in self.names)
            for rows, columns in self.sizes
        ]

    def split_embedding_weights(self) -> list[Tensor]:
        return self.split(self.weights_host.detach())

    def split_optimizer_states(self) -> list[tuple[Tensor, ...]]:
        return self.states if self.names else []

    def get_optimizer_state(self) -> list[dict[str, Tensor]]:
        return [dict(zip(self.names, state)) for state in self.split_optimizer_states()]

    def get_learning_rate(self) -> float:
        return self.learning_rate

    def set_learning_rate(self, learning_rate: float) -> None:
        self.learning_rate = learning_rate

    def set_optimizer_step(self, step: int) -> None:
        pass

    def update_hyper_parameters(self, parameters: Any) -> None:
        pass

    def forward(self, indices: Tensor, offsets: Tensor, per_sample_weights: Tensor | None = None, **_: Any) -> Tensor:
        return _Lookup.apply(self.hook, self, indices, offsets, per_sample_weights)  # type: ignore[no-any-return]

    def update(self, indices: Tensor, offsets: Tensor, weights: Tensor | None, gradient: Tensor) -> None:
        tables = self.split_embedding_weights()
        gradients = [torch.zeros_like(table) for table in tables]
        column = 0
        features = _features(indices, offsets, weights, len(self.feature_table_map))
        for table, (ids, samples, of_ids) in zip(self.feature_table_map, features):
            columns = tables[table].shape[1]
            rows = gradient[:, column : column + columns][samples]
            gradients[table].index_add_(0, ids, rows if of_ids is None else rows * of_ids)
            column += columns
        for table, g, state in zip(tables, gradients, self.states):
            table -= self.learning_rate * self._step(g, state)

    def _step(self, gradient: Tensor, state: tuple[Tensor, ...]) -> Tensor:
        if self.optimizer == EmbOptimType.EXACT_ADAGRAD:
            state[0].add_(gradient.square())
            return gradient / (state[0].sqrt() + self.eps)
        if self.optimizer == EmbOptimType.EXACT_ROWWISE_ADAGRAD:
            state[0].add_(gradient.square().mean(1))
            return gradient / (state[0].sqrt() + self.eps).unsqueeze(1)
        if self.optimizer == EmbOptimType.ADAM:
            state[0].mul_(0.9).add_(gradient, alpha=0.1)
            state[1].mul_(0.999).add_(gradient.square(), alpha=0.001)
            return state[0] / (state[1].sqrt() + self.eps)
        if self.optimizer in (EmbOptimType.SGD, EmbOptimType.EXACT_SGD):
            return gradient
        raise NotImplementedError(f"optimizer {self.optimizer}")


class DenseTableBatchedEmbeddingBagsCodegen(_Kernel):
    """The dense kernel: weights have gradients."""

    def __init__(
        self,
        embedding_specs: Sequence[tuple[int, int]],
        feature_table_map: Sequence[int] | None = None,
        pooling_mode: Any = None,
        **_: Any,
    ):
        super().__init__(embedding_specs, feature_table_map, pooling_mode)
        self.embedding_specs = list(embedding_specs)
        self.weights = nn.Parameter(torch.zeros(self.elements))

    def split_embedding_weights(self) -> list[Tensor]:
        return self.split(self.weights.detach())

    def forward(self, indices: Tensor, offsets: Tensor, per_sample_weights: Tensor | None = None, **_: Any) -> Tensor:
        return self.sums(self.split(self.weights), indices, offsets, per_sample_weights)


class SSDTableBatchedEmbeddingBags(nn.Module):
    pass


class IntNBitTableBatchedEmbeddingBagsCodegen(nn.Module):
    pass


class PermutePooledEmbeddings:
    """Orders outputs of features: embs_dims are the columns of each, permute their new order."""

    def __init__(self, embs_dims: Sequence[int], permute: Sequence[int], device: Any = None):
        self.columns, self.order = list(embs_dims), list(permute)

    def __call__(self, pooled: Tensor) -> Tensor:
        parts = torch.split(pooled, self.columns, dim=1)
        return torch.cat([parts[i] for i in self.order], 1)


NAMES = {
    **{name: value for name, value in globals().items() if isinstance(value, type) and not name.startswith("_")},
    "PermutePooledEmbeddingsSplit": PermutePooledEmbeddings,
}
