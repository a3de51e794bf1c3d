"""Programs that train: they follow plans between steps, and measure and report what steps cost.

PlanFollower takes a job from plan to plan, on all ranks at the same step or on none; a Resharder says how. StepMeter
measures computation and collectives of a step in many. FillReporter reports how full hashed tables are.
measure_dense_memory measures the device memory that a model takes beside its tables, and measure_step_memory what its
tables take. Ranks is how the processes of a job speak to each other. Replication says which of them form the replica
groups of a plan.
"""

from shardtide.train.dense_memory import DenseMemory, measure_dense_memory
from shardtide.train.fill import FillReporter, ShardFill, gather_fills
from shardtide.train.follower import PlanFollower, Resharder, ReshardFailed, WaveResharder
from shardtide.train.meter import StepCosts, StepMeter
from shardtide.train.ranks import RankLost, Ranks
from shardtide.train.replication import Replication, replication_of
from shardtide.train.step_memory import StepMemory, measure_step_memory

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
    "StepMemory",
    "StepMeter",
    "WaveResharder",
    "gather_fills",
    "measure_dense_memory",
    "measure_step_memory",
    "replication_of",
]
