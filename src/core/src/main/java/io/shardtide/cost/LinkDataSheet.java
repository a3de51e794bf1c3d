package io.shardtide.cost;

import io.shardtide.workload.Collective;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;

/**
 * Durations of collectives by the figures of a data sheet: latency + bytes / bandwidth (Hockney
 * 1994), of links in a node and of links between nodes. Both carry their bytes at the same time, so
 * that the slower ones decide:
 *
 * <pre>
 *   latency = nvlinkUs, if a node has several devices, + nicUs x log2(nodes)
 *   ms      = latency + max(bytes in the node / bandwidth, bytes between nodes / nicGbs)
 * </pre>
 *
 * <p>Bandwidth is the bus bandwidth of NCCL's tests (nccl-tests, doc/PERFORMANCE.md): bytes that
 * each device has to send, divided by time, whatever the number of devices. With n devices, m of
 * them in a node, k nodes:
 *
 * <table>
 *   <caption>Bytes that a device sends</caption>
 *   <tr><th>collective</th><th>in the node</th><th>between nodes</th></tr>
 *   <tr><td>all-to-all of b bytes to each peer</td><td>b (m - 1)</td><td>b (n - m)</td></tr>
 *   <tr><td>reduce-scatter, all-gather of a buffer of s bytes</td>
 *     <td>s (m - 1) / m</td><td>s / m (k - 1) / k</td></tr>
 *   <tr><td>all-reduce</td><td>twice that</td><td>twice that</td></tr>
 * </table>
 *
 * @param nvlinkGbs bus bandwidth of a device in a node, in GB/s (10^9 bytes a second), above 0
 * @param nvlsGbs bus bandwidth of an all-reduce in a node, in GB/s, above 0; with NVLink SHARP,
 *     switches add, and it is higher
 * @param nicGbs bandwidth of a device's own share of its node's network cards, in GB/s, above 0
 * @param nvlinkUs duration of the smallest collective in a node, in microseconds, above 0
 * @param nicUs what each doubling of the nodes adds to it, in microseconds, above 0
 * @param hostGbs bandwidth of a device's link to host memory, in GB/s, above 0; no collective uses
 *     it. Empty if it is not given
 */
public record LinkDataSheet(
    double nvlinkGbs,
    double nvlsGbs,
    double nicGbs,
    double nvlinkUs,
    double nicUs,
    OptionalDouble hostGbs) {
  private static final String NVLINK_GBS = "nvlink-gbs";
  private static final String NVLS_GBS = "nvls-gbs";
  private static final String NIC_GBS = "nic-gbs";
  private static final String NVLINK_US = "nvlink-us";
  private static final String NIC_US = "nic-us";
  private static final String HOST_GBS = "host-gbs";

  /** Names of the figures, with units. */
  public static final List<String> KEYS =
      List.of(NVLINK_GBS, NVLS_GBS, NIC_GBS, NVLINK_US, NIC_US, HOST_GBS);

  private static final List<String> REQUIRED = List.of(NVLINK_GBS, NIC_GBS);
  private static final double DEFAULT_NVLINK_US = 20;
  private static final double DEFAULT_NIC_US = 15;

  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException if a figure is not finite and above 0
   */
  public LinkDataSheet {
    check(NVLINK_GBS, nvlinkGbs);
    check(NVLS_GBS, nvlsGbs);
    check(NIC_GBS, nicGbs);
    check(NVLINK_US, nvlinkUs);
    check(NIC_US, nicUs);
    hostGbs.ifPresent(gbs -> check(HOST_GBS, gbs));
  }

  private static void check(String key, double value) {
    if (!(value > 0 && Double.isFinite(value))) {
      throw new IllegalArgumentException(
          "%s must be a finite number above 0, got %s".formatted(key, value));
    }
  }

  /**
   * Returns the data sheet of named figures. {@code nvls-gbs} is {@code nvlink-gbs} by default,
   * {@code nvlink-us} 20 and {@code nic-us} 15.
   *
   * @param figures by {@link #KEYS}
   * @throws IllegalArgumentException if a key is unknown, a required one is missing, or a figure is
   *     not finite and above 0
   */
  public static LinkDataSheet of(Map<String, Double> figures) {
    new TreeMap<>(figures)
        .forEach(
            (key, value) -> {
              if (!KEYS.contains(key)) {
                throw new IllegalArgumentException(
                    "links have no %s (its value is %s); expected %s"
                        .formatted(key, value, String.join(", ", KEYS)));
              }
            });
    List<String> missing = new ArrayList<>(REQUIRED);
    missing.removeAll(figures.keySet());
    if (!missing.isEmpty()) {
      throw new IllegalArgumentException(
          "links must have %s, got %s".formatted(String.join(" and ", missing), figures));
    }
    return new LinkDataSheet(
        figures.get(NVLINK_GBS),
        figures.getOrDefault(NVLS_GBS, figures.get(NVLINK_GBS)),
        figures.get(NIC_GBS),
        figures.getOrDefault(NVLINK_US, DEFAULT_NVLINK_US),
        figures.getOrDefault(NIC_US, DEFAULT_NIC_US),
        figures.containsKey(HOST_GBS)
            ? OptionalDouble.of(figures.get(HOST_GBS))
            : OptionalDouble.empty());
  }

  /**
   * Returns the duration of an all-to-all in milliseconds, on each device: all receive from the one
   * that sends the most.
   *
   * @param bytes bytes to each other device, of the device that sends the most; at least 0
   */
  public double allToAllMs(double bytes, DeviceGroup group) {
    return ms(
        group, bytes * group.peersInNode() / nvlinkGbs, bytes * group.peersInOtherNodes() / nicGbs);
  }

  /**
   * Returns the duration of a collective with one buffer in milliseconds.
   *
   * @param collective not an all-to-all
   * @param bytes the whole buffer on a device, at least 0
   */
  public double bufferMs(Collective collective, double bytes, DeviceGroup group) {
    boolean isAllReduce = collective == Collective.ALL_REDUCE;
    double sent = isAllReduce ? 2 * bytes : bytes;
    return ms(
        group,
        sent * group.shareOfNode() / (isAllReduce ? nvlsGbs : nvlinkGbs),
        sent * group.shareOfNodes() / group.devicesPerNode() / nicGbs);
  }

  /** Returns the figures, for people. */
  public String describe() {
    return "data sheet: %s=%s, %s=%s, %s=%s, %s=%s, %s=%s"
            .formatted(
                NVLINK_GBS,
                nvlinkGbs,
                NVLS_GBS,
                nvlsGbs,
                NIC_GBS,
                nicGbs,
                NVLINK_US,
                nvlinkUs,
                NIC_US,
                nicUs)
        + (hostGbs.isPresent() ? ", %s=%s".formatted(HOST_GBS, hostGbs.getAsDouble()) : "");
  }

  /** Returns milliseconds; the longer of both times decides, in bytes / (GB/s) = nanoseconds. */
  private double ms(DeviceGroup group, double inNodeNs, double betweenNodesNs) {
    double latencyUs =
        (group.devicesPerNode() > 1 ? nvlinkUs : 0) + nicUs * ShardFeatures.log2(group.nodes());
    return latencyUs * 1e-3 + Math.max(inNodeNs, betweenNodesNs) * 1e-6;
  }
}
