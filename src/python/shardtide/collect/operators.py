"""A sum-pooled embedding in plain PyTorch, which examples/dlrm trains with; measured where FBGEMM is not installed.

Its optimizer is row-wise Adagrad or SGD. As in Meta's DLRM reference trainer (EmbeddingBag with sparse gradients,
`RWSAdagrad`): the gradient of each lookup is written out, coalesced by row, and each used row is updated once, with one
float32 of optimizer state. FBGEMM's table-batched operator computes the same without writing the gradients of single
lookups, in one launch for all tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Tuple

import torch
from torch.nn import functional

EPSILON = 1e-8

# Ids, one for each lookup, and where each sample's ids begin, with their number at last.
Bags = Tuple[torch.Tensor, torch.Tensor]


class ShardOperator:
    """The rows and columns of a table that a device holds.

    weight: rows x columns, float32 or float16; it is updated in place
    momentum: of row-wise Adagrad, a float32 for each row, updated in place; None for SGD
    replicated: whether the gradient is dense and the optimizer updates all rows (data_parallel)
    """

    def __init__(self, weight: torch.Tensor, momentum: torch.Tensor | None, replicated: bool, learning_rate: float):
        self._weight = weight.detach().requires_grad_()
        self._momentum = momentum
        self._replicated = replicated
        self._learning_rate = learning_rate

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """Returns the sums of the rows of each sample: samples x columns, of the weights' type. See Bags."""
        return functional.embedding_bag(
            ids, self._weight, offsets, mode="sum", sparse=not self._replicated, include_last_offset=True
        )

    @property
    def gradient(self) -> torch.Tensor:
        """The gradient of a backward pass until the next step: dense of a copy, else sparse and not coalesced."""
        if self._weight.grad is None:
            raise RuntimeError("a gradient needs a backward pass before it")
        return self._weight.grad

    @torch.no_grad()
    def step(self) -> None:
        """Updates the weights by the gradient, and drops it."""
        gradient, rate = self.gradient, self._learning_rate
        if self._replicated and self._momentum is None:
            self._weight.add_(gradient, alpha=-rate)
        elif self._replicated:
            dense_row_wise_adagrad(self._weight, gradient, self._momentum, rate)
        else:
            coalesced = gradient.coalesce()
            rows, values = coalesced.indices()[0], coalesced.values()
            if self._momentum is None:
                self._weight[rows] -= values * rate
            else:
                momentum = self._momentum[rows] + values.float().square().mean(1)
                self._momentum[rows] = momentum
                self._weight[rows] += values * _scale(momentum, rate).to(values.dtype)
        self._weight.grad = None


class EmbeddingBags:
    """The operators of the shards of a device: here one for each, without caches."""

    has_caches = False

    def __init__(self, shards: Sequence[ShardOperator]):
        self._shards = shards
        self._outputs: list[torch.Tensor] = []

    def join(self, bags: Sequence[Bags]) -> list[Bags]:
        """Returns the lookups of each operator, as the distribution of inputs hands them over in training."""
        return list(bags)

    def prefetch(self, joined: Sequence[Bags]) -> None:
        """Fetches the rows that caches lack, and writes back those that leave; `forward` does it otherwise."""

    def count_lookups(self, counted: bool) -> None:
        """Begins or ends counting what caches lack; counting takes time."""

    def cache_counts(self) -> dict[str, float]:
        """Returns counts of a mean step: lookups, distinct rows, rows that caches lacked, rows that found no place."""
        return {}

    def forward(self, joined: Sequence[Bags]) -> None:
        self._outputs = [shard.forward(*bags) for shard, bags in zip(self._shards, joined)]

    def join_gradients(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return list(gradients)

    def backward(self, gradients: Sequence[torch.Tensor]) -> None:
        """Computes gradients, and, with FBGEMM, updates all weights but those of copies."""
        torch.autograd.backward(self._outputs, list(gradients))

    def step(self) -> None:
        """Updates the weights that backward left."""
        for shard in self._shards:
            shard.step()


def dense_row_wise_adagrad(
    weight: torch.Tensor, gradient: torch.Tensor, momentum: torch.Tensor, learning_rate: float
) -> None:
    """Updates all rows of a table, and their state, in place."""
    momentum += gradient.float().square().mean(1)
    weight.addcmul_(gradient, _scale(momentum, learning_rate).to(gradient.dtype))


def _scale(momentum: torch.Tensor, learning_rate: float) -> torch.Tensor:
    """What a row's gradient is multiplied by, as a column."""
    return momentum.sqrt().add_(EPSILON).reciprocal_().mul_(-learning_rate).unsqueeze(1)
