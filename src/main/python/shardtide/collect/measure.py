"""Times of the forward pass, the backward pass and the optimizer of a set of shards."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from shardtide.collect.ids import draw_ids, draw_offsets
from shardtide.collect.operators import Bags, EmbeddingBags, Held, ShardOperator
from shardtide.collect.shapes import MOST_SHARDS, Limits, Shard
from shardtide.collect.tables import Table
from shardtide.train.clock import Clock

WARM_UPS = 2
REPETITIONS = 5

# Larger than the caches of today's GPUs (60 MB on an H200).
FLUSHED_BYTES = {"cuda": 512 * 2**20, "cpu": 32 * 2**20}

# Each byte of the weights: 0.011 as float32, 1.06 as float16. Neither is subnormal, which would be slow on CPUs.
FILL = 0x3C
WEIGHT = 0.011

# The weights stay as they are, as other sets read their bytes as other types; the work is that of any other rate.
LEARNING_RATE = 0.0

# Weights begin at multiples of this many bytes.
ALIGNMENT = 256

# Gradients, their coalesced copies, what the optimizer derives from them, and sorted ids.
BYTES_PER_GRADIENT_ELEMENT = 24

# Bytes of weights for each row that there may be: rows are mostly wider.
WEIGHT_BYTES_PER_ROW = 32


class Operators(Protocol):
    """The operators of a set of shards: operators.EmbeddingBags, fbgemm.TableBatchedEmbeddings."""

    def join(self, bags: Sequence[Bags]) -> list[Bags]: ...

    def forward(self, joined: Sequence[Bags]) -> None: ...

    def join_gradients(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]: ...

    def backward(self, gradients: Sequence[torch.Tensor]) -> None: ...

    def step(self) -> None: ...


@dataclass(frozen=True)
class Times:
    """Medians over repetitions, in ms.

    forward_ms: lookups and sums
    backward_ms: gradients and optimizer
    optimizer_ms: the part of backward_ms that an optimizer after it takes: all of it, or that of copies with FBGEMM
    """

    forward_ms: float
    backward_ms: float
    optimizer_ms: float


class Meter:
    """Measures sets of shards on a device, whose memory for weights and optimizer state it takes at once.

    device: a CUDA device or the CPU
    limits: what a set may need; see `limits_of`
    operator: embedding_bag or fbgemm
    """

    def __init__(self, device: torch.device, limits: Limits, operator: str = "embedding_bag"):
        self._device = device
        self.limits = limits
        self._table_batched = operator == "fbgemm"
        # Sets use this memory one after the other: allocating it for each would fragment it.
        self._weights = torch.full(
            (limits.weight_bytes + MOST_SHARDS * ALIGNMENT,), FILL, dtype=torch.uint8, device=device
        )
        self._momentum = torch.ones(limits.rows, device=device)
        self._flushed = torch.empty(FLUSHED_BYTES[device.type], dtype=torch.uint8, device=device)

    def measure(self, tables: Sequence[Table], shards: Sequence[Shard], seed: int) -> Times:
        """Returns the times of one step of all shards, with other ids in each repetition.

        tables: all tables, of which the shards have indices
        seed: of the ids and gradients
        """
        generator = torch.Generator(self._device).manual_seed(seed)
        operators = self._operators(tables, shards)
        gradients = [_gradient(shard, generator) for shard in shards]
        laps = [self._step(tables, shards, operators, gradients, generator) for _ in range(WARM_UPS + REPETITIONS)]
        forward, backward, optimizer = zip(*laps[WARM_UPS:])
        return Times(
            forward_ms=round(statistics.median(forward), 5),
            backward_ms=round(statistics.median(b + o for b, o in zip(backward, optimizer)), 5),
            optimizer_ms=round(statistics.median(optimizer), 5),
        )

    def copy_gigabytes_per_second(self) -> float:
        """Returns the bandwidth of a copy on the device: bytes read and bytes written, in 10^9 bytes a second."""
        half = self._flushed.numel() // 2
        laps = []
        for _ in range(WARM_UPS + REPETITIONS):
            watch = Stopwatch(self._device)
            self._flushed[half:].copy_(self._flushed[:half])
            watch.lap()
            laps.append(watch.laps_ms()[0])
        return round(2 * half / statistics.median(laps[WARM_UPS:]) / 1e6, 1)

    def _operators(self, tables: Sequence[Table], shards: Sequence[Shard]) -> Operators:
        if self._table_batched:
            from shardtide.collect.fbgemm import TableBatchedEmbeddings

            held = [
                Held(shard.rows(tables[shard.table]), shard.columns, shard.samples, _dtype(shard), shard.replicated)
                for shard in shards
            ]
            return TableBatchedEmbeddings(held, self._device, LEARNING_RATE, WEIGHT)
        operators = []
        first_byte = first_row = 0
        for shard in shards:
            needs = shard.needs(tables[shard.table])
            weight = self._weights[first_byte : first_byte + needs.weight_bytes]
            momentum = self._momentum[first_row : first_row + needs.rows]
            operators.append(
                ShardOperator(
                    weight.view(_dtype(shard)).view(needs.rows, shard.columns),
                    momentum,
                    shard.replicated,
                    LEARNING_RATE,
                )
            )
            first_byte += -(-needs.weight_bytes // ALIGNMENT) * ALIGNMENT
            first_row += needs.rows
        return EmbeddingBags(operators)

    def _step(
        self,
        tables: Sequence[Table],
        shards: Sequence[Shard],
        operators: Operators,
        gradients: Sequence[torch.Tensor],
        generator: torch.Generator,
    ) -> list[float]:
        """Returns the ms of forward, backward and optimizer, from a start with other data in the caches."""
        inputs = [_inputs(tables[shard.table], shard, generator) for shard in shards]
        joined = operators.join(inputs)
        of_outputs = operators.join_gradients(gradients)
        self._flush()
        forward = Stopwatch(self._device)
        operators.forward(joined)
        forward.lap()
        self._flush()
        backward = Stopwatch(self._device)
        operators.backward(of_outputs)
        backward.lap()
        operators.step()
        backward.lap()
        return forward.laps_ms() + backward.laps_ms()

    def _flush(self) -> None:
        """Fills the caches with other data, as the dense layers of a model do."""
        self._flushed.add_(1)


class Stopwatch:
    """Times a device's work in laps, by shardtide.train's clock.

    computes: whether it is computation, for which it starts when the device is idle; else a collective
    """

    def __init__(self, device: torch.device, computes: bool = True):
        self._clock = Clock(device, computes)
        if self._clock.cuda and computes:
            torch.cuda.synchronize(device)
        self._marks: list[Any] = []
        self.lap()

    def lap(self) -> None:
        """Ends a lap and starts the next one."""
        self._marks.append(self._clock.now())

    def laps_ms(self) -> list[float]:
        """Waits for the device, and returns the ms of each lap."""
        return [self._clock.ms(begin, end) for begin, end in zip(self._marks, self._marks[1:])]


def limits_of(free_bytes: int, device_type: str) -> Limits:
    """Returns the limits of sets on a device with so many free bytes; those of a CPU are less for time's sake."""
    most_elements = 2**30 if device_type == "cuda" else 2**22
    elements = min(most_elements, free_bytes // 3 // BYTES_PER_GRADIENT_ELEMENT)
    left = free_bytes - elements * BYTES_PER_GRADIENT_ELEMENT - FLUSHED_BYTES[device_type]
    # The rest is what the allocator cannot use.
    rows = left * 85 // 100 // (WEIGHT_BYTES_PER_ROW + 4)
    if rows < 2**16:
        raise ValueError(f"{free_bytes // 2**20} MiB of memory are free, which is too little to measure")
    return Limits(rows * WEIGHT_BYTES_PER_ROW, rows, elements)


def _inputs(table: Table, shard: Shard, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    lookups = shard.lookups(table)
    ids = draw_ids(table, lookups, shard.devices, generator)
    return ids, draw_offsets(table, shard.samples, lookups, shard.devices, generator)


def _gradient(shard: Shard, generator: torch.Generator) -> torch.Tensor:
    device = generator.device
    return torch.randn(shard.samples, shard.columns, dtype=_dtype(shard), device=device, generator=generator)


def _dtype(shard: Shard) -> torch.dtype:
    return torch.float16 if shard.bytes_per_element == 2 else torch.float32
