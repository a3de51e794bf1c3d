package io.shardtide.cost;

import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Limits;
import java.util.Arrays;
import java.util.Optional;

/**
 * A measured collective that all devices began together. Holds its arrays without a copy.
 *
 * @param collective the operation
 * @param direction the half of a step that it was measured in; empty if it stands for both
 * @param devices devices that took part, at least 2
 * @param devicesPerNode devices that share a node, at least 1; if the devices are not a multiple of
 *     it, the last node has fewer
 * @param bytes of an all-to-all, the bytes that each device sends to each other one, by device; of
 *     any other collective, one number: the whole buffer on a device; at least 0
 * @param ms of an all-to-all, the duration on each device, otherwise one number; in milliseconds,
 *     above 0
 */
@SuppressWarnings("ArrayRecordComponent") // Read by the hundred thousand, never compared.
public record CollectiveSample(
    Collective collective,
    Optional<Direction> direction,
    int devices,
    int devicesPerNode,
    double[] bytes,
    double[] ms) {

  /** Checks the sizes and the ranges. */
  public CollectiveSample {
    Limits limits = Limits.of(IllegalArgumentException::new, "a collective");
    limits.atLeast("devices", devices, 2).whole("devices per node", devicesPerNode, 1, devices);
    int expected = collective == Collective.ALL_TO_ALL ? devices : 1;
    if (bytes.length != expected || ms.length != expected) {
      throw new IllegalArgumentException(
          "%s of %s devices must have %s numbers of bytes and of ms, got %s and %s"
              .formatted(collective.label(), devices, expected, bytes.length, ms.length));
    }
    for (double b : bytes) {
      limits.within("bytes", b, 0, Double.MAX_VALUE);
    }
    for (double t : ms) {
      limits.above("ms", t, 0);
    }
  }

  /** Returns the devices that took part. */
  public DeviceGroup group() {
    return new DeviceGroup(devices, devicesPerNode);
  }

  /** Returns the bytes of the busiest device's buffer; of an all-to-all with its part to itself. */
  double heldBytes() {
    return collective == Collective.ALL_TO_ALL ? mostBytes() * devices : mostBytes();
  }

  /** Returns the bytes of the device that has the most. */
  public double mostBytes() {
    return Arrays.stream(bytes).max().orElseThrow();
  }

  /** Returns the milliseconds of the slowest device. */
  public double longestMs() {
    return Arrays.stream(ms).max().orElseThrow();
  }

  /** Returns what was measured, for display: {@code all_to_all.forward}, say. */
  public String shown() {
    return collective.label() + direction.map(d -> "." + d.label()).orElse("");
  }
}
