package io.shardtide.torchrec;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ComputeKernel;
import java.util.Objects;

/**
 * The modules, kernel and devices that TorchRec plans are written for.
 *
 * @param modules which collection has which table
 * @param kernel compute kernel, fused or dense, of tables in device memory that are not
 *     data-parallel, where their publisher decided none
 * @param processor type of the devices
 * @param devicesPerNode devices per node, at least 1: TorchRec's local world size, or where its
 *     {@code TOPOLOGY_DOMAIN_MULTIPLE} is set that many times this size
 * @param devicesPerHost devices of a host, a divisor of {@code devicesPerNode}: TorchRec's local
 *     world size; device R of a plan is device R modulo this on its host. 0 where a node is a host
 * @param reshardable whether a running model can change from a plan to any other such plan of the
 *     same tables and devices in which the same tables are copied and have their rows split. {@code
 *     DistributedModelParallel.reshard} moves columns only, keeps a table's sharding type and
 *     supports one shard of a table per rank, so all tables whose shards have all rows become
 *     column-wise, and a device's shards of a table are merged
 */
public record Target(
    Modules modules,
    ComputeKernel kernel,
    Processor processor,
    int devicesPerNode,
    int devicesPerHost,
    boolean reshardable) {

  /** The module of the tables in TorchRec's DLRM. */
  public static final String DEFAULT_MODULE = "model.sparse_arch.embedding_bag_collection";

  /** Devices of a typical node. */
  public static final int DEFAULT_DEVICES_PER_NODE = 8;

  /** The default module on GPUs, with each table's own sharding type. */
  public static final Target DEFAULT =
      new Target(
          Modules.of(DEFAULT_MODULE),
          ComputeKernel.FUSED,
          Processor.CUDA,
          DEFAULT_DEVICES_PER_NODE,
          false);

  /** Types of devices. */
  public enum Processor {
    /** GPUs, numbered by node. */
    CUDA,
    /** CPU processes. */
    CPU
  }

  /**
   * @throws IllegalArgumentException if a value is out of range
   */
  public Target {
    Objects.requireNonNull(modules, "modules");
    Objects.requireNonNull(kernel, "kernel");
    Objects.requireNonNull(processor, "processor");
    if (devicesPerNode < 1) {
      throw new IllegalArgumentException(
          "devices per node must be at least 1, got %d".formatted(devicesPerNode));
    }
    if (devicesPerHost < 0 || (devicesPerHost > 0 && devicesPerNode % devicesPerHost != 0)) {
      throw new IllegalArgumentException(
          "devices per host must divide the %d devices per node, got %d"
              .formatted(devicesPerNode, devicesPerHost));
    }
    if (kernel.isInHostMemory()) {
      throw new IllegalArgumentException(
          "kernel must be fused or dense, got %s, which only tables have whose plan says it"
              .formatted(kernel.label()));
    }
  }

  /** A target whose nodes are hosts. */
  public Target(
      Modules modules,
      ComputeKernel kernel,
      Processor processor,
      int devicesPerNode,
      boolean reshardable) {
    this(modules, kernel, processor, devicesPerNode, 0, reshardable);
  }

  /** Returns this with the nodes and hosts of a cluster. */
  public Target withNodesOf(ClusterSpec cluster) {
    return withNodes(cluster.devicesPerNode(), cluster.devicesPerHost());
  }

  /** Returns this with other nodes, and hosts as in {@link #devicesPerHost}. */
  Target withNodes(int perNode, int perHost) {
    return new Target(modules, kernel, processor, perNode, perHost, reshardable);
  }

  /** Returns the ranks of a plan. */
  Ranks ranks(int worldSize) {
    return Ranks.of(
        worldSize, devicesPerNode, devicesPerHost == 0 ? devicesPerNode : devicesPerHost);
  }

  /** Returns TorchRec's placement string of a plan's device. */
  String placement(int device, Ranks ranks) {
    return switch (processor) {
      case CUDA -> "rank:%d/cuda:%d".formatted(device, ranks.device(device));
      case CPU -> "rank:%d/cpu".formatted(device);
    };
  }
}
