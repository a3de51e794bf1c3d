package io.shardtide.trainer;

import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Moves weights between devices from one sharding to another, without exceeding the memory of any
 * device at any time: frees what the new sharding does not have, makes the moves in the order that
 * the planner computes, and initializes new rows and columns.
 */
final class Resharding {
  private final List<Shard> before;
  private final ColumnIndex after;
  private final List<DeviceMemory> memories;

  /**
   * @param before shards that the memories hold
   * @param after shards that they will hold
   * @param memories one per device, at least as many as either sharding has
   */
  Resharding(List<Shard> before, ColumnIndex after, List<DeviceMemory> memories) {
    this.before = List.copyOf(before);
    this.after = after;
    this.memories = memories;
  }

  /**
   * Reshards.
   *
   * @return bytes moved between devices
   * @throws IllegalStateException if a shard does not fit; the memories are then inconsistent
   */
  long run() {
    int devices = after.cluster().devices();
    List<Overlap> overlaps =
        Overlap.between(
            new PlanShards(before, memories.size()), new PlanShards(after.shards(), devices));
    List<Move> moves = Overlap.moves(overlaps, after.tables(), devices);
    free(overlaps);
    for (int d = 0; d < after.cluster().devices(); d++) {
      memories.get(d).setCapacity(after.cluster().usableBytesPerDevice());
    }
    Map<Integer, ShardWeights> host = new HashMap<>();
    for (MoveStep step : Overlap.moveOrder(overlaps, after.tables(), after.cluster())) {
      Move move = moves.get(step.move());
      switch (step.stage()) {
        case DIRECT -> memories.get(move.toDevice()).put(take(move));
        case TO_HOST -> host.put(step.move(), take(move));
        case FROM_HOST -> memories.get(move.toDevice()).put(copy(host.remove(step.move())));
      }
    }
    for (Shard shard : after.shards()) {
      memories
          .get(shard.device())
          .complete(after.tables().get(shard.table()), shard.columnOffset(), shard.columns());
    }
    return moves.stream().mapToLong(Move::bytes).sum();
  }

  private void free(List<Overlap> overlaps) {
    for (int d = 0; d < memories.size(); d++) {
      DeviceMemory memory = memories.get(d);
      for (String name : new TreeSet<>(memory.tables())) {
        TableSpec table = after.tables().get(name);
        List<Integer> bounds = new ArrayList<>();
        for (Overlap overlap : overlaps) {
          if (overlap.table().equals(name) && overlap.fromDevice() == d) {
            bounds.add(overlap.region().columnOffset());
            bounds.add(overlap.region().columnEnd());
          }
        }
        if (table == null || bounds.isEmpty()) {
          memory.drop(name);
        } else {
          memory.cut(table, bounds);
        }
      }
    }
  }

  /** Removes a shard from its device and copies it by chunks, as a transfer does. */
  private ShardWeights take(Move move) {
    DeviceMemory from = memories.get(move.fromDevice());
    ShardWeights shard = from.shard(move.table(), move.region().columnOffset());
    from.remove(shard);
    return copy(shard);
  }

  private static ShardWeights copy(ShardWeights shard) {
    return ShardWeights.regroup(List.of(shard), shard.columnOffset(), shard.columnEnd()).get(0);
  }
}
