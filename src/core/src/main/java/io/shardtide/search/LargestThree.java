package io.shardtide.search;

import java.util.Arrays;

/**
 * The three devices with the largest values: for any two devices, the largest value of all others
 * is among them.
 */
final class LargestThree {
  private final double[] values;
  private final int[] top = new int[3];

  /**
   * @param values a value for each device; read when ranked
   */
  LargestThree(double[] values) {
    this.values = values;
  }

  /** Ranks all devices; of equal ones the lower number comes first. */
  void rank() {
    Arrays.fill(top, -1);
    double third = Double.NEGATIVE_INFINITY;
    for (int d = 0; d < values.length; d++) {
      double value = values[d];
      if (value > third) {
        int i = 2;
        for (; i > 0 && (top[i - 1] < 0 || values[top[i - 1]] < value); i--) {
          top[i] = top[i - 1];
        }
        top[i] = d;
        third = top[2] < 0 ? third : values[top[2]];
      }
    }
  }

  /** Returns the device with the largest value. */
  int first() {
    return top[0];
  }

  /** Returns the largest value of all devices but two, or 0 if there are no others. */
  double largestBut(int d, int e) {
    for (int i = 0; i < 3 && top[i] >= 0; i++) {
      if (top[i] != d && top[i] != e) {
        return values[top[i]];
      }
    }
    return 0;
  }
}
