"""Plans of Shardtide as TorchRec's sharding plans, and back; tables of a collection as a workload.

`python -m shardtide.torchrec.publish` publishes the tables of EmbeddingBagCollections and EmbeddingCollections. A
description is a dict that JSON can represent: the object that `./shardtide plan --format torchrec` and `watch --format
torchrec` write on each line, with TorchRec's own names and layout under "plan". What makes TorchRec's objects of it
imports torch and torchrec when it is called. ShardtidePlanner stands in for TorchRec's own planner. FillCounter counts
how full tables of managed collision modules are, and managed_storage describes them.
"""

from shardtide.torchrec.changes import NotReshardable, changes
from shardtide.torchrec.conversions import (
    from_sharding_plan,
    reshard_call,
    running_description,
    to_module_plan,
    to_sharding_plan,
    to_sharding_spec,
)
from shardtide.torchrec.descriptions import DEFAULT_MODULE, describe
from shardtide.torchrec.fill import FillCounter, managed_storage
from shardtide.torchrec.modules import check_model, check_nodes, collections, describe_for, table_modules, table_size
from shardtide.torchrec.planner import ShardtidePlanner
from shardtide.torchrec.resharder import TorchRecResharder, drain_pipeline
from shardtide.torchrec.sources import FileSource, LogSource, PlanRefused, PlanSource, ProgramSource

__all__ = [
    "DEFAULT_MODULE",
    "FileSource",
    "FillCounter",
    "LogSource",
    "NotReshardable",
    "PlanRefused",
    "PlanSource",
    "ProgramSource",
    "ShardtidePlanner",
    "TorchRecResharder",
    "changes",
    "check_model",
    "check_nodes",
    "collections",
    "describe",
    "describe_for",
    "drain_pipeline",
    "from_sharding_plan",
    "managed_storage",
    "reshard_call",
    "running_description",
    "table_modules",
    "table_size",
    "to_module_plan",
    "to_sharding_plan",
    "to_sharding_spec",
]
