"""Times ShardtidePlanner.collective_plan() on a process group of many ranks, of which this process is rank 0.

python -B src/python/tests/time_planner.py --program ./shardtide [--arguments=--evaluations-per-table,1000]
python -B src/python/tests/time_planner.py --bootstrap-servers HOST:PORT --registry URL

The other ranks are not there: messages to them cost nothing. Prints an object of JSON a plan: the seconds of the call,
how many of them the source took, how many of those the search, and the rest: reading the model, converting the plan and
checking it. cpu_seconds are the processor's, of this process and of the program, which other programs on a busy machine
change little. With a log, the second plan is the answer to one table that grew.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import pathlib
import random
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch import nn
from torch.testing._internal.distributed.fake_pg import FakeStore
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

from shardtide.log import Log
from shardtide.torchrec import LogSource, ProgramSource, ShardtidePlanner


class Timed:
    """A source with the seconds that its last plan took."""

    needs_tables = True

    def __init__(self, source):
        self.name = source.name
        self.seconds = 0.0
        self.search_seconds = 0.0
        self._source = source

    def plan(self, wanted, timeout_seconds):
        begin = time.perf_counter()
        try:
            found = self._source.plan(wanted, timeout_seconds)
            self.search_seconds = found["searchMillis"] / 1000
            return found
        finally:
            self.seconds = time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--program")
    parser.add_argument("--arguments", default="", help="of shardtide plan, separated by commas")
    parser.add_argument("--bootstrap-servers")
    parser.add_argument("--registry")
    parser.add_argument("--prefix", default="shardtide.")
    arguments = parser.parse_args()
    if arguments.bootstrap_servers:
        source = Timed(LogSource(Log({"bootstrap.servers": arguments.bootstrap_servers}, {"url": arguments.registry}, arguments.prefix)))
    else:
        source = Timed(ProgramSource(arguments.program, [one for one in arguments.arguments.split(",") if one]))
    os.environ["LOCAL_WORLD_SIZE"] = "8"
    dist.init_process_group("fake", rank=0, world_size=arguments.ranks, store=FakeStore())
    draw = random.Random(1)
    tables = [(draw.randint(1000, 5_000_000), draw.choice([32, 64, 128])) for _ in range(arguments.tables)]
    lookups = {f"t{i}": draw.choice([1, 5, 20, 50]) for i in range(arguments.tables)}
    sharders = [EmbeddingBagCollectionSharder(fused_params={"optimizer": EmbOptimType.EXACT_ROWWISE_ADAGRAD})]
    for call in ("first", "grown"):
        net = nn.Module()
        configs = [
            EmbeddingBagConfig(name=f"t{i}", num_embeddings=rows, embedding_dim=columns, feature_names=[f"t{i}"])
            for i, (rows, columns) in enumerate(tables)
        ]
        net.add_module("sparse", EmbeddingBagCollection(tables=configs, device=torch.device("meta")))
        planner = ShardtidePlanner(
            source,
            f"timed-{os.getpid()}",
            cluster={"memoryBytesPerDevice": 32 * 2**30, "batchSize": 65536, "hardware": "h200"},
            lookups=lookups,
            device="cuda",
            timeout_seconds=300,
        )
        begin, before = time.perf_counter(), sum(os.times()[:4])
        planner.collective_plan(net, sharders)
        seconds = time.perf_counter() - begin
        print(
            json.dumps(
                {
                    "call": call,
                    "tables": len(tables),
                    "ranks": arguments.ranks,
                    "seconds": round(seconds, 3),
                    "cpu_seconds": round(sum(os.times()[:4]) - before, 3),
                    "search_seconds": round(source.search_seconds, 3),
                    "source_seconds": round(source.seconds, 3),
                    "rest_seconds": round(seconds - source.seconds, 3),
                    "predicted_ms": planner.description["predicted_ms"],
                }
            ),
            flush=True,
        )
        tables[0] = (tables[0][0] * 2, tables[0][1])
        if not arguments.bootstrap_servers:
            # Each start of the program plans from nothing.
            break


if __name__ == "__main__":
    main()
