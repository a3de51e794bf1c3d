"""The planner's topics: publishers, subscribers of plans, reports of trainers.

Values are dicts with the fields of the schemas in avro/, errors those of shardtide.errors. examples/python/tour.py is a
publisher and a trainer.
"""

from shardtide.log.log import Log as Log
from shardtide.log.plans import PlanSubscriber as PlanSubscriber
from shardtide.log.publisher import Accepted as Accepted, Rejected as Rejected, WorkloadPublisher as WorkloadPublisher
from shardtide.log.records import Group as Group, Reader as Reader, Record as Record, Sender as Sender
from shardtide.log.reports import TrainerReports as TrainerReports
from shardtide.log.schemas import UndecodableRecord as UndecodableRecord
