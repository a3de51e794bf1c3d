"""Models with pooled and unpooled tables on real TorchRec, sharded on processes with gloo and unsharded.

Processes are forked after TorchRec was imported, so that starting some takes milliseconds.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import pathlib
import pickle
import tempfile
import time
import traceback
from typing import Any, NamedTuple

NEEDED = ("torch", "torchrec", "fbgemm_gpu")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
WHY_NOT = f"{', '.join(MISSING)} not installed" if MISSING else None

if not MISSING:
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from torch import nn
    from torchrec.distributed.embedding import EmbeddingCollectionSharder
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
    from torchrec.distributed.model_parallel import DistributedModelParallel
    from torchrec.distributed.types import ShardingEnv
    from torchrec.modules.embedding_configs import EmbeddingBagConfig, EmbeddingConfig
    from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
    from torchrec.optim.rowwise_adagrad import RowWiseAdagrad
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    torch.set_num_threads(1)

    LEARNING_RATE = 0.05
    EPS = 1e-8
    FUSED = {
        "sgd": EmbOptimType.EXACT_SGD,
        "adagrad": EmbOptimType.EXACT_ADAGRAD,
        "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    }
    DENSE: dict[str, Any] = {
        "sgd": lambda parameters: torch.optim.SGD(parameters, lr=LEARNING_RATE),
        "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=LEARNING_RATE, eps=EPS),
        "rowwise_adagrad": lambda parameters: RowWiseAdagrad(parameters, lr=LEARNING_RATE, eps=EPS),
    }

# Samples of a batch over all ranks, whatever their number.
SAMPLES = 12


class Table(NamedTuple):
    """Rows and columns, and the collection: bags, weighted or sequences."""

    name: str
    rows: int
    columns: int
    path: str = "sparse.bags"
    features: tuple[str, ...] = ()
    # Lookups of a sample, at most; exactly one with 1.
    lookups: int = 3

    @property
    def is_unpooled(self) -> bool:
        return "sequences" in self.path


def run(function: Any, ranks: int, per_node: int, *arguments: Any, timeout_seconds: float = 120) -> Any:
    """Calls a function on all ranks, in forked processes, and returns what it returned on rank 0.

    AssertionError with the errors of the ranks that failed; all others are ended.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        children = []
        for rank in range(ranks):
            child = os.fork()
            if child == 0:
                stacks = open(folder / f"stack{rank}", "w", encoding="utf-8")
                faulthandler.dump_traceback_later(timeout_seconds - 2, file=stacks)
                _child(function, rank, ranks, per_node, folder, arguments)
            children.append(child)
        running, end, failed = set(children), time.monotonic() + timeout_seconds, False
        while running and time.monotonic() < end and not failed:
            time.sleep(0.02)
            for child in list(running):
                if os.waitpid(child, os.WNOHANG)[0]:
                    running.discard(child)
            failed = any(folder.glob("error*"))
        if failed:
            # The others may say what they met, too.
            time.sleep(0.5)
        unfinished = [children.index(child) for child in running]
        for child in running:
            os.kill(child, 9)
            os.waitpid(child, 0)
        errors = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("error*"))]
        errors += [path.read_text(encoding="utf-8") for path in sorted(folder.glob("stack*"))]
        if failed or unfinished:
            raise AssertionError(f"{function.__name__}: ranks {unfinished} did not end\n" + "\n".join(errors))
        return pickle.loads((folder / "result").read_bytes())


def _child(
    function: Any, rank: int, ranks: int, per_node: int, folder: pathlib.Path, arguments: tuple[Any, ...]
) -> None:
    try:
        # unittest has set the filters again.
        warnings.filterwarnings("ignore")
        os.environ["LOCAL_WORLD_SIZE"] = str(per_node)
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
        result = function(*arguments)
        if rank == 0:
            (folder / "result").write_bytes(pickle.dumps(result))
        dist.barrier()
    except BaseException:
        (folder / f"error{rank}").write_text(f"rank {rank}: {traceback.format_exc()}", encoding="utf-8")
        os._exit(1)
    # Threads of gloo may still wait.
    os._exit(0)


