package io.shardtide.domain;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Comparator;
import java.util.Objects;

/**
 * Something that a cost model was not trained on: its prediction there is less sure.
 *
 * @param subject what it is about: a table's name, "cluster", or "device N"
 * @param quantity which quantity, with its unit
 * @param value its value
 * @param min smallest value in training
 * @param max largest value in training
 */
public record OutOfRange(String subject, String quantity, double value, double min, double max) {
  private static final double MAX_EXACT = 1e7;

  /** The farthest out first. */
  public static final Comparator<OutOfRange> ORDER =
      Comparator.comparingDouble(OutOfRange::factor)
          .reversed()
          .thenComparing(OutOfRange::subject)
          .thenComparing(OutOfRange::quantity);

  /** Checks that it is out of the range. */
  public OutOfRange {
    Objects.requireNonNull(subject, "subject");
    Objects.requireNonNull(quantity, "quantity");
    if (value >= min && value <= max) {
      throw new IllegalArgumentException(value + " is from " + min + " to " + max);
    }
  }

  /**
   * Returns how many times the largest value, or what fraction of the smallest turned over: above
   * 1.
   */
  public double factor() {
    return value > max
        ? value / Math.max(max, Double.MIN_NORMAL)
        : min / Math.max(value, Double.MIN_NORMAL);
  }

  /** Returns a sentence's worth of it: {@code a with rows of 5000000 (trained: 100 to 20000)}. */
  public String describe() {
    return "%s with %s of %s (trained: %s to %s)"
        .formatted(subject, quantity, digits(value), digits(min), digits(max));
  }

  /** Integers up to ten million exactly, all else with three significant digits. */
  private static String digits(double number) {
    return number == Math.rint(number) && Math.abs(number) < MAX_EXACT
        ? Long.toString((long) number)
        : new BigDecimal(number).round(new MathContext(3)).stripTrailingZeros().toPlainString();
  }
}
