"""Publishes the tables of a TorchRec EmbeddingBagCollection or EmbeddingCollection as a workload.

shardtide-py publish --help says what its files hold. In a program that has the collection, pass
workload_change(collection.embedding_bag_configs(), ...) to shardtide.log.WorkloadPublisher; of an EmbeddingCollection,
its embedding_configs(); of all collections of a model, model_change(model, ...).
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import math
import numbers
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardtide import command, events
from shardtide.arguments import check_text, items, mapping, plain, read_json, shown, texts
from shardtide.optimizers import OPTIMIZERS, Optimizer, optimizer_name
from shardtide.torchrec.descriptions import KINDS, UNPOOLED_KINDS
from shardtide.torchrec.kernels import kernel_fields
from shardtide.torchrec.modules import (
    collections,
    is_processed,
    is_weighted,
    kinds_that_train,
    optimizers_in_backward,
    table_modules,
)
from shardtide.torchrec.modules import configs as configs_of
from shardtide.torchrec.pooling import mean_kinds

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


# Where the weights of a feature's ids come from.
WEIGHTS = ("given", "learned")

# Pipelines of a cluster: a loop, and TorchRec's TrainPipelineSparseDist and PrefetchTrainPipelineSparseDist.
PIPELINES = ("none", "sparse_dist", "prefetch")

# Which ids a hash table gives up when it is full.
EVICTIONS = ("none", "lru", "lfu", "age")

# Of a HashedStorage, what publishers say: why it was resized, the planner remembers.
STORAGE_FIELDS = ("ids", "idsPerDay", "slotBytes", "eviction", "hitShares")

MAX_CHANGES = 10_000


def table(
    config: Any,
    lookups: Mapping[str, float],
    optimizer: str | Mapping[str, str] | None = None,
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
    constraints: Mapping[str, Mapping[str, Any]] | None = None,
    kernels: Mapping[str, Any] | None = None,
    batch_shares: Mapping[str, float] | None = None,
    duplicates: Mapping[str, float] | None = None,
    weights: Mapping[str, str] | None = None,
    storage: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the TableSpec of an EmbeddingBagConfig or EmbeddingConfig, which is an object or a dict of its fields.

    A table is pooled unless it is an EmbeddingConfig, or its pooling is NONE. An unpooled one has the constraints of
    TorchRec's EmbeddingCollection: no copies of hot rows, and shards of the kinds that it has, which are cut by columns
    into two halves at most, since all column-wise shards of a collection must have one width. One with MEAN pooling is
    constrained to the kinds of shards that TorchRec computes right: see shardtide.torchrec.pooling.

    lookups: mean number of lookups per sample, by feature; needed for features of tables without a profile
    optimizer: one of OPTIMIZERS, or FBGEMM's or PyTorch's name of it, whose state counts as memory of the table and in
        its costs, or one for each table by name; None, and of tables that are not named: the cluster's
    profiles: by table, what TableUse.fields() of shardtide.profile returns
    constraints: by table, the fields of TableConstraints in avro/TableSpec.avsc, such as {"kinds": ["table_wise"]}
    kernels: by table, how its lookups are computed where the publisher decides that: fields of a TableKernel, or
        TorchRec's ParameterConstraints, as for shardtide.torchrec.kernels.kernel_fields()
    batch_shares: by feature, its samples for each sample of the cluster's batch, above 0 (VBE, TorchRec's batch_sizes);
        1 where left out
    duplicates: by feature, how often a sample is in a batch, on average, if it is looked up and sent once (RecD); at
        least 1, and 1 where left out
    weights: by feature, one of WEIGHTS: whether a batch gives weights of the ids, or a feature processor computes them.
        The features of a table have all the same ones
    storage: by table, the hash table that stores its rows: fields of a HashedStorage in avro/TableSpec.avsc, such as
        {"ids": 800_000, "eviction": "lru"}. Its num_embeddings are slots. What a profile measured of it takes
        precedence. In TorchRec, only managed collision collections have such tables, row-wise: see managed_storage()

    ValueError names what is missing or unknown. The planner checks the ranges of other numbers.
    """
    fields = _fields(config)
    get = fields.get
    name: Any = get("name")
    missing = [field for field in ("name", "num_embeddings", "embedding_dim") if get(field) is None]
    if missing:
        raise ValueError(f"Table {name or 'without a name'} needs {', '.join(missing)}")
    data_type = _named(get("data_type") or "FP32", BYTES, f"data_type of table {name}")
    own = optimizer.get(name) if isinstance(optimizer, Mapping) else optimizer
    state = optimizer_name(own) if own is not None else None
    use = dict(mapping((profiles or {}).get(name) or {}, f"The profile of table {name}", "fields of a TableSpec"))
    if use.get("rows", get("num_embeddings")) != get("num_embeddings"):
        raise ValueError(f"The profile of table {name} is of {use['rows']} rows; must be {get('num_embeddings')}")
    features = _features(fields)
    for feature in features:
        _check_lookups(feature, lookups.get(feature, 0.0))
    pooling = _pooling(name, features, lookups, use)
    shares = {feature: _factor("batch_shares", batch_shares, feature) for feature in features}
    repeats = {feature: _factor("duplicates", duplicates, feature) for feature in features}
    described = _described(pooling, shares, repeats)
    # All features that share a table are looked up in it.
    use["poolingFactor"] = float(sum(pooling[f] * shares[f] / repeats[f] for f in features))
    element, scale = BYTES[data_type]
    hashed = _storage((storage or {}).get(name), use.get("storage"), name)
    is_pooled = _is_pooled(config, fields)
    limits = dict(mapping((constraints or {}).get(name) or {}, f"The constraints of table {name}", "TableConstraints"))
    if not is_pooled:
        limits = _with_limits(name, limits, _unpooled_constraints(fields))
    elif _pooling_type(fields) == "MEAN":
        limits["kinds"] = mean_kinds(name, limits.get("kinds", ()))
    return {
        "name": name,
        "rows": get("num_embeddings"),
        "columns": get("embedding_dim"),
        "bytesPerElement": element,
        **_state(state, scale),
        # Left out where it is the default: registries of earlier planners do not know the field.
        **({} if is_pooled else {"pooled": False}),
        **({"constraints": limits} if limits else {}),
        **(kernel_fields(kernels[name], name) if kernels and name in kernels else {}),
        **use,
        **({"storage": hashed} if hashed is not None else {}),
        **({"features": described} if described else {}),
        **_weights(name, features, weights or {}),
    }


