package io.shardtide.workload;

import java.util.Optional;

/**
 * Clusters and tables in ids: field by field, so that an id depends on no text of a record. A field
 * that is added later is put only where it is not at its default: ids of those without it stay what
 * they are on the log.
 */
public final class SpecHash {
  private SpecHash() {}

  /** Adds a cluster. */
  public static CanonicalHash put(CanonicalHash hash, ClusterSpec cluster) {
    hash.put(cluster.devices())
        .put(cluster.memoryBytesPerDevice())
        .put(cluster.batchSize())
        .put(cluster.devicesPerNode())
        .put(cluster.hardware())
        .put(cluster.hostMemoryBytesPerDevice())
        .put(cluster.reservedMemoryBytesPerDevice())
        .put(cluster.countsStepMemory() ? 1 : 0)
        .put(cluster.forwardBytesPerElement())
        .put(cluster.backwardBytesPerElement())
        .putAll(cluster.replicaGroups(), hash::put)
        .put(cluster.synchronizationSteps());
    hash.putAll(cluster.codecs(), codec -> put(hash, codec));
    putOptimizer(hash, cluster.optimizer());
    cluster.pipeline().ifPresent(named -> hash.put("pipeline").put(named.name()));
    if (!cluster.memoryBytesByDevice().isEmpty()) {
      hash.put("memoryBytesByDevice")
          .putAll(cluster.memoryBytesByDevice(), of -> hash.put(of.device()).put(of.bytes()));
    }
    return cluster.devicesPerHost() == 0
        ? hash
        : hash.put("devicesPerHost").put(cluster.devicesPerHost());
  }

  /** Adds a table. */
  public static CanonicalHash put(CanonicalHash hash, TableSpec table) {
    TableConstraints constraints = table.constraints();
    hash.put(table.name())
        .put(table.rows())
        .put(table.columns())
        .put(table.poolingFactor())
        .putAll(table.reuseHistogram().shares(), hash::put)
        .put(table.bytesPerElement())
        .putAll(table.accessCdf().shares(), hash::put)
        .put(table.optimizerBytesPerElement())
        .put(table.optimizerBytesPerRow())
        .putAll(constraints.kinds(), kind -> hash.put(kind.name()))
        .put(constraints.leastColumns())
        .put(constraints.sameDevicesAs().orElse(""))
        .put(constraints.mayBeCached() ? 1 : 0)
        .put(constraints.mayHaveHotRows() ? 1 : 0)
        .put(table.pooled() ? 1 : 0);
    putOptimizer(hash, table.optimizer());
    if (table.enforceHbm()) {
      hash.put("enforceHbm");
    }
    if (!table.features().isEmpty()) {
      hash.put("features").putAll(table.features(), feature -> put(hash, feature));
    }
    table.idWeights().ifPresent(weights -> hash.put("idWeights").put(weights.name()));
    if (!table.kernel().isEmpty()) {
      put(hash.put("kernel"), table.kernel());
    }
    return table.storage().map(storage -> put(hash.put("storage"), storage)).orElse(hash);
  }

  private static CanonicalHash put(CanonicalHash hash, HashedStorage storage) {
    return hash.put(storage.ids())
        .put(storage.idsPerDay())
        .put(storage.slotBytes())
        .put(storage.eviction().name())
        .putAll(storage.hitShares().shares(), hash::put)
        .put(storage.resizeReason().orElse(""));
  }

  private static void put(CanonicalHash hash, TableFeature feature) {
    hash.put(feature.name())
        .put(feature.poolingFactor())
        .put(feature.batchShare())
        .put(feature.duplicates());
  }

  /** Adds a kernel, which its plan's id has too. */
  public static CanonicalHash put(CanonicalHash hash, TableKernel kernel) {
    return hash.put(kernel.computeKernel().map(Enum::name).orElse(""))
        .put(kernel.cacheLoadFactor().orElse(TableKernel.NO_CACHE))
        .put(kernel.cacheAlgorithm().map(Enum::name).orElse(""))
        .put(kernel.outputType().map(Enum::name).orElse(""))
        .put(kernel.stochasticRounding().map(String::valueOf).orElse(""));
  }

  /** Hashes of tables and clusters that name no optimizer are older than this. */
  private static CanonicalHash putOptimizer(CanonicalHash hash, Optional<Optimizer> optimizer) {
    optimizer.ifPresent(named -> hash.put("optimizer").put(named.name()));
    return hash;
  }

  /** Adds a codec, which its plan's id has too. */
  public static CanonicalHash put(CanonicalHash hash, CommCodec codec) {
    hash.put(codec.name())
        .put(codec.bytesPerElement())
        .put(codec.gigabytesPerSecond())
        .put(codec.density())
        .put(codec.canBeSummed() ? 1 : 0);
    return hash.putAll(codec.directions(), direction -> hash.put(direction.name()));
  }
}
