"""The tables of a TorchEasyRec configuration: protobuf's text format, its messages FeatureConfig and ModelConfig.

A feature with an embedding has a table: `embedding_name`, or NAME_emb. Features with one embedding_name share it. The
table is of an EmbeddingBagCollection in feature groups of type DEEP and WIDE (then it is NAME_wide), and of an
EmbeddingCollection, unpooled, in groups of type SEQUENCE and JAGGED_SEQUENCE and in `sequence_groups`. A table that is
in both exists twice, the unpooled one as NAME_sequence here. A group's `embedding_name_suffix` is part of its tables'
names. A feature in a sequence_feature is SEQUENCE__NAME; in configurations for RTP, whose feature groups name it so,
SEQUENCE_NAME.

Rows are the first of zch.zch_size, dynamicemb.max_capacity, hash_bucket_size, num_buckets, vocab_list, vocab_dict and
boundaries that a feature of its kind has. Of a vocab_list, two more rows are counted, for the default value and unknown
ids, unless default_bucketize_value is given, and one more of a match_feature. A vocab_file is not read: the caller says
the rows. Tables with zch and dynamicemb are hash tables; TorchEasyRec shards both row-wise only.

embedding_constraints of a feature, or else global_embedding_constraints, are constraints of its table. Ids of a
`weighted` feature have weights, and with them those of all features that share its table: TorchEasyRec sends ones.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from shardtide.arguments import one_of, read_text, shown
from shardtide.imports.imported import Imported, listed
from shardtide.imports.textproto import Message, parse
from shardtide.torchrec.descriptions import KINDS
from shardtide.torchrec.kernels import COMPUTE_KERNELS
from shardtide.torchrec.workload import BYTES

# Tables of WIDE groups have this many columns unless the model's wide_embedding_dim says otherwise.
WIDE_COLUMNS = 4

# sparse_optimizer of TorchEasyRec: the optimizer here.
OPTIMIZERS = {
    "sgd_optimizer": "sgd",
    "adagrad_optimizer": "adagrad",
    "adam_optimizer": "adam",
    "lamb_optimizer": "lamb",
    "partial_rowwise_adam_optimizer": "partial_rowwise_adam",
    "rowwise_adagrad_optimizer": "rowwise_adagrad",
}

_SEQUENCE = "sequence_"

# Fields that say the rows of a table, in the order in which TorchEasyRec looks for them.
_SIZES = (
    "zch",
    "dynamicemb",
    "hash_bucket_size",
    "num_buckets",
    "vocab_list",
    "vocab_dict",
    "vocab_file",
    "boundaries",
)

# Kinds of features, without sequence_, whose rows are said by these fields only.
_SIZES_OF = {
    **{kind: ("boundaries",) for kind in ("raw_feature", "expr_feature", "overlap_feature", "kv_dot_product")},
    "combine_feature": ("num_buckets", "boundaries"),
    "tokenize_feature": ("vocab_file",),
}

# Kinds that always have an embedding.
_ALWAYS_SPARSE = ("id_feature", "combo_feature", "bool_mask_feature", "tokenize_feature")

# Kinds of which a sample has one value unless value_dim says more.
_ONE_VALUE = (
    "raw_feature",
    "lookup_feature",
    "match_feature",
    "custom_feature",
    "combine_feature",
    "overlap_feature",
    "kv_dot_product",
)

# default_value of a feature that does not say it; of others it is empty, in sequences "0".
_DEFAULT_VALUES = {"lookup_feature": "0", "match_feature": "0"}

_POOLING = {"sum": "SUM", "mean": "MEAN"}

# Eviction policies of zch: eviction and bytes of a slot. Each slot has its id, its row and what the policy counts.
_ZCH = {"lfu": ("lfu", 24.0), "lru": ("lru", 24.0), "distance_lfu": ("lfu", 32.0)}

# score_strategy of dynamicemb: which ids it gives up. A program that sets scores itself may do otherwise than lru.
_SCORES = {"TIMESTAMP": "lru", "STEP": "lru", "CUSTOMIZED": "lru", "LFU": "lfu", "NO_EVICTION": "none"}

# Bytes of dynamicemb's key, score and digest of a slot, and of the header of a bucket of so many slots.
_DYNAMIC_SLOT_BYTES = 17.0
_BUCKET_BYTES = 4.0
_BUCKET_SLOTS = 128


class _Feature:
    """A feature.

    name: of the feature; of one in a sequence_feature with the sequence's name
    kind: field of FeatureConfig, without sequence_
    length: greatest number of items of a sequence; None of a feature that is none, 0 if it is not known
    """

    def __init__(self, name: str, kind: str, config: Message, length: int | None):
        self.name = name
        self.kind = kind
        self.config = config
        self.length = length
        self.table = config.text("embedding_name") or f"{name}_emb"
        self.sizes = [size for size in _SIZES_OF.get(kind, _SIZES) if config.fields.get(size)]
        # Others have numbers, autodis or mlp, and no table.
        self.is_sparse = bool(self.sizes) or kind in _ALWAYS_SPARSE
        # Weights of sequences are not read.
        self.is_weighted = kind == "id_feature" and length is None and _flag(config, "weighted")


def read(path: str | pathlib.Path, rows: Mapping[str, int] | None = None) -> Imported:
    """Returns the tables of a configuration; ValueError names the file and the line of what is wrong. OSError.

    rows: by feature, of tables whose rows are in a vocab_file
    """
    text = read_text(path)
    try:
        return tables(parse(text), rows)
    except ValueError as e:
        raise ValueError(f"{path}, {e}" if str(e).startswith("line ") else f"{path}: {e}") from None


def tables(config: Message, rows: Mapping[str, int] | None = None) -> Imported:
    """Returns the tables of a configuration's message; see read(). ValueError says what is wrong."""
    imported = Imported(optimizer=_optimizer(config))
    train = config.message("train_config")
    if train is not None and imported.optimizer is None:
        imported.notes.append(f"sparse_optimizer is none of {', '.join(OPTIMIZERS)}: name the optimizer")
    for_all = train.message("global_embedding_constraints") if train is not None else None
    features, used = _uses(config, imported)
    if not any(feature.is_sparse for feature in features.values()):
        raise ValueError("feature_configs must have at least one feature with an embedding, got none")
    unknown = [name for name in rows or {} if name not in features]
    if unknown:
        raise ValueError(f"rows must be of features in feature_configs, got {listed(unknown)}")
    bags = {(feature.table, suffix) for feature, suffix, is_sequence, wide in used if not is_sequence and not wide}
    for feature, suffix, is_sequence, wide in used:
        name = feature.table + ("_wide" if wide else "") + suffix
        if is_sequence and (feature.table, suffix) in bags:
            imported.notes.append(f"Table {name} is pooled in some feature groups and not in others: it exists twice")
            name += "_sequence"
        imported.add(
            name,
            _rows(feature, rows or {}),
            wide or _columns(feature),
            [feature.name],
            _data_type(feature),
            "NONE" if is_sequence else _pooling(feature),
            _storage(imported, feature),
        )
        _add_lookups(imported, feature)
        _add_constraints(imported, feature, name, for_all)
    _add_weights(imported, {feature.name for feature, *_ in used if feature.is_weighted})
    unused = [
        name for name, feature in features.items() if feature.is_sparse and all(of.name != name for of, *_ in used)
    ]
    if unused:
        imported.notes.append(f"{len(unused)} features are in no feature group and have no table: {listed(unused)}")
    imported.notes = list(dict.fromkeys(imported.notes))
    return imported