def shards(table: Table, kind: str, first: int, ranks: int, per_node: int) -> list[dict[str, Any]]:
    """Returns a table's shards of a plan: columns in two halves if they are cut, from rank `first` on."""

    def shard(column: int, columns: int, row: int, rows: int, device: int) -> dict[str, Any]:
        return {
            "table": table.name,
            "kind": kind.upper(),
            "columnOffset": column,
            "columns": columns,
            "rowOffset": row,
            "rows": rows,
            "device": device,
        }

    def rows(column: int, columns: int, devices: list[int]) -> list[dict[str, Any]]:
        block = -(-table.rows // len(devices))
        return [
            shard(column, columns, i * block, min(block, table.rows - i * block), device)
            for i, device in enumerate(devices)
            if i * block < table.rows
        ]

    half, node = table.columns // 2, first // per_node * per_node % ranks
    next_node = (node + per_node) % ranks
    if kind == "data_parallel":
        return [shard(0, table.columns, 0, table.rows, -1)]
    if kind == "table_wise":
        return [shard(0, table.columns, 0, table.rows, first % ranks)]
    if kind == "column_wise":
        return [shard(0, half, 0, table.rows, first % ranks), shard(half, half, 0, table.rows, (first + 1) % ranks)]
    if kind == "table_column_wise":
        return [shard(i * half, half, 0, table.rows, node + (first + i) % per_node) for i in range(2)]
    if kind == "row_wise":
        return rows(0, table.columns, list(range(ranks)))
    if kind == "table_row_wise":
        return rows(0, table.columns, list(range(node, node + per_node)))
    if kind == "grid_shard":
        return rows(0, half, list(range(node, node + per_node))) + rows(
            half, half, list(range(next_node, next_node + per_node))
        )
    raise ValueError(kind)


def plan(placed: list[tuple[Table, str, int]], ranks: int, per_node: int) -> dict[str, Any]:
    """Returns a ShardingPlan record of tables with their kinds and first ranks."""
    return {
        "workloadId": "w",
        "generation": 1,
        "planId": "p",
        "previousPlanId": None,
        "predictedMs": 1.0,
        "shards": [shard for table, kind, first in placed for shard in shards(table, kind, first, ranks, per_node)],
        "deviceCosts": [{}] * ranks,
    }


if not MISSING:

    def generator(*seed: Any) -> torch.Generator:
        return torch.Generator().manual_seed(int.from_bytes(repr(seed).encode(), "big") % 2**62)

    class Net(nn.Module):
        """The sum of all outputs of a sample, each times a number of its own; of sequences, also by their position."""

        def __init__(self, tables: list[Table], need_indices: bool = False):
            super().__init__()
            self.tables = tables
            for path in sorted({table.path for table in tables}):
                own = [table for table in tables if table.path == path]
                module: nn.Module = self
                for name in path.split(".")[:-1]:
                    if not hasattr(module, name):
                        module.add_module(name, nn.Module())
                    module = getattr(module, name)
                module.add_module(path.split(".")[-1], self._collection(path, own, need_indices))
            self.dense = nn.Linear(1, 1)
            with torch.no_grad():
                for name, parameter in self.named_parameters():
                    parameter.copy_(torch.rand(parameter.shape, generator=generator(name)) - 0.3)

        def _collection(self, path: str, tables: list[Table], need_indices: bool) -> nn.Module:
            fields = [
                {
                    "name": table.name,
                    "num_embeddings": table.rows,
                    "embedding_dim": table.columns,
                    "feature_names": list(features_of(table)),
                }
                for table in tables
            ]
            if tables[0].is_unpooled:
                return EmbeddingCollection(tables=[EmbeddingConfig(**f) for f in fields], need_indices=need_indices)
            return EmbeddingBagCollection(
                tables=[EmbeddingBagConfig(**f) for f in fields], is_weighted=path.endswith("weighted")
            )

        def forward(self, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            outputs: dict[str, torch.Tensor] = {}
            total = torch.zeros(batch.samples)
            for path in sorted({table.path for table in self.tables}):
                found = self.get_submodule(path)(batch.jagged(path))
                for table in (table for table in self.tables if table.path == path):
                    for feature in output_names(table, self.tables):
                        factors = torch.rand(table.columns, generator=generator(feature)) + 0.5
                        if table.is_unpooled:
                            values, lengths = found[feature].values(), found[feature].lengths()
                            samples = torch.repeat_interleave(torch.arange(batch.samples), lengths)
                            position = torch.arange(len(values)) - (lengths.cumsum(0) - lengths)[samples]
                            outputs[f"{path} {feature}"] = values
                            if found[feature].weights_or_none() is not None:
                                outputs[f"{path} {feature} indices"] = found[feature].weights()
                            total = total.index_add(0, samples, (values * factors).sum(1) * (1 + position))
                        else:
                            # Of a sharded collection it is awaited by the first operation on it.
                            outputs[f"{path} {feature}"] = pooled = found[feature] + 0
                            total = total + (pooled * factors).sum(1)
            return self.dense(total.unsqueeze(1)).mean(), outputs

    class Batch:
        """Ids of the samples from `first` to `end` of a step, equal for equal samples."""

        def __init__(self, tables: list[Table], step: int, first: int = 0, end: int = SAMPLES):
            self.samples = end - first
            self._of_path: dict[str, Any] = {}
            for path in sorted({table.path for table in tables}):
                own = {f: t for t in tables if t.path == path for f in features_of(t)}
                lengths, values = [], []
                for feature, table in own.items():
                    for sample in range(first, end):
                        g = generator(step, feature, sample)
                        least = 1 if table.lookups == 1 else 0
                        lengths.append(int(torch.randint(least, table.lookups + 1, (), generator=g)))
                        values.append(torch.randint(0, table.rows, (lengths[-1],), generator=g))
                ids = torch.cat(values)
                self._of_path[path] = KeyedJaggedTensor(
                    keys=list(own),
                    values=ids,
                    lengths=torch.tensor(lengths),
                    weights=0.5 + ids % 3 if path.endswith("weighted") else None,
                )

        def jagged(self, path: str) -> Any:
            return self._of_path[path]

    def features_of(table: Table) -> tuple[str, ...]:
        return table.features or ("f_" + table.name,)

    def output_names(table: Table, tables: list[Table]) -> list[str]:
        """Returns the names of outputs: of a feature of several tables of a collection, with the table."""
        counts = [f for other in tables if other.path == table.path for f in features_of(other)]
        return [f"{f}@{table.name}" if counts.count(f) > 1 else f for f in features_of(table)]

    class Unsharded:
        """The model in one process, trained on the samples of all ranks."""

        def __init__(self, tables: list[Table], optimizer: str, need_indices: bool = False):
            self.net = Net(tables, need_indices)
            tables_of = [p for name, p in self.net.named_parameters() if not name.startswith("dense")]
            dense = list(self.net.dense.parameters())
            self.optimizers = [DENSE[optimizer](tables_of), dense_only(optimizer, dense)]

        def step(self, step: int) -> None:
            for o in self.optimizers:
                o.zero_grad()
            self.net(Batch(self.net.tables, step))[0].backward()
            for o in self.optimizers:
                o.step()

    def dense_only(optimizer: str, parameters: list[Any]) -> Any:
        """Returns the optimizer of the parameters that are no tables: a bias has no columns, which are averaged."""
        return DENSE["adagrad" if optimizer == "rowwise_adagrad" else optimizer](parameters)

    def sharded(
        tables: list[Table],
        description: dict[str, Any],
        optimizer: str,
        need_indices: bool = False,
        use_index_dedup: bool = False,
    ) -> Any:
        """Returns a DistributedModelParallel with the weights of the unsharded model."""
        from shardtide.torchrec.conversions import to_sharding_plan
        from shardtide.torchrec.modules import check_model

        net = Net(tables, need_indices)
        check_model(net, description)
        fused = {"optimizer": FUSED[optimizer], "learning_rate": LEARNING_RATE, "eps": EPS}
        start = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
        model = DistributedModelParallel(
            net,
            env=ShardingEnv.from_process_group(dist.GroupMember.WORLD),
            device=torch.device("cpu"),
            plan=to_sharding_plan(description),
            sharders=[
                EmbeddingBagCollectionSharder(fused_params=dict(fused)),
                EmbeddingCollectionSharder(fused_params=dict(fused), use_index_dedup=use_index_dedup),
            ],
        )
        with torch.no_grad():
            for name, tensor in model.state_dict().items():
                for place, part in parts(tensor):
                    part.copy_(start[name][place])
        return model

    def dense_parameters(model: Any) -> dict[str, Any]:
        """Returns what no fused optimizer updates: dense parameters and data-parallel tables."""
        return {n: p for n, p in model.named_parameters() if not hasattr(p, "_in_backward_optimizers")}

    def train_step(model: Any, optimizer: Any, tables: list[Table], step: int) -> dict[str, Any]:
        """Trains on this rank's samples of a step, and returns the outputs."""
        rank, share = dist.get_rank(), SAMPLES // dist.get_world_size()
        optimizer.zero_grad()
        loss, outputs = model(Batch(tables, step, rank * share, (rank + 1) * share))
        loss.backward()
        optimizer.step()
        return outputs  # type: ignore[no-any-return]

    def parts(tensor: Any) -> list[tuple[Any, Any]]:
        """Returns this rank's parts of a tensor with their places."""
        if not hasattr(tensor, "local_shards"):
            return [(slice(None), tensor)]
        return [(place(s.metadata), s.tensor) for s in tensor.local_shards()]

    def place(metadata: Any) -> tuple[slice, ...]:
        return tuple(slice(o, o + size) for o, size in zip(metadata.shard_offsets, metadata.shard_sizes))

    def check_weights(model: Any, unsharded: Any) -> None:
        """Checks that all parameters are those of the unsharded model, within 1e-5."""
        expected = dict(unsharded.net.named_parameters())
        found = model.state_dict()
        assert sorted(found) == sorted(expected)
        for name, tensor in found.items():
            for place, part in parts(tensor):
                torch.testing.assert_close(
                    part, expected[name][place], rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
                )
