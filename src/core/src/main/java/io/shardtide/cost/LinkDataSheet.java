package io.shardtide.cost;

import io.shardtide.workload.Collective;
import io.shardtide.workload.Limits;
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
 *   latency  = nvlinkUs, if a node has several devices, + nicUs x log2(nodes)
 *   transfer = max(bytes in the node / bandwidth, bytes between nodes / nicGbs)
 *   ms       = min(latency + transfer x nvlinkGbs / smallGbs, latency x bulkUs / nvlinkUs + transfer)
 * </pre>
 *
 * <p>The minimum is that of NCCL's protocols: of each it computes latency + bytes / bandwidth, and
 * takes the shortest (ncclTopoGetAlgoTime in src/graph/tuning.cc). Small messages go by LL, which
 * starts sooner and has a quarter to a third of the bandwidth. By default both are the same.
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
 * @param smallGbs bus bandwidth of small messages in a node, in GB/s, above 0 to nvlinkGbs; that of
 *     an all-reduce and of messages between nodes is less in the same proportion
 * @param bulkUs latency in a node of messages that have the whole bandwidth, in microseconds, at
 *     least nvlinkUs; that between nodes is more in the same proportion
 * @param hostGbs bandwidth of a device's link to host memory, in GB/s, above 0; no collective uses
 *     it. Empty if it is not given
 */
