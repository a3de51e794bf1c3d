package io.shardtide.cost;

import io.shardtide.domain.OutOfRange;
import java.util.Objects;
import java.util.Optional;

/**
 * What a model has seen of a quantity.
 *
 * @param quantity which, with its unit
 * @param min smallest value in training
 * @param max largest value in training
 */
public record TrainedRange(String quantity, double min, double max) {
  /** Sampled values are written with a few digits. */
  private static final double ROUNDING = 1e-6;

  /** Checks the order. */
  public TrainedRange {
    Objects.requireNonNull(quantity, "quantity");
    if (!(min <= max) || !Double.isFinite(min) || !Double.isFinite(max)) {
      throw new InvalidModelException(
          "The range of %s is %s to %s; legal are finite numbers, the smaller first"
              .formatted(quantity, min, max));
    }
  }

  /** Returns how a value is out of the range, if it is. */
  public Optional<OutOfRange> check(String subject, double value) {
    boolean inside = value >= min * (1 - ROUNDING) && value <= max * (1 + ROUNDING);
    return inside
        ? Optional.empty()
        : Optional.of(new OutOfRange(subject, quantity, value, min, max));
  }
}
