package io.shardtide.domain;

/**
 * The number of a device in its replica group: what a measurement and the costs of a plan are of.
 * Each group has a rank with this position, so that a position is no rank; see {@link
 * PlanShards#ranks(Position)}.
 *
 * @param number the number, from 0
 */
public record Position(int number) {
  /** Checks the range. */
  public Position {
    if (number < 0) {
      throw new IllegalArgumentException("position must be at least 0, got " + number);
    }
  }
}
