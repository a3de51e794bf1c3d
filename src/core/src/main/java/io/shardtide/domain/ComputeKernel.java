package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * What computes a table's lookups and holds its rows: those of TorchRec's {@code
 * EmbeddingComputeKernel} that train tables in memory.
 */
public enum ComputeKernel {
  /** All rows in device memory; the optimizer is a step of its own, after a dense gradient. */
  DENSE,
  /** All rows in device memory; the backward pass updates the rows that a batch used. */
  FUSED,
  /** As fused, with all rows in host memory, which the device reads and writes itself. */
  FUSED_UVM,
  /** As fused, with all rows in host memory, and the most used ones also in device memory. */
  FUSED_UVM_CACHING;

  /**
   * Returns the kernel with TorchRec's name.
   *
   * @throws RejectedException if it is none of these
   */
  public static ComputeKernel of(String name) {
    return Arrays.stream(values())
        .filter(kernel -> kernel.torchRecName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new RejectedException(
                    RejectionReason.INVALID_CONSTRAINTS,
                    "compute kernel of a table must be one of %s, got %s. Kernels for storage other than memory, for inference, and customized ones are not supported"
                        .formatted(names(List.of(values())), Names.quote(name))));
  }

  /** Returns the names of some kernels for people, joined by commas. */
  public static String names(List<ComputeKernel> kernels) {
    return kernels.stream().map(ComputeKernel::torchRecName).collect(Collectors.joining(", "));
  }

  /** Returns TorchRec's name: {@code fused_uvm_caching}, say. */
  public String torchRecName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns whether all rows are in host memory. */
  public boolean isInHostMemory() {
    return this == FUSED_UVM || this == FUSED_UVM_CACHING;
  }
}
