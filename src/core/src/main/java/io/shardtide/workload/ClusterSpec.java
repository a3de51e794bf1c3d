package io.shardtide.workload;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The devices that train a workload: identical but for their memory, numbered from 0. When their
 * number falls, the devices with the highest numbers are removed.
 *
 * @param devices number of devices (ranks), 1 to {@value #MAX_DEVICES}
 * @param memoryBytesPerDevice bytes on each device that {@code memoryBytesByDevice} does not name,
 *     1 to {@value #MAX_MEMORY_BYTES}; for shards alone, unless the fields below say otherwise
 * @param batchSize samples in one batch over all devices, at least 1
 * @param devicesPerNode devices that share a node, which is what the fast links connect, of one
 *     host or of several; at least 1. If the devices are not a multiple of it, the last node has
 *     fewer
 * @param hardware name of the hardware, which selects the cost model
 * @param hostMemoryBytesPerDevice bytes of host memory for each device's cached shards, 0 to
 *     {@value #MAX_MEMORY_BYTES}
 * @param reservedMemoryBytesPerDevice bytes of each device's memory that embeddings may not use:
 *     the dense model, activations; 0 to below all of {@code memoryBytesPerDevice} and {@code
 *     memoryBytesByDevice}
 * @param countsStepMemory whether the device memory also has to hold what a step needs beside the
 *     shards: lookups and outputs of the batch, gradients of copies
 * @param forwardBytesPerElement bytes of an output's element in the forward collectives, above 0 to
 *     {@value #MAX_WIRE_BYTES}: 4, or less with quantized communication
 * @param backwardBytesPerElement the same of a gradient in the backward collectives
 * @param replicaGroups numbers of replica groups that a plan may choose among, ascending: divisors
 *     of {@code devices} whose groups are whole nodes, equal parts of nodes, or one equal share of
 *     each node. Several groups change the training: each has its own weights between two
 *     synchronizations
 * @param synchronizationSteps steps from one synchronization of the groups to the next, 1 to
 *     {@value #MAX_SYNCHRONIZATION_STEPS}
 * @param codecs codecs that a plan may choose among for its collectives, by name, at most {@value
 *     #MAX_CODECS}; none: all collectives send the bytes above
 * @param optimizer of tables that name none; empty: they cost as with {@link Optimizer#DEFAULT},
 *     and have no state but what their bytes say
 * @param pipeline how the training program overlaps batches, which {@code countsStepMemory} then
 *     counts as a training run takes it; empty: as TorchRec's estimator does without a pipeline
 * @param memoryBytesByDevice the memory of devices that have more or less than {@code
 *     memoryBytesPerDevice}, by device, each at most once; entries that say the same are dropped
 * @param devicesPerHost devices of a host, where a node spans several hosts: rank R is device R
 *     modulo this on its host. A divisor of {@code devicesPerNode}; 0 where a node is a host, also
 *     if {@code devicesPerNode} is given. No predicted cost depends on it
 */
@RecordBuilder
public record ClusterSpec(
    int devices,
    long memoryBytesPerDevice,
    int batchSize,
    int devicesPerNode,
    String hardware,
    long hostMemoryBytesPerDevice,
    long reservedMemoryBytesPerDevice,
    boolean countsStepMemory,
    double forwardBytesPerElement,
    double backwardBytesPerElement,
    List<Integer> replicaGroups,
    int synchronizationSteps,
    List<CommCodec> codecs,
    Optional<Optimizer> optimizer,
    Optional<TrainingPipeline> pipeline,
    List<DeviceMemory> memoryBytesByDevice,
    int devicesPerHost) {

  /** The largest cluster. */
  public static final int MAX_DEVICES = 16_384;

  /** 16 TiB; with {@link #MAX_DEVICES} it keeps sums of bytes within 64 bits. */
  public static final long MAX_MEMORY_BYTES = 1L << 44;

  /** Double precision: nothing wider is sent. */
  public static final double MAX_WIRE_BYTES = 8;

  /** More steps apart, groups are no longer one training job. */
  public static final int MAX_SYNCHRONIZATION_STEPS = 1_000_000;

  /** TorchRec has five precisions; all choices of so many codecs are compared within a second. */
  public static final int MAX_CODECS = 8;

  /** All devices hold one copy of the sharded tables. */
  public static final List<Integer> ONE_GROUP = List.of(1);

  /** Single precision. */
  public static final double DEFAULT_WIRE_BYTES = 4;

  private static final Limits LIMITS = Limits.of(RejectionReason.INVALID_CLUSTER, "a cluster");

  /**
   * @throws RejectedException if a value is outside its range
   */
  public ClusterSpec {
    Names.check(hardware, "name of the hardware", RejectionReason.INVALID_CLUSTER);
    LIMITS
        .whole("devices", devices, 1, MAX_DEVICES)
        .whole("bytes of memory per device", memoryBytesPerDevice, 1, MAX_MEMORY_BYTES)
        .whole("bytes of host memory per device", hostMemoryBytesPerDevice, 0, MAX_MEMORY_BYTES);
    memoryBytesByDevice = checkedMemory(memoryBytesByDevice, devices, memoryBytesPerDevice);
    long least = memory(memoryBytesByDevice, devices, memoryBytesPerDevice).min().orElseThrow();
    LIMITS
        .whole("reserved bytes of memory per device", reservedMemoryBytesPerDevice, 0, least - 1)
        .above("forward bytes per element", forwardBytesPerElement, 0, MAX_WIRE_BYTES)
        .above("backward bytes per element", backwardBytesPerElement, 0, MAX_WIRE_BYTES)
        .whole("samples per batch", batchSize, 1, Integer.MAX_VALUE)
        .whole("devices per node", devicesPerNode, 1, Integer.MAX_VALUE)
        .whole(
            "steps between synchronizations", synchronizationSteps, 1, MAX_SYNCHRONIZATION_STEPS);
    devicesPerHost = devicesPerHost == devicesPerNode ? 0 : devicesPerHost;
    checkHost(devicesPerHost, devicesPerNode);
    replicaGroups = replicaGroups.stream().distinct().sorted().toList();
    checkGroups(replicaGroups, devices, devicesPerNode, batchSize);
    codecs = codecs.stream().sorted(CommCodec.ORDER).toList();
    checkCodecs(codecs);
    if (pipeline.isPresent() && !countsStepMemory) {
      throw LIMITS.failure(
          "countsStepMemory",
          "true if it names a pipeline, whose memory would not be counted otherwise",
          "false with pipeline " + pipeline.get().label());
    }
  }

  /** A cluster whose memory is for shards alone, and which sends single precision. */
  public ClusterSpec(
      int devices, long memoryBytesPerDevice, int batchSize, int devicesPerNode, String hardware) {
    this(
        devices,
        memoryBytesPerDevice,
        batchSize,
        devicesPerNode,
        hardware,
        0,
        0,
        false,
        DEFAULT_WIRE_BYTES,
        DEFAULT_WIRE_BYTES,
        ONE_GROUP,
        1,
        List.of(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        0);
  }

  /** Returns the ways to form replica groups that a plan may choose among. */
  public List<ReplicaGroups> groupings() {
    return replicaGroups.stream()
        .flatMap(groups -> layouts(groups, devices, devicesPerNode).stream())
        .toList();
  }

  /**
   * Returns the devices of one replica group, as a cluster: its part of the batch, rounded up, and
   * as many devices per node as the layout gives it. A device has the least memory of those with
   * its position in the groups, since all of them hold the same shards. Nodes of several groups are
   * not divided into hosts.
   */
  public ClusterSpec group(ReplicaGroups groups) {
    int groupSize = devices / groups.count();
    return ClusterSpecBuilder.builder(this)
        .devices(groupSize)
        .memoryBytesByDevice(memoryOfPositions(groups, groupSize))
        .devicesPerHost(groups.areSeveral() ? 0 : devicesPerHost)
        .batchSize((batchSize - 1) / groups.count() + 1)
        .devicesPerNode(groups.groupDevicesPerNode(devices, devicesPerNode))
        .replicaGroups(ONE_GROUP)
        .build();
  }

  private List<DeviceMemory> memoryOfPositions(ReplicaGroups groups, int groupSize) {
    if (memoryBytesByDevice.isEmpty()) {
      return memoryBytesByDevice;
    }
    Map<Integer, Long> byRank = new HashMap<>();
    memoryBytesByDevice.forEach(of -> byRank.put(of.device(), of.bytes()));
    return IntStream.range(0, groupSize)
        .mapToObj(
            position ->
                new DeviceMemory(
                    position,
                    IntStream.range(0, groups.count())
                        .map(group -> groups.rank(position, group, groupSize))
                        .mapToLong(rank -> byRank.getOrDefault(rank, memoryBytesPerDevice))
                        .min()
                        .orElseThrow()))
        .toList();
  }

  /** Returns how many devices are numbered together on a host. */
  public int hostDevices() {
    return devicesPerHost == 0 ? devicesPerNode : devicesPerHost;
  }

  /** Returns the bytes of memory on each device that embeddings may use. */
  public UsableMemory usableMemory() {
    SortedMap<Integer, Long> others = new TreeMap<>();
    memoryBytesByDevice.forEach(
        of -> others.put(of.device(), of.bytes() - reservedMemoryBytesPerDevice));
    // Where each device has its own, those of all others may be less than what is reserved.
    long ofOthers = memoryBytesPerDevice - reservedMemoryBytesPerDevice;
    return new UsableMemory(Math.max(ofOthers, leastUsableBytes()), others);
  }

  /** Returns the bytes that embeddings may use on the device that has the least memory. */
  public long leastUsableBytes() {
    return usable().min().orElseThrow();
  }

  /** Returns the rows of how many batches a cache holds at once. */
  public int cachedBatches() {
    return pipeline.map(TrainingPipeline::cachedBatches).orElse(1);
  }

  /** Returns the bytes that embeddings may use on the device that has the most memory. */
  public long mostUsableBytes() {
    return usable().max().orElseThrow();
  }

  /** Returns the bytes of all devices that embeddings may use. */
  public long usableBytes() {
    long more =
        memoryBytesByDevice.stream().mapToLong(of -> of.bytes() - memoryBytesPerDevice).sum();
    return devices * (memoryBytesPerDevice - reservedMemoryBytesPerDevice) + more;
  }

  private LongStream usable() {
    return memory(memoryBytesByDevice, devices, memoryBytesPerDevice)
        .map(bytes -> bytes - reservedMemoryBytesPerDevice);
  }

  /** Returns the bytes of each device with memory of its own, and once those of all others. */
  private static LongStream memory(List<DeviceMemory> byDevice, int devices, long bytesPerDevice) {
    return LongStream.concat(
        byDevice.stream().mapToLong(DeviceMemory::bytes),
        LongStream.of(bytesPerDevice).limit(devices - byDevice.size()));
  }

  /** Returns the bytes of a device that embeddings may use, for people. */
  public String describeUsableMemory() {
    long least = leastUsableBytes();
    long most = mostUsableBytes();
    return least == most
        ? ByteSizes.describe(least)
        : ByteSizes.describe(least) + " to " + ByteSizes.describe(most);
  }

  /** Returns the bytes that embeddings may use in all memory together, of devices and of hosts. */
  public long allBytes() {
    return usableBytes() + devices * hostMemoryBytesPerDevice;
  }

  /**
   * Returns whether a collective of outputs or gradients may send them in another format than
   * single precision, or with a codec.
   */
  public boolean areCollectivesQuantized() {
    return !codecs.isEmpty()
        || forwardBytesPerElement != DEFAULT_WIRE_BYTES
        || backwardBytesPerElement != DEFAULT_WIRE_BYTES;
  }

  /** Returns the number of nodes, the last of which may have fewer devices than the others. */
  public int nodes() {
    return (devices - 1) / devicesPerNode + 1;
  }

  /** Returns the node of a device, from 0. */
  public int node(int device) {
    return device / devicesPerNode;
  }

  /**
   * Returns the numbers of a node's devices.
   *
   * @throws IllegalArgumentException if there is no such node
   */
  public List<Integer> devicesOfNode(int node) {
    Limits.ARGUMENTS.whole("node", node, 0, nodes() - 1L);
    long end = Math.min(devices, (node + 1L) * devicesPerNode);
    return IntStream.range(node * devicesPerNode, (int) end).boxed().toList();
  }

  /** Returns the bytes of an output's element without a codec, or backward of a gradient's. */
  public double wireBytesPerElement(Direction direction) {
    return direction == Direction.FORWARD ? forwardBytesPerElement : backwardBytesPerElement;
  }

  /** Returns the entries that differ from what all devices have, in their order. */
  private static List<DeviceMemory> checkedMemory(
      List<DeviceMemory> byDevice, int devices, long bytesPerDevice) {
    Set<Integer> named = new HashSet<>();
    for (DeviceMemory of : byDevice) {
      LIMITS
          .whole("device with memory of its own", of.device(), 0, devices - 1)
          .whole("bytes of memory of device " + of.device(), of.bytes(), 1, MAX_MEMORY_BYTES);
      if (!named.add(of.device())) {
        throw RejectionReason.INVALID_CLUSTER.failure(
            "memory of a cluster's device must be given once, got device %s twice"
                .formatted(of.device()));
      }
    }
    return byDevice.stream()
        .filter(of -> of.bytes() != bytesPerDevice)
        .sorted(DeviceMemory.ORDER)
        .toList();
  }

  private static void checkHost(int devicesPerHost, int devicesPerNode) {
    if (devicesPerHost < 0 || (devicesPerHost > 0 && devicesPerNode % devicesPerHost != 0)) {
      throw LIMITS.failure(
          "devices per host",
          "a divisor of its %s devices per node, or 0 where a node is a host"
              .formatted(devicesPerNode),
          devicesPerHost);
    }
  }

  private static void checkGroups(
      List<Integer> replicaGroups, int devices, int devicesPerNode, int batchSize) {
    if (replicaGroups.isEmpty()) {
      throw LIMITS.failure("replica groups", "at least one number, such as 1", "none");
    }
    for (int groups : replicaGroups) {
      if (groups < 1 || devices % groups != 0) {
        throw LIMITS.failure(
            "replica groups", "divisors of its %s devices".formatted(devices), groups);
      }
      if (groups > batchSize) {
        throw LIMITS.failure(
            "replica groups", "at most its %s samples per batch".formatted(batchSize), groups);
      }
      if (layouts(groups, devices, devicesPerNode).isEmpty()) {
        throw LIMITS.failure(
            "replica groups",
            "whole nodes, equal parts of nodes, or an equal share of each node",
            "%s groups of %s devices with %s devices per node"
                .formatted(groups, devices / groups, devicesPerNode));
      }
    }
  }

  /** On one node both layouts cost the same, and so does a group on each device. */
  private static List<ReplicaGroups> layouts(int groups, int devices, int devicesPerNode) {
    boolean isSame = groups == 1 || devices <= devicesPerNode || groups == devices;
    return Arrays.stream(GroupLayout.values())
        .limit(isSame ? 1 : GroupLayout.values().length)
        .map(layout -> new ReplicaGroups(groups, layout))
        .filter(of -> of.groupDevicesPerNode(devices, devicesPerNode) > 0)
        .toList();
  }

  private static void checkCodecs(List<CommCodec> codecs) {
    LIMITS.whole("number of codecs", codecs.size(), 0, MAX_CODECS);
    for (int i = 1; i < codecs.size(); i++) {
      if (codecs.get(i).name().equals(codecs.get(i - 1).name())) {
        throw RejectionReason.INVALID_CLUSTER.failure(
            "codecs of a cluster must have different names, got %s twice"
                .formatted(Names.quote(codecs.get(i).name())));
      }
    }
  }
}
