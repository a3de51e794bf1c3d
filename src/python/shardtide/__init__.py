"""Shardtide for PyTorch: sharding plans of embedding tables, live from Kafka.

| subpackage | for |
|---|---|
| shardtide.log | the topics of the planner: publish tables, read plans, report costs |
| shardtide.profile | statistics of ids, which costs depend on |
| shardtide.collect | measuring devices, for a cost model of them |
| shardtide.train | programs that train: follow plans between steps, measure and report costs; dense memory |
| shardtide.waves | the moves of a plan in waves that yield to training |
| shardtide.torchrec | plans as TorchRec's sharding plans, and resharding of a TorchRec model |

train uses log, torchrec uses both, and collect the ranks and the clock of train; profile uses none of them. train
uses waves, which uses none. Importing a subpackage imports only what it needs: PyTorch, TorchRec and Kafka's client are
imported by what uses them.
"""

# That of pom.xml, as Python writes it; a test compares them.
__version__ = "0.2.0"
