package io.shardtide.pool;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Identical devices on identical nodes. A node is given to one workload as a whole: its devices
 * share links and host memory, and cost models were trained on nodes that one job has to itself.
 *
 * @param devicesPerNode devices of each node, at least 1
 * @param memoryBytesPerDevice bytes of memory of each device, 1 to {@link
 *     ClusterSpec#MAX_MEMORY_BYTES}
 * @param hostMemoryBytesPerDevice bytes of host memory for each device's cached shards, 0 to {@link
 *     ClusterSpec#MAX_MEMORY_BYTES}
 * @param hardware name of the hardware, which selects the cost model
 * @param nodes the nodes by name; none if all were lost. All devices together are {@link
 *     ClusterSpec#MAX_DEVICES} at most
 * @param links measured bandwidth between nodes; empty if it was not measured
 */
public record Pool(
    int devicesPerNode,
    long memoryBytesPerDevice,
    long hostMemoryBytesPerDevice,
    String hardware,
    SortedMap<String, PoolNode> nodes,
    Optional<PoolLinks> links) {
  private static final Limits LIMITS = Limits.of(RejectionReason.INVALID_POOL, "a pool");

  /**
   * @throws RejectedException if a value is outside its range
   */
  public Pool {
    Names.check(hardware, "hardware of a pool", RejectionReason.INVALID_POOL);
    LIMITS
        .whole("devices per node", devicesPerNode, 1, ClusterSpec.MAX_DEVICES)
        .whole("bytes of memory per device", memoryBytesPerDevice, 1, ClusterSpec.MAX_MEMORY_BYTES)
        .whole(
            "bytes of host memory per device",
            hostMemoryBytesPerDevice,
            0,
            ClusterSpec.MAX_MEMORY_BYTES)
        .whole("devices", (long) nodes.size() * devicesPerNode, 0, ClusterSpec.MAX_DEVICES);
    nodes = Collections.unmodifiableSortedMap(new TreeMap<>(nodes));
  }

  /**
   * Returns a pool of nodes whose links were not measured.
   *
   * @throws RejectedException if a value is outside its range, there is no node, or two nodes have
   *     one name
   */
  public static Pool of(
      int devicesPerNode,
      long memoryBytesPerDevice,
      long hostMemoryBytesPerDevice,
      String hardware,
      Collection<PoolNode> nodes) {
    SortedMap<String, PoolNode> byName = new TreeMap<>();
    for (PoolNode node : nodes) {
      if (byName.put(node.name(), node) != null) {
        throw duplicate(node);
      }
    }
    LIMITS.whole("nodes", byName.size(), 1, ClusterSpec.MAX_DEVICES);
    return new Pool(
        devicesPerNode,
        memoryBytesPerDevice,
        hostMemoryBytesPerDevice,
        hardware,
        byName,
        Optional.empty());
  }

  /**
   * Returns the pool with the measured bandwidth between its nodes.
   *
   * @throws RejectedException if the links are not those of the nodes
   */
  public Pool withLinks(PoolLinks measured) {
    measured.check(nodes.values());
    return with(nodes, Optional.of(measured));
  }

  /** Returns the number of devices. */
  public int devices() {
    return nodes.size() * devicesPerNode;
  }

  /** Returns how many nodes have at least so many devices. */
  public int nodesFor(int devices) {
    return (devices - 1) / devicesPerNode + 1;
  }

  /** Returns the numbers of nodes that a claim may have, ascending. */
  public IntStream counts(Claim claim) {
    int most = Math.min(nodesFor(claim.mostDevices()), nodes.size());
    return IntStream.rangeClosed(nodesFor(claim.leastDevices()), most);
  }

  /** Returns how many devices of so many nodes a workload uses. */
  public int devices(Claim claim, int ofNodes) {
    return Math.min(ofNodes * devicesPerNode, claim.mostDevices());
  }

  /**
   * Returns the cluster of a workload that has devices of the pool. It is one replica group: a
   * number of groups suits one number of devices only. All devices have the memory of the pool's.
   *
   * @param workload the workload's own cluster: batch, reserved memory, bytes on the wire
   * @param devices devices that the workload has, at least 1
   * @return empty if the workload reserves all memory of a device
   */
  public Optional<ClusterSpec> clusterOf(ClusterSpec workload, int devices) {
    try {
      return Optional.of(cluster(workload, devices));
    } catch (RejectedException e) {
      return Optional.empty();
    }
  }

  /**
   * Returns the cluster of a workload that has devices of the pool; see the other method.
   *
   * @throws RejectedException if the workload reserves all memory of a device
   */
  public ClusterSpec cluster(ClusterSpec workload, int devices) {
    return ClusterSpecBuilder.builder(workload)
        .devices(devices)
        .devicesPerNode(devicesPerNode)
        .memoryBytesPerDevice(memoryBytesPerDevice)
        .hostMemoryBytesPerDevice(hostMemoryBytesPerDevice)
        .hardware(hardware)
        .replicaGroups(ClusterSpec.ONE_GROUP)
        .memoryBytesByDevice(List.of())
        .devicesPerHost(0)
        .build();
  }

  /**
   * Returns the pool with one more node.
   *
   * @throws RejectedException if there is a node of that name, or no room for another
   */
  Pool with(PoolNode node) {
    if (nodes.containsKey(node.name())) {
      throw duplicate(node);
    }
    SortedMap<String, PoolNode> more = new TreeMap<>(nodes);
    more.put(node.name(), node);
    return with(more, links);
  }

  /**
   * Returns the pool without a node.
   *
   * @throws RejectedException if there is no node of that name
   */
  Pool without(String node) {
    SortedMap<String, PoolNode> fewer = new TreeMap<>(nodes);
    if (fewer.remove(node) == null) {
      throw RejectionReason.UNKNOWN_NODE.failure(
          "a lost node must be one of the pool's %s, got %s"
              .formatted(nodes.size(), Names.quote(node)));
    }
    return with(fewer, links);
  }

  /** Returns a pool of other nodes that are like these. */
  Pool with(SortedMap<String, PoolNode> others, Optional<PoolLinks> measured) {
    return new Pool(
        devicesPerNode, memoryBytesPerDevice, hostMemoryBytesPerDevice, hardware, others, measured);
  }

  private static RejectedException duplicate(PoolNode node) {
    return RejectionReason.DUPLICATE_NODE.failure(
        "names of nodes must differ, got %s twice".formatted(Names.quote(node.name())));
  }
}
