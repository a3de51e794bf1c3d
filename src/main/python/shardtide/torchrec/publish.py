"""Publishes the tables of a TorchRec EmbeddingBagCollection as a workload.

python -m shardtide.torchrec.publish BOOTSTRAP_SERVERS REGISTRY_URL --workload NAME --configs FILE --lookups FILE
    --devices N --memory-gib G --batch-size N --devices-per-node N --hardware NAME
    [--optimizer NAME] [--access-cdfs FILE] [--drop NAME ...] [--previous FILE] [--timeout SECONDS] [--prefix TEXT]
    [--settings FILE]

--configs    JSON: a list of EmbeddingBagConfigs: objects with name, num_embeddings, embedding_dim, feature_names and
             data_type
--lookups    JSON: an object with the mean number of lookups per sample of each feature
--access-cdfs  JSON: an object with the access CDFs of tables by name, as access_cdf() returns them; other tables are
             published without one
--previous   JSON: the --configs that were published before; tables that are no longer in --configs are dropped

Prints the outcome: the workload's generation, or why the change was rejected (exit status 1). Needs the rights of
./shardtide acls --role publisher. In a program that has the collection, pass
workload_change(collection.embedding_bag_configs(), ...) to shardtide.log.WorkloadPublisher.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import logging
import math
import sys
import uuid
from typing import Any, Iterable, Mapping, Sequence

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

# The next entry of an access CDF counts this many times as many rows.
CDF_FACTOR = 4

MAX_CHANGES = 10_000


def access_cdf(counts: Iterable[float], rows: int) -> list[float]:
    """Returns how lookups spread over a table's rows: the shares on its 1, 4, 16, ... most used rows, then 1.

    counts: how often each row was looked up, in any order; rows without a lookup may be left out. Of a sample of ids:
        collections.Counter(ids).values(). Take many times more lookups than the table has rows in use: of a small
        sample, use looks more skewed than it is.
    rows: rows of the table, at least 1

    ValueError if a count is negative or not a number, there are more counts than rows, or nothing was looked up.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    descending = sorted((float(count) for count in counts), reverse=True)
    if len(descending) > rows:
        raise ValueError(f"counts must be at most one for each of the {rows} rows, got {len(descending)}")
    for count in descending:
        if not (0 <= count < math.inf):
            raise ValueError(f"counts must be numbers of at least 0, got {count}")
    total = math.fsum(descending)
    if total == 0:
        raise ValueError("counts must have a lookup, got none; a table whose use is unknown has no access CDF")
    sums = list(itertools.accumulate(descending))
    shares = []
    ranked = 1
    while ranked < rows:
        shares.append(min(1.0, float(f"{sums[min(ranked, len(sums)) - 1] / total:.7g}")))
        ranked *= CDF_FACTOR
    return [*shares, 1.0]


def table(
    config: Any,
    lookups: Mapping[str, float],
    optimizer: str = "sgd",
    access_cdfs: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """Returns the TableSpec of an EmbeddingBagConfig, which is an object or a dict of its fields.

    lookups: mean number of lookups per sample, by feature
    optimizer: one of OPTIMIZERS; its state counts as memory of the table
    access_cdfs: by table, as access_cdf() returns them; tables whose use is unknown may be left out

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
    # TorchRec uses the table's name for its feature if it names none.
    features = get("feature_names") or [name]
    unknown = [feature for feature in features if feature not in lookups]
    if unknown:
        raise ValueError(f"lookups must have a number for each feature of table {name}; {', '.join(unknown)} have none")
    element, row = OPTIMIZERS[optimizer]
    return {
        "name": name,
        "rows": get("num_embeddings"),
        "columns": get("embedding_dim"),
        # All features that share a table are looked up in it.
        "poolingFactor": float(sum(lookups[feature] for feature in features)),
        "bytesPerElement": BYTES[data_type],
        "accessCdf": list((access_cdfs or {}).get(name, ())),
        "optimizerBytesPerElement": element,
        "optimizerBytesPerRow": row,
    }


def workload_change(
    workload: str,
    configs: Sequence[Any],
    lookups: Mapping[str, float],
    cluster: dict[str, Any],
    optimizer: str = "sgd",
    drop: Iterable[str] = (),
    access_cdfs: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """Returns the WorkloadChange that sets a cluster and the tables of a collection.

    configs: EmbeddingBagConfigs, as for table()
    cluster: a ClusterSpec
    drop: names of tables to drop
    access_cdfs: as for table()

    ValueError as table(), if there is an access CDF of no table, and if the change is larger than one event may be.
    """
    changes: list[dict[str, Any]] = [{"cluster": cluster}]
    tables = [table(config, lookups, optimizer, access_cdfs) for config in configs]
    unknown = set(access_cdfs or ()) - {spec["name"] for spec in tables}
    if unknown:
        raise ValueError(f"access_cdfs must be of tables in configs; {', '.join(sorted(unknown))} are not")
    changes += [{"table": spec} for spec in tables]
    changes += [{"name": name} for name in drop]
    if len(changes) > MAX_CHANGES:
        raise ValueError(f"An event must have at most {MAX_CHANGES} changes, got {len(changes)}")
    return {
        "eventId": str(uuid.uuid4()),
        "workloadId": workload,
        "occurredAt": datetime.datetime.now(datetime.timezone.utc),
        "source": "shardtide.torchrec.publish",
        "changes": changes,
    }


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
    parser.add_argument("--lookups", required=True)
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--memory-gib", type=float, required=True, help="memory for tables on a device, in 2^30 bytes")
    parser.add_argument("--batch-size", type=int, required=True, help="samples in a batch, over all devices")
    parser.add_argument("--devices-per-node", type=int, default=8)
    parser.add_argument("--hardware", required=True, help="hardware of a cost model; the shipped model's is simulated")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="sgd")
    parser.add_argument("--access-cdfs", help="JSON: an object with access CDFs of tables by name")
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
            load(arguments.lookups),
            cluster,
            arguments.optimizer,
            sorted(gone.union(arguments.drop)),
            load(arguments.access_cdfs) if arguments.access_cdfs else None,
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
