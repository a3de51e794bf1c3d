package io.shardtide.domain;

import java.time.Instant;

/**
 * How much slower than its peers a position in the replica groups is.
 *
 * @param slowdown how many times as long it takes as a healthy one, 1 to {@value DeviceSpeed#MOST}
 * @param standardError standard error of {@code slowdown}, at least 0
 * @param since when the measurement was made that raised the alarm
 */
public record PositionSpeed(double slowdown, double standardError, Instant since) {

  /** Returns the speed of a rank with this position. */
  public DeviceSpeed of(int rank, CostPart part) {
    return new DeviceSpeed(rank, part, slowdown, standardError, since);
  }
}
