package io.shardtide.cost;

/**
 * What all devices send in an all-to-all.
 *
 * @param group the devices
 * @param maxBytes bytes to each peer, of the device that sends the most
 * @param meanBytes bytes to each peer, mean over devices
 * @param nodeLevel the mean over the devices of the node that sends the most, in {@value
 *     #LEVELS}ths of {@code meanBytes}, rounded up: {@value #LEVELS} if nodes send equally much
 */
public record AllToAllLoad(DeviceGroup group, double maxBytes, double meanBytes, int nodeLevel) {
  /**
   * Resolution of {@link #nodeLevel}. Rounding lets a search look up the costs of loads that differ
   * a little between nodes; it changes a cost by less than 0.3%.
   */
  public static final int LEVELS = 64;

  /** Less than any difference between loads. */
  private static final double ROUNDING = 1e-6;

  /**
   * Returns the load of devices.
   *
   * @param bytes bytes that each device sends to each other one
   */
  public static AllToAllLoad of(DeviceGroup group, double[] bytes) {
    return of(group, bytes, 1);
  }

  /**
   * Returns the load of devices. Whole numbers have the same sum in any order, so that the costs of
   * devices do not depend on their numbers, to the last bit.
   *
   * @param numbers what each device contributes, in any unit
   * @param bytes bytes to each other device for each unit
   */
  static AllToAllLoad of(DeviceGroup group, double[] numbers, double bytes) {
    double max = 0;
    double sum = 0;
    double maxNode = 0;
    double node = 0;
    int first = 0;
    for (int d = 0; d < numbers.length; d++) {
      max = Math.max(max, numbers[d]);
      sum += numbers[d];
      node += numbers[d];
      if ((d + 1) % group.devicesPerNode() == 0 || d + 1 == numbers.length) {
        maxNode = Math.max(maxNode, node / (d + 1 - first));
        first = d + 1;
        node = 0;
      }
    }
    double mean = sum / numbers.length;
    return new AllToAllLoad(group, max * bytes, mean * bytes, level(maxNode, mean));
  }

  /** Returns the level of a node's mean load. */
  public static int level(double nodeMean, double mean) {
    return mean == 0 ? LEVELS : (int) Math.ceil(LEVELS * (nodeMean / mean) - ROUNDING);
  }

  /** Returns the bytes to each peer, mean over the devices of the node that sends the most. */
  double maxNodeBytes() {
    return meanBytes * nodeLevel / LEVELS;
  }
}
