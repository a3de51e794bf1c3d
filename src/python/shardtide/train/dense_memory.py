"""Measures the device memory that the dense part of a model takes, which a cluster reserves."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from shardtide.train.ranks import Ranks


class DenseMemory(NamedTuple):
    """Device memory of the dense part of a model on one rank, in bytes; each number is at least 0.

    parameter_bytes: parameters, of sharded ones what the rank keeps
    gradient_bytes: their gradients when an optimizer steps, or after the step
    optimizer_bytes: the optimizers' state of these parameters
    other_bytes: everything else: activations, buffers of the modules and, if measured is true, of collectives
    measured: true if CUDA's allocator measured the total, the peak of a step. False if it is a count: other_bytes then
        has the modules' buffers and what autograd saves for the backward pass, and nothing else
    """

    parameter_bytes: int
    gradient_bytes: int
    optimizer_bytes: int
    other_bytes: int
    measured: bool

    @property
    def total_bytes(self) -> int:
        """All four: what to publish as reservedMemoryBytesPerDevice."""
        return self.parameter_bytes + self.gradient_bytes + self.optimizer_bytes + self.other_bytes


def measure_dense_memory(
    step: Callable[[], object],
    model: Any,
    optimizers: Any,
    ignore: Any = (),
    steps: int = 2,
    device: Any = None,
    ranks: Ranks | None = None,
) -> DenseMemory:
    """Runs training steps and returns the device memory that the dense part of the model takes: the largest of them.

    Call it on all ranks, with a batch as large as the job's. The steps change the model: create it again, or load a
    checkpoint, before you train.

    On CUDA the total is the peak of memory allocated on the device, less the parameters, buffers and optimizer state of
    the tables. Gradients of tables and all other tensors on the device count as other_bytes: use tables with few rows.
    The peak does not include the CUDA context, NCCL's memory, and blocks that the allocator keeps unused.

    Elsewhere the total is a count: parameters, gradients, optimizer state and buffers are exact; activations are the
    most bytes that tensors saved by autograd take during the backward pass, each storage once, with the parameters that
    FSDP gathered for them. Temporary tensors, buffers of collectives, and activations that checkpointing computes again
    are left out; gradients and activations are added, though not all are there at once. The peak may be higher or lower.

    step: runs a training step: forward pass, backward pass and optimizer; its result is ignored
    model: a torch.nn.Module with the dense part and the tables, sharded by FSDP or not; a ModuleList joins several
    optimizers: a torch.optim.Optimizer, or a sequence of them
    ignore: the embedding tables: a module or parameter of the model, or a sequence of them
    steps: number of steps, at least 2; the first is not measured, as optimizers create their state in it
    device: a torch.device of the memory that is measured; None is the one of the first dense parameter
    ranks: on all of these, the result is the one of the rank with the largest total; None: the result of this rank

    ValueError for too few steps, a part to ignore that the model does not have, a model without dense parameters, and
    steps without gradients. Errors of a step are raised as they are. RankLost if another rank does not get to the end.
    """
    import torch

    if steps < 2:
        raise ValueError(f"steps must be at least 2, got {steps}")
    given = [optimizers] if isinstance(optimizers, torch.optim.Optimizer) else list(optimizers)
    ignored = [ignore] if isinstance(ignore, (torch.nn.Module, torch.Tensor)) else list(ignore)
    dense = _DensePart(model, given, ignored, device)
    step()
    most = max([dense.measure(step) for _ in range(steps - 1)], key=lambda memory: memory.total_bytes)
    return max(ranks.gather(most), key=lambda memory: memory.total_bytes) if ranks else most


class _DensePart:
    def __init__(self, model: Any, optimizers: list[Any], ignore: list[Any], device: Any):
        import torch

        self._model = model
        self._optimizers = optimizers
        self._ignored = tensors_of(model, ignore, "ignore")
        # Ids are those of tensors that live.
        self._ignored_ids = {id(tensor) for tensor in self._ignored}
        parameters = self._parameters()
        if not parameters:
            count = len(list(model.parameters()))
            raise ValueError(f"model must have parameters that are not ignored, got {count}, all ignored")
        self._device = torch.device(parameters[0].device if device is None else device)

    def measure(self, step: Callable[[], object]) -> DenseMemory:
        gradient_bytes: list[int] = []

        def count_gradients(*_: object) -> None:
            gradients = [parameter.grad for parameter in self._parameters() if parameter.grad is not None]
            if gradients:
                gradient_bytes.append(self._bytes(gradients))

        on_cuda = self._device.type == "cuda"
        with contextlib.ExitStack() as stack:
            for optimizer in self._optimizers:
                # A step may drop its gradients after that.
                stack.callback(optimizer.register_step_pre_hook(count_gradients).remove)
            peak = self._cuda_peak(step) if on_cuda else self._saved_for_backward(step)
        count_gradients()
        if not gradient_bytes:
            raise ValueError(
                "step must compute gradients of the dense parameters, "
                f"got none for all {len(self._parameters())} of them; it runs forward pass, backward pass and optimizer"
            )
        known = self._bytes(self._parameters()), max(gradient_bytes), self._bytes(self._optimizer_state(ignored=False))
        if not on_cuda:
            return DenseMemory(*known, peak, measured=False)
        tables = self._bytes([self._ignored, self._optimizer_state(ignored=True)])
        return DenseMemory(*known, max(0, peak - tables - sum(known)), measured=True)

    def _cuda_peak(self, step: Callable[[], object]) -> int:
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        step()
        return int(torch.cuda.max_memory_allocated(self._device))

    def _saved_for_backward(self, step: Callable[[], object]) -> int:
        """Runs a step and returns the bytes of activations and of the modules' buffers."""
        import torch

        buffers = [buffer for buffer in self._model.buffers() if id(buffer) not in self._ignored_ids]
        # Operators save their weights too.
        counted = storages([list(self._model.parameters()), list(self._model.buffers())], self._device.type)
        saved = _SavedTensors(self._device.type, set(counted))
        with torch.autograd.graph.saved_tensors_hooks(saved.pack, saved.unpack):
            step()
        return saved.peak + self._bytes(buffers)

    def _parameters(self) -> list[Any]:
        return [parameter for parameter in self._model.parameters() if id(parameter) not in self._ignored_ids]

    def _optimizer_state(self, ignored: bool) -> list[Any]:
        found = [item for optimizer in self._optimizers for item in optimizer.state.items()]
        return [state for parameter, state in found if (id(parameter) in self._ignored_ids) == ignored]

    def _bytes(self, tensors: list[Any]) -> int:
        return sum(storages(tensors, self._device.type).values())


