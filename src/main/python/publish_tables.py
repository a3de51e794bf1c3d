"""Publishes the tables of a TorchRec EmbeddingBagCollection as a workload.

publish_tables.py BOOTSTRAP_SERVERS REGISTRY_URL --workload NAME --configs FILE --lookups FILE
    --devices N --memory-gib G --batch-size N --devices-per-node N --hardware NAME
    [--optimizer NAME] [--drop-others] [--prefix TEXT] [--settings FILE]

--configs   JSON: a list of EmbeddingBagConfigs, objects with name, num_embeddings, embedding_dim, feature_names, data_type
--lookups   JSON: an object with the mean number of lookups per sample of each feature

Prints the plan, or says why there is none and ends with status 1. Where the collection itself is at hand, call
workload_change(collection.embedding_bag_configs(), ...) and hand the result to shardtide_log.Log.ask.
"""

import argparse
import datetime
import json
import sys
import uuid

# TorchRec's DataType, in bytes an element.
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

# FBGEMM's optimizers: bytes of state that an element has, and that a row has. A table that is cut has a row's state in
# each of its shards; it is counted once.
OPTIMIZERS = {
    "sgd": (0, 0),
    "rowwise_adagrad": (0, 4),
    "adagrad": (4, 0),
    "adam": (8, 0),
    "partial_rowwise_adam": (4, 4),
    "lamb": (8, 0),
}

MAX_CHANGES = 10_000


def table(config, lookups, optimizer):
    """Returns the TableSpec of an EmbeddingBagConfig, an object or a dict of its fields.

    lookups: mean number of lookups per sample, by feature
    optimizer: one of OPTIMIZERS; its state lies beside the weights

    ValueError names what is missing or not legal. Whether numbers are in their ranges, the planner says.
    """
    get = config.get if isinstance(config, dict) else lambda name: getattr(config, name, None)
    name = get("name")
    missing = [field for field in ("name", "num_embeddings", "embedding_dim") if get(field) is None]
    if missing:
        raise ValueError(f"A table {name or ''} lacks {', '.join(missing)}")
    data_type = get("data_type") or "FP32"
    data_type = getattr(data_type, "name", data_type)
    if data_type not in BYTES:
        raise ValueError(f"Table {name} has data_type {data_type}; legal are {', '.join(BYTES)}")
    # TorchRec takes the table's name for its feature's if there is none.
    features = get("feature_names") or [name]
    unknown = [feature for feature in features if feature not in lookups]
    if unknown:
        raise ValueError(f"Features {', '.join(unknown)} of table {name} have no lookups; legal is a number for each")
    element, row = OPTIMIZERS[optimizer]
    return {
        "name": name,
        "rows": get("num_embeddings"),
        "columns": get("embedding_dim"),
        # Features that share a table are looked up in it one beside the other.
        "poolingFactor": float(sum(lookups[feature] for feature in features)),
        "bytesPerElement": BYTES[data_type] + element + row / get("embedding_dim"),
    }


def workload_change(workload, configs, lookups, cluster, optimizer="sgd", drop=()):
    """Returns the WorkloadChange that makes a workload of a collection's configs and a ClusterSpec.

    drop: names of tables that are to go
    """
    changes = [{"cluster": cluster}]
    changes += [{"table": table(config, lookups, optimizer)} for config in configs]
    changes += [{"name": name} for name in drop]
    if len(changes) > MAX_CHANGES:
        raise ValueError(f"{len(changes)} changes; legal are {MAX_CHANGES} in one event")
    return {
        "eventId": str(uuid.uuid4()),
        "workloadId": workload,
        "occurredAt": datetime.datetime.now(datetime.timezone.utc),
        "source": "publish_tables.py",
        "changes": changes,
    }


def others(log, workload, configs):
    """Returns the tables of a workload's current plan that are not among configs."""
    latest = None
    with log.reader("current-plans") as plans:
        for record in plans.all():
            if record.key == workload:
                latest = record.value
    names = {config["name"] for config in configs}
    return sorted({shard["table"] for shard in latest["shards"]} - names) if latest else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("registry_url")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--configs", required=True)
    parser.add_argument("--lookups", required=True)
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--memory-gib", type=float, required=True, help="what tables may fill of a device, in 2^30 bytes")
    parser.add_argument("--batch-size", type=int, required=True, help="samples in a batch, over all devices")
    parser.add_argument("--devices-per-node", type=int, default=8)
    parser.add_argument("--hardware", required=True, help="that a cost model is for; the shipped one's is simulated")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="sgd")
    parser.add_argument("--drop-others", action="store_true", help="drop the workload's tables that are not in --configs")
    parser.add_argument("--prefix", default="shardtide.")
    parser.add_argument("--settings", help="JSON: an object with settings of librdkafka, such as those for TLS and SASL")
    arguments = parser.parse_args()
    with open(arguments.configs, encoding="utf-8") as file:
        configs = json.load(file)
    with open(arguments.lookups, encoding="utf-8") as file:
        lookups = json.load(file)
    settings = {}
    if arguments.settings:
        with open(arguments.settings, encoding="utf-8") as file:
            settings = json.load(file)
    cluster = {
        "devices": arguments.devices,
        "memoryBytesPerDevice": round(arguments.memory_gib * 2**30),
        "batchSize": arguments.batch_size,
        "devicesPerNode": arguments.devices_per_node,
        "hardware": arguments.hardware,
    }

    # Here, so that what is above needs no client of Kafka.
    from confluent_kafka import KafkaException
    from shardtide_log import Log

    for config in configs:
        features = config.get("feature_names") or []
        if len(features) > 1:
            print(
                f"Table {config['name']} has {len(features)} features, which are planned as one: their outputs are"
                " exchanged apart, and that is not counted",
                file=sys.stderr,
            )
    try:
        log = Log(arguments.bootstrap_servers, arguments.registry_url, arguments.prefix, settings)
        drop = others(log, arguments.workload, configs) if arguments.drop_others else ()
        change = workload_change(arguments.workload, configs, lookups, cluster, arguments.optimizer, drop)
        kind, answer = log.ask(change)
    except (ValueError, LookupError, OSError, KafkaException) as e:
        sys.exit(f"publish_tables.py: {e}")
    if kind != "plan":
        sys.exit(f"{kind}: {answer['message']}")
    print(
        f"{answer['workloadId']} generation {answer['generation']}: plan {answer['planId']},"
        f" predicted {answer['predictedMs']:.3f} ms a step"
    )


if __name__ == "__main__":
    main()
