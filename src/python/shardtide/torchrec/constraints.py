"""What TorchRec's sharders and ParameterConstraints allow, as constraints and other fields of a workload's tables.

It looks at their fields only, and imports neither torch nor torchrec.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from shardtide.arguments import mapping, shown
from shardtide.optimizers import optimizer_name
from shardtide.torchrec.descriptions import KINDS
from shardtide.torchrec.kernels import kernel_fields
from shardtide.torchrec.modules import collections, collections_of_paths, configs, is_weighted, unwrapped

# Fields of TableConstraints.
_LIMITS = ("kinds", "leastColumns", "sameDevicesAs", "mayBeCached", "mayHaveHotRows")

_MAX_COLUMNS = 4096

# Fields of ParameterConstraints that plans keep to.
_HONOURED = (
    "sharding_types",
    "compute_kernels",
    "min_partition",
    "pooling_factors",
    "enforce_hbm",
    "feature_names",
    "device_group",
    "is_weighted",
    "cache_params",
    "stochastic_rounding",
    "output_dtype",
    "batch_sizes",
    "num_poolings",
)

_INSTEAD = {
    "bounds_check_mode": "set it in fused_params of the sharder",
    "key_value_params": "tables are in memory of the device or the host",
    "use_virtual_table": "tables are in memory of the device or the host",
}

# Kernels of tables in host memory: if one of them is the only one allowed, the table must have it.
_IN_HOST_MEMORY = ("fused_uvm", "fused_uvm_caching")


class TableRules(NamedTuple):
    """What a plan must keep to for a table.

    limits: fields of TableConstraints
    kernel: kernel and enforceHbm of the TableSpec, where the constraints of TorchRec decide them
    lookups: mean number of lookups per sample, by feature, where the constraints of TorchRec have them
    batch_shares: by feature, its batch_sizes times num_poolings, as a share of the batch of a device, likewise
    """

    limits: dict[str, Any]
    kernel: dict[str, Any]
    lookups: dict[str, float]
    batch_shares: dict[str, float]


def by_module_type(sharders: Iterable[Any]) -> dict[type, Any]:
    """Returns the sharders by the type of module that they shard, as DistributedModelParallel finds them."""
    return {sharder.module_type: sharder for sharder in sharders}


def check_sharders(model: Any, sharders: Iterable[Any]) -> None:
    """Checks that exactly the collections that are planned would be sharded.

    ValueError names each collection that no sharder is for, and each other module that one would shard: TorchRec leaves
    a module unsharded that the plan does not name, and says nothing.
    """
    by_type = by_module_type(sharders)
    found = collections_of_paths(model)
    known = ", ".join(kind.__name__ for kind in by_type) or "none, since there are no sharders"
    problems = [
        f'Module "{path}" is a {type(collection).__name__}, for which there is no sharder; must be one of {known}'
        for path, collection in found.items()
        if type(collection) not in by_type
    ]
    pending = [("", unwrapped(model))]
    while pending:
        path, module = pending.pop()
        if path in found:
            continue
        sharder = by_type.get(type(module))
        if sharder is not None and sharder.shardable_parameters(module):
            problems.append(
                f'Module "{path}" is a {type(module).__name__}, which its sharder would shard and Shardtide does not'
                " plan; leave the sharder out if the module is to be whole on each rank"
            )
        else:
            pending += [(f"{path}.{name}" if path else name, child) for name, child in module.named_children()]
    if problems:
        raise ValueError("; ".join(problems))


def rules_of(
    model: Any, sharders: Iterable[Any], constraints: Mapping[str, Any], device: str, samples: float | None = None
) -> dict[str, TableRules]:
    """Returns what a plan must keep to for each table of a model, of the constraints and of the sharders.

    constraints: by table, ParameterConstraints of TorchRec, or the fields of Shardtide's TableConstraints
    samples: of a device in a batch; None: batch_sizes are not read, since nothing is published

    ValueError names what TorchRec would refuse, and what a plan cannot keep to.
    """
    by_type = by_module_type(sharders)
    problems: list[str] = []
    found: dict[str, TableRules] = {}
    names = set()
    for collection in collections(model).values():
        sharder = by_type[type(collection)]
        allowed = {kind: list(sharder.compute_kernels(kind, device)) for kind in sharder.sharding_types(device)}
        for config in configs(collection):
            names.add(config.name)
            table = _Table(config, collection, type(sharder).__name__, allowed, device, samples)
            try:
                found[config.name] = table.rules(constraints.get(config.name))
            except ValueError as e:
                problems.append(f"Table {config.name}: {e}")
    unknown = sorted(constraints.keys() - names)
    if unknown:
        problems.append(f"constraints must be of tables of the model; {', '.join(unknown)} are not")
    if problems:
        raise ValueError("; ".join(problems))
    return found


class _Table(NamedTuple):
    """A table, and the compute kernels that its sharder allows for each sharding type."""

    config: Any
    collection: Any
    sharder: str
    allowed: dict[str, list[str]]
    device: str
    samples: float | None

    def rules(self, given: Any) -> TableRules:
        if given is None:
            return TableRules(self._limits(None, None, {}), {}, {}, {})
        if isinstance(given, Mapping):
            unknown = given.keys() - set(_LIMITS)
            if unknown:
                raise ValueError(
                    f"constraints must have fields of {', '.join(_LIMITS)}, got {', '.join(sorted(map(str, unknown)))}"
                )
            return TableRules(self._limits(given.get("kinds"), None, given), {}, {}, {})
        if not hasattr(given, "sharding_types"):
            raise ValueError(f"constraints must be ParameterConstraints, or a dict of them, got {shown(given)}")
        self._check_honoured(given)
        more: dict[str, Any] = {}
        if given.min_partition is not None:
            if not isinstance(given.min_partition, int) or given.min_partition < 1:
                raise ValueError(f"min_partition must be an integer of at least 1, got {shown(given.min_partition)}")
            more["leastColumns"] = min(given.min_partition, _MAX_COLUMNS)
        limits = self._limits(given.sharding_types, given.compute_kernels, more)
        # Other kernels are said by limits: fused tables are in device memory and not copied, dense ones are copies.
        in_host = [name for name in _values(given.compute_kernels or ()) if name in _IN_HOST_MEMORY]
        is_in_host = len(in_host) == 1 and len(given.compute_kernels) == 1
        kernel = dataclasses.replace(given, compute_kernels=in_host if is_in_host else None)
        return TableRules(
            limits, kernel_fields(kernel, self.config.name), self._lookups(given), self._batch_shares(given)
        )

    def _limits(
        self, kinds: Sequence[str] | None, kernels: Sequence[str] | None, more: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Returns TableConstraints with more others, for the only kinds and kernels that are allowed; None: all."""
        wanted, only = [getattr(kind, "value", kind) for kind in kinds or KINDS], _values(kernels or ())
        unknown = [shown(kind) for kind in wanted if kind not in KINDS]
        if unknown:
            raise ValueError(f"sharding types must be of {', '.join(KINDS)}, got {', '.join(unknown)}")
        usable = {
            kind: [name for name in self.allowed[kind] if not only or name in only]
            for kind in KINDS
            if kind in self.allowed and kind in wanted
        }
        # Copies have the kernel dense; all else has fused, or a cache beside it, or is in host memory if it must be.
        other = only[0] if len(only) == 1 and only[0] in _IN_HOST_MEMORY else "fused"
        possible = [
            kind for kind, names in usable.items() if ("dense" if kind == "data_parallel" else other) in names
        ]
        if not possible:
            raise ValueError(self._none_left(kinds, kernels, usable))
        found = {**more, "kinds": [] if len(possible) == len(KINDS) else possible}
        if other == "fused" and not any("fused_uvm_caching" in usable[kind] for kind in possible):
            found["mayBeCached"] = False
        return {name: value for name, value in found.items() if name != "kinds" or value}

    def _none_left(
        self, kinds: Sequence[str] | None, kernels: Sequence[str] | None, usable: Mapping[str, list[str]]
    ) -> str:
        if any(usable.values()):
            return (
                f"compute_kernels {', '.join(_values(kernels or ()))} cannot be planned; must have fused, or dense for"
                " data_parallel, beside which fused_uvm_caching may be, or one of fused_uvm and fused_uvm_caching alone"
            )
        given = {"sharding_types": kinds, "compute_kernels": kernels}
        asked = " with ".join(f"{name} {', '.join(_values(values))}" for name, values in given.items() if values)
        has = ", ".join(f"{kind} ({' or '.join(names)})" for kind, names in self.allowed.items()) or "none"
        return f"{asked or 'no sharding type'} is not possible: {self.sharder} has {has} on {self.device}"

    def _check_honoured(self, given: Any) -> None:
        for field in dataclasses.fields(given):
            value = getattr(given, field.name)
            if field.name not in _HONOURED and value != field.default:
                why = _INSTEAD.get(field.name, "Shardtide does not know it")
                raise ValueError(f"{field.name} {shown(value)} cannot be planned; must be left out: {why}")
        names = given.feature_names
        if names is not None and list(names) != self._features():
            raise ValueError(f"feature_names must be {', '.join(self._features())}, got {', '.join(names)}")
        if given.device_group is not None and given.device_group != self.device:
            raise ValueError(f"device_group must be {self.device}, got {given.device_group}")
        if given.is_weighted and not is_weighted(self.collection):
            raise ValueError("is_weighted must be false, since the collection is not weighted")

    def _features(self) -> list[str]:
        # TorchRec uses the table's name for its feature if it names none.
        return list(self.config.feature_names or [self.config.name])

    def _lookups(self, given: Any) -> dict[str, float]:
        factors = list(given.pooling_factors or [])
        if not factors or factors == type(given)().pooling_factors:
            # The default says nothing of the table.
            return {}
        return self._by_feature("pooling_factors", factors)

    def _batch_shares(self, given: Any) -> dict[str, float]:
        ones = [1.0] * len(self._features())
        sizes = self._by_feature("batch_sizes", ones if given.batch_sizes is None else given.batch_sizes)
        poolings = self._by_feature("num_poolings", ones if given.num_poolings is None else given.num_poolings)
        if self.samples is None:
            return {}
        of_batch = 1.0 if given.batch_sizes is None else self.samples
        shares = {feature: size / of_batch * poolings[feature] for feature, size in sizes.items()}
        return {feature: share for feature, share in shares.items() if share != 1}

    def _by_feature(self, field: str, numbers: Sequence[float]) -> dict[str, float]:
        features = self._features()
        if len(numbers) != len(features):
            raise ValueError(f"{field} must have a number for each of the {len(features)} features, got {len(numbers)}")
        return dict(zip(features, numbers))


