package io.shardtide.plan;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A part of a table that two plans both hold. Devices are ranks: of replica groups, each takes what
 * it lacks from the group that it belonged to. In place of a device there may be {@link
 * Shard#EVERY_DEVICE}:
 *
 * <ul>
 *   <li>from a device to each: every other device of its group gets a copy. Devices of groups that
 *       the part was in none of get theirs one by one;
 *   <li>from each to each: all devices hold a copy in both plans;
 *   <li>from each to a device: the device is new and gets a copy, and the others keep theirs.
 * </ul>
 *
 * @param table name of the table
 * @param region the part
 * @param fromDevice device that holds it in the first plan
 * @param toDevice device that holds it in the second plan
 */
public record Overlap(String table, Region region, int fromDevice, int toDevice) {

  /** Returns whether a device gets the part. */
  public boolean changesDevice() {
    return fromDevice != toDevice;
  }

  /** Returns whether the device that held the part keeps it, although another one gets it. */
  boolean isCopied() {
    return fromDevice == Shard.EVERY_DEVICE || toDevice == Shard.EVERY_DEVICE;
  }

  /**
   * Returns how many devices get the part.
   *
   * @param groupSize devices of a group of the second plan
   * @param ranks devices of all its groups
   */
  public int receivers(int groupSize, int ranks) {
    if (!changesDevice()) {
      return 0;
    }
    return toDevice == Shard.EVERY_DEVICE ? groupSize - (fromDevice < ranks ? 1 : 0) : 1;
  }

  /**
   * Returns the ranks that get the part of a table that moves: of a copy, those of its group that
   * lack it.
   */
  public int[] receivers(PlanShards next) {
    if (toDevice != Shard.EVERY_DEVICE) {
      return new int[] {toDevice};
    }
    return IntStream.range(0, next.ranks())
        .filter(rank -> rank != fromDevice && next.groupOf(rank) == next.groupOf(fromDevice))
        .toArray();
  }

  /** Returns the bytes of the part, rounded up. */
  long bytes(Map<String, TableSpec> tables) {
    return region.bytes(tables.get(table));
  }

  /**
   * Returns everything that two plans both hold, in the order of the second plan's shards. A table
   * that is new, and rows that were added, are in no overlap.
   *
   * @param previous the first plan
   * @param next the second plan
   */
  public static List<Overlap> between(PlanShards previous, PlanShards next) {
    Map<String, List<Shard>> before = Shard.byTable(previous.shards());
    List<Overlap> overlaps = new ArrayList<>();
    for (Shard to : next.shards()) {
      for (Shard from : before.getOrDefault(to.table(), List.of())) {
        from.region()
            .intersection(to.region())
            .ifPresent(region -> add(overlaps, region, from, previous, to, next));
      }
    }
    return overlaps;
  }

  private static void add(
      List<Overlap> overlaps,
      Region region,
      Shard from,
      PlanShards previous,
      Shard to,
      PlanShards next) {
    String table = to.table();
    if (from.isCopied() && to.isCopied()) {
      overlaps.add(new Overlap(table, region, Shard.EVERY_DEVICE, Shard.EVERY_DEVICE));
      for (int rank = previous.ranks(); rank < next.ranks(); rank++) {
        overlaps.add(new Overlap(table, region, Shard.EVERY_DEVICE, rank));
      }
      return;
    }
    for (int rank : next.ranks(Math.max(0, to.device()))) {
      int source = source(from, previous, rank);
      if (!to.isCopied()) {
        overlaps.add(new Overlap(table, region, source, rank));
      } else if (next.groupOf(source) == next.groupOf(rank)) {
        overlaps.add(new Overlap(table, region, source, Shard.EVERY_DEVICE));
      } else {
        for (int copy : next.groupRanks(next.groupOf(rank))) {
          overlaps.add(new Overlap(table, region, source(from, previous, copy), copy));
        }
      }
    }
  }

  /** Returns the device that a rank takes a shard from: that of the group that it belonged to. */
  private static int source(Shard from, PlanShards previous, int rank) {
    int known = rank < previous.ranks() ? rank : 0;
    return from.isCopied() ? known : previous.rank(from.device(), previous.groupOf(known));
  }

  /**
   * Returns those of overlaps that change their device, in {@link Transfer#ORDER}.
   *
   * @param tables the tables of the second plan by name
   * @param next the second plan
   */
  public static List<Transfer> moves(
      List<Overlap> overlaps, Map<String, TableSpec> tables, PlanShards next) {
    return overlaps.stream()
        .filter(Overlap::changesDevice)
        .map(
            overlap ->
                new Transfer(
                    overlap,
                    overlap.bytes(tables) * overlap.receivers(next.devices(), next.ranks())))
        .sorted(Transfer.ORDER)
        .toList();
  }

  /**
   * Returns an order in which what changes its device can be moved with no device above its memory.
   *
   * @param previous the first plan
   * @param next the second plan
   * @param tables the tables of the second plan by name
   * @param cluster the devices of the second plan, of all replica groups
   * @return steps that name moves by their place in {@link #moves}; none between plans with
   *     different replica groups, where all tables move
   */
  public static List<MoveStep> moveOrder(
      PlanShards previous, PlanShards next, Map<String, TableSpec> tables, ClusterSpec cluster) {
    return previous.isGroupedAs(next) ? MoveOrder.of(previous, next, tables, cluster) : List.of();
  }
}
