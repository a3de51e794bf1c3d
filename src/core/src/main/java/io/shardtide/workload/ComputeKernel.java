package io.shardtide.workload;

/**
 * What computes a table's lookups and holds its rows: those of TorchRec's {@code
 * EmbeddingComputeKernel} that train tables in memory.
 */
public enum ComputeKernel implements Named {
  /** All rows in device memory; the optimizer is a step of its own, after a dense gradient. */
  DENSE,
  /** All rows in device memory; the backward pass updates the rows that a batch used. */
  FUSED,
  /** As fused, with all rows in host memory, which the device reads and writes itself. */
  FUSED_UVM,
  /** As fused, with all rows in host memory, and the most used ones also in device memory. */
  FUSED_UVM_CACHING;

  /** Returns whether all rows are in host memory. */
  public boolean isInHostMemory() {
    return this == FUSED_UVM || this == FUSED_UVM_CACHING;
  }

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static ComputeKernel of(String label) {
    return Named.parse(
        ComputeKernel.class,
        label,
        "compute kernel of a table",
        RejectionReason.INVALID_CONSTRAINTS);
  }
}
