package io.shardtide.search;

import java.util.Arrays;

/**
 * Costs of loads that a search has computed lately: a table of fixed size in which a new cost takes
 * the place of the one that was there.
 */
final class RememberedCosts {
  private static final int SIZE = 1 << 10;
  private final double[] elements = new double[SIZE];
  private final int[] devices = new int[SIZE];
  private final double[] ms = new double[SIZE];

  RememberedCosts() {
    Arrays.fill(ms, Double.NaN);
  }

  private static int index(double ofElements, int ofDevices) {
    long bits = (Double.doubleToRawLongBits(ofElements) + ofDevices) * 0x9E3779B97F4A7C15L;
    return (int) (bits >>> 54);
  }

  /** Returns a cost, or NaN if it is not there. */
  double get(double ofElements, int ofDevices) {
    int i = index(ofElements, ofDevices);
    return elements[i] == ofElements && devices[i] == ofDevices ? ms[i] : Double.NaN;
  }

  void put(double ofElements, int ofDevices, double cost) {
    int i = index(ofElements, ofDevices);
    elements[i] = ofElements;
    devices[i] = ofDevices;
    ms[i] = cost;
  }
}
