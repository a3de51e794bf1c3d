"""Time of a device's work, for whoever measures a step and for shardtide.collect, so that both measure alike."""

from __future__ import annotations

import time
from typing import Any


class Clock:
    """Marks points of a device's work, and tells the time between two of them.

    On a GPU a mark is a CUDA event, and nothing waits for the device before the time is asked for. On a CPU, computation
    is counted in processor time of the calling thread, as ranks may share cores; where PyTorch uses several threads, and
    for all else than computation, by the clock.

    device: a torch.device; None is the CPU
    computes: whether it is computation that is timed
    """

    def __init__(self, device: Any, computes: bool):
        self._device = device
        self.cuda = device is not None and device.type == "cuda"
        self._seconds = time.thread_time if computes and _computes_on_one_thread() else time.perf_counter

    def now(self) -> Any:
        if not self.cuda:
            return self._seconds()
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def ms(self, begin: Any, end: Any) -> float:
        """Returns the milliseconds between two marks; on a GPU, waits until the work before the second one is done."""
        if not self.cuda:
            return float(end - begin) * 1e3
        end.synchronize()
        return float(begin.elapsed_time(end))

    def is_ahead(self, mark: Any) -> bool:
        """Returns whether a GPU has yet to reach a mark; false on a CPU, which waits for its work."""
        return self.cuda and not mark.query()


def _computes_on_one_thread() -> bool:
    try:
        import torch
    except ModuleNotFoundError:
        return True
    return torch.get_num_threads() == 1
