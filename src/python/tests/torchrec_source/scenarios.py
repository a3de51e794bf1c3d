"""What ranks do with a sharded model; each function is called on all ranks."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
from typing import Any

import torch
import torch.distributed as dist
from torchrec_source.models import LEARNING_RATE, Trained, states, whole

from shardtide import torchrec
from shardtide.torchrec import checkpoint

FIELDS = ("table", "kind", "columnOffset", "columns", "rowOffset", "rows", "device", "cacheShare")


def record(plan: dict[str, Any]) -> dict[str, Any]:
    """Returns a plan of plans.json as a record of the log."""
    return {
        "workloadId": "w",
        "generation": 1,
        "planId": plan["plan"],
        "previousPlanId": None,
        "predictedMs": 1.0,
        "shards": [dict(zip(FIELDS, shard)) for shard in plan["shards"]],
        "deviceCosts": [{}] * plan["devices"],
        "kernels": [
            {"table": table, "kernel": kernel, "enforceHbm": kernel.get("enforceHbm", False)}
            for table, kernel in plan.get("kernels", {}).items()
        ],
    }


def modules(plan: dict[str, Any]) -> dict[str, str]:
    """Returns the path of each table, as models.Sparse has them."""
    tables = sorted({shard[0] for shard in plan["shards"]})
    return {table: "sparse.plain" if i % 3 else "sparse.weighted" for i, table in enumerate(tables)}


def described(plan: dict[str, Any], reshardable: bool) -> dict[str, Any]:
    return torchrec.describe(
        record(plan),
        modules=modules(plan),
        devices_per_node=plan["per_node"],
        reshardable=reshardable,
        device="cpu",
    )


def local_sends() -> None:
    """Lets a rank send to itself, as NCCL does and gloo does not, and refuses what is not contiguous, as both do."""
    batch = dist.batch_isend_irecv

    def send(operations: list[Any]) -> list[Any]:
        own = [o for o in operations if o.peer == dist.get_rank()]
        for source, target in zip(
            [o for o in own if o.op is dist.isend], [o for o in own if o.op is dist.irecv], strict=True
        ):
            target.tensor.copy_(source.tensor.view(target.tensor.shape))
        others = [o for o in operations if o.peer != dist.get_rank()]
        for operation in others:
            if not operation.tensor.is_contiguous():
                raise ValueError("Tensors must be contiguous")
            # NCCL matches what two ranks send to each other in its order.
            operation.tag = 0
        works = batch(others) if others else []
        return [_All(works)]

    dist.batch_isend_irecv = send


class _All:
    def __init__(self, works: list[Any]):
        self.works = works

    def wait(self) -> None:
        while self.works:
            self.works.pop().wait()


def plans_of(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """Each plan: loads, trains as unsharded, is loaded from the plan before, is resharded to the next one if it can.

    argument: plans, and the folder of checkpoints; "before" is the plan before the first one, of any number of devices
    """
    local_sends()
    found = []
    before = argument["before"]
    for plan in argument["plans"]:
        result: dict[str, Any] = {"plan": plan["plan"]}
        trained = Trained(described(plan, reshardable=False), "adagrad")
        if before:
            folder = pathlib.Path(argument["folder"], before["plan"])
            missing = checkpoint.load(trained.model, folder)
            load_unsharded(trained, folder, missing)
            trained.check()
            result["loaded"] = before["plan"]
        trained.step(1)
        trained.step(2)
        trained.check()
        checkpoint.save(trained.model, pathlib.Path(argument["folder"], plan["plan"]))
        if dist.get_rank() == 0:
            unsharded = trained.unsharded
            torch.save(
                (unsharded.tables, unsharded.sums, unsharded.dense),
                pathlib.Path(argument["folder"], plan["plan"], "unsharded"),
            )
        dist.barrier()
        found.append(result)
        before = plan
    for plan, following, result in zip(argument["plans"], argument["plans"][1:], found):
        result.update(resharded(plan, following, "adagrad"))
    return found


def kernels(plan: dict[str, Any]) -> dict[str, Any]:
    """Trains a plan with kernels as unsharded; returns what FBGEMM's operators have, and what all-to-alls send.

    The result has each table's class of operator, its output type and stochastic rounding, and what TorchRec passes to
    it; and the types of floating-point numbers that rank 0 sent in all-to-alls, with how many.
    """
    trained = Trained(described(plan, reshardable=False), "sgd")
    sent: dict[str, int] = {}
    all_to_all = dist.all_to_all_single

    def spy(output: Any, input: Any, *arguments: Any, **options: Any) -> Any:
        if input.is_floating_point():
            sent[str(input.dtype)] = sent.get(str(input.dtype), 0) + input.numel()
        return all_to_all(output, input, *arguments, **options)

    dist.all_to_all_single = spy
    trained.step(1)
    trained.step(2)
    dist.all_to_all_single = all_to_all
    trained.check()
    found = {}
    lookups = [lookup for of in torchrec.collections(trained.model).values() for lookup in of._lookups]
    for module in [module for lookup in lookups for module in getattr(lookup, "module", lookup).modules()]:
        operator = getattr(module, "emb_module", None)
        if operator is not None:
            for table in module.config.embedding_tables:
                found[table.name] = {
                    "operator": type(operator).__name__,
                    "output": operator.output_dtype,
                    "rounding": getattr(operator, "stochastic_rounding", None),
                    **{key: str(value) for key, value in sorted((module.config.fused_params or {}).items())},
                }
    return {"operators": {name: of for ranks in gathered(found) for name, of in ranks.items()}, "sent": sent}


def reshard_once(plans: list[dict[str, Any]]) -> dict[str, Any]:
    """Goes from one plan to another in mid-training; both train as unsharded."""
    local_sends()
    return resharded(plans[0], plans[1], "sgd")


def two_formats(plan: dict[str, Any]) -> None:
    """Trains a plan whose ranks send outputs in two formats, which describe() refuses."""
    description = described({**plan, "kernels": {}}, reshardable=False)
    for tables in description["plan"].values():
        for name, sharding in tables.items():
            if name in plan["kernels"]:
                sharding["output_dtype"] = plan["kernels"][name]["outputType"]
    Trained(description, "sgd").step(1)


def load_unsharded(trained: Trained, folder: pathlib.Path, missing: list[str]) -> None:
    """Loads the unsharded model beside a checkpoint; what the checkpoint lacked keeps its values."""
    tables, sums, dense = torch.load(folder / "unsharded")
    everywhere: list[list[str]] = [[]] * dist.get_world_size()
    dist.all_gather_object(everywhere, missing)
    lacking = {name for of_rank in everywhere for name in of_rank}
    fused = {name for of_rank in gathered(sorted(states(trained.model))) for name in of_rank}
    for name in trained.unsharded.tables:
        if any(key.startswith("model.") and f".{name}." in key for key in lacking):
            continue
        trained.unsharded.tables[name] = tables[name]
        # Of tables that are or were copied, the state was and is the dense optimizer's, which is new here.
        if name in fused and not any(f".{name}." in key for key in lacking):
            trained.unsharded.sums[name] = sums[name]
    trained.unsharded.dense = dense


def gathered(value: Any) -> list[Any]:
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def resharded(plan: dict[str, Any], following: dict[str, Any], optimizer: str) -> dict[str, Any]:
    """Goes from a plan to another one in mid-training, if that is possible; both are reshardable."""
    trained = Trained(described(plan, reshardable=True), optimizer)
    resharder = torchrec.TorchRecResharder(trained.model, plan["per_node"])
    trained.step(1)
    trained.step(2)
    try:
        prepared = resharder.prepare(record(following))
    except ValueError as e:
        return {"refused": str(e)}
    changed = sum(len(tables) for tables in prepared.changes["plan"].values())
    sums = whole(states(trained.model), trained.sizes) if optimizer == "adagrad" else {}
    resharder.apply(prepared)
    trained.check()
    after = whole(states(trained.model), trained.sizes) if sums else {}
    for name, before in sums.items():
        torch.testing.assert_close(after[name], before, msg=lambda m, n=name: f"state of {n}: {m}")
    assert resharder.running["plan"] == described(following, reshardable=True)["plan"]
    trained.step(3)
    trained.step(4)
    trained.check()
    return {"resharded": changed}


def row_wise_state(argument: dict[str, Any]) -> None:
    """Row-wise state follows its columns: in a running model, and through a checkpoint of another plan."""
    local_sends()
    for plan, following in zip(argument["plans"], argument["plans"][1:]):
        running, wanted = described(plan, reshardable=True), described(following, reshardable=True)
        trained = Trained(running, "rowwise_adagrad")
        model = trained.model
        resharder = torchrec.TorchRecResharder(model, plan["per_node"])
        for step in range(3):
            trained.model(trained.batch(step))[0].backward()
        before = by_column(model, running, trained.sizes)
        assert any((state != state[:, :1]).any() for state in before.values()), "no table has unequal states"
        checkpoint.save(model, argument["folder"])
        resharder.apply(resharder.prepare(record(following)))
        expected = means(before, wanted)
        equal(by_column(model, wanted, trained.sizes), expected)
        loaded = Trained(wanted, "rowwise_adagrad").model
        assert checkpoint.load(loaded, argument["folder"]) == []
        equal(by_column(loaded, wanted, trained.sizes), expected)
        dist.barrier()


def by_column(model: Any, description: dict[str, Any], sizes: dict[str, tuple[int, int]]) -> dict[str, torch.Tensor]:
    """Returns row-wise states of all ranks as if each column had its own: [rows, columns]."""
    own = states(model)
    found = {}
    for tables in description["plan"].values():
        for name, sharding in sorted(tables.items()):
            if "shards" not in sharding:
                continue
            state = torch.zeros(sizes[name])
            parts = iter(own[name].local_shards() if name in own else [])
            for owner, shard in zip(sharding["ranks"], sharding["shards"]):
                if owner == dist.get_rank():
                    state[place(shard)] = next(parts).tensor.unsqueeze(1)
            dist.all_reduce(state)
            found[name] = state
    return found


def means(before: dict[str, torch.Tensor], description: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Returns the states under a plan: the means of each shard's columns."""
    found = {name: state.clone() for name, state in before.items()}
    for tables in description["plan"].values():
        for name, sharding in tables.items():
            for shard in sharding.get("shards", []):
                found[name][place(shard)] = before[name][place(shard)].mean(1, keepdim=True)
    return found


