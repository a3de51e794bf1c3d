"""Publishes the tables of a TorchRec EmbeddingBagCollection as a workload.

python -m shardtide.torchrec.publish BOOTSTRAP_SERVERS REGISTRY_URL --workload NAME --configs FILE
    --devices N --memory-gib G --batch-size N --devices-per-node N --hardware NAME
    [--lookups FILE] [--profiles FILE] [--optimizer NAME] [--drop NAME ...] [--previous FILE] [--timeout SECONDS]
    [--prefix TEXT] [--settings FILE]

--configs    JSON: a list of EmbeddingBagConfigs: objects with name, num_embeddings, embedding_dim, feature_names and
             data_type
--lookups    JSON: an object with the mean number of lookups per sample of each feature
--profiles   JSON: what `python -m shardtide.profile --out` wrote: poolingFactor, accessCdf and reuseHistogram of tables
             by name. Features of these tables need no --lookups
--previous   JSON: the --configs that were published before; tables that are no longer in --configs are dropped

Prints the outcome: the workload's generation, or why the change was rejected (exit status 1). Needs the rights of
./shardtide acls --role publisher. In a program that has the collection, pass
workload_change(collection.embedding_bag_configs(), ...) to shardtide.log.WorkloadPublisher.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from typing import Any, Iterable, Mapping, Sequence

from shardtide import events

# Bytes of an element, by TorchRec's DataType.
BYTES = {
    "FP64": 8.0,
    "FP32": 4.0,
    "FP16": 2.0,
    "BF16": 2.0,
    "FP8": 1.0,
    "INT8": 1.0,
    "UINT8": 1.0,
    "INT4": 0.5,
    "INT2": 0.25,
}

# FBGEMM's optimizers: bytes of state of an element, and of a row of each shard.
OPTIMIZERS = {
    "sgd": (0.0, 0.0),
    "rowwise_adagrad": (0.0, 4.0),
    "adagrad": (4.0, 0.0),
    "adam": (8.0, 0.0),
    "partial_rowwise_adam": (4.0, 4.0),
    "lamb": (8.0, 0.0),
}

MAX_CHANGES = 10_000


def table(
    config: Any,
    lookups: Mapping[str, float],
    optimizer: str = "sgd",
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the TableSpec of an EmbeddingBagConfig, which is an object or a dict of its fields.

    lookups: mean number of lookups per sample, by feature; needed for features of tables without a profile
    optimizer: one of OPTIMIZERS; its state counts as memory of the table
    profiles: by table, what TableUse.fields() of shardtide.profile returns

    ValueError names what is missing or unknown. The planner checks the ranges of numbers.
    """

    def get(field: str) -> Any:
        return config.get(field) if isinstance(config, dict) else getattr(config, field, None)

    name = get("name")
    missing = [field for field in ("name", "num_embeddings", "embedding_dim") if get(field) is None]
    if missing:
        raise ValueError(f"Table {name or 'without a name'} needs {', '.join(missing)}")
    data_type = get("data_type") or "FP32"
    data_type = getattr(data_type, "name", data_type)
    if data_type not in BYTES:
        raise ValueError(f"data_type of table {name} must be one of {', '.join(BYTES)}, got {data_type}")
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, got {optimizer}")
    use = dict((profiles or {}).get(name) or {})
    if use.get("rows", get("num_embeddings")) != get("num_embeddings"):
        raise ValueError(f"The profile of table {name} is of {use['rows']} rows; must be {get('num_embeddings')}")
    # TorchRec uses the table's name for its feature if it names none.
    features = get("feature_names") or [name]
    unknown = [feature for feature in features if feature not in lookups]
    if unknown and not use:
        raise ValueError(f"lookups must have a number for each feature of table {name}; {', '.join(unknown)} have none")
    # All features that share a table are looked up in it.
    use.setdefault("poolingFactor", float(sum(lookups.get(feature, 0.0) for feature in features)))
    element, row = OPTIMIZERS[optimizer]
    return {
        "name": name,
        "rows": get("num_embeddings"),
        "columns": get("embedding_dim"),
        "bytesPerElement": BYTES[data_type],
        "optimizerBytesPerElement": element,
        "optimizerBytesPerRow": row,
        **use,
    }


