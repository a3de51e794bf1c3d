"""Publishes the tables of a TorchRec EmbeddingBagCollection or EmbeddingCollection as a workload.

python -m shardtide.torchrec.publish BOOTSTRAP_SERVERS REGISTRY_URL --workload NAME --configs FILE
    --devices N --memory-gib G --batch-size N --devices-per-node N --hardware NAME
    [--memory-gib-of DEVICE=G ...] [--devices-per-host N] [--lookups FILE] [--profiles FILE] [--optimizer NAME]
    [--drop NAME ...] [--previous FILE] [--timeout SECONDS] [--prefix TEXT] [--settings FILE]

--configs    JSON: a list of EmbeddingBagConfigs: objects with name, num_embeddings, embedding_dim, feature_names,
             data_type, and pooling: SUM or MEAN; NONE for EmbeddingConfigs, whose lookups each have an output
--lookups    JSON: an object with the mean number of lookups per sample of each feature
--profiles   JSON: what `python -m shardtide.profile --out` wrote: poolingFactor, accessCdf and reuseHistogram of tables
             by name. Features of these tables need no --lookups
--previous   JSON: the --configs that were published before; tables that are no longer in --configs are dropped

Prints the outcome: the workload's generation, or why the change was rejected (exit status 1). Needs the rights of
./shardtide acls --role publisher. In a program that has the collection, pass
workload_change(collection.embedding_bag_configs(), ...) to shardtide.log.WorkloadPublisher; of an EmbeddingCollection,
its embedding_configs().
"""

from __future__ import annotations

import argparse
import logging
import math
import numbers
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardtide import events
from shardtide.arguments import check_text, items, mapping, read_json, shown, texts
from shardtide.optimizers import OPTIMIZERS, Optimizer

# TorchRec's DataTypes of tables: bytes of an element, and of the scale and bias of a row of each shard, as FBGEMM has
# them: two floats where rows of INT8 are trained, two halves of INT4 and INT2. DataType has INT32 and INT64 too, of ids.
BYTES = {
    "FP32": (4.0, 0.0),
    "FP16": (2.0, 0.0),
    "BF16": (2.0, 0.0),
    "NFP8": (1.0, 0.0),
    "INT8": (1.0, 8.0),
    "UINT8": (1.0, 8.0),
    "INT4": (0.5, 4.0),
    "INT2": (0.25, 4.0),
}

# TorchRec's PoolingTypes, and whether a sample's lookups have one output.
POOLED = {"SUM": True, "MEAN": True, "NONE": False}


MAX_CHANGES = 10_000


