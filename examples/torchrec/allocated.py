"""Measures the device memory that the tables of a model take while it trains: what a plan predicts of each device."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

from shardtide.train.dense_memory import storages, tensors_in, tensors_of

# Names the steps that are measured, for PyTorch's profiler.
_MEASURED = "shardtide measured steps"

# Operators of the library that sends: its own buffers are no tensors of the program. NCCL allocates its buffers itself.
_BACKENDS = ("gloo:", "c10d::", "nccl:")


class StepMemory(NamedTuple):
    """Device memory of a training program on one rank, without the dense parameters, in bytes.

    held_bytes: what is allocated between two steps: weights and optimizer state of the tables, batches in flight
    peak_bytes: the most that is allocated during a step; at least held_bytes
    """

    held_bytes: int
    peak_bytes: int


def measure_step_memory(
    step: Callable[[], object],
    model: Any,
    tables: Any,
    warmup: int = 4,
    steps: int = 2,
    device: Any = None,
) -> StepMemory:
    """Runs training steps and returns the device memory that they take on this rank, without the dense parameters.

    Compare peak_bytes with the memory of this rank's device in the plan (memory_bytes of ./shardtide plan, memoryBytes
    of a plan's deviceCosts), in a cluster that names its pipeline. Activations of the dense model count too: to check a
    plan, train the tables with a dense model of one layer.

    Call it on all ranks. On CUDA the peak is that of PyTorch's allocator. On CPUs PyTorch's profiler reports each
    allocation and each deallocation, those in the operators of FBGEMM too; memory that such an operator takes without
    PyTorch's allocator is left out, and so are the buffers of gloo, which has others than NCCL.

    step: runs a training step; its result is dropped
    model: a torch.nn.Module with the dense part and the tables, such as a DistributedModelParallel
    tables: the modules or parameters of the model that are tables, or one of them
    warmup: number of steps before those that are measured, at least 1. A pipeline needs 4 until all that it allocated
        when it was filled is freed
    steps: number of steps that are measured, at least 1
    device: a torch.device of the memory that is measured; None is the one of the first parameter

    ValueError if a number is out of range, or a table is no part of the model. Errors of a step are raised as they are.
    """
    import torch

    for name, value in (("warmup", warmup), ("steps", steps)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    parts = [tables] if isinstance(tables, (torch.nn.Module, torch.Tensor)) else list(tables)
    of_tables = {id(tensor) for tensor in tensors_of(model, parts, "tables")}
    if device is None:
        device = next(model.parameters()).device
    kind = torch.device(device).type
    if kind == "cuda":
        for _ in range(warmup):
            step()
        torch.cuda.reset_peak_memory_stats(device)
        for _ in range(steps):
            step()
        held, peak = torch.cuda.memory_allocated(device), torch.cuda.max_memory_allocated(device)
    else:
        more = _most_more(step, warmup, steps)
        gc.collect()
        held = sum(storages(_live_tensors(), kind).values())
        peak = held + more
    dense = sum(
        tensor.numel() * tensor.element_size()
        for parameter in model.parameters()
        if id(parameter) not in of_tables
        for tensor in tensors_in([parameter, parameter.grad])
        if tensor.device.type == kind
    )
    return StepMemory(held - dense, peak - dense)


def _live_tensors() -> list[Any]:
    import torch
    from torch.distributed._shard.sharded_tensor import ShardedTensor

    # By type, since an object's __class__ may be code of anybody.
    kinds = [(value, type(value)) for value in gc.get_objects()]
    return [value for value, kind in kinds if issubclass(kind, torch.Tensor) and not issubclass(kind, ShardedTensor)]


def _most_more(step: Callable[[], object], warmup: int, steps: int) -> int:
    """Runs steps on a CPU, and returns how many more bytes than at their end were allocated at most.

    The profiler does not see how what was allocated before it began is freed: steps of the warmup come between.
    """
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        for _ in range(warmup):
            step()
        with record_function(_MEASURED):
            for _ in range(steps):
                step()
    changes = []
    begin = 0
    events = [(event, False) for event in profiler.profiler.kineto_results.experimental_event_tree()]
    while events:
        event, in_backend = events.pop()
        if event.tag.name == "Allocation":
            allocation = event.extra_fields
            changes.append((event.start_time_ns, allocation.ptr, allocation.alloc_size, in_backend))
        elif event.name == _MEASURED:
            begin = event.start_time_ns
        else:
            in_backend = in_backend or event.name.startswith(_BACKENDS)
        events += [(child, in_backend) for child in event.children]
    total = most = 0
    of_backend = set()
    for time, address, size, in_backend in sorted(changes):
        if size > 0 and in_backend:
            of_backend.add(address)
        elif size < 0 and address in of_backend:
            of_backend.remove(address)
        else:
            total += size
            most = max(most, total) if time >= begin else total
    return max(0, most - total)
