"""Processes that run scenarios, one for each rank, with gloo.

They are forks of the test's process, which has imported TorchRec: that takes seconds. Separate ones are started by
themselves, as a launcher starts ranks: python -B -m torchrec_real.ranks SCENARIO RANK RANKS FOLDER ARGUMENT
"""

from __future__ import annotations

import datetime
import json
import logging
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from typing import Any

from shardtide.torchrec.modules import HOSTS_OF_A_NODE

TESTS = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent


def quiet() -> None:
    """Keeps the log from what TorchRec and FBGEMM say of CPUs."""
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")


def run(
    scenario: str,
    ranks: int,
    per_host: int,
    argument: Any,
    separate: bool = False,
    timeout_seconds: float = 300,
    hosts: int | None = None,
) -> Any:
    """Runs a function of scenarios.py on all ranks, and returns what rank 0 returned.

    per_host: ranks of a host, which is a node
    argument: for the function; JSON
    hosts: hosts of a node instead, which TorchRec is told
    separate: whether ranks are processes with nothing in common, such as the seed of Python's hashes

    AssertionError with the errors of the ranks that failed; all others are ended.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {"LOCAL_WORLD_SIZE": str(per_host), "OMP_NUM_THREADS": "1"}
        if hosts is not None:
            environment.update(dict.fromkeys(HOSTS_OF_A_NODE, str(hosts)))
        processes: list[Any] = []
        for rank in range(ranks):
            command = [scenario, str(rank), str(ranks), name, json.dumps(argument)]
            processes.append(_separate(command, environment) if separate else _fork(command, environment))
        end = time.monotonic() + timeout_seconds
        try:
            while any(_status(process) is None for process in processes) and time.monotonic() < end:
                time.sleep(0.02)
                if any(_status(process) for process in processes):
                    # The others may say what they met, too.
                    time.sleep(1)
                    break
        finally:
            unfinished = [rank for rank, process in enumerate(processes) if _status(process) is None]
            statuses = [_status(process) for process in processes]
            for process in processes:
                process.kill()
                (process.wait if separate else process.join)()
        errors = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("error*"))]
        if errors or unfinished or any(statuses):
            raise AssertionError(f"{scenario}: statuses {statuses}, unfinished {unfinished}\n" + "\n".join(errors))
        return json.loads((folder / "result").read_text(encoding="utf-8"))


def _status(process: Any) -> int | None:
    return process.poll() if isinstance(process, subprocess.Popen) else process.exitcode


def _separate(command: list[str], environment: dict[str, str]) -> Any:
    paths = os.pathsep.join([str(TESTS), str(PACKAGE)])
    return subprocess.Popen(
        [sys.executable, "-B", "-m", "torchrec_real.ranks", *command],
        env={**os.environ, **environment, "PYTHONPATH": paths},
        cwd=TESTS,
    )


def _fork(command: list[str], environment: dict[str, str]) -> Any:
    process = multiprocessing.get_context("fork").Process(target=_rank, args=(command, environment), daemon=True)
    process.start()
    return process


def _rank(command: list[str], environment: dict[str, str]) -> None:
    """Runs a scenario as a rank, and ends the process."""
    os.environ.update(environment)
    scenario, rank, ranks, folder, argument = command
    try:
        quiet()
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        dist.init_process_group(
            "gloo",
            init_method=f"file://{folder}/store",
            rank=int(rank),
            world_size=int(ranks),
            timeout=datetime.timedelta(seconds=120),
        )
        from torchrec_real import scenarios

        result = getattr(scenarios, scenario)(json.loads(argument))
        if rank == "0":
            pathlib.Path(folder, "result").write_text(json.dumps(result), encoding="utf-8")
        dist.barrier()
    except BaseException:
        pathlib.Path(folder, f"error{rank}").write_text(f"rank {rank}: {traceback.format_exc()}", encoding="utf-8")
        os._exit(1)
    # Threads of gloo may still wait.
    os._exit(0)


if __name__ == "__main__":
    _rank(sys.argv[1:], {})
