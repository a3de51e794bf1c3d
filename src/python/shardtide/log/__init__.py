"""The planner's topics: publishers, subscribers of plans, reports of trainers.

    log = Log({"bootstrap.servers": "kafka-1:9092"}, {"url": "http://schema-registry:8081"})
    outcome = WorkloadPublisher(log).publish_and_wait(change)
    with PlanSubscriber(log, "feed-ranking") as plans, TrainerReports(log, "feed-ranking") as reports:
        plan = plans.get(timeout=60)
        reports.adopted(plan["planId"], step=0)

Values are dicts with the fields of the schemas in avro/. Errors are those of shardtide.errors. `python -m shardtide.log` shows plans.
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
