package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Optimizer;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.Objects;
import java.util.OptionalDouble;

/**
 * What a device holds of a table and does for it in a step: all that a compute sample needs of a
 * shard.
 *
 * @param table the table, with the shard's columns as its columns
 * @param samples outputs that the device pools for it: the global batch, or a device's part of it
 *     for a copy; above 0
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
  /** Checks what must be there. */
  public DeviceShard {
    Objects.requireNonNull(table, "table");
  }

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
   * Returns a shard of a plan. Of a part that is split over devices, all shards have the share of
   * the first one, as they were predicted, although the last one may have fewer rows.
   *
   * @param table the table
   * @param shard a shard of it
   * @param cluster the devices and the batch
   */
  public static DeviceShard of(TableSpec table, Shard shard, ClusterSpec cluster) {
    TableSpec columns = table.withColumns(shard.columns());
    return switch (shard.kind().scope()) {
      case DEVICE -> new DeviceShard(columns, cluster.batchSize(), 1, false, shard.cacheShare());
      case NODE ->
          ofBlock(
              columns,
              cluster.devicesOfNode(cluster.node(shard.device())).size(),
              cluster,
              shard.cacheShare());
      case CLUSTER -> ofBlock(columns, cluster.devices(), cluster, shard.cacheShare());
      case COPIES ->
          new DeviceShard(
              columns,
              (double) cluster.batchSize() / cluster.devices(),
              1,
              true,
              OptionalDouble.empty());
    };
  }

  private static DeviceShard ofBlock(
      TableSpec columns, int devices, ClusterSpec cluster, OptionalDouble cacheShare) {
    return new DeviceShard(
        columns, cluster.batchSize(), TableShapes.blockShare(columns, devices), false, cacheShare);
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
