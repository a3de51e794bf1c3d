"""A TorchRec model without torch follows plans: prints the plan that it starts with. For each id of a plan on standard input it
waits until that plan was tried, and prints the plan that runs.

follow_without_torch.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX WORKLOAD
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.log import Log
from shardtide.torchrec.changes import changes
from shardtide.torchrec.descriptions import describe
from shardtide.train import PlanFollower


class Model:
    """Plans of any number of devices; knows which it was asked about."""

    def __init__(self):
        self.seen = []

    def prepare(self, plan):
        self.seen.append(plan["planId"])
        running, wanted = (describe(record, reshardable=True) for record in (plans.running, plan))
        return changes(running, wanted)

    def apply(self, prepared):
        pass


plans = PlanFollower(Log({"bootstrap.servers": sys.argv[1]}, {"url": sys.argv[2]}, sys.argv[3]), sys.argv[4])
plans.start()
plans.reports.flush(60)
print("starts with", plans.running["planId"], flush=True)
model = Model()
step = 0
for plan_id in sys.stdin:
    plan_id = plan_id.strip()
    # The plan is in the log; when a reader gets it depends on the cluster.
    while plan_id not in model.seen:
        step += 1
        time.sleep(0.02)
        plans.follow(step, model)
    plans.reports.flush(60)
    print("runs", plans.running["planId"], flush=True)
