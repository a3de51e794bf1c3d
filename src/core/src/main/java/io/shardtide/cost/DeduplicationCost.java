package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.Map;

/**
 * What it takes each device to send the distinct ids of its own samples alone: it sorts all ids,
 * and once it has got a row for each distinct one, copies rows to all lookups; in the backward pass
 * it adds the gradients of all lookups up (TorchRec's {@code jagged_unique_indices} and index
 * select). Computed from bytes of memory, and not measured on a device.
 */
final class DeduplicationCost {
  /** HBM3 of an H100 SXM (NVIDIA, H100 data sheet), in bytes a millisecond. */
  private static final double BYTES_PER_MS = 3.35e9;

  /** A 64-bit id, and its position, are read and written in 8 passes of a radix sort. */
  private static final double SORTED_BYTES = 2 * 16 * 8;

  /** A row is read and written. */
  private static final double COPIES = 2;

  /** Where each lookup finds its row. */
  private static final double POSITION_BYTES = 8;

  private DeduplicationCost() {}

  /**
   * Returns the load of each device.
   *
   * @param evaluator of the model that predicts everything else
   */
  static ShapeLoad load(CostEvaluator evaluator, TableSpec table, ClusterSpec cluster) {
    double lookups = table.lookups((double) cluster.batchSize() / cluster.devices(), 1);
    double copyMs =
        COPIES * lookups * table.columns() * table.kernel().outputBytes() / BYTES_PER_MS;
    double sortMs = SORTED_BYTES * lookups / BYTES_PER_MS;
    long[] memory = new long[Tiers.COUNT];
    memory[Tiers.DEVICE] =
        cluster.countsStepMemory() ? (long) Math.ceil(POSITION_BYTES * lookups) : 0;
    return new ShapeLoad(
        evaluator.addend(
            new float[0], false, table.bytesPerElement(), new AddedMs(sortMs + copyMs, copyMs)),
        Map.of(),
        memory);
  }
}