def merged_batch_shares(rules: Mapping[str, TableRules]) -> dict[str, float]:
    """Returns the batch shares of features; ValueError if a feature has two of them."""
    what = "{} samples for each of the batch by batch_sizes and num_poolings, and {} by those of another table"
    return _merged({}, {table: rule.batch_shares for table, rule in rules.items()}, what)


def merged_lookups(lookups: Mapping[str, float], rules: Mapping[str, TableRules]) -> dict[str, float]:
    """Returns the lookups of features, with those of pooling_factors; ValueError if a feature has two numbers."""
    what = "{} in pooling_factors, and {} in lookups or in those of another table"
    given = mapping(lookups, "lookups", "a number for each feature")
    return _merged(given, {table: rule.lookups for table, rule in rules.items()}, what)


def _merged(given: Mapping[str, float], by_table: Mapping[str, Mapping[str, float]], what: str) -> dict[str, float]:
    found = dict(given)
    for table, numbers in by_table.items():
        for feature, number in numbers.items():
            if found.setdefault(feature, number) != number:
                both = what.format(number, found[feature])
                raise ValueError(f"Feature {feature} of table {table} has {both}; must be equal")
    return found


def optimizers_of(model: Any, sharders: Iterable[Any], from_class: Any) -> dict[str, str]:
    """Returns the optimizer of each table for which the program names one.

    That of apply_optimizer_in_backward comes before the one in fused_params of the sharder, as in TorchRec.

    from_class: returns the EmbOptimType of a class of optimizers: torchrec's optimizer_type_to_emb_opt_type
    """
    by_type = by_module_type(sharders)
    found: dict[str, str] = {}
    for collection in collections(model).values():
        sharder = by_type[type(collection)]
        fused = (sharder.fused_params or {}).get("optimizer")
        for table, parameter in sharder.shardable_parameters(collection).items():
            classes = [kind for kind in getattr(parameter, "_optimizer_classes", []) if kind is not None]
            optimizer = from_class(classes[0]) if classes else fused
            if optimizer is not None:
                found[table] = optimizer_name(optimizer, f"optimizer of table {table}")
    return found


def _values(names: Iterable[Any]) -> list[str]:
    """Returns names, of which some may be members of an enum."""
    return [str(getattr(name, "value", name)) for name in names]