def place(shard: dict[str, Any]) -> tuple[slice, slice]:
    (row, column), (rows, columns) = shard["shard_offsets"], shard["shard_sizes"]
    return slice(row, row + rows), slice(column, column + columns)


def equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    for name, state in expected.items():
        torch.testing.assert_close(found[name], state, msg=lambda m, n=name: f"state of {n}: {m}")


def refusals(argument: dict[str, Any]) -> dict[str, str]:
    """Returns why plans are refused, all before anything moves."""
    local_sends()
    plan, following = argument["plans"][:2]
    trained = Trained(described(plan, reshardable=True), "adagrad")
    resharder = torchrec.TorchRecResharder(trained.model, 2)
    found = {
        "adam": refused(torchrec.TorchRecResharder(Trained(resharder.running, "adam").model, 2), following),
        "memory": refused(torchrec.TorchRecResharder(trained.model, 2, free_bytes=lambda: 1000), following),
        "devices": refused(resharder, {**following, "devices": 3, "shards": on_three(following["shards"])}),
        "module": str(error(torchrec.check_model, trained.net, {"plan": {"wrong": {}}})),
    }
    trained.check()
    prepared = resharder.prepare(record(following))
    resharder.apply(prepared)
    found["stale"] = str(error(resharder.apply, prepared))
    return found


