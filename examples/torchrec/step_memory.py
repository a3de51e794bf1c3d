"""Compares the memory that plans predict with what training under them allocates, on TorchRec's own code.

torchrun --nproc-per-node DEVICES examples/torchrec/step_memory.py --workloads FILE --plans FILE [--out FILE]

--workloads  the workloads, one a line, each with a pipeline
--plans      what ./shardtide plan make -f FILE wrote, one plan a line, for as many devices
--out        file for a line of JSON for each workload: task, and lists with a number for each rank: memory_bytes (of
             the plan), peak_bytes and held_bytes (measured). Without it, both are printed

Each workload is trained for a few steps with random ids, as many as its pooling factors say, and a dense model of one
layer: on CPUs with gloo, or with NCCL where there are GPUs. Tables are pooled and in FP32. On CPUs, FBGEMM has the
optimizers sgd, rowwise_adagrad and adagrad, and no caches.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shardtide.optimizers import DEFAULT, OPTIMIZERS
from shardtide.torchrec.conversions import to_sharding_plan
from shardtide.torchrec.descriptions import describe

from allocated import StepMemory, measure_step_memory

# Of a cluster: a loop, TrainPipelineSparseDist and PrefetchTrainPipelineSparseDist.
PIPELINES = ("none", "sparse_dist", "prefetch")
LEARNING_RATE = 0.01
STEPS = 5


def measure(workload: Mapping[str, Any], plan: Mapping[str, Any]) -> StepMemory:
    """Trains the tables of a workload under a plan, and returns what that allocates on this rank.

    The ranks of torch.distributed's default group are the devices of the plan.

    workload: a line of a file of workloads
    plan: the line of a file of plans that is about it

    ValueError if the workload has what cannot be run here, with its value.
    """
    import torch
    import torch.distributed as dist

    optimizer_name = check(workload, plan, dist.get_world_size())
    cluster = workload["cluster"]
    device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
    per_node = cluster.get("devicesPerNode", cluster["devices"])
    description = describe(plan, "tables", per_node, device=device.type)
    model, optimizer = _sharded(workload["tables"], description, optimizer_name, device)
    samples = -(-cluster["batchSize"] // dist.get_world_size())
    return measure_step_memory(
        _step(cluster["pipeline"], model, optimizer, _batches(workload["tables"], samples, device), device),
        model,
        # When a collective ends, and so which tensors live at the same time, is not the same in all steps.
        steps=STEPS,
        tables=[module for _, module in model.named_modules() if hasattr(module, "module_sharding_plan")],
        device=device,
    )


def check(workload: Mapping[str, Any], plan: Mapping[str, Any], ranks: int) -> str:
    """Returns the optimizer of a workload's tables.

    ranks: number of processes that train

    ValueError if the workload or its plan has what cannot be run, with its value.
    """
    cluster, name = workload["cluster"], json.dumps(workload["task"])
    pipeline = cluster.get("pipeline")
    if pipeline not in PIPELINES:
        expected = ", ".join(PIPELINES)
        raise ValueError(f"pipeline of workload {name} must be one of {expected}, got {json.dumps(pipeline)}")
    for table in workload["tables"]:
        of = f"workload {name} must be"
        if not table.get("pooled", True):
            raise ValueError(f"tables of {of} pooled, got {json.dumps(table['name'])}, which is not")
        if table.get("bytesPerElement", 4) != 4:
            of_table = f"bytesPerElement of table {json.dumps(table['name'])} of {of}"
            raise ValueError(f"{of_table} 4, got {table['bytesPerElement']}")
    optimizers = {table.get("optimizer", cluster.get("optimizer", DEFAULT)) for table in workload["tables"]}
    if len(optimizers) > 1:
        raise ValueError(f"tables of workload {name} must have one optimizer, got {', '.join(sorted(optimizers))}")
    (optimizer,) = optimizers
    if optimizer not in OPTIMIZERS:
        expected = ", ".join(OPTIMIZERS)
        raise ValueError(f"optimizer of workload {name} must be one of {expected}, got {json.dumps(optimizer)}")
    must = f"the plan of workload {name} must"
    if plan["task"] != workload["task"]:
        raise ValueError(f"{must} be on the same line of its file, got that of {json.dumps(plan['task'])}")
    if "memory_bytes" not in plan:
        raise ValueError(f"{must} have memory_bytes, got none: {plan.get('reason', 'it names no pipeline')}")
    if plan["world_size"] != ranks:
        raise ValueError(f"{must} be for the {ranks} ranks that run, got {plan['world_size']} devices")
    return str(optimizer)


def _sharded(
    tables: Sequence[Mapping[str, Any]], description: Mapping[str, Any], optimizer: str, device: Any
) -> tuple[Any, Any]:
    """Returns a DistributedModelParallel with the tables, and its optimizer."""
    import torch
    import torch.distributed as dist
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
    from torchrec.distributed.model_parallel import DistributedModelParallel
    from torchrec.distributed.types import ShardingEnv
    from torchrec.modules.embedding_configs import EmbeddingBagConfig
    from torchrec.modules.embedding_modules import EmbeddingBagCollection
    from torchrec.optim.keyed import CombinedOptimizer, KeyedOptimizerWrapper
    from torchrec.optim.rowwise_adagrad import RowWiseAdagrad

    collection = EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(
                name=table["name"],
                num_embeddings=table["rows"],
                embedding_dim=table["columns"],
                feature_names=[table["name"]],
            )
            for table in tables
        ],
        device=torch.device("meta"),
    )

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = collection
            self.dense = torch.nn.Linear(sum(table["columns"] for table in tables), 1, bias=False)

        def forward(self, batch: Any) -> tuple[Any, Any]:
            loss = self.dense(self.tables(batch).values()).mean()
            return loss, loss.detach()

    fused = {"optimizer": EmbOptimType[OPTIMIZERS[optimizer].fbgemm], "learning_rate": LEARNING_RATE}
    model = DistributedModelParallel(
        Net(),
        env=ShardingEnv.from_process_group(dist.group.WORLD),
        device=device,
        plan=to_sharding_plan(description),
        sharders=[EmbeddingBagCollectionSharder(fused_params=fused)],
    )
    of_copies = {
        "sgd": torch.optim.SGD,
        "rowwise_adagrad": RowWiseAdagrad,
        "adagrad": torch.optim.Adagrad,
        "adam": torch.optim.Adam,
    }
    groups = []
    for is_dense in (True, False):
        named = {
            name: parameter
            for name, parameter in model.named_parameters()
            if not hasattr(parameter, "_in_backward_optimizers") and (".dense." in name) == is_dense
        }
        # Of the dense layer, an optimizer without state.
        kind = torch.optim.SGD if is_dense else of_copies.get(optimizer)
        if not named:
            continue
        if kind is None:
            raise ValueError(f"the optimizer of copies must be one of {', '.join(of_copies)}, got {optimizer}")
        groups.append(KeyedOptimizerWrapper(named, functools.partial(kind, lr=LEARNING_RATE)))
    return model, CombinedOptimizer([model.fused_optimizer, *groups])


def _batches(tables: Sequence[Mapping[str, Any]], samples: int, device: Any) -> Iterator[Any]:
    """Yields batches of random ids: of each table the mean number that its pooling factor says, to the id."""
    import torch
    import torch.distributed as dist
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    generator = torch.Generator().manual_seed(dist.get_rank())

    # A function, so that only the program that gets a batch refers to it and to what it was made of.
    def batch() -> KeyedJaggedTensor:
        lengths, ids = [], []
        for table in tables:
            count = round(samples * table["poolingFactor"])
            bags = torch.randint(0, samples, (count,), generator=generator)
            lengths.append(torch.bincount(bags, minlength=samples).int())
            ids.append(torch.randint(0, table["rows"], (count,), generator=generator))
        keys = [table["name"] for table in tables]
        return KeyedJaggedTensor(keys=keys, values=torch.cat(ids), lengths=torch.cat(lengths)).to(device)

    while True:
        yield batch()


def _step(pipeline: str, model: Any, optimizer: Any, batches: Iterator[Any], device: Any) -> Any:
    """Returns a function that trains on a batch."""
    from torchrec.distributed.train_pipeline import PrefetchTrainPipelineSparseDist, TrainPipelineSparseDist

    if pipeline == "none":

        def step() -> None:
            optimizer.zero_grad()
            loss, _ = model(next(batches))
            loss.backward()
            optimizer.step()

        return step
    kind = TrainPipelineSparseDist if pipeline == "sparse_dist" else PrefetchTrainPipelineSparseDist
    running = kind(model, optimizer, device)
    return lambda: running.progress(batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--workloads", required=True, help="JSON lines: workloads, each with a pipeline")
    parser.add_argument("--plans", required=True, help="JSON lines: their plans")
    parser.add_argument("--out", help="file for JSON lines; without it, bytes of each rank are printed")
    arguments = parser.parse_args()

    import torch
    import torch.distributed as dist

    try:
        workloads, plans = (
            [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
            for path in (arguments.workloads, arguments.plans)
        )
        if len(workloads) != len(plans):
            raise ValueError(f"there must be a plan for each of the {len(workloads)} workloads, got {len(plans)}")
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        for workload, plan in zip(workloads, plans):
            check(workload, plan, dist.get_world_size())
        lines = []
        for workload, plan in zip(workloads, plans):
            measured: list[Any] = [None] * dist.get_world_size()
            dist.all_gather_object(measured, tuple(measure(workload, plan)))
            lines.append(
                {
                    "task": workload["task"],
                    "memory_bytes": plan["memory_bytes"],
                    "peak_bytes": [StepMemory(*of_rank).peak_bytes for of_rank in measured],
                    "held_bytes": [StepMemory(*of_rank).held_bytes for of_rank in measured],
                }
            )
    except (ValueError, LookupError, OSError) as e:
        sys.exit(f"step_memory.py: {e}")
    if dist.get_rank() == 0:
        if arguments.out:
            text = "".join(json.dumps(line) + "\n" for line in lines)
            pathlib.Path(arguments.out).write_text(text, encoding="utf-8")
        else:
            for line in lines:
                for rank, (predicted, peak) in enumerate(zip(line["memory_bytes"], line["peak_bytes"])):
                    share = predicted / peak - 1
                    print(f"{line['task']} rank {rank}: predicted {predicted:,}, peak {peak:,} bytes ({share:+.1%})")
    dist.barrier()
    # Threads of gloo may still wait.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
