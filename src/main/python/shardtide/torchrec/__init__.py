"""Plans of Shardtide as TorchRec's sharding plans, and back; tables of a collection as a workload.

`python -m shardtide.torchrec.publish` publishes the tables of an EmbeddingBagCollection.
"""

from shardtide.torchrec.descriptions import DEFAULT_MODULE, describe
from shardtide.torchrec.resharding import (
    NotReshardable,
    changes,
    from_sharding_plan,
    reshard,
    reshard_arguments,
    reshard_call,
    to_sharding_plan,
    to_sharding_spec,
)

__all__ = [
    "DEFAULT_MODULE",
    "NotReshardable",
    "changes",
    "describe",
    "from_sharding_plan",
    "reshard",
    "reshard_arguments",
    "reshard_call",
    "to_sharding_plan",
    "to_sharding_spec",
]
