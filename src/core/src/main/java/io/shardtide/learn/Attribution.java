package io.shardtide.learn;

import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Splits the residuals of one measurement into a part common to all devices and each device's
 * excess.
 *
 * @param common lower median over devices. It shifts only when more than half of the devices are
 *     slow; of two devices it is the faster one's residual
 * @param excess residual minus {@code common}, by device number
 */
public record Attribution(double common, SortedMap<Integer, Double> excess) {
  /** With fewer devices, one that is slow would be half of them. */
  private static final int LEAST_DEVICES = 3;

  /**
   * Splits residuals.
   *
   * @param residuals by device number, at least one
   */
  public static Attribution of(SortedMap<Integer, Double> residuals) {
    double[] sorted = residuals.values().stream().mapToDouble(r -> r).sorted().toArray();
    double common = sorted[(sorted.length - 1) / 2];
    SortedMap<Integer, Double> excess = new TreeMap<>();
    residuals.forEach((device, residual) -> excess.put(device, residual - common));
    return new Attribution(common, excess);
  }

  /**
   * Returns how far devices are apart: the upper median of the sizes of their excesses, which one
   * slow device does not change. Empty with fewer than three devices.
   */
  public OptionalDouble spread() {
    double[] sizes = excess.values().stream().mapToDouble(Math::abs).sorted().toArray();
    return sizes.length < LEAST_DEVICES
        ? OptionalDouble.empty()
        : OptionalDouble.of(sizes[sizes.length / 2]);
  }
}
