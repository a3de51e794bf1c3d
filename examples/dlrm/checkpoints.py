"""Checkpoints that any plan can load: whole tables, and the dense model."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

import torch
import torch.distributed as dist
from embeddings import ShardedEmbeddings
from layout import TableShape
from torch import nn


def save(
    folder: pathlib.Path, embeddings: ShardedEmbeddings, tables: Iterable[TableShape], model: nn.Module, step: int
) -> None:
    """Writes a checkpoint of what was trained before a step. Called on all ranks.

    Each rank needs host memory for a whole table.
    Where columns are cut, the row-wise state is saved as the mean of the parts' states.
    """
    first = dist.get_rank() == 0
    if first:
        folder.mkdir(parents=True, exist_ok=True)
    for i, table in enumerate(tables):
        weight, momentum = embeddings.full_table(table.name)
        if first:
            torch.save({"name": table.name, "weight": weight, "momentum": momentum}, folder / f"table-{i}.pt")
    if first:
        torch.save({"step": step, "model": model.state_dict()}, folder / "model.pt")


def load(folder: pathlib.Path, embeddings: ShardedEmbeddings, tables: Iterable[TableShape], model: nn.Module) -> int:
    """Reads a checkpoint, which all ranks must see; returns the step that comes next.

    ValueError if it is of other tables or another optimizer; OSError if it cannot be read.
    """
    for i, table in enumerate(tables):
        found = torch.load(folder / f"table-{i}.pt", map_location="cpu", weights_only=True)
        if found["name"] != table.name:
            raise ValueError(f'{folder} has table {i} "{found["name"]}"; expected "{table.name}"')
        embeddings.load_table(table.name, found["weight"], found["momentum"])
    rest = torch.load(folder / "model.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(rest["model"])
    return int(rest["step"])