def _fields(config: Any) -> Mapping[str, Any]:
    fields: Any = config if isinstance(config, Mapping) else vars(config) if hasattr(config, "__dict__") else {}
    if not fields:
        raise ValueError(f"A config must be an EmbeddingBagConfig, or an object with its fields, got {shown(config)}")
    return fields


def _features(fields: Mapping[str, Any]) -> list[str]:
    """Returns the names of a config's features: TorchRec uses the table's name for its feature if it names none."""
    name = fields.get("name")
    features = texts(fields.get("feature_names") or [name], f"feature_names of table {name}", "names")
    for place, feature in enumerate(features):
        if feature in features[:place]:
            raise ValueError(f"feature_names of table {name} must be different, got {feature} twice")
    return features


def _pooling(
    table: str, features: Sequence[str], lookups: Mapping[str, float], use: dict[str, Any]
) -> dict[str, float]:
    """Returns the lookups per sample of each feature of a table.

    use: the table's profile, which takes precedence over lookups; of one that does not tell features apart, lookups say
        how they share its pooling factor. Loses its features
    """
    measured = {feature["name"]: feature["poolingFactor"] for feature in use.pop("features", ())}
    if measured:
        if measured.keys() != set(features):
            raise ValueError(
                f"The profile of table {table} is of features {', '.join(measured)}; must be {', '.join(features)}"
            )
        return measured
    unknown = [feature for feature in features if feature not in lookups]
    if unknown and "poolingFactor" not in use:
        without = ", ".join(unknown)
        raise ValueError(f"lookups must have a number for each feature of table {table}; {without} have none")
    # Without numbers, features share alike: what a step costs depends on the sum alone.
    given = {feature: 1.0 if unknown else float(lookups[feature]) for feature in features}
    if "poolingFactor" not in use:
        return given
    total = sum(given.values())
    return {
        feature: use["poolingFactor"] * (number / total if total else 1 / len(features))
        for feature, number in given.items()
    }


