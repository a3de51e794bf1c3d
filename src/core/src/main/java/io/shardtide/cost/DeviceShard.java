package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Optimizer;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.option.TablePart;
import java.util.OptionalDouble;

/**
 * What a device holds of a table and does for it in a step: all that a compute sample needs of a
 * shard.
 *
 * @param table the table, with the shard's columns as its columns
 * @param samples samples that the device works on: the global batch, or a device's part of it for a
 *     copy; above 0
 * @param rowShare share of the table's rows, above 0 and at most 1
 * @param replicated whether each device has a copy
 * @param cacheShare share of its rows that device memory holds; empty if it holds all
 */
public record DeviceShard(
    TableSpec table,
    double samples,
    double rowShare,
    boolean replicated,
    OptionalDouble cacheShare) {

  /**
   * Returns columns with all rows, on one device.
   *
   * @param table the table, with the shard's columns as its columns
   * @param batchSize samples in a batch, over all devices
   */
  public static DeviceShard ofColumns(TableSpec table, int batchSize) {
    return new DeviceShard(table, batchSize, 1, false, OptionalDouble.empty());
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
      return new DeviceShard(columns, samples, 1, true, OptionalDouble.empty());
    }
    int devicesOfNode = cluster.devicesOfNode(cluster.node(device)).size();
    double rowShare = part.rowShare(table, cluster.devices(), devicesOfNode);
    return new DeviceShard(columns, batchSize, rowShare, false, part.cacheShare());
  }

  /**
   * Returns this in a set of samples.
   *
   * @param position position of the table in {@link SampleSet#tables}
   * @throws IllegalArgumentException if a value is outside its range
   */
  public SampledShard sampled(int position) {
    return new SampledShard(
        position,
        table.columns(),
        samples,
        rowShare,
        replicated,
        cacheShare,
        table.bytesPerElement(),
        table.optimizer().orElse(Optimizer.DEFAULT),
        table.enforceHbm(),
        table.pooled());
  }
}
