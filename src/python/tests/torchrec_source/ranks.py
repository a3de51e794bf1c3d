"""Processes that run a scenario, one for each rank, with gloo.

python -B -m torchrec_source.ranks SCENARIO RANK RANKS FOLDER ARGUMENT
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

TESTS = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent


def run(
    scenario: str, ranks: int, per_host: int, argument: Any, timeout_seconds: float = 300, hosts: int | None = None
) -> Any:
    """Runs a function of scenarios.py on all ranks, and returns what rank 0 returned.

    per_host: ranks of a host, which is a node
    hosts: hosts of a node instead, which TorchRec is told
    argument: for the function; JSON

    AssertionError with the errors of the ranks that failed; all others are ended.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {
            **os.environ,
            "LOCAL_WORLD_SIZE": str(per_host),
            **({} if hosts is None else {"TOPOLOGY_DOMAIN_MULTIPLE": str(hosts)}),
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(PACKAGE)]),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-B", "-m", "torchrec_source.ranks", scenario]
        processes = [
            subprocess.Popen([*command, str(rank), str(ranks), name, json.dumps(argument)], env=environment, cwd=TESTS)
            for rank in range(ranks)
        ]
        end = time.monotonic() + timeout_seconds
        try:
            while any(process.poll() is None for process in processes) and time.monotonic() < end:
                time.sleep(0.05)
                if any(process.poll() for process in processes):
                    # The others may say what they met, too.
                    time.sleep(1)
                    break
        finally:
            unfinished = [rank for rank, process in enumerate(processes) if process.poll() is None]
            for process in processes:
                process.kill()
                process.wait()
        errors = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("error*"))]
        if errors or unfinished:
            raise AssertionError(f"{scenario}: ranks {unfinished} did not end\n" + "\n".join(errors))
        return json.loads((folder / "result").read_text(encoding="utf-8"))


def main() -> None:
    scenario, rank, ranks, folder, argument = sys.argv[1:]
    try:
        import logging
        import warnings

        logging.disable(logging.CRITICAL)
        warnings.filterwarnings("ignore")
        import torch
        import torch.distributed as dist
        import torchrec_source

        torch.set_num_threads(1)
        torchrec_source.install()
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=int(rank), world_size=int(ranks))
        from torchrec_source import scenarios

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
    main()
