package io.shardtide.domain;

import java.util.Comparator;
import java.util.Objects;

/**
 * Why a table was cut, or why columns of it moved.
 *
 * @param kind what was done
 * @param table the table
 * @param fromDevice where columns were; -1 for a cut
 * @param toDevice where columns went; -1 for a cut
 * @param cause what it is for
 * @param gainMs how much longer a step would take without it, everything else as it is, in
 *     milliseconds; at most 0 where only several changes together gain; 0 where there is no
 *     without, because a device is gone or has no room
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

  /** What was done. */
  public enum ExplainedAction {
    /** A table has more than one shard. */
    SPLIT,
    /** Columns of a table changed their device. */
    MOVE
  }

  /** What it is for. */
  public enum Cause {
    /** Less computation where it takes longest. */
    COMPUTATION,
    /** Fewer columns where there are most. */
    COMMUNICATION,
    /** It would not fit otherwise. */
    MEMORY,
    /** The device is gone. */
    DEVICE_LOST
  }

  /** Checks that there are names. */
  public Explanation {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(cause, "cause");
  }
}
