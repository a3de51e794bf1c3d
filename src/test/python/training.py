"""Two ranks that train in lockstep, follow plans and report costs; for test_outage.py.

training.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX WORKLOAD gloo|pipe FOLDER [RANK]

Without RANK it is rank 0 and starts rank 1. gloo: torch.distributed shares values; pipe: a pipe does. Prints an object
of JSON a line: every 20 steps of a rank where it is, and each plan that it goes to. Ends when its standard input does.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/main/python"))

from shardtide.torchrec import changes
from shardtide.train import PlanFollower, share

# What a step computes.
STEP_SECONDS = 0.005
REPORTS_THAT_WAIT = 20
CLOSE_SECONDS = 2


def pipe_share(rank):
    """Returns a share() of two processes; it returns on each once both have called it, as a collective does."""
    here, there = 3 + rank, 5 + rank
    incoming, outgoing = os.fdopen(here, encoding="utf-8"), os.fdopen(there, "w", encoding="utf-8")

    def shared(value):
        outgoing.write(json.dumps(value if rank == 0 else None) + "\n")
        outgoing.flush()
        received = json.loads(incoming.readline())
        return value if rank == 0 else received

    return shared


def start_rank_1(how):
    """Starts rank 1; connects it with this process through the file descriptors that pipe_share takes."""
    if how == "gloo":
        return subprocess.Popen([sys.executable, "-B", "-u", *sys.argv, "1"], stdin=subprocess.DEVNULL)
    from_1, to_0 = os.pipe()
    from_0, to_1 = os.pipe()
    # 3 and 5 are read and written here, 4 and 6 there; high ones first, so that none is closed before it is copied.
    high = [os.dup2(fd, 20 + i) for i, fd in enumerate((from_1, from_0, to_1, to_0))]
    for number, fd in zip((3, 4, 5, 6), high):
        os.dup2(fd, number, inheritable=True)
    child = subprocess.Popen([sys.executable, "-B", "-u", *sys.argv, "1"], stdin=subprocess.DEVNULL, pass_fds=(4, 6))
    for fd in (4, 6, *high):
        os.close(fd)
    return child


def main():
    logging.basicConfig(format="%(message)s")
    bootstrap_servers, registry_url, prefix, workload, how, folder, *rank = sys.argv[1:]
    rank = int(rank[0]) if rank else 0
    child = start_rank_1(how) if rank == 0 else None
    if how == "gloo":
        import torch.distributed

        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/gloo", rank=rank, world_size=2)
        shared = share
    else:
        shared = pipe_share(rank)
    log = None
    if rank == 0:
        from shardtide.log import Log

        log = Log(bootstrap_servers, registry_url, prefix)
    ended = threading.Event()
    if rank == 0:
        threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()

    def tell(**what):
        if plans.reports:
            what.update({name: getattr(plans.reports, name) for name in ("sent", "dropped", "failed", "waiting")})
        line = json.dumps({"rank": rank, "step": step, "plan": plans.running["plan_id"], **what})
        # In one piece: both ranks write to one pipe.
        os.write(sys.stdout.fileno(), (line + "\n").encode())

    with PlanFollower(log, workload, share=shared, capacity=REPORTS_THAT_WAIT) as plans:
        step = 0
        plans.start()
        while not shared(ended.is_set()):
            step += 1
            if plans.follow(step, changes):
                tell(went=True)
            time.sleep(STEP_SECONDS)
            if step % 10 == 0:
                device = {"computeMs": 1.0, "forwardCommMs": 1.0, "backwardCommMs": 1.0}
                plans.measured(step, 10, [device] * plans.running["world_size"])
            # Between two reports.
            if step % 20 == 19:
                tell()
        plans.close(CLOSE_SECONDS)
        tell(closed=True)
    if how == "gloo":
        torch.distributed.destroy_process_group()
    if child:
        sys.exit(child.wait())


if __name__ == "__main__":
    main()
