package io.shardtide.trainer;

import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Moves weights between devices from one sharding to another, without exceeding the memory of any
 * device at any time: frees what the new sharding does not have, makes the moves in the order that
 * the planner computes (copies last, when there is room), joins the parts of each shard, and
 * initializes new rows and columns.
 */
final class Resharding {
  private final PlanShards before;
  private final ColumnIndex after;
  private final List<DeviceMemory> memories;
  private final int devices;

  /**
   * @param before shards that the memories hold
   * @param after shards that they will hold
   * @param memories one per device, at least as many as either sharding has
   */
  Resharding(PlanShards before, ColumnIndex after, List<DeviceMemory> memories) {
    this.before = before;
    this.after = after;
    this.memories = memories;
    devices = after.cluster().devices();
  }

  /**
   * Reshards.
   *
   * @return bytes moved between devices
   * @throws IllegalStateException if a shard does not fit; the memories are then inconsistent
   */
  long run() {
    List<Overlap> overlaps = Overlap.between(before, after.placed());
    free(overlaps);
    for (int d = 0; d < devices; d++) {
      memories.get(d).setCapacity(after.cluster().usableBytesPerDevice());
    }
    List<Move> moves = Overlap.moves(overlaps, after.tables(), after.placed());
    Map<Integer, ShardWeights> host = new HashMap<>();
    for (MoveStep step :
        Overlap.moveOrder(before, after.placed(), after.tables(), after.cluster())) {
      Move move = moves.get(step.move());
      switch (step.stage()) {
        case DIRECT -> transfer(move);
        case TO_HOST -> host.put(step.move(), take(move));
        case FROM_HOST -> memories.get(move.toDevice()).put(host.remove(step.move()));
      }
    }
    for (Shard shard : after.shards()) {
      TableSpec table = after.tables().get(shard.table());
      shard
          .holders(devices)
          .forEach(device -> memories.get(device).complete(table, shard.region()));
    }
    return moves.stream().mapToLong(Move::bytes).sum();
  }

  private void free(List<Overlap> overlaps) {
    for (int d = 0; d < memories.size(); d++) {
      DeviceMemory memory = memories.get(d);
      Map<String, List<Region>> kept = new HashMap<>();
      for (Overlap overlap : overlaps) {
        // Of copies, all devices keep theirs, which one overlap says.
        if (overlap.fromDevice() == d
            || (overlap.fromDevice() == Shard.EVERY_DEVICE && !overlap.changesDevice())) {
          kept.computeIfAbsent(overlap.table(), name -> new ArrayList<>()).add(overlap.region());
        }
      }
      for (String name : memory.tables()) {
        TableSpec table = after.tables().get(name);
        if (table == null) {
          memory.drop(name);
        } else {
          memory.cut(table, kept.getOrDefault(name, List.of()));
        }
      }
    }
  }

  private void transfer(Move move) {
    int from = move.fromDevice();
    int to = move.toDevice();
    if (from == Shard.EVERY_DEVICE) {
      memories.get(to).put(shard(0, move).copy());
    } else if (to == Shard.EVERY_DEVICE) {
      IntStream.range(0, devices)
          .filter(device -> device != from)
          .forEach(device -> memories.get(device).put(shard(from, move).copy()));
    } else {
      memories.get(to).put(take(move));
    }
  }

  private ShardWeights shard(int device, Move move) {
    return memories.get(device).shard(move.table(), move.region());
  }

  private ShardWeights take(Move move) {
    ShardWeights shard = shard(move.fromDevice(), move);
    memories.get(move.fromDevice()).remove(shard);
    return shard;
  }
}