def on_three(shards: list[list[Any]]) -> list[list[Any]]:
    """Returns the same tables whole, on three devices."""
    columns: dict[str, int] = {}
    rows: dict[str, int] = {}
    for shard in shards:
        columns[shard[0]] = max(columns.get(shard[0], 0), shard[2] + shard[3])
        rows[shard[0]] = max(rows.get(shard[0], 0), shard[4] + shard[5])
    return [[table, "TABLE_WISE", 0, columns[table], 0, rows[table], i % 3] for i, table in enumerate(columns)]


def refused(resharder: Any, plan: dict[str, Any]) -> str:
    before = resharder.running
    problem = error(resharder.prepare, record(plan))
    assert resharder.running == before
    return str(problem)


def error(function: Any, *arguments: Any) -> ValueError:
    try:
        function(*arguments)
    except ValueError as e:
        return e
    raise AssertionError("must be refused")


def kept(argument: dict[str, Any]) -> None:
    """What TorchRec loses when it reshards: learning rates, parameters that know their optimizer, gradients of copies."""
    local_sends()
    plan, following = argument["plans"][:2]
    trained = Trained(described(plan, reshardable=True), "sgd")
    calls: list[str] = []
    resharder = torchrec.TorchRecResharder(
        trained.model, 2, drain=lambda: calls.append("drain"), moved=lambda: calls.append("moved")
    )
    for group in trained.model.fused_optimizer.param_groups:
        group["lr"] = 0.5
    dense = [id(p) for p in trained.model.parameters() if not hasattr(p, "_in_backward_optimizers")]
    before = trained.model.fused_optimizer
    resharder.apply(resharder.prepare(record(following)))
    assert calls == ["drain", "moved"], calls
    assert trained.model.fused_optimizer is not before
    assert {group["lr"] for group in trained.model.fused_optimizer.param_groups} <= {0.5}
    found = [id(p) for p in trained.model.parameters() if not hasattr(p, "_in_backward_optimizers")]
    assert found == dense, "the dense optimizer's parameters"
    resharder.apply(resharder.prepare(record(following)))
    assert calls == ["drain", "moved"], "nothing changed"


