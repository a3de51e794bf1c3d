"""Publishes the tables of a TorchRec EmbeddingBagCollection or EmbeddingCollection as a workload.

A program that has the collection gives Workload(...).model(model, ...).change() to shardtide.log.WorkloadPublisher.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardtide import command
from shardtide.arguments import check_text, items, mapping, read_json, shown
from shardtide.deprecation import deprecated
from shardtide.optimizers import OPTIMIZERS
from shardtide.torchrec.workload import WEIGHTS, Workload, spec

# Pipelines of a cluster: a loop, and TorchRec's TrainPipelineSparseDist and PrefetchTrainPipelineSparseDist.
PIPELINES = ("none", "sparse_dist", "prefetch")

# Options of files of JSON objects, which are arguments of Workload.tables(), and what they have.
_FILES = {
    "lookups": "the mean number of lookups per sample of each feature",
    "profiles": "what shardtide-py profile --out wrote, by table; its features need no --lookups",
    "batch_sizes": "the samples over all devices of each feature that has another number than --batch-size (VBE)",
    "duplicates": "how often a sample is in a batch, on average, of each feature whose samples are sent once (RecD)",
    "weights": f"{' or '.join(WEIGHTS)} (by a feature processor) of each feature whose ids have weights",
    "kernels": "fields of a TableKernel and enforceHbm, by table",
    "storage": "fields of a HashedStorage of each hash table, whose num_embeddings are slots; see managed_storage()",
    "constraints": 'fields of TableConstraints by table, such as {"item": {"kinds": ["row_wise"]}}',
}


def _gib_bytes(text: str) -> int:
    """Returns the bytes of a number of GiB; ValueError if it is none above 0."""
    with contextlib.suppress(ValueError, OverflowError):
        size = round(float(text) * 2**30)
        if size > 0:
            return size
    raise ValueError(f"must be a number of GiB above 0, such as 64, got {shown(text)}")


def _device_memory(text: str) -> dict[str, int]:
    """Returns the DeviceMemory of a text, DEVICE=GIB; ValueError if it has another form."""
    device, _, gib = text.partition("=")
    try:
        return {"device": int(device), "bytes": _gib_bytes(gib)}
    except ValueError:
        raise ValueError(f'must be DEVICE=G, such as 6=40, got "{text}"') from None


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
    configs = "JSON: a list of EmbeddingBagConfigs, or of EmbeddingConfigs (pooling NONE), with data_type and pooling by name"
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
    gib = command.checked(_gib_bytes)
    add("--memory-gib", type=gib, required=True, metavar="G", help="memory for tables on a device, in 2^30 bytes")
    of_device = command.checked(_device_memory)
    add("--memory-gib-of", type=of_device, action="append", metavar="DEVICE=G", help="of one device; may be repeated")
    add("--batch-size", type=int, required=True, help="samples in a batch, over all devices")
    add("--devices-per-node", type=int, default=8)
    add("--devices-per-host", type=int, help="where the fast links of a node span several hosts (default: a node)")
    add("--pipeline", choices=PIPELINES, help="TorchRec's of the program: what its steps allocate counts as memory")


def run(options: argparse.Namespace) -> int:
    """Prints the workload's generation, or why the change was rejected (status 1)."""
    from shardtide.log.publisher import Rejected, WorkloadPublisher

    logging.basicConfig(format="%(message)s")
    cluster: dict[str, Any] = {
        "devices": options.devices,
        "memoryBytesPerDevice": options.memory_gib,
        "batchSize": options.batch_size,
        "devicesPerNode": options.devices_per_node,
        "hardware": options.hardware,
    }
    # Left out where they are the defaults: registries of earlier planners do not know the fields.
    if options.memory_gib_of:
        cluster["memoryBytesByDevice"] = options.memory_gib_of
    if options.devices_per_host:
        cluster["devicesPerHost"] = options.devices_per_host
    if options.pipeline:
        cluster.update(countsStepMemory=True, pipeline=options.pipeline)
    gone = {config["name"] for config in options.previous} - {config["name"] for config in options.configs}
    workload = Workload(check_text(options.workload, "--workload")).cluster(cluster)
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


@deprecated("Workload(...).cluster(...).model(...).change()")
def model_change(
    workload: str,
    model: Any,
    lookups: Mapping[str, float],
    cluster: Mapping[str, Any],
    optimizer: Any = None,
    drop: Iterable[str] = (),
    **options: Any,
) -> dict[str, Any]:
    """Version 0.2.0's way to the WorkloadChange of a model."""
    return Workload(workload).cluster(cluster).model(model, lookups, optimizer, **options).drop(drop).change()


if __name__ == "__main__":
    command.main(name="publish")
