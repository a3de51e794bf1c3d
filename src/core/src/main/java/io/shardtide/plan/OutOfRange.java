package io.shardtide.plan;

import io.shardtide.workload.Limits;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Comparator;

/**
 * A value outside the training range of a cost model, where it extrapolates.
 *
 * @param subject what has the value: a table's name, "cluster", or "device N"
 * @param quantity name of the quantity, with its unit
 * @param value the value
 * @param min smallest value in training
 * @param max largest value in training
 */
public record OutOfRange(String subject, String quantity, double value, double min, double max) {
  private static final double MAX_EXACT = 1e7;

  /** Smaller numbers have an exponent instead of zeros, of which there can be 323. */
  private static final double MIN_PLAIN = 1e-6;

  /** The farthest out first. */
  public static final Comparator<OutOfRange> ORDER =
      Comparator.comparingDouble(OutOfRange::factor)
          .reversed()
          .thenComparing(OutOfRange::subject)
          .thenComparing(OutOfRange::quantity);

  /** Checks that the value is outside the range. */
  public OutOfRange {
    boolean isOutside = !(value >= min && value <= max);
    Limits.ARGUMENTS.check(isOutside, "value", "outside of " + min + " to " + max, value);
  }

  /**
   * Returns the ratio of the value to the largest one in training, or of the smallest one to the
   * value: above 1.
   */
  public double factor() {
    return value > max
        ? value / Math.max(max, Double.MIN_NORMAL)
        : min / Math.max(value, Double.MIN_NORMAL);
  }

  /** Returns a description: {@code a with rows of 5000000 (trained: 100 to 20000)}. */
  public String describe() {
    return "%s with %s of %s (trained: %s to %s)"
        .formatted(subject, quantity, digits(value), digits(min), digits(max));
  }

  /** Integers up to ten million exactly, all else with three significant digits. */
  private static String digits(double number) {
    if (number == Math.rint(number) && Math.abs(number) < MAX_EXACT) {
      return Long.toString((long) number);
    }
    BigDecimal rounded = new BigDecimal(number).round(new MathContext(3)).stripTrailingZeros();
    return Math.abs(number) < MIN_PLAIN ? rounded.toString() : rounded.toPlainString();
  }
}
