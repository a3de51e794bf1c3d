package io.shardtide.cli;

import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import java.util.Optional;

/**
 * Hardware that workloads are planned on in place of their own.
 *
 * @param name name of the hardware, which selects the cost model
 * @param memoryGib memory of each of its devices in units of 2^30 bytes; empty: that of each
 *     workload's cluster
 */
record NamedHardware(String name, Optional<Double> memoryGib) {
  /**
   * Returns a workload on as many devices of this hardware. All else of its cluster stays, reserved
   * memory too.
   *
   * @throws io.shardtide.workload.RejectedException if the cluster reserves all of the memory
   */
  WorkloadTask on(WorkloadTask task) {
    ClusterSpec cluster = task.cluster();
    return new WorkloadTask(
        task.name(),
        task.tables(),
        ClusterSpecBuilder.builder(cluster)
            .hardware(name)
            .memoryBytesPerDevice(
                memoryGib
                    .map(gib -> Math.round(gib * (1L << 30)))
                    .orElse(cluster.memoryBytesPerDevice()))
            .build());
  }

  /** Checks that a workload can be {@link #on} this hardware; the message names it. */
  void check(WorkloadTask task) {
    try {
      on(task);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("on %s: %s".formatted(name, e.getMessage()), e);
    }
  }
}
