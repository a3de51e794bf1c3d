"""FBGEMM's table-batched operators, which TorchRec trains with: a launch for many tables, the optimizer in backward.

Needs fbgemm_gpu. Arguments are those that TorchRec gives them (torchrec/distributed/batched_embedding_kernel.py of
2026-08). Copies have FBGEMM's dense operator, and an optimizer of PyTorch after it, or `dense_row_wise_adagrad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    DenseTableBatchedEmbeddingBagsCodegen,
    EmbeddingLocation,
    PoolingMode,
    SparseType,
    SplitTableBatchedEmbeddingBagsCodegen,
)

from shardtide.collect.operators import EPSILON, Bags, Held, dense_row_wise_adagrad
from shardtide.collect.optimizers import OF_COPIES

_OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
    "adam": EmbOptimType.ADAM,
    "partial_rowwise_adam": EmbOptimType.PARTIAL_ROWWISE_ADAM,
    "lamb": EmbOptimType.LAMB,
}

_OPTIMIZERS_OF_COPIES: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
}

_PRECISIONS = {torch.float32: SparseType.FP32, torch.float16: SparseType.FP16}


class TableBatchedEmbeddings:
    """The shards of a device: one operator for those of the same samples, type, kind and optimizer.

    FBGEMM allocates the weights and the state. Copies have a dense gradient, and their optimizer apart.

    learning_rate: of the optimizers
    fill: what each weight is in the beginning
    ValueError: copies have no such optimizer
    """

    def __init__(self, shards: Sequence[Held], device: torch.device, learning_rate: float, fill: float):
        groups: dict[tuple[int, torch.dtype, bool, str], list[int]] = {}
        for index, shard in enumerate(shards):
            key = (shard.samples, shard.dtype, shard.replicated, shard.optimizer)
            groups.setdefault(key, []).append(index)
        self._groups = [
            _Group(indices, [shards[i] for i in indices], device, learning_rate, fill) for indices in groups.values()
        ]

    def join(self, bags: Sequence[Bags]) -> list[Bags]:
        """Returns the lookups of each operator, as the distribution of inputs hands them over in training."""
        return [group.join(bags) for group in self._groups]

    def forward(self, joined: Sequence[Bags]) -> None:
        """Looks up and sums."""
        for group, bags in zip(self._groups, joined):
            group.output = group.operator(*bags)

    def join_gradients(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the gradients of each operator's outputs, side by side."""
        return [torch.cat([gradients[i] for i in group.indices], 1) for group in self._groups]

    def backward(self, gradients: Sequence[torch.Tensor]) -> None:
        """Computes gradients, and updates all weights but those of copies."""
        torch.autograd.backward([group.output for group in self._groups], list(gradients))

    def step(self) -> None:
        """Updates copies."""
        for group in self._groups:
            group.step()


class _Group:
    def __init__(
        self, indices: Sequence[int], shards: Sequence[Held], device: torch.device, learning_rate: float, fill: float
    ):
        self.indices = indices
        self.output: torch.Tensor
        self._learning_rate = learning_rate
        precision = _PRECISIONS[shards[0].dtype]
        cuda = device.type == "cuda"
        self._replicated = shards[0].replicated
        self._momentum: list[torch.Tensor] = []
        self._optimizer: torch.optim.Optimizer | None = None
        optimizer = shards[0].optimizer
        if self._replicated:
            self.operator = DenseTableBatchedEmbeddingBagsCodegen(
                [(shard.rows, shard.columns) for shard in shards],
                pooling_mode=PoolingMode.SUM,
                use_cpu=not cuda,
                weights_precision=precision,
                output_dtype=precision,
            )
        else:
            location = EmbeddingLocation.DEVICE if cuda else EmbeddingLocation.HOST
            computes = ComputeDevice.CUDA if cuda else ComputeDevice.CPU
            self.operator = SplitTableBatchedEmbeddingBagsCodegen(
                embedding_specs=[(shard.rows, shard.columns, location, computes) for shard in shards],
                pooling_mode=PoolingMode.SUM,
                weights_precision=precision,
                output_dtype=precision,
                optimizer=_OPTIMIZERS[optimizer],
                learning_rate=learning_rate,
                eps=EPSILON,
                device=device,
            )
        self.operator.to(device)
        for weight in self.operator.split_embedding_weights():
            weight.fill_(fill)
        if self._replicated and optimizer == "rowwise_adagrad":
            self._momentum = [torch.ones(shard.rows, device=device) for shard in shards]
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

    @torch.no_grad()
    def step(self) -> None:
        if not self._replicated:
            return
        if self._optimizer is not None:
            self._optimizer.step()
            self.operator.weights.grad = None
            return
        flat = self.operator.weights.grad
        first = 0
        for weight, momentum in zip(self.operator.split_embedding_weights(), self._momentum):
            gradient = flat[first : first + weight.numel()].view_as(weight)
            dense_row_wise_adagrad(weight, gradient, momentum, self._learning_rate)
            first += weight.numel()
        self.operator.weights.grad = None