def _optimizer(config: Message) -> str | None:
    train = config.message("train_config")
    sparse = train.message("sparse_optimizer") if train is not None else None
    names = [OPTIMIZERS[name] for name in sparse.fields if name in OPTIMIZERS] if sparse is not None else []
    return names[0] if names else None


def _features(config: Message, separator: str) -> Iterator[_Feature]:
    """Yields all features. separator: between the name of a sequence and that of a feature in it"""
    for feature_config in config.messages("feature_configs"):
        for kind in feature_config.fields:
            (feature,) = feature_config.messages(kind)[-1:]
            if kind == "sequence_feature":
                sequence = _named(feature, "sequence_name")
                of_all = feature.whole_number("sequence_length") or 0
                for sub_config in feature.messages("features"):
                    for sub_kind in sub_config.fields:
                        (sub,) = sub_config.messages(sub_kind)[-1:]
                        name = f"{sequence}{separator}{_named(sub, 'feature_name')}"
                        yield _Feature(name, sub_kind, sub, of_all)
            else:
                own_kind = kind.removeprefix(_SEQUENCE)
                is_sequence = own_kind != kind or _flag(feature, "tokens_as_sequence")
                length = (feature.whole_number("sequence_length") or 0) if is_sequence else None
                yield _Feature(_named(feature, "feature_name"), own_kind, feature, length)


