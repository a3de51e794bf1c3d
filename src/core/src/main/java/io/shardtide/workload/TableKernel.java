package io.shardtide.workload;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * How a table's lookups are computed, where its publisher decides that: TorchRec's {@code
 * ParameterConstraints} and {@code ParameterSharding} have these fields, too. Whatever is empty is
 * the planner's choice, or TorchRec's default.
 *
 * @param computeKernel the kernel that a plan must use: {@code dense} and {@code fused} keep all
 *     rows in device memory, {@code fused} also without copies on all devices, which TorchRec
 *     computes by {@code dense}; the others keep all rows in host memory. Empty: {@code dense} for
 *     copies, {@code fused_uvm_caching} for tables that the planner caches, else {@code fused}
 * @param cacheLoadFactor share of the rows that device memory holds if the table is cached, above 0
 *     and at most 1; empty: the planner chooses
 * @param cacheAlgorithm which rows a cache keeps; empty: TorchRec's default, LRU
 * @param outputType format of outputs and their gradients; empty: single precision
 * @param stochasticRounding whether updated weights of less than single precision are rounded at
 *     random, so that small updates are not lost; empty: TorchRec's default, that they are
 */
@RecordBuilder
public record TableKernel(
    Optional<ComputeKernel> computeKernel,
    OptionalDouble cacheLoadFactor,
    Optional<CacheAlgorithm> cacheAlgorithm,
    Optional<OutputType> outputType,
    Optional<Boolean> stochasticRounding) {

  /** Nothing is decided. */
  public static final TableKernel NONE =
      new TableKernel(
          Optional.empty(),
          OptionalDouble.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty());

  /** The cache load factor of a table whose rows are all in host memory only. */
  public static final double NO_CACHE = 0;

  /**
   * @throws RejectedException if the load factor is outside its range
   */
  public TableKernel {
    Limits.of(RejectionReason.INVALID_CONSTRAINTS, "a table")
        .above("cache load factor", cacheLoadFactor.orElse(1), 0, 1);
  }

  /** Returns whether nothing is decided. */
  public boolean isEmpty() {
    return equals(NONE);
  }

  /** Returns whether a plan must keep all rows in host memory. */
  public boolean isInHostMemory() {
    return computeKernel.filter(ComputeKernel::isInHostMemory).isPresent();
  }

  /** Returns whether a plan may keep rows in host memory. */
  public boolean mayBeInHostMemory() {
    return computeKernel.isEmpty() || isInHostMemory();
  }

  /**
   * Returns whether a plan may have such shards of the table.
   *
   * @param scope where the rows of a part are
   * @param isInHostMemory whether they are in host memory, with a cache in device memory or without
   */
  public boolean allows(ShardScope scope, boolean isInHostMemory) {
    boolean isCopied = scope == ShardScope.COPIES;
    return computeKernel.isEmpty()
        || (computeKernel.get().isInHostMemory() == isInHostMemory
            && !(isCopied && computeKernel.get() != ComputeKernel.DENSE));
  }

  /**
   * Returns the kernel that computes a shard of the table.
   *
   * @param other the kernel of shards in device memory where none is named
   */
  public ComputeKernel planned(ShardKind kind, OptionalDouble cacheShare, ComputeKernel other) {
    if (kind == ShardKind.DATA_PARALLEL) {
      return ComputeKernel.DENSE;
    }
    if (cacheShare.isPresent()) {
      return cacheShare.getAsDouble() == NO_CACHE
          ? ComputeKernel.FUSED_UVM
          : ComputeKernel.FUSED_UVM_CACHING;
    }
    return computeKernel.orElse(other);
  }

  /** Returns the bytes of a number of an output, and of its gradient. */
  public int outputBytes() {
    return outputType.orElse(OutputType.DEFAULT).bytes();
  }
}
