package io.shardtide.domain;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A part of a table that two plans both hold, each on one device.
 *
 * @param table name of the table
 * @param region the part
 * @param fromDevice device that holds it in the first plan
 * @param toDevice device that holds it in the second plan
 */
public record Overlap(String table, Region region, int fromDevice, int toDevice) {
  /** Checks that nothing is missing. */
  public Overlap {
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(region, "region");
  }

  /** Returns whether the devices differ. */
  public boolean changesDevice() {
    return fromDevice != toDevice;
  }

  /** Returns the bytes of the part, rounded up. */
  long bytes(Map<String, TableSpec> tables) {
    return region.bytes(tables.get(table));
  }

  /**
   * Returns everything that two plans both hold, in the order of the second plan's shards. A table
   * that is new, and rows that were added, are in no overlap.
   *
   * @param previous shards of the first plan
   * @param next shards of the second plan
   */
  public static List<Overlap> between(List<Shard> previous, List<Shard> next) {
    Map<String, List<Shard>> before = new HashMap<>();
    for (Shard shard : previous) {
      before.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    List<Overlap> overlaps = new ArrayList<>();
    for (Shard to : next) {
      for (Shard from : before.getOrDefault(to.table(), List.of())) {
        from.region()
            .intersection(to.region())
            .map(region -> new Overlap(to.table(), region, from.device(), to.device()))
            .ifPresent(overlaps::add);
      }
    }
    return overlaps;
  }

  /**
   * Returns those of overlaps that change their device, in {@link Move#ORDER}.
   *
   * @param tables the tables of the second plan by name
   */
  public static List<Move> moves(List<Overlap> overlaps, Map<String, TableSpec> tables) {
    return overlaps.stream()
        .filter(Overlap::changesDevice)
        .map(overlap -> new Move(overlap, overlap.bytes(tables)))
        .sorted(Move.ORDER)
        .toList();
  }

  /**
   * Returns an order in which what changes its device can be moved with no device above its memory.
   *
   * @param overlaps what two plans both hold
   * @param tables the tables of the second plan by name
   * @param cluster the devices of the second plan
   * @return steps that name moves by their place in {@link #moves}
   */
  public static List<MoveStep> moveOrder(
      List<Overlap> overlaps, Map<String, TableSpec> tables, ClusterSpec cluster) {
    return MoveOrder.of(overlaps, tables, cluster);
  }
}