def workload_change(
    workload: str,
    configs: Sequence[Any],
    lookups: Mapping[str, float],
    cluster: dict[str, Any],
    optimizer: str = "sgd",
    drop: Iterable[str] = (),
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the WorkloadChange that sets a cluster and the tables of a collection.

    configs: EmbeddingBagConfigs, as for table()
    cluster: a ClusterSpec
    drop: names of tables to drop
    profiles: as for table()

    ValueError as table(), if there is a profile of no table, and if the change is larger than one event may be.
    """
    changes: list[dict[str, Any]] = [{"cluster": cluster}]
    tables = [table(config, lookups, optimizer, profiles) for config in configs]
    unknown = set(profiles or ()) - {spec["name"] for spec in tables}
    if unknown:
        raise ValueError(f"profiles must be of tables in configs; {', '.join(sorted(unknown))} are not")
    changes += [{"table": spec} for spec in tables]
    changes += [{"name": name} for name in drop]
    if len(changes) > MAX_CHANGES:
        raise ValueError(f"An event must have at most {MAX_CHANGES} changes, got {len(changes)}")
    return events.workload_change(workload, changes, "shardtide.torchrec.publish")


def load(path: str) -> Any:
    """Returns the content of a JSON file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m shardtide.torchrec.publish",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--configs", required=True)
    parser.add_argument("--lookups")
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--memory-gib", type=float, required=True, help="memory for tables on a device, in 2^30 bytes")
    parser.add_argument("--batch-size", type=int, required=True, help="samples in a batch, over all devices")
    parser.add_argument("--devices-per-node", type=int, default=8)
    parser.add_argument("--hardware", required=True, help="hardware of a cost model; the shipped model's is simulated")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="sgd")
    parser.add_argument("--profiles", help="JSON: profiles of tables by name, see python -m shardtide.profile")
    parser.add_argument("--drop", action="append", default=[], metavar="NAME", help="a table to drop; may be repeated")
    parser.add_argument("--previous", help="--configs of the time before; tables that are gone are dropped")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for Kafka, and for the outcome")
    parser.add_argument("--prefix", default="shardtide.")
    parser.add_argument("--settings", help="JSON file: an object with settings of librdkafka, such as TLS and SASL")
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s")

    # Imported here: the functions above need no client of Kafka.
    from confluent_kafka import KafkaException

    from shardtide.log.log import Log
    from shardtide.log.publisher import Rejected, WorkloadPublisher

    try:
        configs = load(arguments.configs)
        previous = load(arguments.previous) if arguments.previous else []
        gone = {config["name"] for config in previous} - {config.get("name") for config in configs}
        cluster = {
            "devices": arguments.devices,
            "memoryBytesPerDevice": round(arguments.memory_gib * 2**30),
            "batchSize": arguments.batch_size,
            "devicesPerNode": arguments.devices_per_node,
            "hardware": arguments.hardware,
        }
        change = workload_change(
            arguments.workload,
            configs,
            load(arguments.lookups) if arguments.lookups else {},
            cluster,
            arguments.optimizer,
            sorted(gone.union(arguments.drop)),
            load(arguments.profiles) if arguments.profiles else None,
        )
        for config in configs:
            features = config.get("feature_names") or []
            if len(features) > 1:
                print(
                    f"Table {config['name']} has {len(features)} features; they are planned as one. TorchRec sends the"
                    " outputs of each feature separately in the all-to-all, which the predicted cost leaves out",
                    file=sys.stderr,
                )
        settings = load(arguments.settings) if arguments.settings else {}
        log = Log(
            arguments.bootstrap_servers,
            arguments.registry_url,
            arguments.prefix,
            settings,
            timeout_seconds=arguments.timeout,
        )
        outcome = WorkloadPublisher(log).publish_and_wait(change, arguments.timeout)
    except (ValueError, LookupError, OSError, KafkaException) as e:
        sys.exit(f"shardtide.torchrec.publish: {e}")
    if isinstance(outcome, Rejected):
        sys.exit(f"rejected {outcome.reason}: {outcome.message}")
    print(f"{arguments.workload} generation {outcome.generation}")


if __name__ == "__main__":
    main()
