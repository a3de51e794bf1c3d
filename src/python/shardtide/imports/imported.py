"""What an importer found, and the tables and workloads made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shardtide.torchrec.workload import Workload

# Shards have multiples of so many columns.
COLUMN_UNIT = 4

# So many names of a message are listed.
MAX_LISTED = 10


@dataclass
class Imported:
    """The tables of a configuration or a checkpoint.

    configs: a dict with the fields of TorchRec's EmbeddingBagConfig for each table: name, num_embeddings,
        embedding_dim, feature_names, data_type, pooling (NONE: a lookup has an output of its own)
    lookups: mean number of lookups per sample, by feature, where the source says it
    storage: of tables that are hash tables, by name: fields of a HashedStorage. Their num_embeddings are slots
    constraints, kernels: by table, what the source demands of its plan: as for Workload.tables()
    weights: "given" by feature whose ids have weights
    optimizer: one of shardtide.optimizers.OPTIMIZERS, if the source names it
    notes: sentences on what the source does not say, and what is taken instead
    """

    configs: list[dict[str, Any]] = field(default_factory=list)
    lookups: dict[str, float] = field(default_factory=dict)
    storage: dict[str, dict[str, Any]] = field(default_factory=dict)
    constraints: dict[str, dict[str, Any]] = field(default_factory=dict)
    kernels: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    optimizer: str | None = None
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        rows: int,
        columns: int,
        features: list[str],
        data_type: str,
        pooling: str,
        storage: dict[str, Any] | None = None,
    ) -> None:
        """Adds a table, or features to a table of the same name.

        Columns are rounded up to a multiple of 4, and noted. ValueError if a table of the name has another size or
        storage.
        """
        rounded = -(-columns // COLUMN_UNIT) * COLUMN_UNIT
        if rounded != columns:
            self.notes.append(
                f"Table {name} has {columns} columns; planned as {rounded}, as shards have multiples of {COLUMN_UNIT}"
            )
        config = {
            "name": name,
            "num_embeddings": rows,
            "embedding_dim": rounded,
            "feature_names": list(features),
            "data_type": data_type,
            "pooling": pooling,
        }
        same = next((other for other in self.configs if other["name"] == name), None)
        if same is None:
            self.configs.append(config)
            if storage is not None:
                self.storage[name] = storage
            return
        before, now = {**same, "storage": self.storage.get(name)}, {**config, "storage": storage}
        for what in ("num_embeddings", "embedding_dim", "data_type", "pooling", "storage"):
            if before[what] != now[what]:
                raise ValueError(
                    f"Features that share table {name} must agree on its {what}, got {before[what]} of"
                    f" {same['feature_names'][0]} and {now[what]} of {features[0]}"
                )
        same["feature_names"] += [feature for feature in features if feature not in same["feature_names"]]

    def all_lookups(self, given: Mapping[str, float] | None = None, default: float | None = None) -> dict[str, float]:
        """Returns the lookups of all features: those given, then those of the source, then the default.

        ValueError names features that have none, and given ones that do not exist.
        """
        features = [feature for config in self.configs for feature in config["feature_names"]]
        given = dict(given or {})
        unknown = sorted(set(given) - set(features))
        if unknown:
            raise ValueError(f"lookups must be of features of the tables, got {listed(unknown)}")
        found = {**self.lookups, **given}
        missing = [feature for feature in dict.fromkeys(features) if feature not in found]
        if missing and default is None:
            raise ValueError(
                f"lookups must have a number for each feature whose lookups the source does not say, {listed(missing)}"
                " have none. Maybe give a default"
            )
        return {feature: found.get(feature, default or 0.0) for feature in dict.fromkeys(features)}

    def tables(
        self,
        lookups: Mapping[str, float],
        optimizer: str | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        """Returns the TableSpecs.

        lookups: of all features, see all_lookups()
        optimizer: in place of the source's
        profiles: as for Workload.tables()
        """
        named = optimizer or self.optimizer
        return Workload("").tables(self.configs, lookups, named, profiles=profiles, **self.options()).specs

    def options(self) -> dict[str, dict[str, Any]]:
        """Returns further arguments of Workload.tables(): all but configs, lookups, the optimizer and profiles."""
        return {
            "storage": self.storage,
            "constraints": self.constraints,
            "kernels": self.kernels,
            "weights": self.weights,
        }


def listed(names: list[str]) -> str:
    """Returns names as messages list them: the first ten, and how many more there are."""
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more
