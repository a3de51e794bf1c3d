package io.shardtide.domain;

import java.util.Comparator;
import java.util.Objects;

/**
 * Why a table was cut, or why some of its columns moved.
 *
 * @param kind the decision
 * @param table the table
 * @param fromDevice device that held the columns; -1 for a cut
 * @param toDevice device that holds them now; -1 for a cut
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
    /** Columns of a table changed their device. */
    MOVE
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

  /** Checks that there are names. */
  public Explanation {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(cause, "cause");
  }
}
