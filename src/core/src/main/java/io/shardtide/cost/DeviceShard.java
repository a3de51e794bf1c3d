package io.shardtide.cost;

import io.shardtide.option.TablePart;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.OptionalDouble;

/**
 * What a device holds of a table and does for it in a step: all that a compute sample needs of a
 * shard. Samples of the log may have values outside these ranges until {@link #check}.
 *
 * @param table the table, with the shard's columns as its columns
 * @param samples samples that the device works on: the global batch, or a device's part of it for a
 *     copy; above 0
 * @param rowShare share of the table's rows, above 0 and at most 1
 * @param replicated whether each device has a copy
 * @param cacheShare share of its rows that device memory holds, the most used ones, 0 to 1; empty
 *     if device memory holds all of them without a cache
 * @param reuseBatchSize samples in the batch that the table's reuse histogram describes, at least 1
 */
public record DeviceShard(
    TableSpec table,
    double samples,
    double rowShare,
    boolean replicated,
    OptionalDouble cacheShare,
    int reuseBatchSize) {

  /**
   * Returns columns with all rows, on one device.
   *
   * @param table the table, with the shard's columns as its columns
   * @param batchSize samples in a batch, over all devices
   */
  public static DeviceShard ofColumns(TableSpec table, int batchSize) {
    return new DeviceShard(table, batchSize, 1, false, OptionalDouble.empty(), batchSize);
  }

  /**
   * Returns a shard of a plan. Of a part whose rows are split, all shards have the share of the
   * first one, as they were predicted, although the last one may have fewer rows.
   *
   * @param table the table
   * @param part the part of it that the shard is of
   * @param device the shard's device
   * @param cluster the devices and the batch
   */
  public static DeviceShard of(TableSpec table, TablePart part, int device, ClusterSpec cluster) {
    TableSpec columns = table.withColumns(part.columns());
    int batchSize = cluster.batchSize();
    if (part.scope() == ShardScope.COPIES) {
      double samples = (double) batchSize / cluster.devices();
      return new DeviceShard(columns, samples, 1, true, OptionalDouble.empty(), batchSize);
    }
    int devicesOfNode = cluster.devicesOfNode(cluster.node(device)).size();
    double rowShare = part.rowShare(table, cluster.devices(), devicesOfNode);
    return new DeviceShard(columns, batchSize, rowShare, false, part.cacheShare(), batchSize);
  }

  /** Returns what updates the weights. */
  public Optimizer optimizer() {
    return table.optimizer().orElse(Optimizer.DEFAULT);
  }

  /** Returns whether the optimizer's state is in host memory. */
  public boolean isStateInHostMemory() {
    return cacheShare.isPresent() && !table.enforceHbm();
  }

  /** Returns this with another table, or with other columns of it. */
  public DeviceShard of(TableSpec other) {
    return new DeviceShard(other, samples, rowShare, replicated, cacheShare, reuseBatchSize);
  }

  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException if a value is outside its range
   */
  public void check() {
    Limits.of(IllegalArgumentException::new, "a shard")
        .above("samples", samples, 0)
        .above("rowShare", rowShare, 0, 1)
        .within("cacheShare", cacheShare.orElse(0), 0, 1)
        .atLeast("reuseBatchSize", reuseBatchSize, 1);
  }
}
