package io.shardtide.option;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;

/**
 * What the predictions of tables depend on beside the tables and the model: which parts are
 * predicted, and what a batch does with them. Everything else of a cluster can change while
 * predictions stay as they are.
 *
 * @param devices number of devices; 0 if only parts in the memory of one device are predicted
 * @param devicesPerNode devices that share a node
 * @param batchSize samples in one batch over all devices
 * @param groupings the ways to form replica groups
 * @param leastCachedBytes bytes of the smallest table that is predicted with caches; infinite
 *     without host memory, where none is
 * @param cachedBatches batches whose rows caches hold at once; 1 without host memory
 * @param optimizer of tables that name none
 */
public record PredictionInputs(
    int devices,
    int devicesPerNode,
    int batchSize,
    List<ReplicaGroups> groupings,
    double leastCachedBytes,
    int cachedBatches,
    Optional<Optimizer> optimizer) {
  /** A table of a smaller share of the smallest device's memory frees too little by a cache. */
  private static final double LEAST_CACHED = 1.0 / 1024;

  /** Copies what may change. */
  public PredictionInputs {
    groupings = List.copyOf(groupings);
  }

  /** Returns those of a cluster. */
  public static PredictionInputs of(ClusterSpec cluster) {
    boolean hasHost = cluster.hostMemoryBytesPerDevice() > 0;
    return new PredictionInputs(
        cluster.devices(),
        cluster.devicesPerNode(),
        cluster.batchSize(),
        cluster.groupings(),
        hasHost ? LEAST_CACHED * cluster.leastUsableBytes() : Double.POSITIVE_INFINITY,
        hasHost ? cluster.cachedBatches() : 1,
        cluster.optimizer());
  }

  /** Returns those of parts in the memory of one device, whatever the devices are. */
  public static PredictionInputs ofColumns(int batchSize) {
    return new PredictionInputs(
        0, 1, batchSize, List.of(), Double.POSITIVE_INFINITY, 1, Optional.empty());
  }

  boolean areColumnsOnly() {
    return devices == 0;
  }

  /** Returns the number of nodes, the last of which may have fewer devices than the others. */
  int nodes() {
    return (devices - 1) / devicesPerNode + 1;
  }

  /** Returns whether a table, or a part of one that is cut by use, is predicted with caches. */
  boolean areCachesPredicted(TableSpec table) {
    return table.mayBeCached()
        && (table.kernel().isInHostMemory()
            ? leastCachedBytes < Double.POSITIVE_INFINITY
            : table.bytes() >= leastCachedBytes);
  }

  /**
   * Returns whether a table has the same predictions with other inputs.
   *
   * @param table as its pipeline published it, maybe without an optimizer
   */
  public boolean predictAlike(TableSpec table, PredictionInputs others) {
    Optional<Optimizer> ofTable = table.optimizer().isPresent() ? optimizer : others.optimizer;
    return equals(others.with(leastCachedBytes, cachedBatches, ofTable))
        && ((leastCachedBytes == others.leastCachedBytes && cachedBatches == others.cachedBatches)
            || areCachedAlike(table.withDefaultOptimizer(optimizer), others));
  }

  private boolean areCachedAlike(TableSpec table, PredictionInputs others) {
    boolean areSizedAlike =
        cachedBatches == others.cachedBatches || Caches.namedShare(table.kernel()).isPresent();
    if (table.kernel().isInHostMemory()) {
      return areCachesPredicted(table) == others.areCachesPredicted(table) && areSizedAlike;
    }
    List<Long> hotRows = HotColdTable.levels(table, this);
    long mostHotRows = hotRows.isEmpty() ? 0 : hotRows.get(hotRows.size() - 1);
    long leastBytes = table.bytes(table.rows() - mostHotRows, table.columns());
    return !table.mayBeCached()
        || (Math.max(leastCachedBytes, others.leastCachedBytes) <= leastBytes && areSizedAlike)
        || Math.min(leastCachedBytes, others.leastCachedBytes) > table.bytes();
  }

  private PredictionInputs with(double bytes, int batches, Optional<Optimizer> ofTables) {
    return new PredictionInputs(
        devices, devicesPerNode, batchSize, groupings, bytes, batches, ofTables);
  }
}
