"""Imports the tables of other systems: HugeCTR and TorchEasyRec configurations, checkpoints of TorchRec.

Each importer returns Imported: EmbeddingBagConfigs, and what the source says of lookups, hash tables, constraints,
kernels and weights, all arguments of shardtide.torchrec.workload.Workload.tables().
"""

from shardtide.imports.imported import Imported
from shardtide.imports.zipf import zipf_cdf

__all__ = ["Imported", "zipf_cdf"]