public record LinkDataSheet(
    double nvlinkGbs,
    double nvlsGbs,
    double nicGbs,
    double nvlinkUs,
    double nicUs,
    double smallGbs,
    double bulkUs,
    OptionalDouble hostGbs) {
  private static final String NVLINK_GBS = "nvlink-gbs";
  private static final String NVLS_GBS = "nvls-gbs";
  private static final String NIC_GBS = "nic-gbs";
  private static final String NVLINK_US = "nvlink-us";
  private static final String NIC_US = "nic-us";
  private static final String SMALL_GBS = "small-gbs";
  private static final String BULK_US = "bulk-us";
  private static final String HOST_GBS = "host-gbs";

  /** Names of the figures, with units. */
  public static final List<String> KEYS =
      List.of(NVLINK_GBS, NVLS_GBS, NIC_GBS, NVLINK_US, NIC_US, SMALL_GBS, BULK_US, HOST_GBS);

  private static final List<String> REQUIRED = List.of(NVLINK_GBS, NIC_GBS);
  private static final double DEFAULT_NVLINK_US = 20;
  private static final double DEFAULT_NIC_US = 15;

  /** Of a buffer: smaller ones take the latency, larger ones the bandwidth. */
  private static final double SMALL_BYTES = 1 << 16;

  private static final double LARGE_BYTES = 1 << 26;

  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException if a figure is not finite and above 0, or small messages have
   *     more bandwidth or start later than others
   */
  public LinkDataSheet {
    check(NVLINK_GBS, nvlinkGbs);
    check(NVLS_GBS, nvlsGbs);
    check(NIC_GBS, nicGbs);
    check(NVLINK_US, nvlinkUs);
    check(NIC_US, nicUs);
    hostGbs.ifPresent(gbs -> check(HOST_GBS, gbs));
    check(SMALL_GBS, smallGbs);
    check(BULK_US, bulkUs);
    Limits.ARGUMENTS
        .check(smallGbs <= nvlinkGbs, SMALL_GBS, "at most " + NVLINK_GBS, smallGbs)
        .check(bulkUs >= nvlinkUs, BULK_US, "at least " + NVLINK_US, bulkUs)
        .check(
            smallGbs < nvlinkGbs == bulkUs > nvlinkUs,
            SMALL_GBS + " and " + BULK_US,
            "given both, or neither",
            smallGbs + " and " + bulkUs);
  }

  private static void check(String key, double value) {
    if (!(value > 0 && Double.isFinite(value))) {
      throw new IllegalArgumentException(
          "%s must be a finite number above 0, got %s".formatted(key, value));
    }
  }

  /**
   * Returns the data sheet of named figures; those that are not given are read from measured
   * collectives, as people read tables of nccl-tests. Bandwidths are the highest of buffers of 64
   * MiB and more, latencies the shortest durations of buffers of up to 64 KiB: in a node, and over
   * nodes, where the node's is taken off. Otherwise {@code nvls-gbs} and {@code small-gbs} are
   * {@code nvlink-gbs}, {@code nvlink-us} is 20, {@code nic-us} 15 and {@code bulk-us} {@code
   * nvlink-us}.
   *
   * @param figures by {@link #KEYS}
   * @throws IllegalArgumentException if a key is unknown, a required one is neither given nor
   *     measured, or a figure is outside its range
   */
  public static LinkDataSheet of(Map<String, Double> figures, List<CollectiveSample> measured) {
    new TreeMap<>(figures)
        .forEach(
            (key, value) -> {
              if (!KEYS.contains(key)) {
                throw new IllegalArgumentException(
                    "links have no %s (its value is %s); expected %s"
                        .formatted(key, value, String.join(", ", KEYS)));
              }
            });
    Map<String, Double> all = new TreeMap<>(figures);
    for (CollectiveSample sample : measured) {
      boolean isInNode = sample.group().nodes() == 1;
      boolean isAllReduce = sample.collective() == Collective.ALL_REDUCE;
      String gbs = isInNode ? isAllReduce ? NVLS_GBS : NVLINK_GBS : NIC_GBS;
      if (sample.heldBytes() >= LARGE_BYTES && !figures.containsKey(gbs)) {
        double sent =
            sentBytes(sample.collective(), sample.mostBytes(), sample.group())[isInNode ? 0 : 1];
        all.merge(gbs, sent / (sample.longestMs() * 1e6), Math::max);
      }
      if (sample.heldBytes() <= SMALL_BYTES && isInNode && !figures.containsKey(NVLINK_US)) {
        all.merge(NVLINK_US, sample.longestMs() * 1e3, Math::min);
      }
    }
    double nvlinkUs = all.getOrDefault(NVLINK_US, DEFAULT_NVLINK_US);
    for (CollectiveSample sample : measured) {
      DeviceGroup group = sample.group();
      double us = sample.longestMs() * 1e3 - (group.devicesPerNode() > 1 ? nvlinkUs : 0);
      if (sample.heldBytes() <= SMALL_BYTES
          && group.nodes() > 1
          && us > 0
          && !figures.containsKey(NIC_US)) {
        all.merge(NIC_US, us / ShardFeatures.log2(group.nodes()), Math::min);
      }
    }
    List<String> missing = new ArrayList<>(REQUIRED);
    missing.removeAll(all.keySet());
    if (!missing.isEmpty()) {
      throw new IllegalArgumentException(
          "links must have %s, got %s".formatted(String.join(" and ", missing), all));
    }
    double nvlinkGbs = all.get(NVLINK_GBS);
    return new LinkDataSheet(
        nvlinkGbs,
        all.getOrDefault(NVLS_GBS, nvlinkGbs),
        all.get(NIC_GBS),
        nvlinkUs,
        all.getOrDefault(NIC_US, DEFAULT_NIC_US),
        all.getOrDefault(SMALL_GBS, nvlinkGbs),
        all.getOrDefault(BULK_US, nvlinkUs),
        all.containsKey(HOST_GBS) ? OptionalDouble.of(all.get(HOST_GBS)) : OptionalDouble.empty());
  }

  /**
   * Returns the duration of a collective in milliseconds. All devices of an all-to-all receive from
   * the one that sends the most.
   *
   * @param bytes of an all-to-all, bytes to each other device, of the device that sends the most;
   *     otherwise the whole buffer on a device; at least 0
   */
  public double ms(Collective collective, double bytes, DeviceGroup group) {
    double[] sent = sentBytes(collective, bytes, group);
    // Bytes / (GB/s) = nanoseconds; the longer of both times decides.
    double transferMs =
        Math.max(
                sent[0] / (collective == Collective.ALL_REDUCE ? nvlsGbs : nvlinkGbs),
                sent[1] / nicGbs)
            * 1e-6;
    double latencyMs =
        ((group.devicesPerNode() > 1 ? nvlinkUs : 0) + nicUs * ShardFeatures.log2(group.nodes()))
            * 1e-3;
    return Math.min(
        latencyMs + transferMs * (nvlinkGbs / smallGbs),
        latencyMs * (bulkUs / nvlinkUs) + transferMs);
  }

  /** Returns the duration of a measured collective in milliseconds. */
  double ms(CollectiveSample sample) {
    return ms(sample.collective(), sample.mostBytes(), sample.group());
  }

  /** Returns the bytes that a device sends in its node and to other nodes; see the table above. */
  static double[] sentBytes(Collective collective, double bytes, DeviceGroup group) {
    if (collective == Collective.ALL_TO_ALL) {
      return new double[] {bytes * group.peersInNode(), bytes * group.peersInOtherNodes()};
    }
    double sent = collective == Collective.ALL_REDUCE ? 2 * bytes : bytes;
    return new double[] {
      sent * group.shareOfNode(), sent * group.shareOfNodes() / group.devicesPerNode()
    };
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
        + (bulkUs == nvlinkUs
            ? ""
            : ", %s=%s, %s=%s".formatted(SMALL_GBS, smallGbs, BULK_US, bulkUs))
        + (hostGbs.isPresent() ? ", %s=%s".formatted(HOST_GBS, hostGbs.getAsDouble()) : "");
  }
}
