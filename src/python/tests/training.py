"""Two ranks that train in lockstep, follow plans and report costs; for test_outage.py. Needs torch.

training.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX WORKLOAD FOLDER [RANK]

Without RANK it is rank 0 and starts rank 1. Prints an object of JSON a line: every 20 steps of a rank where it is, and
each plan that it goes to. Ends when its standard input does.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import subprocess
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

import torch.distributed

from shardtide.train import PlanFollower, StepMeter

# What a step computes.
STEP_SECONDS = 0.005
REPORTS_THAT_WAIT = 20
CLOSE_SECONDS = 2


class Model:
    """Goes to any plan."""

    def prepare(self, plan):
        return plan

    def apply(self, prepared):
        pass


def main():
    logging.basicConfig(format="%(message)s")
    bootstrap_servers, registry_url, prefix, workload, folder, *rank = sys.argv[1:]
    rank = int(rank[0]) if rank else 0
    child = None
    if rank == 0:
        child = subprocess.Popen([sys.executable, "-B", "-u", *sys.argv, "1"], stdin=subprocess.DEVNULL)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/gloo", rank=rank, world_size=2)
    log = None
    if rank == 0:
        from shardtide.log import Log

        log = Log({"bootstrap.servers": bootstrap_servers}, {"url": registry_url}, prefix)
    ended = threading.Event()
    if rank == 0:
        threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()

    def tell(**what):
        if plans.reports:
            what.update({name: getattr(plans.reports, name) for name in ("sent", "dropped", "failed", "waiting")})
        if durations:
            what["ms"] = round(statistics.median(durations) * 1e3, 3)
            durations.clear()
        line = json.dumps({"rank": rank, "step": step, "plan": plans.running["planId"], **what})
        # In one piece: both ranks write to one pipe.
        os.write(sys.stdout.fileno(), (line + "\n").encode())

    meter = StepMeter(every=5)
    with PlanFollower(log, workload, meter, capacity=REPORTS_THAT_WAIT) as plans:
        step = 0
        durations = []
        plans.start()
        while not plans.ranks.from_first(ended.is_set()):
            step += 1
            begin = time.perf_counter()
            if plans.follow(step, Model()):
                tell(went=True)
            with meter.step(), meter.computation("forward"):
                time.sleep(STEP_SECONDS)
            if step % 10 == 0:
                plans.report(step)
            durations.append(time.perf_counter() - begin)
            # Between two reports.
            if step % 20 == 19:
                tell()
        plans.close(CLOSE_SECONDS)
        tell(closed=True)
    torch.distributed.destroy_process_group()
    if child:
        sys.exit(child.wait())


if __name__ == "__main__":
    main()
