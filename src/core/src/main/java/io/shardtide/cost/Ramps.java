package io.shardtide.cost;

/**
 * Ramps over a range: each rises from 0 to 1 between two neighbouring knots. A weighted sum of them
 * is a piecewise linear function; independent weights make it a Brownian motion (Wiener process),
 * which learns a step at any place.
 *
 * @param low first knot
 * @param step distance between two knots
 * @param count number of ramps
 */
record Ramps(double low, double step, int count) {
  /**
   * Writes the ramps at a value; returns the next position.
   *
   * @param phase by how much each ramp begins earlier, as a share of the distance, 0 to below 1
   */
  int write(double value, double phase, double[] basis, int from) {
    for (int k = 0; k < count; k++) {
      basis[from + k] = Math.max(0, Math.min(1, (value - low) / step - k + phase));
    }
    return from + count;
  }
}
