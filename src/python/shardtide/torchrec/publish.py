"""Publishes the tables of a TorchRec EmbeddingBagCollection or EmbeddingCollection as a workload.

A program that has the collection gives Workload(...).model(model, ...).change() to shardtide.log.WorkloadPublisher.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardtide import command
from shardtide.arguments import check_text, items, mapping, read_json, shown
from shardtide.deprecation import deprecated
from shardtide.optimizers import OPTIMIZERS
from shardtide.torchrec.workload import WEIGHTS, Workload, spec

# Options of files of JSON objects, which are arguments of Workload.tables(), and what they have.
_FILES = {
    "lookups": "the mean number of lookups per sample of each feature",
    "profiles": "what shardtide-py profile --out wrote, by table; its features need no --lookups",
    "batch_sizes": "the samples over all devices of each feature that has another number than --batch-size (VBE)",
    "duplicates": "how often a sample is in a batch, on average, of each feature whose samples are sent once (RecD)",
    "weights": f"{' or '.join(WEIGHTS)} (by a feature processor) of each feature whose ids have weights",
    "kernels": "fields of a TableKernel, enforceHbm and deduplicated, by table",
    "storage": "fields of a HashedStorage of each hash table, whose num_embeddings are slots; see managed_storage()",
    "constraints": 'fields of TableConstraints by table, such as {"item": {"kinds": ["row_wise"]}}',
}


def _configs(path: str) -> list[dict[str, Any]]:
    """Returns the configs of a JSON file; ValueError if it holds no list of objects with names."""
    configs = items(read_json(path), path, "EmbeddingBagConfigs")
    for place, config in enumerate(configs):
        name = mapping(config, f"{path}: the one at position {place}", "fields of an EmbeddingBagConfig").get("name")
        if not isinstance(name, str):
            raise ValueError(f"{path}: name must be a str, got {shown(name)} at position {place}")
    return configs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    command.add_cluster(parser, timeout_seconds=60.0)
    add("--workload", required=True, metavar="NAME")
    configs = "JSON: a list of EmbeddingBagConfigs, or EmbeddingConfigs (pooling NONE), enums by name"
    add("--configs", required=True, type=command.checked(_configs), metavar="FILE", help=configs)
    previous = "the --configs that were published before: tables that they alone have are dropped"
    add("--previous", type=command.checked(_configs), default=[], metavar="FILE", help=previous)
    add("--drop", action="append", default=[], metavar="TABLE", help="a table to drop; may be repeated")
    for name, of in _FILES.items():
        option, text = f"--{name.replace('_', '-')}", of.replace("%", "%%")
        add(option, type=command.json_object(of), default={}, metavar="FILE", help=f"JSON: an object with {text}")
    optimizers = f"of the tables: {', '.join(OPTIMIZERS)}, or FBGEMM's name of it (default: the cluster's)"
    add("--optimizer", metavar="NAME", help=optimizers)
    add("--hardware", required=True, help="hardware of a cost model, such as h200")
    add("--devices", type=int, required=True)
    memory = "memory for tables on a device, in 2^30 bytes"
    add("--memory-gib", type=command.positive(float), required=True, metavar="G", help=memory)
    add("--batch-size", type=int, required=True, help="samples in a batch, over all devices")
    add("--devices-per-node", type=int, default=8)
    cluster = "JSON: further fields of the ClusterSpec, such as devicesPerHost, memoryBytesByDevice or pipeline"
    add("--cluster", type=command.json_object("fields of a ClusterSpec"), default={}, metavar="FILE", help=cluster)


def run(options: argparse.Namespace) -> int:
    """Prints the workload's generation, or why the change was rejected (status 1)."""
    from shardtide.log.publisher import Rejected, WorkloadPublisher

    workload = Workload(check_text(options.workload, "--workload")).cluster(
        options.cluster,
        devices=options.devices,
        memoryBytesPerDevice=round(options.memory_gib * 2**30),
        global_batch_size=options.batch_size,
        devicesPerNode=options.devices_per_node,
        hardware=options.hardware,
    )
    gone = {config["name"] for config in options.previous} - {config["name"] for config in options.configs}
    files = {name: getattr(options, name) for name in _FILES}
    workload.tables(options.configs, optimizer=options.optimizer, **files).drop(sorted(gone.union(options.drop)))
    outcome = WorkloadPublisher(command.log_of(options)).publish_and_wait(workload.change(), options.timeout)
    if isinstance(outcome, Rejected):
        print(f"rejected {outcome.reason}: {outcome.message}", file=sys.stderr)
        return 1
    command.show(options, f"{options.workload} generation {outcome.generation}", outcome._asdict())
    return 0


@deprecated("Workload(...).tables([config], ...)")
def table(config: Any, lookups: Mapping[str, float], optimizer: Any = None, **options: Any) -> dict[str, Any]:
    """Version 0.2.0's way to a TableSpec."""
    named, one = (optimizer, None) if isinstance(optimizer, Mapping) else ({}, optimizer)
    return spec(config, lookups, one, collections.defaultdict(dict, {**options, "optimizer": named}))


@deprecated("Workload(...).cluster(...).tables(...).change()")
def workload_change(
    workload: str,
    configs: Sequence[Any],
    lookups: Mapping[str, float],
    cluster: Mapping[str, Any],
    optimizer: Any = None,
    drop: Iterable[str] = (),
    profiles: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Version 0.2.0's way to a WorkloadChange."""
    found = Workload(workload).cluster(cluster).tables(configs, lookups, optimizer, profiles=profiles, **options)
    return found.drop(drop).change()


if __name__ == "__main__":
    command.main(name="publish")
