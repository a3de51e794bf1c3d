"""A workload's tables and cluster, as publishers and files of workloads have them: of TorchRec's configs and models."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shardtide import events
from shardtide.arguments import items, mapping, plain, shown, texts
from shardtide.optimizers import OPTIMIZERS, optimizer_name
from shardtide.torchrec import modules
from shardtide.torchrec.descriptions import KINDS, UNPOOLED_KINDS
from shardtide.torchrec.kernels import kernel_fields
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

# Which ids a hash table gives up when it is full.
EVICTIONS = ("none", "lru", "lfu", "age")

# Of a HashedStorage, what publishers say: why it was resized, the planner remembers.
STORAGE_FIELDS = ("ids", "idsPerDay", "slotBytes", "eviction", "hitShares")

MAX_CHANGES = 10_000


class Workload:
    """Tables and a cluster:

        change = (
            Workload("feed")
            .cluster(devices=8, memoryBytesPerDevice=64 * 2**30, global_batch_size=65536, hardware="h200")
            .tables(collection.embedding_bag_configs(), {"user": 1.0}, "adagrad")
            .change()
        )

    A table is pooled unless it is an EmbeddingConfig, or its pooling is NONE. An unpooled one has the constraints of
    TorchRec's EmbeddingCollection: no copies of hot rows, and shards of the kinds that it has, which are cut by columns
    into two halves at most, since all column-wise shards of a collection must have one width. One with MEAN pooling is
    constrained to the kinds of shards that TorchRec computes right: see shardtide.torchrec.pooling.

    specs: the TableSpecs so far
    """

    def __init__(self, name: str):
        self._name = name
        self._cluster: dict[str, Any] | None = None
        self._dropped: list[str] = []
        self.specs: list[dict[str, Any]] = []

    def cluster(
        self, fields: Mapping[str, Any] | None = None, *, global_batch_size: int | None = None, **more: Any
    ) -> Workload:
        """Sets the cluster.

        fields, more: of a ClusterSpec in avro/ClusterSpec.avsc
        global_batch_size: its batchSize: samples of a step on all devices together; TorchRec's are those of a rank
        """
        batch = {} if global_batch_size is None else {"batchSize": global_batch_size}
        self._cluster = {**(fields or {}), **batch, **more}
        return self

    def tables(
        self,
        configs: Sequence[Any],
        lookups: Mapping[str, float],
        optimizer: str | Mapping[str, str] | None = None,
        *,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        constraints: Mapping[str, Mapping[str, Any]] | None = None,
        kernels: Mapping[str, Any] | None = None,
        storage: Mapping[str, Mapping[str, Any]] | None = None,
        batch_sizes: Mapping[str, float] | None = None,
        duplicates: Mapping[str, float] | None = None,
        weights: Mapping[str, str] | None = None,
    ) -> Workload:
        """Adds tables of different names.

        configs: EmbeddingBagConfigs or EmbeddingConfigs, objects or dicts of their fields
        lookups: mean number of lookups per sample, by feature; needed for features of tables without a profile
        optimizer: one of OPTIMIZERS, or FBGEMM's or PyTorch's name of it, whose state counts as memory of the table and
            in its costs, or one for each table by name; None, and of tables that are not named: the cluster's
        profiles: by table, what TableUse.fields() of shardtide.profile returns
        constraints: by table, the fields of TableConstraints in avro/TableSpec.avsc, such as {"kinds": ["table_wise"]}
        kernels: by table, how its lookups are computed where the publisher decides that: fields of a TableKernel, or
            TorchRec's ParameterConstraints, as for shardtide.torchrec.kernels.kernel_fields()
        storage: by table, the hash table that stores its rows: fields of a HashedStorage in avro/TableSpec.avsc, as
            {"ids": 800_000, "eviction": "lru"}. Its num_embeddings are slots. What a profile measured takes precedence.
            In TorchRec, only managed collision collections have such tables, row-wise: see managed_storage()
        batch_sizes: by feature, its samples in a step over all devices, if it has another number of them than the
            cluster, which must be set before (VBE)
        duplicates: by feature, how often a sample is in a batch, on average, if it is looked up and sent once (RecD);
            at least 1, and 1 where left out
        weights: by feature, one of WEIGHTS: whether a batch gives weights of the ids, or a feature processor computes
            them. The features of a table have all the same ones

        ValueError names what is missing or unknown: two configs of one name, a profile, an optimizer, a constraint, a
        kernel or a storage of no table, a batch size, duplicates or weights of no feature. The planner checks the
        ranges of other numbers.
        """
        by_table = {
            "profiles": _entries(profiles, "profiles", "a profile for each table"),
            "constraints": _entries(constraints, "constraints", "TableConstraints by table"),
            "kernels": _entries(kernels, "kernels", "a kernel for each table"),
            "storage": _entries(storage, "storage", "a HashedStorage by table"),
            "optimizer": optimizer if isinstance(optimizer, Mapping) else {},
        }
        by_feature = {
            "batch_sizes": _entries(batch_sizes, "batch_sizes", "samples of each feature"),
            "duplicates": _entries(duplicates, "duplicates", "a number for each feature"),
            "weights": _entries(weights, "weights", f"{' or '.join(WEIGHTS)} for each feature"),
        }
        mapping(lookups, "lookups", "a number for each feature")
        sizes = by_feature["batch_sizes"]
        samples = plain((self._cluster or {}).get("batchSize"))
        if sizes and not (isinstance(samples, int) and samples > 0):
            raise ValueError(f"cluster must have a batchSize of at least 1 beside batch_sizes, got {shown(samples)}")
        shares = {feature: _factor("batch_sizes", sizes, feature) / samples for feature in sizes}
        given = items(configs, "configs", "EmbeddingBagConfigs")
        one = None if isinstance(optimizer, Mapping) else optimizer
        known = {**by_table, **by_feature, "batch_shares": shares}
        found = [spec(config, lookups, one, known) for config in given]
        features = {feature for config in given for feature in _features(_fields(config))}
        for of, names, there in (("features", by_feature, features), ("tables", by_table, {t["name"] for t in found})):
            for argument, entries in names.items():
                others = sorted(set(entries) - there)
                if others:
                    raise ValueError(f"{argument} must be of {of} in configs; {', '.join(others)} are not")
        return self.add(found)

    def add(self, specs: Iterable[dict[str, Any]]) -> Workload:
        """Adds TableSpecs as they are; ValueError if two tables have one name."""
        self.specs += specs
        seen: dict[str, int] = {}
        for place, spec in enumerate(self.specs):
            same = seen.setdefault(spec["name"], place)
            if same != place:
                raise ValueError(
                    f"configs must have different names, got table {spec['name']} at positions {same} and {place}:"
                    f" {events.differences(self.specs[same], spec)}. Maybe rename one"
                )
        return self

    def model(
        self, model: Any, lookups: Mapping[str, float], optimizer: str | Mapping[str, str] | None = None, **options: Any
    ) -> Workload:
        """Adds the tables of a model: of all its collections, in the order of their paths. Ids of weighted collections
        have weights, given by the batch unless weights of options say otherwise.

        A table with an optimizer in the backward pass is not allowed to be data_parallel, since TorchRec would train it
        with the dense optimizer. One of a weighted collection whose weights are learned, computed by a network, may
        only be data_parallel: TorchRec sends weights to the devices of other kinds, and no gradients back. Weights of a
        feature processor, which is inside of TorchRec's FeatureProcessedEmbeddingBagCollection, are not meant.

        model: as for shardtide.torchrec.modules.collections(). A collection under several names is published once
        lookups, optimizer, options: as for tables(). A feature that several tables look up counts for each of them

        ValueError as tables(), if the model has no collection, if two collections have a table of one name, and if a
        table is allowed no kind of shards.
        """
        # Of equal names it says which modules have them.
        modules.table_modules(model)
        of_model = modules.collections(model)
        self.tables([c for of in of_model.values() for c in modules.configs(of)], lookups, optimizer, **options)
        specs = {spec["name"]: spec for spec in self.specs}
        for path, collection in of_model.items():
            in_backward = modules.optimizers_in_backward(collection)
            for spec in (specs[config.name] for config in modules.configs(collection)):
                if modules.is_weighted(collection):
                    spec.setdefault("idWeights", "given")
                is_learned = modules.is_weighted(collection) and spec.get("idWeights") == "learned"
                is_learned = is_learned and not modules.is_processed(model, path)
                allowed = modules.kinds_that_train(spec["name"] in in_backward, is_learned)
                if allowed != KINDS:
                    spec["constraints"] = _with_limits(spec["name"], spec.get("constraints", {}), {"kinds": allowed})
        return self

    def drop(self, names: Iterable[str]) -> Workload:
        """Drops tables that were published, none of them among these."""
        self._dropped += texts(names, "drop", "names of tables")
        return self

    def change(self, source: str = "shardtide-py") -> dict[str, Any]:
        """Returns the WorkloadChange that sets the cluster and the tables, for WorkloadPublisher.

        source: who publishes it, shown to people

        ValueError if it is larger than one event may be, or sets and drops a table.
        """
        changes: list[dict[str, Any]] = [] if self._cluster is None else [{"cluster": self._cluster}]
        changes += [{"table": spec} for spec in self.specs]
        changes += [{"name": name} for name in self._dropped]
        if len(changes) > MAX_CHANGES:
            raise ValueError(f"An event must have at most {MAX_CHANGES} changes, got {len(changes)}")
        return events.workload_change(self._name, changes, source)

    def line(self) -> dict[str, Any]:
        """Returns the object of a line of a file of workloads, for ./shardtide plan make -f."""
        return {"task": self._name, "cluster": self._cluster or {}, "tables": self.specs}


def _entries(given: Mapping[str, Any] | None, name: str, of: str) -> Mapping[str, Any]:
    return mapping({} if given is None else given, name, of)


def spec(
    config: Any, lookups: Mapping[str, float], optimizer: str | None, known: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns the TableSpec of a config.

    known: the arguments of Workload.tables() by table and by feature, and batch_shares: the batch sizes for each sample
        of the cluster's batch
    """
    fields = _fields(config)
    get = fields.get
    name: Any = get("name")
    missing = [field for field in ("name", "num_embeddings", "embedding_dim") if get(field) is None]
    if missing:
        raise ValueError(f"Table {name or 'without a name'} needs {', '.join(missing)}")
    data_type = _named(get("data_type") or "FP32", BYTES, f"data_type of table {name}")
    own = known["optimizer"].get(name, optimizer)
    state = optimizer_name(own) if own is not None else None
    use = dict(mapping(known["profiles"].get(name) or {}, f"The profile of table {name}", "fields of a TableSpec"))
    if use.get("rows", get("num_embeddings")) != get("num_embeddings"):
        raise ValueError(f"The profile of table {name} is of {use['rows']} rows; must be {get('num_embeddings')}")
    features = _features(fields)
    for feature in features:
        _check_lookups(feature, lookups.get(feature, 0.0))
    pooling = _pooling(name, features, lookups, use)
    shares = {feature: _factor("batch_shares", known["batch_shares"], feature) for feature in features}
    repeats = {feature: _factor("duplicates", known["duplicates"], feature) for feature in features}
    described = _described(pooling, shares, repeats)
    # TorchRec cuts rows into blocks of consecutive ones.
    spread = [of for of in use.pop("rowSpread", ()) if of["order"] == "contiguous"]
    if spread:
        use["rowSpread"] = spread
    # All features that share a table are looked up in it.
    use["poolingFactor"] = float(sum(pooling[f] * shares[f] / repeats[f] for f in features))
    element, scale = BYTES[data_type]
    hashed = _storage(known["storage"].get(name), use.get("storage"), name)
    is_pooled = _is_pooled(config, fields)
    limits = dict(mapping(known["constraints"].get(name) or {}, f"The constraints of table {name}", "TableConstraints"))
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
        **(kernel_fields(known["kernels"][name], name) if name in known["kernels"] else {}),
        **use,
        **({"storage": hashed} if hashed is not None else {}),
        **({"features": described} if described else {}),
        **_weights(name, features, known["weights"]),
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


def _factor(name: str, factors: Mapping[str, float], feature: str) -> float:
    """Returns a feature's number of an argument, 1 where it has none; ValueError if it is outside its range."""
    value = factors.get(feature, 1.0)
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
        of = OPTIMIZERS["sgd"] if optimizer is None else OPTIMIZERS[optimizer]
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
