"""The tables of a TorchEasyRec configuration: protobuf's text format, its messages FeatureConfig and ModelConfig.

A feature with an embedding has a table: `embedding_name`, or NAME_emb. Features with one embedding_name share it. The
table is of an EmbeddingBagCollection in feature groups of type DEEP and WIDE (then it is NAME_wide), and of an
EmbeddingCollection, unpooled, in groups of type SEQUENCE and JAGGED_SEQUENCE and in `sequence_groups`. A table that is
in both exists twice, the unpooled one as NAME_sequence here. A group's `embedding_name_suffix` is part of its tables'
names.

Rows are the first of zch.zch_size, dynamicemb.max_capacity, hash_bucket_size, num_buckets, vocab_list, vocab_dict and
boundaries that a feature has. Of a vocab_list, two more rows are counted, for the default value and unknown ids, unless
default_bucketize_value is given. A vocab_file is not read: the caller says the rows.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping

from shardtide.arguments import read_text, shown
from shardtide.imports.imported import Imported, listed
from shardtide.imports.textproto import Message, parse
from shardtide.torchrec.publish import BYTES

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

# Fields of which a feature with ids has one.
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
_POOLING = {"sum": "SUM", "mean": "MEAN"}


class _Feature:
    """A feature with an embedding.

    name: of the feature; of one in a sequence_feature SEQUENCE__NAME
    length: greatest number of items of a sequence; None of a feature that is none, 0 if it is not known
    """

    def __init__(self, name: str, config: Message, length: int | None):
        self.name = name
        self.config = config
        self.length = length
        self.table = config.text("embedding_name") or f"{name}_emb"


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
    if config.message("train_config") is not None and imported.optimizer is None:
        imported.notes.append(f"sparse_optimizer is none of {', '.join(OPTIMIZERS)}: name the optimizer")
    features = {feature.name: feature for feature in _features(config)}
    if not features:
        raise ValueError("feature_configs must have at least one feature with an embedding, got none")
    used = _uses(config, features)
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
        )
        _add_lookups(imported, feature)
    unused = [name for name in features if all(feature.name != name for feature, *_ in used)]
    if unused:
        imported.notes.append(f"{len(unused)} features are in no feature group and have no table: {listed(unused)}")
    if any(feature.config.message("embedding_constraints") for feature, *_ in used):
        imported.notes.append("embedding_constraints are not imported: a plan may shard these tables in any way")
    imported.notes = list(dict.fromkeys(imported.notes))
    return imported


def _optimizer(config: Message) -> str | None:
    train = config.message("train_config")
    sparse = train.message("sparse_optimizer") if train is not None else None
    names = [OPTIMIZERS[name] for name in sparse.fields if name in OPTIMIZERS] if sparse is not None else []
    return names[0] if names else None


def _features(config: Message) -> Iterator[_Feature]:
    """Yields all features with an embedding."""
    for feature_config in config.messages("feature_configs"):
        for kind in feature_config.fields:
            (feature,) = feature_config.messages(kind)[-1:]
            if kind == "sequence_feature":
                sequence = _named(feature, "sequence_name")
                of_all = feature.whole_number("sequence_length") or 0
                for sub_config in feature.messages("features"):
                    for sub_kind in sub_config.fields:
                        (sub,) = sub_config.messages(sub_kind)[-1:]
                        if _is_sparse(sub):
                            yield _Feature(f"{sequence}__{_named(sub, 'feature_name')}", sub, of_all)
            elif _is_sparse(feature):
                length = (feature.whole_number("sequence_length") or 0) if kind.startswith(_SEQUENCE) else None
                yield _Feature(_named(feature, "feature_name"), feature, length)


def _named(message: Message, field: str) -> str:
    name = message.text(field)
    if not name:
        raise ValueError(f"line {message.line}: {field} must be given")
    return name


def _is_sparse(config: Message) -> bool:
    """Returns whether a feature has ids, and so an embedding table; numbers, autodis and mlp have none."""
    return any(size in config.fields for size in _SIZES)


def _rows(feature: _Feature, given: Mapping[str, int]) -> int:
    config = feature.config
    for field, size in (("zch", "zch_size"), ("dynamicemb", "max_capacity")):
        message = config.message(field)
        if message is not None:
            rows = message.whole_number(size)
            if rows is None:
                raise ValueError(f"line {message.line}: {size} of feature {feature.name} must be given")
            return rows
    for field in ("hash_bucket_size", "num_buckets"):
        buckets = config.whole_number(field)
        if buckets is not None:
            return buckets
    extra = 0 if "default_bucketize_value" in config.fields else 2
    if "vocab_list" in config.fields:
        return len(config.texts("vocab_list")) + extra
    if "vocab_dict" in config.fields:
        return max(1, *(entry.whole_number("value") or 0 for entry in config.messages("vocab_dict"))) + 1
    if "boundaries" in config.fields:
        return len(config.texts("boundaries")) + 1
    if feature.name not in given:
        raise ValueError(f"line {config.line}: the rows of feature {feature.name} are in its vocab_file: give the rows")
    of_file = given[feature.name]
    if isinstance(of_file, bool) or not isinstance(of_file, int) or of_file < 1:
        raise ValueError(f"rows of feature {feature.name} must be a whole number from 1, got {shown(of_file)}")
    return of_file


def _columns(feature: _Feature) -> int:
    columns = feature.config.whole_number("embedding_dim")
    if not columns:
        raise ValueError(f"line {feature.config.line}: embedding_dim of feature {feature.name} must be above 0")
    return columns


def _data_type(feature: _Feature) -> str:
    data_type = feature.config.text("data_type") or "FP32"
    if data_type not in BYTES:
        raise ValueError(
            f"line {feature.config.line}: data_type of feature {feature.name} must be one of {', '.join(BYTES)},"
            f" got {data_type}"
        )
    return data_type


def _pooling(feature: _Feature) -> str:
    pooling = feature.config.text("pooling") or "sum"
    if pooling not in _POOLING:
        raise ValueError(
            f"line {feature.config.line}: pooling of feature {feature.name} must be sum or mean, got {pooling}"
        )
    return _POOLING[pooling]


def _uses(config: Message, features: dict[str, _Feature]) -> list[tuple[_Feature, str, bool, int]]:
    """Returns where features are used: the feature, the suffix of the table's name, whether it is unpooled, and its
    columns in a WIDE group, else 0. Without feature groups, each feature is used once, sequences unpooled."""
    model = config.message("model_config")
    groups = model.messages("feature_groups") if model is not None else []
    if not groups:
        return [(feature, "", feature.length is not None, 0) for feature in features.values()]
    found: dict[tuple[str, str, bool, int], None] = {}

    def use(group: Message, suffix: str, is_sequence: bool, wide: int) -> None:
        for name in group.texts("feature_names"):
            found[(name, suffix, is_sequence, wide)] = None

    for group in groups:
        suffix = group.text("embedding_name_suffix") or ""
        kind = group.text("group_type") or "DEEP"
        is_sequence = kind in ("SEQUENCE", "JAGGED_SEQUENCE")
        wide = _wide_columns(model) if kind == "WIDE" else 0
        use(group, f"_{suffix}" if suffix else "", is_sequence, wide)
        for sequence in group.messages("sequence_groups"):
            own = sequence.text("embedding_name_suffix") or suffix
            use(sequence, f"_{own}" if own else "", True, 0)
    return [
        (features[name], suffix, is_sequence, wide)
        for name, suffix, is_sequence, wide in found
        if name in features
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
        if not values:
            imported.notes.append(
                "Features without value_dim may have several values; 1 lookup a sample is taken unless lookups say"
                " more"
            )
        imported.lookups[feature.name] = float(values or 1)
    elif feature.length:
        imported.notes.append(
            "sequence_length is the greatest length of a sequence; it is taken as lookups a sample unless lookups say"
            " less"
        )
        imported.lookups[feature.name] = float(feature.length * (values or 1))
