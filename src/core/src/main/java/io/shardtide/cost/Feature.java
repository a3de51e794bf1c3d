package io.shardtide.cost;

/**
 * An input of a net: its normalisation and its range in training.
 *
 * @param name name with unit
 * @param mean subtracted before use
 * @param scale divisor after that, above 0
 * @param min smallest value in training
 * @param max largest value in training
 */
public record Feature(String name, double mean, double scale, double min, double max) {
  /**
   * How far a value may be outside the training range, in lengths of the range; values further out
   * are clipped. Half a range keeps what nets predict well there (tables with three times the
   * lookups: 1.5%) and bounds their errors further out, where the fitted terms alone extrapolate.
   */
  private static final double MARGIN = 0.5;

  /** Checks that the numbers are usable. */
  public Feature {
    if (!Double.isFinite(mean)
        || !(scale > 0 && Double.isFinite(scale))
        || !Double.isFinite(min)
        || !Double.isFinite(max)
        || min > max) {
      throw new InvalidModelException(
          "mean, scale and range of feature %s must be finite, the scale above 0 and min <= max, got %s, %s, %s to %s"
              .formatted(name, mean, scale, min, max));
    }
  }

  /** Returns {@code (value - mean) / scale}, and 0, the mean, where the value is missing (NaN). */
  public float normalize(double value) {
    if (Double.isNaN(value)) {
      return 0f;
    }
    return (float) ((Math.max(least(), Math.min(greatest(), value)) - mean) / scale);
  }

  /** Returns the smallest value that is told from smaller ones. */
  public double least() {
    return min - MARGIN * (max - min);
  }

  /** Returns the largest value that is told from larger ones. */
  public double greatest() {
    return max + MARGIN * (max - min);
  }
}
