package io.shardtide.option;

import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Rows are in host memory, where there is some, and device memory caches the most used ones: of
 * parts of equal width on one device, and of split parts. Caches have various sizes that hold the
 * rows which they need at once, or the one that the table's kernel names.
 */
final class Caches implements Freedom {
  /**
   * Shares of the rows that a cache may hold: from the least that samples have, each half as much
   * again as the one before.
   */
  private static final double[] SHARES = {
    0.01, 0.015, 0.0225, 0.034, 0.051, 0.076, 0.114, 0.171, 0.256, 0.384, 0.577, 0.865
  };

  @Override
  public void add(List<TablePart> parts, TableSpec table, PredictionInputs inputs) {
    if (!inputs.areCachesPredicted(table)) {
      return;
    }
    List<TablePart> cached =
        new ArrayList<>(Columns.equal(table, ShardScope.DEVICE, inputs.devices()));
    parts.stream()
        .filter(part -> !part.isOnDevice() && part.scope() != ShardScope.COPIES)
        .forEach(cached::add);
    double[] shares = shares(table, inputs);
    for (TablePart part : cached) {
      for (double share : shares) {
        parts.add(new TablePart(part.scope(), part.columns(), OptionalDouble.of(share)));
      }
    }
  }

  private static double[] shares(TableSpec table, PredictionInputs inputs) {
    OptionalDouble named = namedShare(table.kernel());
    if (named.isPresent()) {
      return new double[] {named.getAsDouble()};
    }
    double least = RowUse.leastCacheShare(table, inputs.batchSize(), inputs.cachedBatches());
    return Arrays.stream(SHARES).filter(share -> share >= least).toArray();
  }

  /** Returns the only share of the rows that a cache may hold, if the kernel names it. */
  static OptionalDouble namedShare(TableKernel kernel) {
    return kernel.computeKernel().equals(Optional.of(ComputeKernel.FUSED_UVM))
        ? OptionalDouble.of(TableKernel.NO_CACHE)
        : kernel.cacheLoadFactor();
  }

  @Override
  public String label(TablePart part) {
    OptionalDouble share = part.cacheShare();
    if (share.isEmpty()) {
      return "";
    }
    return share.getAsDouble() == TableKernel.NO_CACHE
        ? "in host memory"
        : "cache of %s of the rows".formatted(share.getAsDouble());
  }
}
