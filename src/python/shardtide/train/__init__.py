"""Programs that train: they follow plans between steps, and measure and report what steps cost."""

from shardtide.train.dense_memory import DenseMemory as DenseMemory, measure_dense_memory as measure_dense_memory
from shardtide.train.fill import FillReporter as FillReporter, ShardFill as ShardFill, gather_fills as gather_fills
from shardtide.train.follower import PlanFollower as PlanFollower, Resharder as Resharder
from shardtide.train.follower import ReshardFailed as ReshardFailed, WaveResharder as WaveResharder
from shardtide.train.meter import StepCosts as StepCosts, StepMeter as StepMeter
from shardtide.train.ranks import RankLost as RankLost, Ranks as Ranks
from shardtide.train.replication import Replication as Replication, replication_of as replication_of
