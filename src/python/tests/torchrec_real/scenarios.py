"""What ranks do with a sharded model; each function is called on all ranks."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.modules.embedding_configs import EmbeddingBagConfig, PoolingType
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor
from torchrec_real.models import (
    LEARNING_RATE,
    Batch,
    Net,
    Tables,
    Trained,
    equal,
    fill,
    generator,
    states,
    weights,
    whole,
)

from shardtide import torchrec
from shardtide.torchrec import checkpoint
from shardtide.torchrec.lines import plan_record
from shardtide.torchrec.marks import marked
from shardtide.train import Ranks, StepMeter

FIELDS = ("table", "kind", "columnOffset", "columns", "rowOffset", "rows", "device", "cacheShare")


def record(plan: dict[str, Any]) -> dict[str, Any]:
    """Returns a plan of plans.json as a record of the log; one of the planner's is a line of ./shardtide plan."""
    if "line" in plan:
        return plan["line"]
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
    shards = plan_record(record(plan)).record["shards"]
    tables = Tables({shard["table"]: (1, 4) for shard in shards}, frozenset(plan.get("means", ())))
    return {
        **{table: "sparse.plain" for table in tables.plain},
        **{table: "sparse.weighted" for table in tables.weighted},
    }


def described(plan: dict[str, Any], reshardable: bool) -> dict[str, Any]:
    return torchrec.descriptions.describe(
        record(plan),
        modules=modules(plan),
        devices_per_node=plan["per_node"],
        reshardable=reshardable,
        device="cpu",
    )


def trained(plan: dict[str, Any], reshardable: bool, optimizer: str) -> Trained:
    return Trained(described(plan, reshardable), optimizer, plan.get("means", ()), plan.get("shared", ()))


