"""The planner's topics: publishers, subscribers of plans, reports of trainers.

Values are dicts with the fields of the schemas in avro/, errors those of shardtide.errors. examples/python/tour.py is a
publisher and a trainer.
"""

from shardtide.log.log import Log
from shardtide.log.plans import PlanSubscriber
from shardtide.log.publisher import Accepted, Rejected, WorkloadPublisher
from shardtide.log.records import Group, Reader, Record, Sender
from shardtide.log.reports import TrainerReports
from shardtide.log.schemas import UndecodableRecord

__all__ = [
    "Accepted",
    "Group",
    "Log",
    "PlanSubscriber",
    "Reader",
    "Record",
    "Rejected",
    "Sender",
    "TrainerReports",
    "UndecodableRecord",
    "WorkloadPublisher",
]
