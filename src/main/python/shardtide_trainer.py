"""Makes a TorchRec model follow the plans of a workload.

On every rank:

    first = torch.distributed.get_rank() == 0
    log = Log("kafka-1:9092", "http://schema-registry:8081") if first else None
    plans = PlanFollower(log, "feed-ranking", share=share)
    model = DistributedModelParallel(net, device=device, plan=to_sharding_plan(plans.start()))
    for step, batch in enumerate(batches):
        if step % 100 == 0:
            plans.follow(step, lambda running, wanted: reshard(model, running, wanted))
        ...

One rank reads the log; what it read is shared, so that all go to the same plan between the same two steps. What became of
a plan is published, and the planner counts its next plan's moves from the one that runs.
"""

import datetime
import uuid

from shardtide_torchrec import NotReshardable, describe


def share(value):
    """Returns the first rank's value on all ranks; value is not looked at on the others."""
    import torch.distributed

    box = [value]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


class PlanFollower:
    """Which plan a model runs, and which it is to run next.

    log: a shardtide_log.Log on the rank that reads; None on all others
    workload: whose plans
    share: gives all ranks the reading rank's value; by default there is one rank
    source: who reports
    options: of shardtide_torchrec.describe, such as module and devices_per_node. Descriptions are reshardable
        unless told otherwise.
    """

    def __init__(self, log, workload, share=lambda value: value, source="torchrec", **options):
        self.running = None
        self._log = log
        self._workload = workload
        self._share = share
        self._source = source
        self._options = {"reshardable": True, **options}
        # Steps count within a run.
        self._run = str(uuid.uuid4())
        self._reader = log.reader("current-plans") if log else None

    def start(self, step=0):
        """Returns the description of the workload's plan, to shard a new model by; LookupError if there is none."""
        latest = None
        if self._reader:
            for record in self._reader.all():
                if record.key == self._workload:
                    latest = record.value
        self.running = self._share(describe(latest, **self._options) if latest else None)
        if self.running is None:
            raise LookupError(f"Workload {self._workload} has no plan")
        self._report("FINISHED_MOVING", self.running, step)
        return self.running

    def follow(self, step, apply):
        """Goes to the newest plan if there is another; returns whether the model runs another plan now.

        To be called on all ranks between the same two steps.

        apply: makes the model go from one description to another; raises NotReshardable if it cannot, after which the
            plan is rejected with that reason, and the model goes on as it is
        """
        wanted = self._share(self._newest())
        if wanted is None or wanted["plan_id"] == self.running["plan_id"]:
            return False
        try:
            apply(self.running, wanted)
        except NotReshardable as e:
            self._report("REJECTED", wanted, step, str(e))
            return False
        self.running = wanted
        self._report("FINISHED_MOVING", wanted, step)
        return True

    def _newest(self):
        """Returns the description of the last plan that came since it was asked last, or None."""
        newest = None
        while self._reader:
            # Training does not wait: what has not arrived yet is there at the next call.
            record = self._reader.poll(0)
            if record is None:
                break
            if record.key == self._workload and record.value:
                newest = describe(record.value, **self._options)
        return newest

    def _report(self, status, description, step, reason=None):
        if self._log:
            self._log.publish(
                "plan-status",
                self._workload,
                {
                    "workloadId": self._workload,
                    "planId": description["plan_id"],
                    "status": status,
                    "step": step,
                    "reason": reason,
                    "source": self._source,
                    "run": self._run,
                    "occurredAt": datetime.datetime.now(datetime.timezone.utc),
                },
            )