def _named(message: Message, field: str) -> str:
    name = message.text(field)
    if not name:
        raise ValueError(f"line {message.line}: {field} must be given")
    return name


def _flag(message: Message, field: str) -> bool:
    return (message.text(field) or "").lower() in ("true", "t", "1")


def _rows(feature: _Feature, given: Mapping[str, int]) -> int:
    """Returns the rows of a feature's table as num_embeddings of TorchEasyRec's features computes them."""
    config = feature.config
    if not feature.sizes:
        raise ValueError(
            f"line {config.line}: feature {feature.name} must have one of"
            f" {', '.join(_SIZES_OF.get(feature.kind, _SIZES[:-1]))}, got none"
        )
    size = feature.sizes[0]
    if size in ("zch", "dynamicemb"):
        field = "zch_size" if size == "zch" else "max_capacity"
        (message,) = config.messages(size)[-1:]
        rows = message.whole_number(field)
        if rows is None:
            raise ValueError(f"line {message.line}: {field} of feature {feature.name} must be given")
        return rows
    if size in ("hash_bucket_size", "num_buckets"):
        return config.whole_number(size) or 0
    has_default = "default_bucketize_value" in config.fields
    if size == "vocab_list":
        return len(config.texts(size)) + (0 if has_default else 2) + (feature.kind == "match_feature")
    if size == "vocab_dict":
        rows_of = {entry.text("key") or "": entry.whole_number("value") or 0 for entry in config.messages(size)}
        default = config.text("default_value") or ("0" if feature.length is not None else "")
        default = default or _DEFAULT_VALUES.get(feature.kind, "")
        if default and not has_default:
            rows_of[default] = 0
        return max(rows_of.values()) + 1
    if size == "boundaries":
        return len(config.texts(size)) + 1
    if feature.name not in given:
        raise ValueError(f"line {config.line}: the rows of feature {feature.name} are in its vocab_file: give the rows")
    of_file = given[feature.name]
    if isinstance(of_file, bool) or not isinstance(of_file, int) or of_file < 1:
        raise ValueError(f"rows of feature {feature.name} must be a whole number from 1, got {shown(of_file)}")
    return of_file


