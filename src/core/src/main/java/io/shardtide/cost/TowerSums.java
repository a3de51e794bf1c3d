package io.shardtide.cost;

/**
 * Sums of tower outputs that do not depend on the order of the additions.
 *
 * <p>A tower's output is rounded to a multiple of 2^-24. A double holds every multiple of 2^-24
 * below 2^29 exactly, so that sums in this range have no rounding at all: a device costs the same
 * whichever shard came first, and taking a shard away gives back the sum from before it came, bit
 * for bit. The rounding is below 6e-8, a tenth of what TensorFlow and plain Java differ by.
 */
public final class TowerSums {
  private static final double UNITS = 1 << 24;

  /** With outputs up to this, 512 shards on one device are summed exactly. */
  private static final double MAX_OUTPUT = 1 << 20;

  private TowerSums() {}

  /**
   * Returns a tower's output rounded to what can be summed exactly. A number above 2^20, a thousand
   * times the largest outputs in training, counts as 2^20, and so does NaN: a shard so far outside
   * the training range is expensive.
   */
  public static double[] exact(float[] tower) {
    double[] exact = new double[tower.length];
    for (int i = 0; i < tower.length; i++) {
      exact[i] = exact(tower[i]);
    }
    return exact;
  }

  /** Returns a number rounded likewise. */
  static double exact(double number) {
    double bounded = Math.abs(number) <= MAX_OUTPUT ? number : MAX_OUTPUT;
    return Math.rint(bounded * UNITS) / UNITS;
  }

  /** Adds a shard to a device's sum. */
  public static void add(double[] sum, double[] exactTower) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += exactTower[i];
    }
  }
}