class _SavedTensors:
    """The tensors that autograd keeps for the backward pass. peak: the most bytes that they took during one

    counted: addresses of storages that do not count, as they are counted elsewhere
    """

    def __init__(self, device_type: str, counted: set[int]):
        self.peak = 0
        self._device_type = device_type
        self._counted = counted
        # Autograd has the only references: a tensor that it drops is gone from here.
        self._saved: weakref.WeakSet[_Saved] = weakref.WeakSet()
        self._may_grow = True

    def pack(self, tensor: Any) -> _Saved:
        saved = _Saved(tensor)
        self._saved.add(saved)
        self._may_grow = True
        return saved

    def unpack(self, saved: _Saved) -> Any:
        if self._may_grow:
            found = storages([other.tensor for other in self._saved], self._device_type)
            self.peak = max(self.peak, sum(size for address, size in found.items() if address not in self._counted))
            # FSDP empties storages of gathered parameters, and fills them again when their layer is due.
            self._may_grow = 0 in found
        return saved.tensor


class _Saved:
    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any):
        self.tensor = tensor


def tensors_of(model: Any, parts: list[Any], argument: str) -> list[Any]:
    """Returns the parameters and buffers of parts of a model, which were given as an argument."""
    import torch

    known = {id(part) for part in (*model.modules(), *model.parameters())}
    tensors: list[Any] = []
    for part in parts:
        is_tensor = isinstance(part, torch.Tensor)
        if id(part) not in known:
            got = f"a tensor of shape {list(part.shape)}" if is_tensor else type(part).__name__
            expected = f"{argument} must have modules or parameters of the model"
            raise ValueError(f"{expected}, got {got}, which is no part of it")
        tensors += [part] if is_tensor else [*part.parameters(), *part.buffers()]
    return tensors


def storages(values: Any, device_type: str) -> dict[int, int]:
    """Returns bytes by address of the memory behind tensors, each storage once; of sharded ones what this rank has."""
    own = (tensor.untyped_storage() for tensor in tensors_in(values) if tensor.device.type == device_type)
    return {storage.data_ptr(): storage.nbytes() for storage in own}


def tensors_in(value: Any) -> Iterator[Any]:
    """Finds all tensors in a value: those that a DTensor, a nested or a sparse tensor consists of too."""
    import torch

    if isinstance(value, torch.Tensor) and hasattr(value, "__tensor_flatten__"):
        value = [getattr(value, name) for name in value.__tensor_flatten__()[0]]
    if isinstance(value, torch.Tensor):
        yield from (value._indices(), value._values()) if value.is_sparse else (value,)
    elif isinstance(value, (Mapping, list, tuple)):
        for item in list(value.values()) if isinstance(value, Mapping) else value:
            yield from tensors_in(item)