def _factor(name: str, factors: Mapping[str, float] | None, feature: str) -> float:
    """Returns a feature's number of an argument, 1 where it has none; ValueError if it is outside its range."""
    value = (factors or {}).get(feature, 1.0)
    least, expected = (1.0, "a number of at least 1") if name == "duplicates" else (0.0, "a number above 0")
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < least or value == 0:
        raise ValueError(f"{name} of feature {feature} must be {expected}, got {shown(value)}")
    return float(value)


def _described(
    pooling: Mapping[str, float], shares: Mapping[str, float], repeats: Mapping[str, float]
) -> list[dict[str, Any]]:
    described = []
    for feature, lookups in pooling.items():
        fields: dict[str, Any] = {"name": feature, "poolingFactor": lookups}
        if shares[feature] != 1:
            fields["batchShare"] = shares[feature]
        if repeats[feature] != 1:
            fields["duplicates"] = repeats[feature]
        described.append(fields)
    return described if len(described) > 1 or len(described[0]) > 2 else []


def _weights(table: str, features: Sequence[str], weights: Mapping[str, str]) -> dict[str, Any]:
    """Returns the field of a TableSpec that says where the weights of ids come from, none if ids have none."""
    found = {feature: weights.get(feature) for feature in features}
    for feature, weight in found.items():
        if feature in weights and weight not in WEIGHTS:
            raise ValueError(f"weights of feature {feature} must be one of {', '.join(WEIGHTS)}, got {shown(weight)}")
    if len(set(found.values())) > 1:
        raise ValueError(
            f"weights of the features of table {table} must be the same, as a collection has weights of all its ids or"
            f" none; got {', '.join(f'{weight} of {feature}' for feature, weight in found.items())}"
        )
    return {"idWeights": found[features[0]]} if found[features[0]] else {}


def _storage(given: Any, measured: Any, table: str) -> dict[str, Any] | None:
    """Returns a HashedStorage of what is given and what a profile measured, which takes precedence; None of neither.

    ValueError if one has other fields, or an eviction that there is not. The planner checks the ranges of numbers.
    """
    parts = {f"The storage of table {table}": given, f"The storage in the profile of table {table}": measured}
    found: dict[str, Any] | None = None
    for what, part in parts.items():
        if part is None:
            continue
        fields = mapping(part, what, "fields of a HashedStorage")
        unknown = sorted(fields.keys() - set(STORAGE_FIELDS))
        if unknown:
            raise ValueError(
                f"{what} must have the fields {', '.join(STORAGE_FIELDS)}, got {', '.join(map(str, unknown))}"
            )
        eviction = fields.get("eviction", "none")
        if eviction not in EVICTIONS:
            raise ValueError(f"{what}: eviction must be one of {', '.join(EVICTIONS)}, got {shown(eviction)}")
        found = {**(found or {}), **fields}
    return found


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