def pipelined(argument: dict[str, Any]) -> None:
    """A pipeline with batches in flight is drained before a move, and goes on after it."""
    from torchrec.distributed.train_pipeline import TrainPipelineSparseDist
    from torchrec.optim.keyed import CombinedOptimizer, KeyedOptimizerWrapper

    local_sends()
    plan, following = argument["plans"][:2]
    trained = Trained(described(plan, reshardable=True), "sgd")
    model = trained.model
    named = {n: p for n, p in model.named_parameters() if not hasattr(p, "_in_backward_optimizers")}
    dense = KeyedOptimizerWrapper(named, lambda parameters: torch.optim.SGD(parameters, lr=LEARNING_RATE))
    pipeline = TrainPipelineSparseDist(
        model, CombinedOptimizer([model.fused_optimizer, dense]), torch.device("cpu"), execute_all_batches=True
    )

    def moved() -> None:
        pipeline._optimizer = CombinedOptimizer([model.fused_optimizer, dense])

    drain = functools.partial(torchrec.drain_pipeline, pipeline)
    resharder = torchrec.TorchRecResharder(model, 2, drain=drain, moved=moved)
    batches = iter([trained.batch(step) for step in range(8)])
    for _ in range(2):
        pipeline.progress(batches)
    resharder.apply(resharder.prepare(record(following)))
    # Two of the batches were in flight.
    for _ in range(4):
        pipeline.progress(batches)
    for step in range(8):
        trained.unsharded.step([trained.batch(step, rank) for rank in range(trained.world)])
    trained.check()
    assert next(batches, None) is None


def example(argument: dict[str, Any]) -> Any:
    """Runs examples/torchrec/checkpoint.py under a plan."""
    spec = importlib.util.spec_from_file_location("example", argument["example"])
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    description = torchrec.describe(record(argument["plan"]), devices_per_node=2, device="cpu")
    return module.train(description, pathlib.Path(argument["folder"]), 10, torch.device("cpu"))
