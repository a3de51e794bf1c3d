"""Rows in host memory, with a cache of the most used ones in device memory, as FBGEMM's fused_uvm_caching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

HOST = torch.device("cpu")

# The place of a row that is in host memory only.
NOWHERE = -1

# Rows that are copied between host and device at once, at most.
ROWS_AT_ONCE = 65_536


class CacheUse(NamedTuple):
    """How caches were used.

    lookups: of rows that they are of; a lookup counts for each column part of its table
    missed: of them, lookups of rows that the cache did not hold when their step began; all lookups of such a row
    """

    lookups: int
    missed: int


class RowCache:
    """The rows of tensors in host memory, the most used ones also in device memory.

    Between two steps the cache holds the rows with the most lookups so far, at most as many as it has places; of rows
    with as many lookups, those with the lower numbers. That is FBGEMM's policy LFU without its sets. What the cache
    holds is newer than the same rows in host memory.

    A step has all its rows in device memory: fetch() places those that the cache lacks behind the cache, for this step.
    After the update, settle() keeps the most used ones of all and writes the others back. The space behind the cache is
    as large as the steps so far needed. In host memory, each row takes 16 bytes more: its lookups and its place.

    tensors: in host memory, with a row at each first index; the cache reads and writes them
    places: rows that the cache holds at most
    device: of the cache
    """

    def __init__(self, tensors: Sequence[torch.Tensor], places: int, device: torch.device):
        self._tensors = list(tensors)
        self._device = device
        self._uses = torch.zeros(len(tensors[0]), dtype=torch.int64)
        self._place_of = torch.full_like(self._uses, NOWHERE)
        self.fill(places)

    def fill(self, places: int) -> None:
        """Fetches the rows with the most lookups so far, and none without; counts misses from 0.

        It forgets what the cache held: call flush() before it, unless the rows in host memory are the newer ones.

        places: rows that the cache holds from now on, at most
        """
        self._places = places
        self._allocate(self._places)
        self._rows = torch.zeros(0, dtype=torch.int64)
        self._place_of.fill_(NOWHERE)
        used = self._uses.nonzero()[:, 0]
        self._append(used[self._most_used(used)])
        self._use = CacheUse(0, 0)

    def fetch(self, ids: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Returns the ids of a step's lookups in tensors on the device, and these tensors, to be updated in place.

        ids: rows, one for each lookup, on the device
        """
        # Nothing is behind the cache, unless the last step had no update.
        self.settle()
        found, of_lookups, counts = ids.unique(return_inverse=True, return_counts=True)
        distinct, counts = found.to(HOST), counts.to(HOST)
        missing = self._place_of[distinct] == NOWHERE
        self._use = CacheUse(self._use.lookups + len(ids), self._use.missed + int(counts[missing].sum()))
        self._uses[distinct] += counts
        self._append(distinct[missing])
        return self._place_of[distinct].to(self._device)[of_lookups], self._cached

    def settle(self) -> None:
        """Keeps the most used rows, and writes the others back to host memory."""
        if len(self._rows) <= self._places:
            return
        kept = torch.zeros(len(self._rows), dtype=torch.bool)
        kept[self._most_used(self._rows)] = True
        left = kept.logical_not().nonzero()[:, 0]
        self._write_back(left)
        self._place_of[self._rows[left]] = NOWHERE
        # Rows that are kept from behind the cache take the places that are free in it.
        free, behind = left[left < self._places], kept[self._places :].nonzero()[:, 0] + self._places
        for cached in self._cached:
            cached[free.to(self._device)] = cached[behind.to(self._device)]
        self._place_of[self._rows[behind]] = free
        self._rows[free] = self._rows[behind]
        self._rows = self._rows[: self._places]

    def flush(self) -> None:
        """Writes all rows back to host memory; the cache still holds them."""
        self._write_back(torch.arange(len(self._rows)))

    def reload(self) -> None:
        """Fetches the rows that it holds from host memory again, where they changed. Call flush() before they do."""
        held, self._rows = self._rows, self._rows[:0]
        self._append(held)

    def take_use(self) -> CacheUse:
        """Returns how the cache was used since the last call or fill()."""
        found, self._use = self._use, CacheUse(0, 0)
        return found

    def _append(self, rows: torch.Tensor) -> None:
        """Fetches rows from host memory, and places them behind the others."""
        if len(self._rows) + len(rows) > len(self._cached[0]):
            # By way of host memory: device memory may have no room for the smaller and the larger space at once.
            self.flush()
            rows, self._rows = torch.cat([self._rows, rows]), rows[:0]
            self._allocate(len(rows))
        places = torch.arange(len(self._rows), len(self._rows) + len(rows))
        self._rows = torch.cat([self._rows, rows])
        self._place_of[rows] = places
        for some in places.split(ROWS_AT_ONCE):
            for tensor, cached in zip(self._tensors, self._cached):
                # What a GPU copies is pinned, so that it comes at the speed of PCIe.
                found = torch.empty(len(some), *tensor.shape[1:], pin_memory=self._device.type == "cuda")
                torch.index_select(tensor, 0, self._rows[some], out=found)
                cached[some.to(self._device)] = found.to(self._device)

    def _write_back(self, places: torch.Tensor) -> None:
        for some in places.split(ROWS_AT_ONCE):
            for tensor, cached in zip(self._tensors, self._cached):
                tensor[self._rows[some]] = cached[some.to(self._device)].to(HOST)

    def _allocate(self, places: int) -> None:
        # The old space is freed before there is a new one.
        self._cached: list[torch.Tensor] = []
        self._cached = [torch.empty(places, *tensor.shape[1:], device=self._device) for tensor in self._tensors]

    def _most_used(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns the positions of the rows with the most lookups, as many as the cache has places."""
        # No two ranks are equal. They fit into 64 bits up to 2^32 lookups of each of 2^31 rows.
        ranks = self._uses[rows] * len(self._uses) - rows
        return ranks.topk(min(self._places, len(rows)), sorted=False).indices


def describe_misses(use: dict[str, CacheUse], plan: Mapping[str, Any]) -> str:
    """Returns which share of the lookups of cached tables missed, and what the plan predicts, for a line of text.

    It is empty if there were no lookups of cached tables.
    """
    lookups = sum(found.lookups for found in use.values())
    if not lookups:
        return ""
    shares = {misses["table"]: misses["lookupShare"] for misses in plan["cacheMisses"]}
    missed = sum(found.missed for found in use.values()) / lookups
    text = f", cache misses {missed:.1%} of lookups"
    # Plans of earlier versions do not predict them.
    if use.keys() <= shares.keys():
        predicted = sum(found.lookups * shares[table] for table, found in use.items()) / lookups
        text += f" (predicted {predicted:.1%})"
    return text
