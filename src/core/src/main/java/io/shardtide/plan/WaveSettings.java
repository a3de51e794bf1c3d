package io.shardtide.plan;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;
import io.shardtide.workload.NumberRange;
import io.shardtide.workload.UsableMemory;
import java.util.Optional;

/**
 * How the moves of a plan are made in waves while training goes on; see {@link MoveWaves}.
 *
 * @param linkShare share of each device's link that moves may take, sending and receiving alike;
 *     {@link #LINK_SHARE}
 * @param usableMemory {@link ClusterSpec#usableMemory}; if it is not known, devices count as having
 *     no more memory than the plan's fullest one needs
 * @param longestMs how long the transfers of a wave may take, in milliseconds, above 0; the moves
 *     of one table may take longer. {@link Double#POSITIVE_INFINITY} for as few waves as possible
 */
public record WaveSettings(
    double linkShare, Optional<UsableMemory> usableMemory, double longestMs) {
  /** Range of {@code linkShare}: collectives keep a tenth of the link at least. */
  public static final NumberRange LINK_SHARE = NumberRange.above(0, 0.9);

  /**
   * A quarter of the link: steps take at most 4/3 times as long meanwhile. With a step that
   * communicates for half its time and a plan that gains 5%, the time lost to slower steps and to
   * the later gain is within 3% of the least at any share from a quarter to a half; the smallest of
   * these disturbs steps least.
   */
  public static final double DEFAULT_LINK_SHARE = 0.25;

  /** Checks the ranges. */
  public WaveSettings {
    LINK_SHARE.check("linkShare", linkShare);
    Limits.ARGUMENTS.check(longestMs > 0, "longestMs", "above 0", longestMs);
  }

  /** As few waves as possible, with a quarter of the link. */
  public WaveSettings(Optional<UsableMemory> usableMemory) {
    this(DEFAULT_LINK_SHARE, usableMemory, Double.POSITIVE_INFINITY);
  }
}
