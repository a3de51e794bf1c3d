package io.shardtide.cost;

import io.shardtide.plan.OutOfRange;
import java.util.Optional;

/**
 * Range of a quantity in training.
 *
 * @param quantity name of the quantity, with its unit
 * @param min smallest value in training
 * @param max largest value in training
 */
public record TrainedRange(String quantity, double min, double max) {
  /** Tolerance: sampled values are written with a few digits. */
  private static final double ROUNDING = 1e-6;

  /** Checks the order. */
  public TrainedRange {
    if (!(min <= max) || !Double.isFinite(min) || !Double.isFinite(max)) {
      throw new InvalidModelException(
          "range of %s must be finite, the smaller value first, got %s to %s"
              .formatted(quantity, min, max));
    }
  }

  /** Returns that a value is outside the range, if it is. */
  public Optional<OutOfRange> check(String subject, double value) {
    boolean inside = value >= min * (1 - ROUNDING) && value <= max * (1 + ROUNDING);
    return inside
        ? Optional.empty()
        : Optional.of(new OutOfRange(subject, quantity, value, min, max));
  }
}
