package io.shardtide.learning;

import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What of the residuals is common to all devices, and what is one device's own.
 *
 * @param common the lower median over devices: something that slows a device (nothing makes one
 *     faster than its peers) moves it as late as when most devices are slow, and with two devices
 *     it is the faster one's
 * @param excess each device's residual less the common part, by the device's number
 */
public record Attribution(double common, SortedMap<Integer, Double> excess) {
  /**
   * Tells the parts apart.
   *
   * @param residuals by the device's number, at least one
   */
  public static Attribution of(SortedMap<Integer, Double> residuals) {
    double[] sorted = residuals.values().stream().mapToDouble(r -> r).sorted().toArray();
    double common = sorted[(sorted.length - 1) / 2];
    SortedMap<Integer, Double> excess = new TreeMap<>();
    residuals.forEach((device, residual) -> excess.put(device, residual - common));
    return new Attribution(common, excess);
  }
}
