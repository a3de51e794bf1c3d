"""Measures how a training job's lookups spread over the rows of its tables, from batches of ids.

One pass over the ids, in bounded memory (`rows`): exact for tables of up to 16 million rows, and for larger ones of
which the stream uses up to 700,000; else an estimate with a standard error. `bags` says which forms ids may have. Needs
numpy; Parquet files need pyarrow. docs/PROFILES.md has examples.
"""

from shardtide.profile.bags import Bags, bags
from shardtide.profile.growth import HashTableProfile, TableGrowth
from shardtide.profile.order import RowOrder
from shardtide.profile.profiler import Profiler, TableProfile, TableUse

__all__ = [
    "Bags",
    "HashTableProfile",
    "Profiler",
    "RowOrder",
    "TableGrowth",
    "TableProfile",
    "TableUse",
    "bags",
]