def _storage(imported: Imported, feature: _Feature) -> dict[str, Any] | None:
    size = feature.sizes[0]
    if size not in ("zch", "dynamicemb"):
        return None
    (message,) = feature.config.messages(size)[-1:]
    if size == "zch":
        policy = next((name for name in _ZCH if name in message.fields), None)
        if policy is None:
            policy = "lfu"
            imported.notes.append(
                f"zch of feature {feature.name} has none of {', '.join(_ZCH)}, of which TorchEasyRec needs one: lfu is"
                " taken"
            )
        eviction, slot_bytes = _ZCH[policy]
        return {"slotBytes": slot_bytes, "eviction": eviction}
    score = message.text("score_strategy") or "STEP"
    one_of(score, _SCORES, f"line {message.line}: score_strategy of feature {feature.name}")
    if score == "CUSTOMIZED":
        imported.notes.append(f"The program says which ids of feature {feature.name} are evicted: lru is taken")
    bucket = message.whole_number("bucket_capacity") or _BUCKET_SLOTS
    return {"slotBytes": _DYNAMIC_SLOT_BYTES + _BUCKET_BYTES / bucket, "eviction": _SCORES[score]}


def _add_constraints(imported: Imported, feature: _Feature, table: str, for_all: Message | None) -> None:
    """Adds the constraints of a table and its kernel: of several features that share it the last one's, as
    TorchEasyRec does; where none has some, those for all tables."""
    own = feature.config.message("embedding_constraints")
    is_managed = "zch" in feature.sizes[:1]
    is_dynamic = "dynamicemb" in feature.sizes[:1] and own is None
    if own is not None and is_managed:
        imported.notes.append(
            f"embedding_constraints of feature {feature.name} are left out: TorchEasyRec has none with zch"
        )
        own = None
    if own is None and table in imported.constraints:
        return
    # dynamicemb has its own kernel, which is not among those of for_all.
    message = own if own is not None or is_dynamic else for_all
    kinds = message.texts("sharding_types") if message is not None else []
    kernels = message.texts("compute_kernels") if message is not None else []
    for what, names, known in (("sharding_types", kinds, KINDS), ("compute_kernels", kernels, COMPUTE_KERNELS)):
        if message is not None and names and not set(names) & set(known):
            raise ValueError(
                f"line {message.line}: {what} of table {table} must have one of {', '.join(known)}, got"
                f" {', '.join(names)}"
            )
    limits: dict[str, Any] = {"kinds": [kind for kind in KINDS if kind in kinds]}
    kernel: dict[str, Any] = {}
    supported = [name for name in COMPUTE_KERNELS if name in kernels]
    if len(supported) == 1:
        kernel["computeKernel"] = supported[0]
    elif supported:
        # The planner chooses among dense, which are copies, fused and fused_uvm_caching.
        if "dense" not in supported:
            limits["kinds"] = [kind for kind in limits["kinds"] or KINDS if kind != "data_parallel"]
        if "fused_uvm_caching" not in supported:
            limits["mayBeCached"] = False
    if is_managed or is_dynamic:
        if limits["kinds"] and "row_wise" not in limits["kinds"]:
            raise ValueError(f"sharding_types of table {table} must have row_wise, as a hash table has no other")
        limits["kinds"] = ["row_wise"]
    if is_dynamic:
        (dynamic,) = feature.config.messages("dynamicemb")[-1:]
        share = dynamic.text("cache_load_factor")
        if share is not None:
            kernel["cacheLoadFactor"] = _share(dynamic, share, feature)
    imported.constraints[table] = {name: value for name, value in limits.items() if name != "kinds" or value}
    imported.kernels[table] = kernel


def _share(message: Message, text: str, feature: _Feature) -> float:
    try:
        share = float(text.rstrip("fF"))
    except ValueError:
        share = float("nan")
    if not 0 < share <= 1:
        raise ValueError(
            f"line {message.line}: cache_load_factor of feature {feature.name} must be above 0 and at most 1, got"
            f" {text}"
        )
    return share


def _add_weights(imported: Imported, weighted: set[str]) -> None:
    """Adds weights of features, and of all that share a table with one of them."""
    tables = [config["feature_names"] for config in imported.configs]
    found: set[str] = set()
    while weighted - found:
        found |= weighted
        weighted = {name for names in tables if found & set(names) for name in names}
    imported.weights = {name: "given" for names in tables for name in names if name in found}


