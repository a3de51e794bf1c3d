package io.shardtide.plan;

import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import java.util.Comparator;

/**
 * A part of a table that goes from one device to another, or to each other one.
 *
 * @param overlap what moves: rows and columns that exist on both sides. The device that held them
 *     may be gone
 * @param bytes their bytes, on all devices that get them together; at least 0
 */
public record Transfer(Overlap overlap, long bytes) {

  /** The order of moves in a plan: by table, column, row. */
  public static final Comparator<Transfer> ORDER =
      Comparator.comparing(Transfer::table)
          .thenComparing(Transfer::region, Region.ORDER)
          .thenComparingInt(Transfer::toDevice);

  /**
   * @throws IllegalArgumentException if the overlap stays on its device, or bytes are below 0
   */
  public Transfer {
    if (!overlap.changesDevice()) {
      throw new IllegalArgumentException(
          "a move must be between two devices, got device %s twice for table %s"
              .formatted(overlap.toDevice(), Names.quote(overlap.table())));
    }
    Limits.ARGUMENTS.atLeast("bytes of a move", bytes, 0);
  }

  /** Returns whether a shard of the plan after the move gets what moves. */
  boolean isInto(Shard shard, PlanShards next) {
    return table().equals(shard.table())
        && (shard.isCopied() || shard.device() == next.position(toDevice()))
        && region().intersection(shard.region()).isPresent();
  }

  /** Returns the name of the table. */
  public String table() {
    return overlap.table();
  }

  /** Returns the part of the table that moves. */
  public Region region() {
    return overlap.region();
  }

  /**
   * Returns the device that held the part; {@link Shard#EVERY_DEVICE} if each one that was there
   * has a copy, and keeps it.
   */
  public int fromDevice() {
    return overlap.fromDevice();
  }

  /**
   * Returns the device that holds the part from now on; {@link Shard#EVERY_DEVICE} if each other
   * device gets a copy, and the one that held the part keeps it.
   */
  public int toDevice() {
    return overlap.toDevice();
  }
}
