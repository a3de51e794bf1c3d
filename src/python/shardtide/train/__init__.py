"""Programs that train: they follow plans between steps, and measure and report what steps cost."""

from shardtide.train.dense_memory import DenseMemory, measure_dense_memory
from shardtide.train.fill import FillReporter, ShardFill, gather_fills
from shardtide.train.follower import PlanFollower, Resharder, ReshardFailed, WaveResharder
from shardtide.train.meter import StepCosts, StepMeter
from shardtide.train.ranks import RankLost, Ranks
from shardtide.train.replication import Replication, replication_of

__all__ = [
    "DenseMemory",
    "FillReporter",
    "PlanFollower",
    "RankLost",
    "Ranks",
    "Replication",
    "ReshardFailed",
    "Resharder",
    "ShardFill",
    "StepCosts",
    "StepMeter",
    "WaveResharder",
    "gather_fills",
    "measure_dense_memory",
    "replication_of",
]
