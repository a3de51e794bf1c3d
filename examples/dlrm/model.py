"""A small DLRM: all but its embedding tables, replicated on every rank."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.distributed as dist
from inputs import Bags
from layout import TableShape
from torch import nn

# Each embedding gets this width by a projection, as tables have different numbers of columns.
WIDTH = 32


class DenseModel(nn.Module):
    """Bottom MLP of the dense features, pairwise dot products with the embeddings, top MLP to a logit for each sample.

    After M. Naumov et al., Deep Learning Recommendation Model for Personalization and Recommendation Systems, 2019. The
    lookups of an unpooled table are weighted by how they match the dense features of their sample, and averaged: after
    G. Zhou et al., Deep Interest Network for Click-Through Rate Prediction, 2018.

    tables: of the model; their order is that of the interactions
    dense: number of dense features
    seed: of the weights, the same on all ranks
    """

    def __init__(self, tables: Sequence[TableShape], dense: int, seed: int):
        super().__init__()
        vectors = len(tables) + 1
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.bottom = nn.Sequential(nn.Linear(dense, 64), nn.ReLU(), nn.Linear(64, WIDTH), nn.ReLU())
            self.projections = nn.ModuleList(nn.Linear(table.columns, WIDTH, bias=False) for table in tables)
            self.top = nn.Sequential(nn.Linear(WIDTH + vectors * (vectors - 1) // 2, 64), nn.ReLU(), nn.Linear(64, 1))
        self._tables = tuple(tables)
        self._pairs = torch.tril_indices(vectors, vectors, -1)

    def forward(self, dense: torch.Tensor, embedded: dict[str, torch.Tensor], lookups: dict[str, Bags]) -> torch.Tensor:
        """Returns the logit of each sample.

        dense: samples x dense features
        embedded: of each table samples x columns, or lookups x columns if it is unpooled
        lookups: of each table
        """
        bottom = self.bottom(dense)
        vectors = [bottom]
        for table, project in zip(self._tables, self.projections):
            projected = project(embedded[table.name])
            vectors.append(projected if table.pooled else _attend(bottom, projected, lookups[table.name].offsets))
        return self._interact(torch.stack(vectors, 1))

    def _interact(self, vectors: torch.Tensor) -> torch.Tensor:
        """Returns the logit of each sample. vectors: samples x vectors x width, the dense features' at first."""
        products = vectors @ vectors.transpose(1, 2)
        interactions = products[:, self._pairs[0], self._pairs[1]]
        return self.top(torch.cat([vectors[:, 0], interactions], 1)).squeeze(1)

    def sum_gradients(self) -> None:
        """Sums the gradients of all ranks, in one all-reduce. Called on all ranks after a backward pass."""
        gradients = [parameter.grad for parameter in self.parameters()]
        buffer = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(buffer)
        for gradient, whole in zip(gradients, buffer.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(whole.view_as(gradient))


def _attend(queries: torch.Tensor, vectors: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Returns the mean of each sample's vectors, each weighted by the sigmoid of its product with the sample's query.

    queries: samples x width
    vectors: lookups x width, sample after sample
    offsets: where each sample's vectors begin, and their number at last
    """
    lengths = offsets.diff()
    products = (vectors * queries.repeat_interleave(lengths, 0)).sum(1) / math.sqrt(vectors.shape[1])
    weighted = vectors * products.sigmoid().unsqueeze(1)
    sums = nn.functional.embedding_bag(
        torch.arange(len(weighted), device=weighted.device), weighted, offsets, mode="sum", include_last_offset=True
    )
    return sums / lengths.clamp(min=1).unsqueeze(1)


def loss_of(logits: torch.Tensor, labels: torch.Tensor, batch_size: int) -> torch.Tensor:
    """Returns this rank's part of the loss: binary cross-entropy, of which the sum over all ranks is the batch's mean.

    batch_size: samples of all ranks
    """
    return nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / batch_size