def table(
    config: Any,
    lookups: Mapping[str, float],
    optimizer: str | None = None,
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the TableSpec of an EmbeddingBagConfig or EmbeddingConfig, which is an object or a dict of its fields.

    A table is pooled unless it is an EmbeddingConfig, or its pooling is NONE.

    lookups: mean number of lookups per sample, by feature; needed for features of tables without a profile
    optimizer: one of OPTIMIZERS, whose state counts as memory of the table and in its costs; None: the cluster's
    profiles: by table, what TableUse.fields() of shardtide.profile returns

    ValueError names what is missing or unknown. The planner checks the ranges of numbers.
    """

    fields = config if isinstance(config, Mapping) else vars(config) if hasattr(config, "__dict__") else {}
    if not fields:
        raise ValueError(f"A config must be an EmbeddingBagConfig, or an object with its fields, got {shown(config)}")
    get = fields.get
    name: Any = get("name")
    missing = [field for field in ("name", "num_embeddings", "embedding_dim") if get(field) is None]
    if missing:
        raise ValueError(f"Table {name or 'without a name'} needs {', '.join(missing)}")
    data_type = _named(get("data_type") or "FP32", BYTES, f"data_type of table {name}")
    state = _named(optimizer, OPTIMIZERS, "optimizer") if optimizer is not None else None
    use = dict(mapping((profiles or {}).get(name) or {}, f"The profile of table {name}", "fields of a TableSpec"))
    if use.get("rows", get("num_embeddings")) != get("num_embeddings"):
        raise ValueError(f"The profile of table {name} is of {use['rows']} rows; must be {get('num_embeddings')}")
    # TorchRec uses the table's name for its feature if it names none.
    features = texts(get("feature_names") or [name], f"feature_names of table {name}", "names")
    for feature in features:
        _check_lookups(feature, lookups.get(feature, 0.0))
    unknown = [feature for feature in features if feature not in lookups]
    if unknown and not use:
        raise ValueError(f"lookups must have a number for each feature of table {name}; {', '.join(unknown)} have none")
    # All features that share a table are looked up in it.
    use.setdefault("poolingFactor", float(sum(lookups.get(feature, 0.0) for feature in features)))
    element, scale = BYTES[data_type]
    return {
        "name": name,
        "rows": get("num_embeddings"),
        "columns": get("embedding_dim"),
        "bytesPerElement": element,
        **_state(state, scale),
        # Left out where it is the default: registries of earlier planners do not know the field.
        **({} if _is_pooled(config, fields) else {"pooled": False}),
        **use,
    }


def _state(optimizer: str | None, scale: float) -> dict[str, Any]:
    """Returns the fields of a TableSpec that say what a row of a shard has beside its elements.

    scale: bytes of a quantized row's scale and bias
    """
    named: dict[str, Any] = {} if optimizer is None else {"optimizer": optimizer}
    if scale:
        of = Optimizer(0, 0) if optimizer is None else OPTIMIZERS[optimizer]
        named["optimizerBytesPerElement"] = 4.0 * of.per_element
        named["optimizerBytesPerRow"] = 4.0 * of.per_row + scale
    return named


def _is_pooled(config: Any, fields: Mapping[str, Any]) -> bool:
    """Returns whether a sample's lookups of a table have one output."""
    if "pooling" in fields:
        return POOLED[_named(fields["pooling"], POOLED, f"pooling of table {fields['name']}")]
    if isinstance(config, Mapping) and "need_pos" in config:
        # All fields of one of TorchRec's dataclasses: those of an EmbeddingConfig have no pooling.
        return False
    return all(kind.__name__ != "EmbeddingConfig" for kind in type(config).__mro__)


def _named(value: Any, known: Mapping[str, Any], what: str) -> str:
    """Returns the name of a member of an enum, or a name; ValueError if it is not known."""
    name = getattr(value, "name", value)
    if not isinstance(name, str) or name not in known:
        got = name if isinstance(name, str) else shown(name)
        raise ValueError(f"{what} must be one of {', '.join(known)}, got {got}")
    return name


def _check_lookups(feature: str, lookups: Any) -> None:
    if isinstance(lookups, bool) or not isinstance(lookups, numbers.Real) or not math.isfinite(lookups):
        raise ValueError(f"lookups of feature {feature} must be a number, got {shown(lookups)}")


def workload_change(
    workload: str,
    configs: Sequence[Any],
    lookups: Mapping[str, float],
    cluster: dict[str, Any],
    optimizer: str | None = None,
    drop: Iterable[str] = (),
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the WorkloadChange that sets a cluster and the tables of a collection.

    configs: EmbeddingBagConfigs or EmbeddingConfigs, as for table(), of different names
    cluster: a ClusterSpec
    drop: names of tables to drop, none of them among the configs
    profiles: as for table()

    ValueError as table(), if two configs have one name, if there is a profile of no table, and if the change is larger
    than one event may be.
    """
    changes: list[dict[str, Any]] = [{"cluster": cluster}]
    mapping(lookups, "lookups", "a number for each feature")
    mapping({} if profiles is None else profiles, "profiles", "a profile for each table")
    tables = [table(config, lookups, optimizer, profiles) for config in items(configs, "configs", "EmbeddingBagConfigs")]
    seen: dict[str, int] = {}
    for place, spec in enumerate(tables):
        same = seen.setdefault(spec["name"], place)
        if same != place:
            raise ValueError(
                f"configs must have different names, got table {spec['name']} at positions {same} and {place}:"
                f" {events.differences(tables[same], spec)}. Maybe rename one"
            )
    unknown = set(profiles or ()) - {spec["name"] for spec in tables}
    if unknown:
        raise ValueError(f"profiles must be of tables in configs; {', '.join(sorted(unknown))} are not")
    changes += [{"table": spec} for spec in tables]
    changes += [{"name": name} for name in texts(drop, "drop", "names of tables")]
    if len(changes) > MAX_CHANGES:
        raise ValueError(f"An event must have at most {MAX_CHANGES} changes, got {len(changes)}")
    return events.workload_change(workload, changes, "shardtide.torchrec.publish")


def device_memory(text: str) -> dict[str, int]:
    """Returns the DeviceMemory of a text, DEVICE=GIB; ValueError if it has another form."""
    device, _, gib = text.partition("=")
    try:
        return {"device": int(device), "bytes": round(float(gib) * 2**30)}
    except (ValueError, OverflowError):
        raise ValueError(f'--memory-gib-of must be DEVICE=G, such as 6=40, got "{text}"') from None


def load_configs(path: str, option: str) -> list[dict[str, Any]]:
    """Returns the configs of a JSON file; ValueError if it holds no list of objects with names."""
    what = f"{option} {path}"
    configs = items(read_json(path), what, "EmbeddingBagConfigs")
    for place, config in enumerate(configs):
        name = mapping(config, f"{what}: the one at position {place}", "fields of an EmbeddingBagConfig").get("name")
        if not isinstance(name, str):
            raise ValueError(f"{what}: name must be a str, got {shown(name)} at position {place}")
    return configs


def load_object(path: str | None, option: str, of: str) -> dict[str, Any]:
    """Returns the object of a JSON file, an empty one without a file; ValueError if it holds something else."""
    return dict(mapping(read_json(path), f"{option} {path}", of)) if path else {}


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
    parser.add_argument(
        "--devices-per-host", type=int, help="where the fast links of a node span several hosts (default: a node)"
    )
    parser.add_argument(
        "--memory-gib-of", action="append", default=[], metavar="DEVICE=G", help="of one device; may be repeated"
    )
    parser.add_argument("--hardware", required=True, help="hardware of a cost model, such as h200")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), help="of the tables (default: the cluster's)")
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
        check_text(arguments.workload, "--workload")
        configs = load_configs(arguments.configs, "--configs")
        previous = load_configs(arguments.previous, "--previous") if arguments.previous else []
        gone = {config["name"] for config in previous} - {config["name"] for config in configs}
        cluster: dict[str, Any] = {
            "devices": arguments.devices,
            "memoryBytesPerDevice": round(arguments.memory_gib * 2**30),
            "batchSize": arguments.batch_size,
            "devicesPerNode": arguments.devices_per_node,
            "hardware": arguments.hardware,
        }
        # Left out where they are the defaults: registries of earlier planners do not know the fields.
        if arguments.memory_gib_of:
            cluster["memoryBytesByDevice"] = [device_memory(text) for text in arguments.memory_gib_of]
        if arguments.devices_per_host:
            cluster["devicesPerHost"] = arguments.devices_per_host
        change = workload_change(
            arguments.workload,
            configs,
            load_object(arguments.lookups, "--lookups", "a number for each feature"),
            cluster,
            arguments.optimizer,
            sorted(gone.union(arguments.drop)),
            load_object(arguments.profiles, "--profiles", "a profile for each table"),
        )
        for config in configs:
            features = config.get("feature_names") or []
            if len(features) > 1:
                print(
                    f"Table {config['name']} has {len(features)} features; they are planned as one. TorchRec sends the"
                    " outputs of each feature separately in the all-to-all, which the predicted cost leaves out",
                    file=sys.stderr,
                )
        settings = load_object(arguments.settings, "--settings", "settings of librdkafka")
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
