"""The processes of a training job, and the small messages that they exchange beside its collectives."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Sequence
from typing import Any, Callable, TypeVar

from shardtide.errors import Unreachable

T = TypeVar("T")

# A rank notices at the latest after the timeout that another one is lost; this much later all have answered.
ROLL_CALL_SECONDS = 2.0


class RankLost(Unreachable):
    """A rank of the training job ended, or did not answer in time; the message names it where that can be known."""


class Ranks:
    """The ranks of torch.distributed's default group; a job of its own where that is not initialised.

    Messages go through a gloo group of their own: they work beside NCCL, and never mix with the job's collectives. Every
    method that sends messages is called on all ranks, in the same order. RankLost on the other ranks if one does not.

    timeout_seconds: how long ranks wait for each other
    """

    def __init__(self, timeout_seconds: float = 60.0):
        self.rank, self.size = 0, 1
        self._timeout = datetime.timedelta(seconds=timeout_seconds)
        self._distributed = _initialised()
        self._calls = 0
        if self._distributed:
            self.rank = self._distributed.get_rank()
            self.size = self._distributed.get_world_size()
            self._group = self._distributed.new_group(backend="gloo", timeout=self._timeout)

    def from_first(self, value: T | None) -> T | None:
        """Returns rank 0's value on all ranks; it must be picklable, and is ignored on the others."""
        box = [value]
        if self._distributed:
            self._run(lambda: self._distributed.broadcast_object_list(box, src=0, group=self._group))
        return box[0]

    def gather(self, value: T) -> list[T]:
        """Returns the values of all ranks, in their order, on all ranks; they must be picklable."""
        found: list[Any] = [value] * self.size
        if self._distributed:
            self._run(lambda: self._distributed.all_gather_object(found, value, group=self._group))
        return found

    def _run(self, exchange: Callable[[], object]) -> None:
        self._calls += 1
        try:
            exchange()
        except RuntimeError as e:
            raise RankLost(f"{self.missing(f'call {self._calls}')}: {e}") from e

    def missing(self, occasion: str) -> str:
        """Returns which ranks do not answer, in words. Called on all that are left, after a collective failed.

        occasion: what failed, the same text on all ranks
        """
        if not self._distributed:
            return "This rank fails"
        try:
            # The store that torch.distributed was initialised with outlives its groups.
            store = self._distributed.distributed_c10d._get_default_store()
            store.set(f"shardtide/{occasion}/{self.rank}", "here")
            end = time.monotonic() + self._timeout.total_seconds() + ROLL_CALL_SECONDS
            left = [rank for rank in range(self.size) if rank != self.rank]
            while left and time.monotonic() < end:
                left = [rank for rank in left if not store.check([f"shardtide/{occasion}/{rank}"])]
                time.sleep(0.05)
        except (RuntimeError, AttributeError):
            # The process that has the store is rank 0, unless torchrun has it.
            return "Rank 0 does not answer" if self.rank else "A rank does not answer"
        if not left:
            return "All ranks are there, but a collective failed"
        who, do = ("Ranks", "do") if len(left) > 1 else ("Rank", "does")
        return f"{who} {', '.join(map(str, left))} of {self.size} {do} not answer"


def by_rank(problems: Sequence[str | None]) -> str:
    """Returns the problems in one line, each with its ranks; empty if there is none."""
    ranks: dict[str, list[int]] = {}
    for rank, problem in enumerate(problems):
        if problem is not None:
            ranks.setdefault(problem, []).append(rank)
    if len(problems) == 1 or any(len(found) == len(problems) for found in ranks.values()):
        return "; ".join(ranks)
    several = [(f"rank{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}", of) for of, found in ranks.items()]
    return "; ".join(f"{who}: {problem}" for who, problem in several)


def local_size(size: int) -> int:
    """Returns how many ranks a node has: torchrun's LOCAL_WORLD_SIZE, or all of them."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", size))


def _initialised() -> Any:
    """Returns the module torch.distributed if its default group is there, else None."""
    try:
        import torch.distributed as distributed
    except ModuleNotFoundError:
        return None
    return distributed if distributed.is_available() and distributed.is_initialized() else None
