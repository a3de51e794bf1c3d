package io.shardtide.torchrec;

import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Where in a model the tables are, and what runs them.
 *
 * @param module path of the {@code EmbeddingBagCollection} within the model that {@code
 *     DistributedModelParallel} wraps: names with dots between, or empty for the model itself
 * @param kernel what computes and updates embeddings
 * @param processor what the devices are
 * @param devicesPerNode devices that share a node (TorchRec's local world size), at least 1; device
 *     R of a plan is number R modulo this on its node
 * @param reshardable whether {@code DistributedModelParallel.reshard} has to be able to go from any
 *     plan to any other of the same tables and devices. It keeps each table's sharding type and
 *     takes one shard of a table on a rank; so whole tables are called column-wise too, and a
 *     device's shards of a table are joined
 */
public record Target(
    String module, Kernel kernel, Processor processor, int devicesPerNode, boolean reshardable) {

  private static final Pattern PATH = Pattern.compile("|[^.]+(\\.[^.]+)*");

  /** Where TorchRec's own DLRM has its tables. */
  public static final String DEFAULT_MODULE = "model.sparse_arch.embedding_bag_collection";

  /** What most nodes have. */
  public static final int DEFAULT_DEVICES_PER_NODE = 8;

  /** The default module on GPUs, each table with the sharding type that its shards have. */
  public static final Target DEFAULT =
      new Target(DEFAULT_MODULE, Kernel.FUSED, Processor.CUDA, DEFAULT_DEVICES_PER_NODE, false);

  /** What computes and updates embeddings; both keep them in the device's memory. */
  public enum Kernel {
    /** The optimizer is part of the backward pass. */
    FUSED,
    /** The optimizer is a step of its own. */
    DENSE
  }

  /** What the devices are. */
  public enum Processor {
    /** GPUs, by their number on the node. */
    CUDA,
    /** Processes on CPUs. */
    CPU
  }

  /**
   * @throws IllegalArgumentException if a value is out of range
   */
  public Target {
    Objects.requireNonNull(kernel, "kernel");
    Objects.requireNonNull(processor, "processor");
    if (!PATH.matcher(module).matches()) {
      throw new IllegalArgumentException(
          "The module's path is \"%s\"; expected names with dots between, or nothing for the model itself"
              .formatted(module));
    }
    if (devicesPerNode < 1) {
      throw new IllegalArgumentException(
          "%d devices share a node; expected 1 or more".formatted(devicesPerNode));
    }
  }

  /** Returns TorchRec's name of a device of a plan. */
  String placement(int device) {
    return switch (processor) {
      case CUDA -> "rank:%d/cuda:%d".formatted(device, device % devicesPerNode);
      case CPU -> "rank:%d/cpu".formatted(device);
    };
  }
}
