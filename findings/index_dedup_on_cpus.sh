#!/usr/bin/env bash
# TorchRec's use_index_dedup on CPUs: sharder, planner and DistributedModelParallel take it, and the first batch is an error.
#
# One would guess: an option that a CPU cannot do is refused when a model is sharded, or left out; or that it works, since
#   what it does, unique ids and where they were, is a line of PyTorch, and TorchRec's tests run on CPUs with gloo.
# What happens: EmbeddingCollectionSharder(use_index_dedup=True) plans and shards an EmbeddingCollection on CPUs without a
#   word, for each of its sharding types. The first forward pass then fails with NotImplementedError: FBGEMM's package for
#   CPUs declares the operator fbgemm::jagged_unique_indices, and has no kernel for it. With one of five lines of PyTorch,
#   which a program registers itself, all of TorchRec works: outputs are those without the option.
# Versions: torchrec 1.6.1, fbgemm-gpu-cpu 1.6.0, torch 2.11.0, Python 3.11.
# Date: 2026-11-29.
# Why it matters: ids that repeat in a batch are the largest saving of sequence models. Tests of training programs run where
#   there is no GPU; with the option they stop at the first batch, and without it they test another path.
# Source: behaviour as run here; FBGEMM registers jagged_unique_indices for CUDA alone.
#
# usage: findings/index_dedup_on_cpus.sh ; needs Python 3.11, installs into a temporary folder (5 GB), ends with 0 if all is
# as said above.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
pip=(venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir)
"${pip[@]}" torch==2.11.0 fbgemm-gpu-cpu==1.6.0 numpy tensordict torchmetrics==1.0.3 tqdm pyre-extensions
"${pip[@]}" --no-deps torchrec==1.6.1
venv/bin/python -W ignore - 2>log <<'PYTHON' || { cat log; exit 1; }
import importlib.metadata
import os
import sys

import torch
import torch.distributed as dist
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
from torchrec.modules.embedding_configs import EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

for name in ("torchrec", "fbgemm-gpu-cpu", "torch"):
    print(name, importlib.metadata.version(name))
os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
dist.init_process_group("gloo", init_method=f"file://{os.path.abspath('store')}", rank=0, world_size=1)


def outputs(kind, dedup):
    torch.manual_seed(1)
    config = EmbeddingConfig(name="item", num_embeddings=10, embedding_dim=8, feature_names=["seen"])
    net = EmbeddingCollection(tables=[config], device=torch.device("cpu"))
    sharders = [EmbeddingCollectionSharder(use_index_dedup=dedup)]
    only = {"item": ParameterConstraints(sharding_types=[kind])}
    planner = EmbeddingShardingPlanner(topology=Topology(world_size=1, compute_device="cpu"), constraints=only)
    plan = planner.collective_plan(net, sharders, dist.group.WORLD)
    model = DistributedModelParallel(net, device=torch.device("cpu"), plan=plan, sharders=sharders)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            parts = [shard.tensor for shard in tensor.local_shards()] if hasattr(tensor, "local_shards") else [tensor]
            for part in parts:
                part.copy_(torch.arange(part.numel()).reshape(part.shape))
    ids = KeyedJaggedTensor(keys=["seen"], values=torch.tensor([3, 3, 7, 3, 1]), lengths=torch.tensor([3, 2]))
    return model(ids)["seen"].values().tolist()


def unique(cumsum, offsets_of_tables, offsets, ids):
    found, reverse = torch.unique(ids, return_inverse=True)
    samples = torch.arange(len(offsets) - 1)
    lengths = len(found) // len(samples) + (samples < len(found) % len(samples)).long()
    return lengths, torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)]), found, reverse


KINDS = ("table_wise", "column_wise", "row_wise")
failed = False
expected = {kind: outputs(kind, False) for kind in KINDS}
for kind in KINDS:
    try:
        outputs(kind, True)
        seen = "works"
    except NotImplementedError as e:
        seen = f"NotImplementedError: {str(e)[:55]}"
    print(f"{kind} with use_index_dedup: {seen}")
    failed |= "fbgemm::jagged_unique_indices" not in seen
library = torch.library.Library("fbgemm", "IMPL")
library.impl("jagged_unique_indices", unique, "CPU")
for kind in KINDS:
    same = outputs(kind, True) == expected[kind]
    print(f"{kind} with a kernel of its own: {'the outputs without use_index_dedup' if same else 'other outputs'}")
    failed |= not same
sys.stdout.flush()
os._exit(failed)
PYTHON
