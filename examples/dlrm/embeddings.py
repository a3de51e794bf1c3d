"""Embedding tables that are sharded over ranks as a plan says, and go to another plan between two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from caches import HOST, CacheUse
from hashed import HashedShard
from inputs import Bags, Inputs, distribute
from layout import ALL_DEVICES, Layout, Part, TableShape, lay_out
from moves import bytes_under_way, move, move_hashed, only_caches_change
from outputs import OutputRoute
from replicas import Replicas
from shards import Memory, Optimizer, Shard, host_bytes, initialize, shard_bytes
from shardtide.train import ShardFill
from shardtide.waves import MoveWave
from world import (
    ClusterCollectives,
    CopyCollectives,
    DeviceCollectives,
    Meter,
    NodeCollectives,
    NoMeter,
    OutputCollectives,
    World,
)


class ShardedEmbeddings:
    """Embedding tables, sum-pooled or unpooled, sharded as a plan says.

    All methods but prepare() are called on all ranks.

        outputs = embeddings.forward(samples, batch)
        loss(outputs).backward()
        embeddings.backward()

    What it computes does not depend on the plan, but for rounding and for replica groups. It is a
    shardtide.train.Resharder.

    If the plan has replica groups, each trains its own tables on the samples of its ranks, and backward() averages them
    every few steps. A group trains as a job with its part of the batch: the loss is a sum over all ranks, and the group
    multiplies its gradients by the number of groups.

    A hashed table has ids of an open space. Its slots are those of the running plan. As long as every id has a slot of
    its own, results do not depend on the plan either.

    world: all ranks
    tables: of the model; each has float32 weights
    plan: a ShardingPlan, a dict with the fields of avro/ShardingPlan.avsc
    optimizer: of all tables
    seed: of the first weights, which do not depend on the plan
    memory_bytes: what the shards of this device may take, while shards move too; None if it does not matter
    meter: measures computation and collectives; None measures nothing
    host_memory_bytes: what the rows of this device's cached shards may take of host memory, likewise

    ValueError if the plan is not of these tables and ranks, or this device or its host has no room.
    """

    def __init__(
        self,
        world: World,
        tables: Sequence[TableShape],
        plan: Mapping[str, Any],
        optimizer: Optimizer,
        seed: int = 0,
        memory_bytes: int | None = None,
        meter: Meter | None = None,
        host_memory_bytes: int | None = None,
    ):
        self._job = world
        self._tables = tuple(tables)
        self._optimizer = optimizer
        self._memories = (
            Memory(f"on device {world.rank}", memory_bytes, shard_bytes),
            Memory(f"in host memory for device {world.rank}", host_memory_bytes, host_bytes),
        )
        self._meter = meter or NoMeter()
        self._sent_bytes = 0
        self._collectives: list[OutputCollectives] = []
        self._layout = self._lay_out(plan)
        self._join_group()
        held = self._layout.held(self._world.rank)
        for memory in self._memories:
            memory.require(sum(memory.bytes_of(part, optimizer) for part in held), "The first plan")
        self._seed = seed
        self._shards: dict[Part, Shard] = {part: self._first_shard(part) for part in held}
        # Of the last forward pass: samples of each rank, sums by shard, their routes, and outputs.
        self._samples = 0
        self._sums: dict[Part, torch.Tensor] = {}
        self._routes: list[OutputRoute] = []
        self._outputs: dict[str, torch.Tensor] = {}

    @property
    def sent_bytes(self) -> int:
        """What this rank has sent to other ranks in all-to-alls of outputs, since it began."""
        return self._sent_bytes + sum(collectives.sent_bytes for collectives in self._collectives)

    def forward(self, samples: int, batch: dict[str, Bags]) -> dict[str, torch.Tensor]:
        """Returns the outputs of each table for this rank's samples, leaves of autograd.

        Of a pooled table: samples x columns, sums of the rows of each sample. Of an unpooled table: lookups x columns,
        the row of each lookup.

        samples: number of this rank's samples; may be 0, and differ between ranks
        batch: lookups of each table; bags may be empty

        BadBatch on all ranks of a replica group if a rank's batch is wrong; nothing has changed in the group then.
        """
        inputs = distribute(self._layout, self._world, samples, batch)
        self._samples = inputs.samples
        self._routes = [
            OutputRoute(self._layout, self._world, collectives, inputs)
            for collectives in self._collectives
            if self._layout.of_scope(collectives.scope)
        ]
        bags = {part: self._bags(part, inputs) for part in self._shards}
        with self._meter.computation("forward"):
            self._sums = {part: shard.forward(*bags[part]) for part, shard in self._shards.items()}
            joined = [route.join(self._sums) for route in self._routes]
        whole = {
            table.name: torch.zeros(
                inputs.samples if table.pooled else len(batch[table.name].ids), table.columns, device=self._world.device
            )
            for table in self._tables
        }
        for route, sums in zip(self._routes, joined):
            route.forward(sums, whole)
        self._outputs = {
            table.name: (whole[table.name][:samples] if table.pooled else whole[table.name]).requires_grad_()
            for table in self._tables
        }
        return self._outputs

    def backward(self) -> None:
        """Updates the tables by the gradients of the last forward pass's outputs, summed over the ranks' samples.

        Call it once after a backward pass of autograd, of a loss that is summed over all ranks. Outputs without a
        gradient have one of 0. Synchronizes replica groups every so many steps.
        """
        if not self._outputs:
            raise RuntimeError("backward needs a forward pass before it")
        gradients = {table.name: self._gradient(table) for table in self._tables}
        found = [route.backward(gradients) for route in self._routes]
        with self._meter.computation("backward"):
            of_sums: dict[Part, torch.Tensor] = {}
            for route, message in zip(self._routes, found):
                of_sums.update(route.split(message))
            torch.autograd.backward(list(self._sums.values()), [of_sums[part] for part in self._sums])
        self._sum_copies([self._shards[part] for part in self._layout.of_scope("copies")])
        with self._meter.computation("backward"):
            for shard in self._shards.values():
                shard.step()
        self._sums, self._routes, self._outputs = {}, [], {}
        self._replicas.count_step(self._held())

    def prepare(self, plan: Mapping[str, Any]) -> Layout:
        """Returns what apply() needs to go to a plan. Changes nothing, and sends no messages.

        ValueError that names the table and the reason if this rank cannot go to it: the plan is not of these tables and
        ranks, or there is no room for old and new shards of the tables that move, one table after the other.
        """
        wanted = self._lay_out(plan)
        rank = self._places(wanted)[self._world.rank]
        for memory in self._memories:
            held = sum(memory.bytes_of(shard.part, self._optimizer) for shard in self._shards.values())
            for table in self._moved(wanted):
                parts, others = self._layout.parts[table.name], wanted.parts[table.name]
                old, new = self._bytes(memory, parts, self._world.rank), self._bytes(memory, others, rank)
                if not self._regroups(wanted) and only_caches_change(parts, others):
                    # A cache of another size is made after the old one is freed.
                    needed = held + new - old
                elif old or new:
                    needed = held + new + bytes_under_way(table, self._world.size)
                else:
                    continue
                memory.require(needed, f'Moving table "{table.name}"')
                held += new - old
        return wanted

    def apply(self, prepared: Layout) -> None:
        """Goes to a plan that prepare() returned on all ranks: moves tables, one after the other.

        Tables move within replica groups. If the plan has other groups, they are synchronized first: each rank gets its
        new shards from the group that it was in.

        After an error, such as of a rank that ended, tables are partly moved; end the job.
        """
        regroups = self._regroups(prepared)
        if regroups:
            self.synchronize()
        self._move(prepared, self._moved(prepared))
        self._layout = prepared
        if regroups:
            self._join_group()
        else:
            self._replicas.follow(prepared)

    def apply_wave(self, prepared: Layout, wave: MoveWave) -> None:
        """Moves the tables of a wave to a plan that prepare() returned on all ranks; all others stay where they are.

        If the plan has other replica groups, all tables move in apply().
        """
        if self._regroups(prepared):
            return
        tables = [table for table in self._moved(prepared) if table.name in wave.tables]
        self._move(prepared, tables)
        self._layout = self._layout.with_tables(prepared, [table.name for table in tables])

    def _move(self, prepared: Layout, tables: Sequence[TableShape]) -> None:
        self._sums, self._routes, self._outputs = {}, [], {}
        regroups, places = self._regroups(prepared), self._places(prepared)
        for table in tables:
            old, new = self._layout.parts[table.name], prepared.parts[table.name]
            if not regroups and only_caches_change(old, new):
                self._resize(old, new)
                continue
            if table.hashed:
                arrived = self._move_hashed(table, old, new)
            else:
                arrived = move(table, old, new, self._shards, self._world, self._optimizer, self._world.device, places)
            for part in old:
                self._shards.pop(part, None)
            self._shards.update(arrived)

    def _move_hashed(self, table: TableShape, old: Sequence[Part], new: Sequence[Part]) -> dict[Part, Shard]:
        held = {part: shard for part, shard in self._shards.items() if isinstance(shard, HashedShard)}
        arrived = move_hashed(table, old, new, held, self._world, self._optimizer, self._hashed_shard)
        return dict(arrived)

    def _first_shard(self, part: Part) -> Shard:
        """Returns a part as it begins: a hashed one without ids."""
        if part.slots is not None:
            return self._hashed_shard(part)
        shard = Shard(part, self._optimizer, self._world.device)
        initialize(shard, self._table(part.table), self._seed)
        return shard

    def _hashed_shard(self, part: Part) -> HashedShard:
        return HashedShard(part, self._table(part.table), self._optimizer, self._world.device, self._seed)

    def synchronize(self) -> None:
        """Averages the tables over the replica groups, unless they are equal. Called on all ranks."""
        self._replicas.synchronize(self._held())

    def synchronization_ms(self) -> float | None:
        """Returns how long a synchronization of the replica groups takes on this rank; None if there was none.

        It is the median of the last ones with this plan's groups, without the wait for other ranks.
        """
        return self._replicas.ms()

    def full_table(self, name: str) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Returns a table's weights, rows x columns, and its row-wise state or None, in host memory on all ranks.

        The state of a table whose columns are cut is the mean of the parts' states, by their widths. Replica groups are
        synchronized before. ValueError if the table is hashed.
        """
        table, world = self._table_of_rows(name), self._world
        self.synchronize()
        found = move(
            table,
            self._layout.parts[name],
            [_whole(table)],
            self._shards,
            world,
            self._optimizer,
            HOST,
            range(world.size),
        )
        (shard,) = found.values()
        return shard.weight, shard.momentum

    def load_table(self, name: str, weight: torch.Tensor, momentum: torch.Tensor | None) -> None:
        """Takes over a table that full_table() returned, with any plan; each rank keeps its part.

        ValueError if it is of another size, or has another optimizer's state, or the table is hashed.
        """
        table = self._table_of_rows(name)
        whole = Shard(_whole(table), self._optimizer, HOST)
        if weight.shape != whole.weight.shape or (momentum is None) != (whole.momentum is None):
            raise ValueError(
                f'Table "{name}" has weights {tuple(weight.shape)}, {"no" if momentum is None else "row-wise"} state;'
                f" expected {tuple(whole.weight.shape)}, {'no' if whole.momentum is None else 'row-wise'} state"
            )
        for part in self._layout.parts[name]:
            if part.is_on(self._world.rank):
                rows, columns = slice(part.row, part.row + part.rows), slice(part.column, part.column + part.columns)
                self._shards[part].load(weight[rows, columns], None if momentum is None else momentum[rows])

    def cache_use(self) -> dict[str, CacheUse]:
        """Returns how the caches of each cached table were used on all ranks, since the last call or the plan after it.

        `missed / lookups` is what a plan predicts as the lookupShare of its cacheMisses, once the cache has met the
        table's most used rows. Of a table with hot rows, both are of the other rows.
        """
        cached = [part for table in self._tables for part in self._layout.parts[table.name] if part.cache_share]
        names = list(dict.fromkeys(part.table for part in cached))
        counts = torch.zeros(len(names), 2, dtype=torch.int64)
        for shard in self._shards.values():
            if shard.cache:
                counts[names.index(shard.part.table)] += torch.tensor(shard.cache.take_use())
        if names:
            counts = counts.to(self._world.device)
            dist.all_reduce(counts)
        return {name: CacheUse(*found) for name, found in zip(names, counts.tolist())}

    def take_fills(self) -> list[ShardFill]:
        """Returns how full this rank's shards of hashed tables are, and what happened since the last call."""
        shards = [shard for shard in self._held() if isinstance(shard, HashedShard)]
        return [shard.take_fill() for shard in shards]

    def _lay_out(self, plan: Mapping[str, Any]) -> Layout:
        return lay_out(plan, self._tables, self._job.size, self._job.per_node)

    def _join_group(self) -> None:
        """Makes the replica groups of the layout, and the collectives of this rank's."""
        self._sent_bytes = self.sent_bytes
        self._world = world = self._job.divided(self._layout.replication)
        self._collectives = [
            DeviceCollectives(world, self._meter),
            NodeCollectives(world, self._meter),
            ClusterCollectives(world, self._meter),
            CopyCollectives(),
        ]
        self._replicas = Replicas(world, self._layout)

    def _held(self) -> list[Shard]:
        """Returns this rank's shards, in the order of the layout."""
        return [self._shards[part] for part in self._layout.held(self._world.rank)]

    def _regroups(self, wanted: Layout) -> bool:
        """Returns whether another layout has other replica groups."""
        return self._layout.replication.grouping != wanted.replication.grouping

    def _places(self, wanted: Layout) -> list[int]:
        """Returns which device of another layout each rank of this replica group is."""
        return [wanted.replication.place_of(rank, self._job.size)[1] for rank in self._world.ranks]

    def _moved(self, wanted: Layout) -> list[TableShape]:
        """Returns the tables that move: whose parts differ from those of another layout, or all if groups differ."""
        regroups = self._regroups(wanted)
        return [t for t in self._layout.tables if regroups or self._layout.parts[t.name] != wanted.parts[t.name]]

    def _bytes(self, memory: Memory, parts: Sequence[Part], device: int) -> int:
        """Returns the bytes that a device's of some parts take of a memory."""
        return sum(memory.bytes_of(part, self._optimizer) for part in parts if part.is_on(device))

    def _resize(self, old: Sequence[Part], new: Sequence[Part]) -> None:
        """Changes the sizes of caches; all rows stay where they are."""
        for before, part in zip(old, new):
            if before != part and part.is_on(self._world.rank):
                self._shards[part] = self._shards.pop(before)
                self._shards[part].resize(part)

    def _table(self, name: str) -> TableShape:
        for table in self._tables:
            if table.name == name:
                return table
        raise ValueError(f'Table "{name}" is unknown to the model')

    def _table_of_rows(self, name: str) -> TableShape:
        table = self._table(name)
        if table.hashed:
            raise ValueError(f'Table "{name}" is hashed; whole tables and checkpoints have only those whose ids are rows')
        return table

    def _bags(self, part: Part, inputs: Inputs) -> Bags:
        """Returns the lookups of a part by all ranks, or of a copy by this rank."""
        (sources,) = (c.sources for c in self._collectives if c.scope == self._layout.scope(part))
        # The slot of an id is found where its row is.
        return inputs.received[part.table, part.row].bags(sources, part.row if part.slots is None else 0)

    def _gradient(self, table: TableShape) -> torch.Tensor:
        """Returns the gradient of a table's outputs, with zeros for samples that this rank has less than others.

        The loss is of the whole batch; in a replica group it is of the group's part.
        """
        output = self._outputs[table.name]
        gradient = torch.zeros_like(output) if output.grad is None else output.grad
        if self._layout.replication.groups > 1:
            gradient = gradient * self._layout.replication.groups
        added = self._samples - len(output) if table.pooled else 0
        return torch.nn.functional.pad(gradient, (0, 0, 0, added))

    def _sum_copies(self, copies: list[Shard]) -> None:
        """Sums the dense gradients of the tables that each device has a copy of, all at once."""
        if not copies:
            return
        gradients = [shard.operator.gradient for shard in copies]
        buffer = torch.cat([gradient.reshape(-1) for gradient in gradients])
        with self._meter.collective("all_reduce", "backward", "copies", self._world.group):
            dist.all_reduce(buffer, group=self._world.group)
        for gradient, whole in zip(gradients, buffer.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(whole.view_as(gradient))


def _whole(table: TableShape) -> Part:
    """Returns the part that is a copy of the whole table."""
    return Part(table.name, 0, table.columns, 0, table.rows, ALL_DEVICES)
