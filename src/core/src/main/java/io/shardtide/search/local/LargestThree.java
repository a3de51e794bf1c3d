package io.shardtide.search.local;

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
    for (int d = 0; d < values.length; d++) {
      if (top[2] >= 0 && values[top[2]] >= values[d]) {
        continue;
      }
      if (top[0] < 0 || values[top[0]] < values[d]) {
        top[2] = top[1];
        top[1] = top[0];
        top[0] = d;
      } else if (top[1] < 0 || values[top[1]] < values[d]) {
        top[2] = top[1];
        top[1] = d;
      } else {
        top[2] = d;
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
