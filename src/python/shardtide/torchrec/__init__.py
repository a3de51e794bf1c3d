"""Plans of Shardtide for TorchRec: a planner, the sources of its plans, and resharding between steps.

`checkpoint` saves a sharded model and loads it under another plan; `descriptions` and `conversions` make TorchRec's
objects of a plan's description, which has TorchRec's own names and layout under "plan". What makes TorchRec's objects
imports torch and torchrec when it is called.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from shardtide.torchrec.fill import FillCounter
from shardtide.torchrec.planner import ShardtidePlanner
from shardtide.torchrec.resharder import TorchRecResharder
from shardtide.torchrec.sources import FileSource, LogSource, PlanRefused, ProgramSource
from shardtide.torchrec.workload import Workload

__all__ = [
    "FileSource",
    "FillCounter",
    "LogSource",
    "PlanRefused",
    "ProgramSource",
    "ShardtidePlanner",
    "TorchRecResharder",
    "Workload",
    "checkpoint",
]

# Of version 0.2.0: where each of its other names is now; `changes` is a module.
_MOVED = {
    name: module
    for module, names in {
        "changes": "NotReshardable",
        "conversions": "from_sharding_plan reshard_call running_description to_module_plan to_sharding_plan"
        " to_sharding_spec",
        "descriptions": "DEFAULT_MODULE describe",
        "modules": "check_model collections describe_for table_modules table_size",
        "resharder": "drain_pipeline",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name == "checkpoint":
        return importlib.import_module("shardtide.torchrec.checkpoint")
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"shardtide.torchrec.{_MOVED[name]}"
    warnings.warn(f"{__name__}.{name} ends with the next version: {module}.{name}", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(module), name)
