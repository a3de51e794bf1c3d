"""How training programs follow plans, as the pages show it: parts of programs, which mypy checks.

examples/dlrm and examples/torchrec are whole programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchrec.distributed import DistributedModelParallel

from shardtide.log import Log
from shardtide.torchrec import TorchRecResharder
from shardtide.torchrec.conversions import to_sharding_plan
from shardtide.torchrec.marks import marked
from shardtide.torchrec.modules import describe_for
from shardtide.train import FillReporter, PlanFollower, Resharder, StepMeter


def follow_and_report(
    log: Log | None,
    build: Callable[[Any], Any],
    train: Callable[[Any, Any], None],
    batches: Iterable[Any],
    device: Any,
    resharder: Resharder,
) -> None:
    meter = StepMeter(device)
    with PlanFollower(log, "feed-ranking", meter) as plans:
        model = build(plans.start())
        for step, batch in enumerate(batches):
            with meter.step():
                train(model, batch)
            if step % 100 == 99:
                plans.report(step)
                plans.follow(step, resharder)


def report_fills(plans: PlanFollower, train: Callable[[Any], None], batches: Iterable[Any], model: Any) -> None:
    fills = FillReporter(plans, 100)
    for step, batch in enumerate(batches):
        train(batch)
        fills.step(model.take_fills)


def follow_with_torchrec(
    log: Log | None, net: Any, train: Callable[[Any, Any], None], batches: Iterable[Any], device: Any
) -> None:
    meter = StepMeter(device)
    with PlanFollower(log, "feed-ranking", meter) as plans:
        description = describe_for(net, plans.start(), devices_per_node=8, device=device.type)
        model = DistributedModelParallel(net, plan=to_sharding_plan(description), device=device)
        resharder = TorchRecResharder(model, devices_per_node=8)
        for step, batch in enumerate(batches):
            with meter.step(), marked(model, meter):
                train(model, batch)
            if step % 100 == 99:
                plans.report(step)
                plans.follow(step, resharder)
