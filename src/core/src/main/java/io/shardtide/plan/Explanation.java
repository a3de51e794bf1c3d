package io.shardtide.plan;

import java.util.Comparator;

/**
 * Why a table was cut, why its rows are split or copied, why a part of it moved, or why there are
 * so many replica groups. Devices are numbered in their group.
 *
 * @param kind the decision
 * @param table the table; empty of replica groups
 * @param fromDevice device that held the part, of rows that are split over a node the first of its
 *     devices; -1 if nothing moved
 * @param toDevice device that holds it now, likewise; -1 if nothing moved
 * @param cause its purpose
 * @param gainMs how much longer a step would take without it, everything else unchanged, in
 *     milliseconds; at most 0 if only several decisions together gain; 0 if it cannot be undone,
 *     because a device was lost or has no room
 */
public record Explanation(
    ExplainedAction kind, String table, int fromDevice, int toDevice, Cause cause, double gainMs) {
  /** The largest gain first. */
  public static final Comparator<Explanation> ORDER =
      Comparator.comparingDouble(Explanation::gainMs)
          .reversed()
          .thenComparing(Explanation::table)
          .thenComparing(Explanation::kind)
          .thenComparingInt(Explanation::toDevice)
          .thenComparingInt(Explanation::fromDevice);

  /** A decision. */
  public enum ExplainedAction {
    /** A table has more than one shard. */
    SPLIT,
    /** A part of a table changed its device, or its node. */
    MOVE,
    /**
     * The rows of a table are split or copied; without it, all are on one device, or cut by columns
     * into equal parts. Or they no longer are; without it, they are where they were.
     */
    KIND,
    /** A table has a cache, because it does not fit; without it, the cache is the smallest one. */
    CACHE,
    /**
     * Each device has a copy of the most used rows of a table; without it, they are with all
     * others.
     */
    HOT_ROWS,
    /**
     * The devices form replica groups, or one; without it, the next best ones, which take at least
     * as much longer. Of no table.
     */
    GROUPS
  }

  /** The purpose of a decision. */
  public enum Cause {
    /** Less computation on the device with the most. */
    COMPUTATION,
    /** Less communication of the device with the most. */
    COMMUNICATION,
    /** It does not fit otherwise. */
    MEMORY,
    /** The device was lost. */
    DEVICE_LOST
  }
}