def plans_of(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """Each plan: loads, trains as unsharded, is loaded from the plan before, is resharded to the next one if it can.

    argument: plans, and the folder of checkpoints; "before" is the plan before the first one, of any number of devices
    """
    found = []
    before = argument["before"]
    for plan in argument["plans"]:
        found.append(loaded(plan, before, pathlib.Path(argument["folder"]), "adagrad"))
        before = plan
    for plan, following, result in zip(argument["plans"], argument["plans"][1:], found):
        result.update(resharded(plan, following, "adagrad"))
    return found


def loaded(plan: dict[str, Any], before: dict[str, Any] | None, folder: pathlib.Path, optimizer: str) -> dict[str, Any]:
    """Trains under a plan, from the checkpoint of another one if there is one, and saves a checkpoint."""
    result: dict[str, Any] = {"plan": plan["plan"]}
    model = trained(plan, False, optimizer)
    if before:
        missing = checkpoint.load(model.model, folder / before["plan"])
        load_unsharded(model, folder / before["plan"], missing)
        model.check()
        result["loaded"] = before["plan"]
    if before is None or optimizer != "rowwise_adagrad":
        # Row-wise state is averaged for other shards; the unsharded model has that of the shards before.
        model.step(1)
        model.step(2)
        model.check()
    checkpoint.save(model.model, folder / plan["plan"])
    if dist.get_rank() == 0:
        unsharded = model.unsharded
        torch.save((unsharded.tables, unsharded.sums, unsharded.dense), folder / plan["plan"] / "unsharded")
    dist.barrier()
    return result


def workloads(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """Each pair of plans of a workload: the first trains, is saved, loaded under the second, and resharded to it.

    argument: pairs of plans, their optimizer, and the folder of checkpoints
    """
    found = []
    folder = pathlib.Path(argument["folder"])
    for optimizer, first, second in argument["pairs"]:
        result = loaded(first, None, folder, optimizer)
        loaded(second, first, folder, optimizer)
        # From row-wise state the unsharded model cannot go on: test_row_wise_state_is_moved_and_loaded.
        result.update(resharded(first, second, "adagrad" if optimizer == "rowwise_adagrad" else optimizer))
        found.append(result)
    return found


def mean_pairs(argument: dict[str, Any]) -> list[list[Any]]:
    """Returns for each case whether outputs and weights are those of the unsharded model, and why it is refused.

    argument: cases: tables with name, kind, pooling and whether the collection is weighted
    """
    return [mean_case(case["tables"], case["shards"], case["weighted"]) for case in argument["cases"]]


def mean_case(tables: dict[str, str], shards: list[list[Any]], weighted: bool) -> list[Any]:
    """One collection, sharded without the check of its plan; compares its outputs of a batch.

    tables: the pooling of each
    """
    configs = [
        EmbeddingBagConfig(
            name=name, num_embeddings=16, embedding_dim=8, feature_names=[name], pooling=PoolingType[pooling]
        )
        for name, pooling in tables.items()
    ]
    net = torch.nn.Sequential(EmbeddingBagCollection(tables=configs, is_weighted=weighted))
    plan = {"plan": "mean", "devices": 4, "shards": shards}
    description = torchrec.descriptions.describe(record(plan), modules="0", devices_per_node=2, device="cpu")
    refused = ""
    try:
        torchrec.modules.check_model(net, description)
    except ValueError as e:
        refused = str(e)
    values = weights({name: (16, 8) for name in tables})
    model = DistributedModelParallel(
        net, device=torch.device("cpu"), plan=torchrec.conversions.to_sharding_plan(description), init_data_parallel=False
    )
    fill(model, values)
    g = generator(f"mean {dist.get_rank()}")
    lengths = torch.randint(1, 5, (len(tables), 4), generator=g)
    ids = torch.randint(0, 16, (int(lengths.sum()),), generator=g)
    scales = torch.rand(len(ids), generator=g) + 0.5
    outputs = model(
        KeyedJaggedTensor(
            keys=list(tables), values=ids, lengths=lengths.flatten(), weights=scales if weighted else None
        )
    ).to_dict()
    right, end = True, 0
    for (name, pooling), of in zip(tables.items(), lengths):
        first, end = end, end + int(of.sum())
        rows = values[name][ids[first:end]] * (scales[first:end].unsqueeze(1) if weighted else 1)
        expected = torch.zeros(4, 8).index_add_(0, torch.repeat_interleave(torch.arange(4), of), rows)
        expected = expected / of.unsqueeze(1) if pooling == "MEAN" else expected
        right = right and torch.allclose(outputs[name], expected, rtol=1e-5, atol=1e-5)
    return [all(gathered(right)), refused]


def adam_of_dense_kernels(argument: dict[str, Any]) -> None:
    """Tables with the kernel dense train with PyTorch's Adam as the unsharded model does, and are not resharded."""
    plan = argument["plan"]
    description = torchrec.descriptions.describe(
        record(plan), modules=modules(plan), devices_per_node=2, reshardable=True, compute_kernel="dense", device="cpu"
    )
    model = Trained(description, "adam")
    for step in range(3):
        model.step(step)
        model.check()
    if "next" in argument:
        problem = refused(torchrec.TorchRecResharder(model.model, 2), argument["next"])
        assert "has another kernel, output type or rounding than before" in problem, problem


def fused_adam(argument: dict[str, Any]) -> str:
    """Returns what FBGEMM says of fused Adam on a CPU."""
    try:
        Trained(described(argument["plan"], False), "adam")
    except AssertionError as e:
        return str(e)
    return ""


def lines(argument: dict[str, Any]) -> None:
    """A running model goes to a plan in each of its forms, on ranks that share no seed of hashes."""
    plan, following = argument["plans"]
    for form in ("record", "line", "description"):
        model = trained(plan, True, "sgd")
        wanted = {
            "record": record(following),
            "line": line(record(following)),
            "description": {**described(following, False), "seconds": 1.5},
        }[form]
        resharder = torchrec.TorchRecResharder(model.model, plan["per_node"])
        model.step(1)
        prepared = resharder.prepare(wanted)
        assert prepared.wanted["plan"] == described(following, True)["plan"], form
        resharder.apply(prepared)
        model.check()
        model.step(2)
        model.check()


def line(plan: dict[str, Any]) -> dict[str, Any]:
    """Returns a record as a line of ./shardtide plan."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for shard in plan["shards"]:
        tables.setdefault(shard["table"], []).append(
            {
                "kind": shard["kind"].lower(),
                "column_offset": shard["columnOffset"],
                "columns": shard["columns"],
                "row_offset": shard["rowOffset"],
                "rows": shard["rows"],
                "device": None if shard["device"] < 0 else shard["device"],
                "cache_share": None,
            }
        )
    return {
        "task": "w",
        "feasible": True,
        "predicted_ms": 1.0,
        "world_size": len(plan["deviceCosts"]),
        "tables": [{"name": name, "shards": shards} for name, shards in tables.items()],
    }


def kernels(plan: dict[str, Any]) -> dict[str, Any]:
    """Trains a plan with kernels as unsharded; returns what FBGEMM's operators have, and what all-to-alls send.

    The result has each table's class of operator, its output type and stochastic rounding, and what TorchRec passes to
    it; and the types of floating-point numbers that rank 0 sent in all-to-alls, with how many.
    """
    model = trained(plan, False, "sgd")
    sent: dict[str, int] = {}
    all_to_all = dist.all_to_all_single

    def spy(output: Any, input: Any, *arguments: Any, **options: Any) -> Any:
        if input.is_floating_point():
            sent[str(input.dtype)] = sent.get(str(input.dtype), 0) + input.numel()
        return all_to_all(output, input, *arguments, **options)

    dist.all_to_all_single = spy
    model.step(1)
    model.step(2)
    dist.all_to_all_single = all_to_all
    model.check()
    found = {}
    lookups = [lookup for of in torchrec.modules.collections(model.model).values() for lookup in of._lookups]
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
    return resharded(plans[0], plans[1], "sgd")


def two_formats(plan: dict[str, Any]) -> None:
    """Trains a plan whose ranks send outputs in two formats, which describe() refuses."""
    description = described({**plan, "kernels": {}}, reshardable=False)
    for tables in description["plan"].values():
        for name, sharding in tables.items():
            if name in plan["kernels"]:
                sharding["output_dtype"] = plan["kernels"][name]["outputType"]
    Trained(description, "sgd").step(1)


def load_unsharded(model: Trained, folder: pathlib.Path, missing: list[str]) -> None:
    """Loads the unsharded model beside a checkpoint; what the checkpoint lacked keeps its values."""
    tables, sums, dense = torch.load(folder / "unsharded")
    everywhere: list[list[str]] = [[]] * dist.get_world_size()
    dist.all_gather_object(everywhere, missing)
    lacking = {name for of_rank in everywhere for name in of_rank}
    fused = {name for of_rank in gathered(sorted(states(model.model))) for name in of_rank}
    for name in model.unsharded.tables:
        if any(key.startswith("model.") and f".{name}." in key for key in lacking):
            continue
        model.unsharded.tables[name] = tables[name]
        # Of tables that are or were copied, the state was and is the dense optimizer's, which is new here.
        if name in fused and not any(f".{name}." in key for key in lacking):
            model.unsharded.sums[name] = sums[name]
    model.unsharded.dense = dense


def gathered(value: Any) -> list[Any]:
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def resharded(plan: dict[str, Any], following: dict[str, Any], optimizer: str) -> dict[str, Any]:
    """Goes from a plan to another one in mid-training, if that is possible; both are reshardable."""
    model = trained(plan, True, optimizer)
    resharder = torchrec.TorchRecResharder(model.model, plan["per_node"])
    try:
        prepared = resharder.prepare(record(following))
    except ValueError as e:
        return {"refused": str(e)}
    model.step(1)
    model.step(2)
    changed = sum(len(tables) for tables in prepared.changes["plan"].values())
    sums = whole(states(model.model), model.sizes) if optimizer == "adagrad" else {}
    resharder.apply(prepared)
    model.check()
    after = whole(states(model.model), model.sizes) if sums else {}
    for name, before in sums.items():
        torch.testing.assert_close(after[name], before, msg=lambda m, n=name: f"state of {n}: {m}")
    changes = torchrec.changes.changes(resharder.running, described(following, reshardable=True))
    assert changes == {"plan": {}, "moved_elements": 0}, changes
    model.step(3)
    model.step(4)
    model.check()
    return {"resharded": changed}


def measured(argument: dict[str, Any]) -> dict[str, Any]:
    """Measures every second step, before and after the model is resharded if there is a next plan; returns the costs."""
    model = trained(argument["plan"], argument["next"] is not None, "adagrad")
    meter = StepMeter(every=2)
    for step in range(8):
        if step == 4 and argument["next"]:
            resharder = torchrec.TorchRecResharder(model.model, argument["plan"]["per_node"])
            resharder.apply(resharder.prepare(record(argument["next"])))
        with meter.step(), marked(model.model, meter):
            model.step(step)
        model.check()
    return meter.costs(Ranks())._asdict()


def documented(argument: dict[str, Any]) -> list[list[Any]]:
    """Trains as docs/TORCHREC.md shows until it runs the next plan; returns the reports: topic, plan, steps of costs."""
    from test_trainer import FakeLog

    first, following = ({**record(plan), "deviceCosts": [{}] * plan["devices"]} for plan in argument["plans"])
    log = FakeLog(first, workload="feed-ranking") if dist.get_rank() == 0 else None
    tables = Tables(sizes_of(argument["plans"][0]))

    def batches() -> Iterator[Batch]:
        for step in itertools.count():
            if log and step == 100:
                log.plans.append(following)
            is_there = [bool(log) and any(value["planId"] == following["planId"] for _, value in log.sent)]
            dist.broadcast_object_list(is_there)
            if is_there[0]:
                return
            yield Batch(tables, step, dist.get_rank())

    def train(model: Any, batch: Batch) -> None:
        model(batch)[0].backward()

    loaded_example(argument["example"]).follow_with_torchrec(log, Net(tables), train, batches(), torch.device("cpu"))
    return [[topic, value["planId"], value.get("steps")] for topic, value in log.sent] if log else []


def sizes_of(plan: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Returns the rows and columns of a plan's tables."""
    shardings = {name: of for tables in described(plan, True)["plan"].values() for name, of in tables.items()}
    return {name: torchrec.modules.table_size(sharding) for name, sharding in shardings.items()}


def row_wise_state(argument: dict[str, Any]) -> None:
    """Row-wise state follows its columns: in a running model, and through a checkpoint of another plan."""
    for plan, following in zip(argument["plans"], argument["plans"][1:]):
        running, wanted = described(plan, reshardable=True), described(following, reshardable=True)
        begun = Trained(running, "rowwise_adagrad")
        model = begun.model
        resharder = torchrec.TorchRecResharder(model, plan["per_node"])
        for step in range(3):
            model(begun.batch(step))[0].backward()
        before = by_column(model, running, begun.sizes)
        assert any((state != state[:, :1]).any() for state in before.values()), "no table has unequal states"
        checkpoint.save(model, argument["folder"])
        resharder.apply(resharder.prepare(record(following)))
        expected = means(before, wanted)
        all_equal(by_column(model, wanted, begun.sizes), expected)
        again = Trained(wanted, "rowwise_adagrad").model
        assert checkpoint.load(again, argument["folder"]) == []
        all_equal(by_column(again, wanted, begun.sizes), expected)
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


def all_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    for name, state in expected.items():
        equal(found[name], state, f"state of {name}")


def domains(argument: dict[str, Any]) -> None:
    """Trains with rows split over nodes that span hosts."""
    description = described(argument["plan"], reshardable=False)
    trained = Trained(description, "adagrad")
    torchrec.modules.check_nodes(description)
    for step in (1, 2, 3):
        trained.step(step)
        trained.check()


def refusals(argument: dict[str, Any]) -> dict[str, str]:
    """Returns why plans are refused, all before anything moves."""
    plan, following = argument["plans"][:2]
    model = trained(plan, True, "adagrad")
    resharder = torchrec.TorchRecResharder(model.model, 2)
    found = {
        "memory": refused(torchrec.TorchRecResharder(model.model, 2, free_bytes=lambda: 1000), following),
        "devices": refused(resharder, {**following, "devices": 3, "shards": on_three(following["shards"])}),
        "module": str(error(torchrec.modules.check_model, model.net, {"plan": {"wrong": {}}})),
    }
    model.check()
    prepared = resharder.prepare(record(following))
    resharder.apply(prepared)
    found["stale"] = str(error(resharder.apply, prepared))
    # FBGEMM has no fused Adam on CPUs: only what TorchRec knows of the optimizer is changed.
    for collection in torchrec.modules.collections(model.model).values():
        for infos in collection.sharding_type_to_sharding_infos.values():
            for info in infos:
                info.fused_params = {**info.fused_params, "optimizer": EmbOptimType.ADAM}
    found["adam"] = refused(resharder, plan)
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
    """What TorchRec loses when it reshards: learning rates, parameters with their optimizer, gradients of copies."""
    plan, following = argument["plans"][:2]
    model = trained(plan, True, "sgd")
    calls: list[str] = []
    resharder = torchrec.TorchRecResharder(
        model.model, 2, drain=lambda: calls.append("drain"), moved=lambda: calls.append("moved")
    )
    for group in model.model.fused_optimizer.param_groups:
        group["lr"] = 0.5
    dense = [id(p) for p in model.model.parameters() if not hasattr(p, "_in_backward_optimizers")]
    before = model.model.fused_optimizer
    resharder.apply(resharder.prepare(record(following)))
    assert calls == ["drain", "moved"], calls
    assert model.model.fused_optimizer is not before
    assert {group["lr"] for group in model.model.fused_optimizer.param_groups} <= {0.5}
    found = [id(p) for p in model.model.parameters() if not hasattr(p, "_in_backward_optimizers")]
    assert found == dense, "the dense optimizer's parameters"
    resharder.apply(resharder.prepare(record(following)))
    assert calls == ["drain", "moved"], "nothing changed"


def pipelined(argument: dict[str, Any]) -> None:
    """A pipeline with batches in flight is drained before a move, and goes on after it."""
    from torchrec.distributed.train_pipeline import TrainPipelineSparseDist
    from torchrec.optim.keyed import CombinedOptimizer, KeyedOptimizerWrapper

    plan, following = argument["plans"][:2]
    begun = trained(plan, True, "sgd")
    model = begun.model
    named = {n: p for n, p in model.named_parameters() if not hasattr(p, "_in_backward_optimizers")}
    dense = KeyedOptimizerWrapper(named, lambda parameters: torch.optim.SGD(parameters, lr=LEARNING_RATE))
    pipeline = TrainPipelineSparseDist(
        model, CombinedOptimizer([model.fused_optimizer, dense]), torch.device("cpu"), execute_all_batches=True
    )

    def moved() -> None:
        pipeline._optimizer = CombinedOptimizer([model.fused_optimizer, dense])

    drain = functools.partial(torchrec.resharder.drain_pipeline, pipeline)
    resharder = torchrec.TorchRecResharder(model, 2, drain=drain, moved=moved)
    batches = iter([begun.batch(step) for step in range(8)])
    for _ in range(2):
        pipeline.progress(batches)
    resharder.apply(resharder.prepare(record(following)))
    # Two of the batches were in flight.
    for _ in range(4):
        pipeline.progress(batches)
    for step in range(8):
        begun.unsharded.step([begun.batch(step, rank) for rank in range(begun.world)])
    begun.check()
    assert next(batches, None) is None


def example(argument: dict[str, Any]) -> Any:
    """Runs examples/torchrec/checkpoint.py under a plan."""
    description = torchrec.descriptions.describe(record(argument["plan"]), devices_per_node=2, device="cpu")
    return loaded_example(argument["example"]).train(description, pathlib.Path(argument["folder"]), 10, torch.device("cpu"))


def loaded_example(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("example", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
