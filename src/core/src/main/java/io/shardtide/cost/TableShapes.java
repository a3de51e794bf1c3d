package io.shardtide.cost;

import io.shardtide.option.PlannedPart;
import io.shardtide.option.PredictionInputs;
import io.shardtide.option.RowUse;
import io.shardtide.option.TablePart;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The shapes that shards of a table have in steps of one batch. What a batch does with the table's
 * rows is computed once for all of them.
 */
public final class TableShapes {
  private final TableSpec table;
  private final int batchSize;
  private final RowUse rowUse;
  private final BatchUse use;

  /**
   * @param table the table; its reuse histogram describes a batch of that size
   * @param batchSize samples in a batch, over all devices, at least 1
   */
  public TableShapes(TableSpec table, int batchSize) {
    this.table = table;
    this.batchSize = batchSize;
    rowUse = RowUse.of(table, batchSize);
    use = BatchUse.of(rowUse, table.lookups(batchSize, 1));
  }

  /**
   * Returns the cached tables of a plan, by name, and how many of their lookups the caches miss. Of
   * a table with hot rows, of the lookups of its other rows.
   *
   * @param tables the plan's tables
   * @param shards the plan's shards
   * @param cluster the devices and the batch
   */
  public static List<CacheMisses> cacheMisses(
      List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    if (shards.stream().allMatch(shard -> shard.cacheShare().isEmpty())) {
      return List.of();
    }
    SortedMap<String, PlannedPart> cached = new TreeMap<>();
    for (PlannedPart of : PlannedPart.of(tables, shards, cluster)) {
      if (of.part().cacheShare().isPresent()) {
        cached.put(of.table().name(), of);
      }
    }
    return cached.values().stream().map(of -> cacheMisses(of, cluster)).toList();
  }

  private static CacheMisses cacheMisses(PlannedPart of, ClusterSpec cluster) {
    RowUse use = RowUse.of(of.table(), cluster.batchSize());
    double share = of.part().cacheShare().orElseThrow();
    double least = RowUse.leastCacheShare(of.table(), cluster);
    return new CacheMisses(
        of.table().name(),
        1 - use.lookupShare(share * of.table().rows()),
        use.knowledge(),
        share == TableKernel.NO_CACHE || share >= least
            ? OptionalDouble.empty()
            : OptionalDouble.of(least));
  }

  /** Returns the table. */
  public TableSpec table() {
    return table;
  }

  /**
   * Returns the shape of a shard of the table in a plan. Of a part whose rows are split, all shards
   * have the rows of the first one, although the last one may have fewer, and the lookups of the
   * hottest one.
   *
   * @param part the part that the shard is of
   * @param device the shard's device
   */
  public ShardShape of(TablePart part, int device, ClusterSpec cluster) {
    DeviceShard shard = DeviceShard.of(table, part, device, cluster);
    return shape(
        shard,
        shard.replicated()
            ? 1
            : part.hotFactor(
                table, cluster.devices(), cluster.devicesOfNode(cluster.node(device)).size()));
  }

  /** Returns the shape of each shard of a part; of one that is split over a node, a full node. */
  ShardShape of(TablePart part, PredictionInputs inputs) {
    boolean isCopy = part.scope() == ShardScope.COPIES;
    return shape(
        part.columns(),
        isCopy ? (double) batchSize / inputs.devices() : batchSize,
        part.rowShare(table, inputs.devices(), inputs.devicesPerNode()),
        part.hotFactor(table, inputs.devices(), inputs.devicesPerNode()),
        isCopy,
        part.cacheShare());
  }

  /** Returns the shape of a sampled shard. */
  public static ShardShape of(DeviceShard shard) {
    return new TableShapes(shard.table(), shard.reuseBatchSize()).shape(shard);
  }

  ShardShape shape(DeviceShard shard) {
    return shape(shard, 1);
  }

  private ShardShape shape(DeviceShard shard, double hotFactor) {
    return shape(
        shard.table().columns(),
        shard.samples(),
        shard.rowShare(),
        hotFactor,
        shard.replicated(),
        shard.cacheShare());
  }

  private ShardShape shape(
      int columns,
      double samples,
      double rowShare,
      double hotFactor,
      boolean replicated,
      OptionalDouble cacheShare) {
    BatchUse batchUse =
        samples == batchSize && hotFactor == 1
            ? use
            : BatchUse.of(rowUse, table.lookups(samples, hotFactor));
    return new ShardShape(
        ShardShape.rows(table.rows(), rowShare),
        columns,
        table.outputs(samples, rowShare * hotFactor),
        batchUse.ofRows(rowShare),
        table.bytesPerElement(),
        replicated,
        cacheShare,
        table.optimizer().orElse(Optimizer.DEFAULT),
        table.enforceHbm(),
        table.pooled());
  }
}