def _columns(feature: _Feature) -> int:
    columns = feature.config.whole_number("embedding_dim")
    if not columns:
        raise ValueError(f"line {feature.config.line}: embedding_dim of feature {feature.name} must be above 0")
    return columns


def _data_type(feature: _Feature) -> str:
    what = f"line {feature.config.line}: data_type of feature {feature.name}"
    return one_of(feature.config.text("data_type") or "FP32", BYTES, what)


def _pooling(feature: _Feature) -> str:
    what = f"line {feature.config.line}: pooling of feature {feature.name}"
    return _POOLING[one_of(feature.config.text("pooling") or "sum", _POOLING, what)]


def _uses(config: Message, imported: Imported) -> tuple[dict[str, _Feature], list[tuple[_Feature, str, bool, int]]]:
    """Returns all features by name, and where those with an embedding are used: the feature, the suffix of the table's
    name, whether it is unpooled, and its columns in a WIDE group, else 0. Without feature groups, each feature is used
    once, sequences unpooled. ValueError names what feature groups have that is no feature."""
    model = config.message("model_config")
    groups = model.messages("feature_groups") if model is not None else []
    features = {feature.name: feature for feature in _features(config, "__")}
    if not groups:
        return features, [
            (feature, "", feature.length is not None, 0) for feature in features.values() if feature.is_sparse
        ]
    found: dict[tuple[str, str, bool, int], Message] = {}

    def use(group: Message, suffix: str, is_sequence: bool, wide: int) -> None:
        for name in group.texts("feature_names"):
            found.setdefault((name, suffix, is_sequence, wide), group)

    for group in groups:
        suffix = group.text("embedding_name_suffix") or ""
        kind = group.text("group_type") or "DEEP"
        is_sequence = kind in ("SEQUENCE", "JAGGED_SEQUENCE")
        wide = _wide_columns(model) if kind == "WIDE" else 0
        use(group, f"_{suffix}" if suffix else "", is_sequence, wide)
        for sequence in group.messages("sequence_groups"):
            own = sequence.text("embedding_name_suffix") or suffix
            use(sequence, f"_{own}" if own else "", True, 0)
    unknown = {name: group.line for (name, *_), group in found.items() if name not in features}
    if unknown:
        of_rtp = {feature.name: feature for feature in _features(config, "_")}
        if unknown.keys() & of_rtp.keys():
            features = of_rtp
            imported.notes.append("Feature groups name features of sequences as with USE_RTP=1, which the job must set")
            unknown = {name: group.line for (name, *_), group in found.items() if name not in features}
    if unknown:
        raise ValueError(
            f"line {min(unknown.values())}: feature_names of feature groups must be features of feature_configs, got"
            f" {listed(list(unknown))}"
        )
    return features, [
        (features[name], suffix, is_sequence, wide)
        for name, suffix, is_sequence, wide in found
        if features[name].is_sparse
    ]


def _wide_columns(model: Message | None) -> int:
    """Returns wide_embedding_dim of the model, wherever it is."""
    pending = [] if model is None else [model]
    while pending:
        message = pending.pop()
        columns = message.whole_number("wide_embedding_dim")
        if columns:
            return columns
        pending += [value for values in message.fields.values() for value in values if isinstance(value, Message)]
    return WIDE_COLUMNS


def _add_lookups(imported: Imported, feature: _Feature) -> None:
    """Adds what the configuration says of a feature's lookups: of a sequence the most, else its values."""
    values = feature.config.whole_number("value_dim")
    if feature.length is None:
        if not values and feature.kind not in _ONE_VALUE:
            imported.notes.append(
                "Features without value_dim may have several values; 1 lookup a sample is taken unless lookups say more"
            )
        imported.lookups[feature.name] = float(values or 1)
    elif feature.length:
        imported.notes.append(
            "sequence_length is the greatest length of a sequence; it is taken as lookups a sample unless lookups say"
            " less"
        )
        imported.lookups[feature.name] = float(feature.length * (values or 1))
