package io.shardtide.growth;

/**
 * A forecast with its 90% range.
 *
 * @param low 5% are lower
 * @param median half are lower
 * @param high 5% are higher
 */
public record Range(double low, double median, double high) {
  Range plus(double number) {
    return new Range(low + number, median + number, high + number);
  }

  Range plus(Range other) {
    return new Range(low + other.low, median + other.median, high + other.high);
  }

  Range times(double factor) {
    return new Range(low * factor, median * factor, high * factor);
  }

  Range atLeast(double least) {
    return new Range(Math.max(least, low), Math.max(least, median), Math.max(least, high));
  }
}
