"""Imports the tables of other systems: HugeCTR and TorchEasyRec configurations, checkpoints of TorchRec.

    from shardtide.imports import torcheasyrec

    imported = torcheasyrec.read("mmoe.config")
    lookups = imported.all_lookups({"click_seq": 37.5})
    change = workload_change("feed", imported.configs, lookups, cluster, "adagrad", **imported.options())

Each importer returns Imported: EmbeddingBagConfigs for shardtide.torchrec.publish, and what the source says of
lookups, hash tables, constraints, kernels and weights. `python -m shardtide.imports` writes a workload for
`shardtide plan`, or files for shardtide.torchrec.publish.
"""

from shardtide.imports.imported import Imported, workload
from shardtide.imports.zipf import zipf_cdf

__all__ = ["Imported", "workload", "zipf_cdf"]
