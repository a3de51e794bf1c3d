"""Marks for a StepMeter what TorchRec computes and sends within a step: a program has no place for marks there."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, ContextManager

import torch

from shardtide.torchrec.modules import collections

if TYPE_CHECKING:
    from shardtide.train import StepMeter

# By TorchRec's class that sends outputs: their collective, that of their gradients, and whose shards they are of.
_COLLECTIVES = {
    "TwPooledEmbeddingDist": ("all_to_all", "all_to_all", "device"),
    "RwPooledEmbeddingDist": ("reduce_scatter", "all_gather", "cluster"),
}


@contextlib.contextmanager
def marked(model: Any, meter: StepMeter) -> Iterator[None]:
    """Surrounds a step, within meter.step(): marks lookups and the collectives of their outputs, forward and backward.

    In a measured step, collectives end before the program goes on; all other steps run as without it.

    ValueError if a collection is unpooled, or has tables of other kinds than table_wise, column_wise and row_wise.
    """
    with contextlib.ExitStack() as replaced:
        for path, collection in collections(model).items() if meter.measuring else ():
            for lookup, sends in zip(collection._lookups, collection._output_dists):
                name = type(sends).__name__
                if name not in _COLLECTIVES:
                    raise ValueError(
                        f'Module "{path}" has tables that {name} sends, which cannot be marked; must be an'
                        " EmbeddingBagCollection whose tables are table_wise, column_wise or row_wise"
                    )
                computes = functools.partial(_computes, lookup.forward, meter)
                replaced.enter_context(_replaced(lookup, computes))
                replaced.enter_context(_replaced(sends, functools.partial(_sends, sends.forward, meter, _COLLECTIVES[name])))
        yield


@contextlib.contextmanager
def _replaced(module: torch.nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    module.forward = forward
    try:
        yield
    finally:
        del module.forward


def _computes(forward: Callable[..., torch.Tensor], meter: StepMeter, features: Any) -> torch.Tensor:
    start = torch.zeros((), requires_grad=True)
    return _Marked.apply(start, lambda _: forward(features), meter.computation)  # type: ignore[no-any-return]


def _sends(
    forward: Callable[..., Any], meter: StepMeter, names: tuple[str, str, str], outputs: torch.Tensor, *context: Any
) -> Any:
    from torchrec.distributed.types import NoWait

    def mark(direction: str) -> ContextManager[None]:
        return meter.collective(names[direction == "backward"], direction, names[2])

    return NoWait(_Marked.apply(outputs, lambda own: forward(own, *context).wait(), mark))


class _Marked(torch.autograd.Function):
    """Computes a tensor in a graph of its own, so that what belongs to it in the backward pass is marked, too."""

    @staticmethod
    def forward(
        ctx: Any,
        given: torch.Tensor,
        compute: Callable[[torch.Tensor], torch.Tensor],
        mark: Callable[[str], ContextManager[None]],
    ) -> torch.Tensor:
        ctx.mark, ctx.given = mark, given.detach().requires_grad_()
        with torch.enable_grad(), mark("forward"):
            ctx.found = compute(ctx.given)
        return ctx.found.detach()  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        with ctx.mark("backward"):
            torch.autograd.backward(ctx.found, gradient)
        return ctx.given.grad, None, None
