package io.shardtide.allocation.choice;

import java.util.stream.IntStream;

/**
 * One option has to be chosen of each group. The arrays are not copied, and must not change.
 *
 * @param values value of each option, by group; each group has at least one
 * @param uses what each option uses of each limited quantity, at least 0: by quantity, group and
 *     option
 * @param limits how much of each quantity all chosen options may use together, at least 0
 * @param fallback option of each group: a choice within the limits
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared, and too large to copy.
public record ChoiceProblem(double[][] values, double[][][] uses, double[] limits, int[] fallback) {
  /** Relative and absolute tolerance of a limit: sums of doubles are not exact. */
  private static final double TOLERANCE = 1e-7;

  /** Checks the sizes and the fallback. */
  public ChoiceProblem {
    if (uses.length != limits.length || fallback.length != values.length) {
      throw new IllegalArgumentException(
          "sizes must agree, got %s uses of %s limits, and %s fallbacks of %s groups"
              .formatted(uses.length, limits.length, fallback.length, values.length));
    }
    for (int q = 0; q < limits.length; q++) {
      double used = sum(uses[q], fallback);
      if (!isWithin(used, limits[q])) {
        throw new IllegalArgumentException(
            "fallback must use at most %s of quantity %s, got %s".formatted(limits[q], q, used));
      }
    }
  }

  /** Returns whether a choice is within all limits. */
  public boolean allows(int[] choice) {
    return IntStream.range(0, limits.length)
        .allMatch(q -> isWithin(sum(uses[q], choice), limits[q]));
  }

  /** Returns the total value of a choice. */
  public double value(int[] choice) {
    return sum(values, choice);
  }

  /** Returns the sum of a quantity over the options of a choice. */
  public static double sum(double[][] of, int[] choice) {
    double sum = 0;
    for (int g = 0; g < choice.length; g++) {
      sum += of[g][choice[g]];
    }
    return sum;
  }

  private static boolean isWithin(double used, double limit) {
    return used <= limit + TOLERANCE * (1 + limit);
  }
}
