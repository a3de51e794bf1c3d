package io.shardtide.cost;

import java.util.Objects;

/**
 * One number that a net reads: how it is normalised, and what was seen of it in training.
 *
 * @param name name with unit
 * @param mean subtracted before use
 * @param scale divides after that; above 0
 * @param min smallest value in training
 * @param max largest value in training
 */
public record Feature(String name, double mean, double scale, double min, double max) {
  /**
   * How far a net follows a value out of the range that it was trained on, in lengths of the range;
   * further out it reads the edge. Half a range keeps what nets get right there (tables with three
   * times the lookups: 1.5%) and bounds what they get wrong further out, where the fitted terms
   * alone go on.
   */
  private static final double MARGIN = 0.5;

  /** Checks that the numbers can be computed with. */
  public Feature {
    Objects.requireNonNull(name, "name");
    if (!Double.isFinite(mean)
        || !(scale > 0 && Double.isFinite(scale))
        || !Double.isFinite(min)
        || !Double.isFinite(max)
        || min > max) {
      throw new InvalidModelException(
          "Feature %s has mean %s, scale %s, range %s to %s; legal are finite numbers, a scale above 0 and min <= max"
              .formatted(name, mean, scale, min, max));
    }
  }

  /** Returns {@code (value - mean) / scale}, and 0, the mean, where the value is missing (NaN). */
  public float normalize(double value) {
    if (Double.isNaN(value)) {
      return 0f;
    }
    double reach = MARGIN * (max - min);
    double bounded = Math.max(min - reach, Math.min(max + reach, value));
    return (float) ((bounded - mean) / scale);
  }
}
