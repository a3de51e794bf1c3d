package io.shardtide.workload;

/**
 * Range that a numeric setting must be in. A record that holds the setting checks it; the settings
 * file, its messages and its documentation take it from there.
 *
 * @param min least value, or the bound that the value must be above
 * @param max greatest value
 * @param aboveMin whether {@code min} itself is outside the range
 */
public record NumberRange(double min, double max, boolean aboveMin) {
  /** Returns the range of whole numbers from {@code min} to {@code max}, at most 2^53. */
  public static NumberRange whole(long min, long max) {
    return new NumberRange((double) min, (double) max, false);
  }

  /** Returns the range from {@code min} to {@code max}. */
  public static NumberRange of(double min, double max) {
    return new NumberRange(min, max, false);
  }

  /** Returns the range above {@code min}, up to {@code max}. */
  public static NumberRange above(double min, double max) {
    return new NumberRange(min, max, true);
  }

  /** Returns whether a value is in the range; NaN is in none. */
  public boolean contains(double value) {
    return (aboveMin ? value > min : value >= min) && value <= max;
  }

  /**
   * Checks a value.
   *
   * @param name what the value is, for the message
   * @throws IllegalArgumentException if it is outside the range
   */
  public void check(String name, double value) {
    if (!contains(value)) {
      throw new IllegalArgumentException(
          "%s must be %s, got %s".formatted(name, this, text(value)));
    }
  }

  /** Checks a whole number; see {@link #check(String, double)}. */
  public void check(String name, long value) {
    check(name, (double) value);
  }

  private static String text(double value) {
    return value == Math.rint(value) && Math.abs(value) <= 0x1p53
        ? Long.toString((long) value)
        : Double.toString(value);
  }

  /** Returns the range as messages of {@link Limits} have it. */
  String expected() {
    if (max == Double.MAX_VALUE) {
      return (aboveMin ? "above " : "at least ") + text(min);
    }
    int exponent = Math.getExponent(max);
    String most = exponent > 31 && max == Math.scalb(1.0, exponent) ? "2^" + exponent : text(max);
    return (aboveMin ? "above %s and at most %s" : "between %s and %s").formatted(text(min), most);
  }

  /**
   * Returns the range as settings' documentation shows it, such as "1 to 256" or "above 0 to 10".
   */
  @Override
  public String toString() {
    return "%s%s to %s".formatted(aboveMin ? "above " : "", text(min), text(max));
  }
}
