"""Programs that train: they follow plans between steps, and report what steps cost."""

from shardtide.train.follower import PlanFollower, share

__all__ = ["PlanFollower", "share"]
