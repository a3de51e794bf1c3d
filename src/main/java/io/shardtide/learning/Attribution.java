package io.shardtide.learning;

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
}
