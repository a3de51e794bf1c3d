"""Plans small models with a log, and prints what each attempt gave: an object of JSON a line; for PythonTorchRecIT.

plan_with_log.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX
"""

import json
import logging
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

import torch
from torch import nn
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

from shardtide.log import Log
from shardtide.torchrec import LogSource, ShardtidePlanner

bootstrap_servers, registry_url, prefix = sys.argv[1:]
CLUSTER = {"devices": 2, "devicesPerNode": 2, "memoryBytesPerDevice": 2**30, "batchSize": 64, "hardware": "h200"}
SHARDERS = [EmbeddingBagCollectionSharder()]


def model(**tables):
    """Returns a model with tables of some rows and columns, which need no memory."""
    net = nn.Module()
    configs = [
        EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=columns, feature_names=[name])
        for name, (rows, columns) in tables.items()
    ]
    net.add_module("sparse", EmbeddingBagCollection(tables=configs, device=torch.device("meta")))
    return net


def attempt(name, net, source, timeout_seconds=60.0, fallback=None):
    planner = ShardtidePlanner(
        source,
        "one-line-cases",
        CLUSTER,
        {table: 1 for table in "abc"},
        device="cpu",
        timeout_seconds=timeout_seconds,
        fallback=fallback,
    )
    begin = time.monotonic()
    try:
        plan = planner.plan(net, SHARDERS)
        found = {
            "by": planner.planned_by,
            "reason": planner.fallback_reason,
            "generation": (planner.description or {}).get("generation"),
            "tables": sorted(plan.plan["sparse"]),
        }
    except Exception as e:
        found = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps({"case": name, "seconds": time.monotonic() - begin, **found}), flush=True)


log = Log({"bootstrap.servers": bootstrap_servers}, {"url": registry_url}, prefix)
first = model(a=(1000, 16), b=(500, 8))
fallback = EmbeddingShardingPlanner(
    topology=Topology(world_size=2, compute_device="cpu", local_world_size=2), debug=False
)
attempt("no plan yet", first, LogSource(log, publish=False), 5)
attempt("first", first, LogSource(log))
attempt("published by others", first, LogSource(log, publish=False))
attempt("old plan", model(a=(2000, 16), c=(500, 8)), LogSource(log, publish=False))
attempt("another table", model(a=(2000, 16), c=(500, 8)), LogSource(log))
attempt("rejected", model(a=(2000, 18)), LogSource(log), fallback=fallback)
attempt("too large", model(a=(2**31, 16)), LogSource(log), fallback=fallback)
# The latest plan has a table, c, that the workload has lost already.
attempt("small again", model(a=(1000, 16)), LogSource(log))
away = Log({"bootstrap.servers": "127.0.0.1:1"}, {"url": registry_url}, prefix, timeout_seconds=1)
attempt("away", first, LogSource(away), 3, fallback)
attempt("away without fallback", first, LogSource(away), 3)
attempt("registry away", first, LogSource(Log({"bootstrap.servers": bootstrap_servers}, {"url": "http://127.0.0.1:1"}, prefix)), 3, fallback)
attempt("no planner", first, LogSource(Log({"bootstrap.servers": bootstrap_servers}, {"url": registry_url}, "never-started.")), 3, fallback)
