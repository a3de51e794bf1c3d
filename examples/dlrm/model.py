"""A small DLRM: all but its embedding tables, replicated on every rank."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from layout import TableShape
from torch import nn

# Each embedding gets this width by a projection, as tables have different numbers of columns.
WIDTH = 32


class DenseModel(nn.Module):
    """Bottom MLP of the dense features, pairwise dot products with the embeddings, top MLP to a logit for each sample.

    After M. Naumov et al., Deep Learning Recommendation Model for Personalization and Recommendation Systems, 2019.

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
        self._names = [table.name for table in tables]
        self._pairs = torch.tril_indices(vectors, vectors, -1)

    def forward(self, dense: torch.Tensor, embedded: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns the logit of each sample. embedded: samples x columns of each table."""
        bottom = self.bottom(dense)
        projected = [project(embedded[name]) for project, name in zip(self.projections, self._names)]
        vectors = torch.stack([bottom, *projected], 1)
        products = vectors @ vectors.transpose(1, 2)
        interactions = products[:, self._pairs[0], self._pairs[1]]
        return self.top(torch.cat([bottom, interactions], 1)).squeeze(1)

    def sum_gradients(self) -> None:
        """Sums the gradients of all ranks, in one all-reduce. Called on all ranks after a backward pass."""
        gradients = [parameter.grad for parameter in self.parameters()]
        buffer = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(buffer)
        for gradient, whole in zip(gradients, buffer.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(whole.view_as(gradient))


def loss_of(logits: torch.Tensor, labels: torch.Tensor, batch_size: int) -> torch.Tensor:
    """Returns this rank's part of the loss: binary cross-entropy, of which the sum over all ranks is the batch's mean.

    batch_size: samples of all ranks
    """
    return nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / batch_size
