package io.shardtide.domain;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A part of a table that two plans both hold. In place of a device there may be {@link
 * Shard#EVERY_DEVICE}:
 *
 * <ul>
 *   <li>from a device to each: every other device gets a copy;
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
  /** Checks that nothing is missing. */
  public Overlap {
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(region, "region");
  }

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
   * @param devices number of devices of the second plan
   */
  public int receivers(int devices) {
    if (!changesDevice()) {
      return 0;
    }
    return toDevice == Shard.EVERY_DEVICE ? devices - (fromDevice < devices ? 1 : 0) : 1;
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
    Map<String, List<Shard>> before = new HashMap<>();
    for (Shard shard : previous.shards()) {
      before.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    List<Overlap> overlaps = new ArrayList<>();
    for (Shard to : next.shards()) {
      for (Shard from : before.getOrDefault(to.table(), List.of())) {
        from.region()
            .intersection(to.region())
            .ifPresent(
                region -> {
                  if (from.isCopied()) {
                    addCopied(overlaps, region, to, previous.devices(), next.devices());
                  } else {
                    overlaps.add(new Overlap(to.table(), region, from.device(), to.device()));
                  }
                });
      }
    }
    return overlaps;
  }

  /** Adds what remains of a copy on each device. */
  private static void addCopied(
      List<Overlap> overlaps, Region region, Shard to, int devicesBefore, int devices) {
    if (to.isCopied()) {
      overlaps.add(new Overlap(to.table(), region, Shard.EVERY_DEVICE, Shard.EVERY_DEVICE));
      for (int device = devicesBefore; device < devices; device++) {
        overlaps.add(new Overlap(to.table(), region, Shard.EVERY_DEVICE, device));
      }
    } else {
      int from = to.device() < devicesBefore ? to.device() : 0;
      overlaps.add(new Overlap(to.table(), region, from, to.device()));
    }
  }

  /**
   * Returns those of overlaps that change their device, in {@link Move#ORDER}.
   *
   * @param tables the tables of the second plan by name
   * @param devices number of devices of the second plan
   */
  public static List<Move> moves(
      List<Overlap> overlaps, Map<String, TableSpec> tables, int devices) {
    return overlaps.stream()
        .filter(Overlap::changesDevice)
        .map(overlap -> new Move(overlap, overlap.bytes(tables) * overlap.receivers(devices)))
        .sorted(Move.ORDER)
        .toList();
  }

  /**
   * Returns an order in which what changes its device can be moved with no device above its memory.
   *
   * @param previous the first plan
   * @param next the second plan
   * @param tables the tables of the second plan by name
   * @param cluster the devices of the second plan
   * @return steps that name moves by their place in {@link #moves}
   */
  public static List<MoveStep> moveOrder(
      PlanShards previous, PlanShards next, Map<String, TableSpec> tables, ClusterSpec cluster) {
    return MoveOrder.of(between(previous, next), new DeviceBytes(previous, next, tables), cluster);
  }
}