def _unpooled_constraints(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the TableConstraints of a table of an EmbeddingCollection.

    ValueError if it is a virtual table, whose rows come while it is trained.
    """
    if fields.get("use_virtual_table"):
        raise ValueError(f"Table {fields['name']} is a virtual table, which is not supported; must have all its rows")
    # TorchRec writes rows from outside only where they are sharded row-wise.
    kinds = ("row_wise",) if fields.get("enable_embedding_update") else UNPOOLED_KINDS
    columns = fields["embedding_dim"]
    return {
        "kinds": list(kinds),
        # With kinds without column_wise, a table is not cut by columns.
        **({"leastColumns": -(-int(columns) // 2)} if isinstance(columns, numbers.Integral) else {}),
        "mayHaveHotRows": False,
    }


def _with_limits(name: str, limits: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the TableConstraints that keep to both; ValueError if no kind of shards does."""
    both = {**limits, **others}
    kinds = [kind for kind in others["kinds"] if not limits.get("kinds") or kind in limits["kinds"]]
    if not kinds:
        raise ValueError(
            f"Table {name} must be allowed one of {', '.join(others['kinds']) or 'no kind'}, which TorchRec has for such"
            f" tables, got {', '.join(limits.get('kinds', ())) or 'any'}"
        )
    both["kinds"] = kinds
    if "leastColumns" in others:
        both["leastColumns"] = max(limits.get("leastColumns", 0), others["leastColumns"])
    return both


def _pooling_type(fields: Mapping[str, Any]) -> str | None:
    return _named(fields["pooling"], POOLED, f"pooling of table {fields['name']}") if "pooling" in fields else None


def _is_pooled(config: Any, fields: Mapping[str, Any]) -> bool:
    pooling = _pooling_type(fields)
    if pooling is not None:
        return POOLED[pooling]
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
    optimizer: str | Mapping[str, str] | None = None,
    drop: Iterable[str] = (),
    profiles: Mapping[str, Mapping[str, Any]] | None = None,
    constraints: Mapping[str, Mapping[str, Any]] | None = None,
    kernels: Mapping[str, Any] | None = None,
    batch_sizes: Mapping[str, float] | None = None,
    duplicates: Mapping[str, float] | None = None,
    weights: Mapping[str, str] | None = None,
    storage: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the WorkloadChange that sets a cluster and the tables of a collection.

    configs: EmbeddingBagConfigs or EmbeddingConfigs, as for table(), of different names
    cluster: a ClusterSpec
    optimizer, profiles, constraints: as for table()
    drop: names of tables to drop, none of them among the configs
    batch_sizes: by feature, its samples in a step over all devices, if it has another number of them than the cluster's
        batchSize (VBE)
    kernels, duplicates, weights, storage: as for table()

    ValueError as table(), if two configs have one name, if there is a profile, an optimizer, a constraint, a kernel or
    a storage of no table, a batch size, duplicates or weights of no feature, and if the change is larger than one event
    may be.
    """
    changes: list[dict[str, Any]] = [{"cluster": cluster}]
    mapping(lookups, "lookups", "a number for each feature")
    by_table = {
        "profiles": mapping({} if profiles is None else profiles, "profiles", "a profile for each table"),
        "constraints": mapping({} if constraints is None else constraints, "constraints", "TableConstraints by table"),
        "kernels": mapping({} if kernels is None else kernels, "kernels", "a kernel for each table"),
        "storage": mapping({} if storage is None else storage, "storage", "a HashedStorage by table"),
        "optimizer": optimizer if isinstance(optimizer, Mapping) else {},
    }
    by_feature = {
        "batch_sizes": mapping({} if batch_sizes is None else batch_sizes, "batch_sizes", "samples of each feature"),
        "duplicates": mapping({} if duplicates is None else duplicates, "duplicates", "a number for each feature"),
        "weights": mapping({} if weights is None else weights, "weights", f"{' or '.join(WEIGHTS)} for each feature"),
    }
    sizes = by_feature["batch_sizes"]
    samples = plain(cluster.get("batchSize"))
    if sizes and not (isinstance(samples, int) and samples > 0):
        raise ValueError(f"cluster must have a batchSize of at least 1 beside batch_sizes, got {shown(samples)}")
    shares = {feature: _factor("batch_sizes", sizes, feature) / samples for feature in sizes}
    collection = items(configs, "configs", "EmbeddingBagConfigs")
    tables = [
        table(config, lookups, optimizer, profiles, constraints, kernels, shares, duplicates, weights, storage)
        for config in collection
    ]
    names = {feature for config in collection for feature in _features(_fields(config))}
    for argument, given in by_feature.items():
        others = sorted(set(given) - names)
        if others:
            raise ValueError(f"{argument} must be of features in configs; {', '.join(others)} are not")
    seen: dict[str, int] = {}
    for place, spec in enumerate(tables):
        same = seen.setdefault(spec["name"], place)
        if same != place:
            raise ValueError(
                f"configs must have different names, got table {spec['name']} at positions {same} and {place}:"
                f" {events.differences(tables[same], spec)}. Maybe rename one"
            )
    for argument, given in by_table.items():
        unknown = given.keys() - seen.keys()
        if unknown:
            raise ValueError(f"{argument} must be of tables in configs; {', '.join(sorted(unknown))} are not")
    changes += [{"table": spec} for spec in tables]
    changes += [{"name": name} for name in texts(drop, "drop", "names of tables")]
    if len(changes) > MAX_CHANGES:
        raise ValueError(f"An event must have at most {MAX_CHANGES} changes, got {len(changes)}")
    return events.workload_change(workload, changes, "shardtide.torchrec.publish")


def model_change(
    workload: str,
    model: Any,
    lookups: Mapping[str, float],
    cluster: dict[str, Any],
    optimizer: str | Mapping[str, str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Returns the WorkloadChange that sets a cluster and the tables of a model: of all its collections, in the order of
    their paths. Ids of weighted collections have weights, given by the batch unless weights of options say otherwise.

    A table with an optimizer in the backward pass is not allowed to be data_parallel, since TorchRec would train it with
    the dense optimizer. One of a weighted collection whose weights are learned, computed by a network, may only be
    data_parallel: TorchRec sends weights to the devices of other kinds, and no gradients back. Weights of a feature
    processor, which is inside of TorchRec's FeatureProcessedEmbeddingBagCollection, are not meant.

    model: as for shardtide.torchrec.collections(). A collection under several names is published once
    optimizer, options: as for workload_change(). A feature that several tables look up counts for each of them

    ValueError as workload_change(), if the model has no collection, if two collections have a table of one name, and if
    a table is allowed no kind of shards.
    """
    # Of equal names it says which modules have them.
    table_modules(model)
    of_model = collections(model)
    found = [config for collection in of_model.values() for config in configs_of(collection)]
    change = workload_change(workload, found, lookups, cluster, optimizer, **options)
    specs = {one["table"]["name"]: one["table"] for one in change["changes"] if "table" in one}
    for path, collection in of_model.items():
        in_backward = optimizers_in_backward(collection)
        for spec in (specs[config.name] for config in configs_of(collection)):
            if is_weighted(collection):
                spec.setdefault("idWeights", "given")
            allowed = kinds_that_train(
                spec["name"] in in_backward,
                is_weighted(collection) and spec.get("idWeights") == "learned" and not is_processed(model, path),
            )
            if allowed != KINDS:
                spec["constraints"] = _with_limits(spec["name"], spec.get("constraints", {}), {"kinds": allowed})
    return change


# Options of files of JSON objects, which are arguments of workload_change(), and what they have.
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
    change = workload_change(
        check_text(options.workload, "--workload"),
        options.configs,
        cluster=cluster,
        optimizer=options.optimizer,
        drop=sorted(gone.union(options.drop)),
        **{name: getattr(options, name) for name in _FILES},
    )
    outcome = WorkloadPublisher(command.log_of(options)).publish_and_wait(change, options.timeout)
    if isinstance(outcome, Rejected):
        print(f"rejected {outcome.reason}: {outcome.message}", file=sys.stderr)
        return 1
    command.show(options, f"{options.workload} generation {outcome.generation}", outcome._asdict())
    return 0


if __name__ == "__main__":
    command.main(name="publish")
