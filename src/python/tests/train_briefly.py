"""Starts with a workload's plan, reports the costs of a step, and prints the plan and the counts of reports as JSON.

train_briefly.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX SETTINGS_FILE WORKLOAD
"""

import json
import logging
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.log import Log
from shardtide.train import PlanFollower

bootstrap_servers, registry_url, prefix, settings_file, workload = sys.argv[1:]
logging.basicConfig(format="%(message)s")
settings = json.loads(pathlib.Path(settings_file).read_text(encoding="utf-8"))
try:
    with PlanFollower(Log({"bootstrap.servers": bootstrap_servers, **settings}, {"url": registry_url}, prefix), workload) as plans:
        plan_id = plans.start()["planId"]
        device = {"computeMs": 1.0, "forwardCommMs": 1.0, "backwardCommMs": 1.0}
        plans.measured(step=10, steps=10, devices=[device] * len(plans.running["deviceCosts"]))
        plans.reports.flush(60)
        reports = plans.reports
        print(json.dumps({"plan": plan_id, "sent": reports.sent, "failed": reports.failed, "dropped": reports.dropped}))
except Exception as e:
    sys.exit(f"{type(e).__name__}: {e}")
