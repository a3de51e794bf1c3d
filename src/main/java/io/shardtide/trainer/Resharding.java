package io.shardtide.trainer;

import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Moves weights between devices from one sharding to another, without exceeding the memory of any
 * device at any time:
 *
 * <ol>
 *   <li>frees what a device neither keeps nor sends;
 *   <li>makes the moves in the order that the planner computes;
 *   <li>sends copies to the devices that lack them: by then, nothing else is to leave;
 *   <li>joins the parts of each shard, and initializes new rows and columns.
 * </ol>
 */
final class Resharding {
  private final ColumnIndex after;
  private final List<DeviceMemory> memories;

  /** What stays on its device, or moves to another one. */
  private final List<Overlap> overlaps = new ArrayList<>();

  /** What stays on its device, and is copied to another one. */
  private final List<Overlap> copies = new ArrayList<>();

  /**
   * @param before shards that the memories hold, if they hold any
   * @param after shards that they will hold
   * @param memories one per device, at least as many as either sharding has
   */
  Resharding(Optional<ColumnIndex> before, ColumnIndex after, List<DeviceMemory> memories) {
    this.after = after;
    this.memories = memories;
    before.ifPresent(this::addOverlaps);
  }

  private void addOverlaps(ColumnIndex before) {
    Map<String, List<Shard>> shards =
        before.shards().stream().collect(Collectors.groupingBy(Shard::table));
    for (Shard to : after.shards()) {
      for (Shard from : shards.getOrDefault(to.table(), List.of())) {
        from.region()
            .intersection(to.region())
            .ifPresent(common -> add(to, common, before.devices(from), after.devices(to)));
      }
    }
  }

  private void add(Shard shard, Region common, List<Integer> from, List<Integer> to) {
    int source = to.size() == 1 && from.contains(to.get(0)) ? to.get(0) : from.get(0);
    if (to.size() == 1) {
      overlaps.add(new Overlap(shard.table(), common, source, to.get(0)));
      return;
    }
    for (int device : from) {
      overlaps.add(new Overlap(shard.table(), common, device, device));
    }
    for (int device : to) {
      if (!from.contains(device)) {
        copies.add(new Overlap(shard.table(), common, source, device));
      }
    }
  }

  /**
   * Reshards.
   *
   * @return bytes moved between devices
   * @throws IllegalStateException if a shard does not fit; the memories are then inconsistent
   */
  long run() {
    free();
    for (int d = 0; d < after.cluster().devices(); d++) {
      memories.get(d).setCapacity(after.cluster().usableBytesPerDevice());
    }
    List<Move> moves = Overlap.moves(overlaps, after.tables());
    move(moves);
    List<Move> copying = Overlap.moves(copies, after.tables());
    for (Move copy : copying) {
      memories.get(copy.toDevice()).put(source(copy).copy());
    }
    for (Shard shard : after.shards()) {
      for (int device : after.devices(shard)) {
        memories.get(device).complete(after.tables().get(shard.table()), shard.region());
      }
    }
    return bytes(moves) + bytes(copying);
  }

  private void free() {
    for (int d = 0; d < memories.size(); d++) {
      DeviceMemory memory = memories.get(d);
      Map<String, List<Region>> kept = new HashMap<>();
      for (Overlap overlap : overlaps) {
        if (overlap.fromDevice() == d) {
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

  private void move(List<Move> moves) {
    Map<Integer, ShardWeights> host = new HashMap<>();
    for (MoveStep step : Overlap.moveOrder(overlaps, after.tables(), after.cluster())) {
      Move move = moves.get(step.move());
      DeviceMemory to = memories.get(move.toDevice());
      switch (step.stage()) {
        case DIRECT -> to.put(take(move));
        case TO_HOST -> host.put(step.move(), take(move));
        case FROM_HOST -> to.put(host.remove(step.move()));
      }
    }
  }

  private ShardWeights source(Move move) {
    return memories.get(move.fromDevice()).shard(move.table(), move.region());
  }

  private ShardWeights take(Move move) {
    ShardWeights shard = source(move);
    memories.get(move.fromDevice()).remove(shard);
    return shard;
  }

  private static long bytes(List<Move> moves) {
    return moves.stream().mapToLong(Move::bytes).sum();
  }
}
