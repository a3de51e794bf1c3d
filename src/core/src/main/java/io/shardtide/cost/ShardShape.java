package io.shardtide.cost;

import io.shardtide.workload.Limits;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.TableKernel;
import java.util.OptionalDouble;

/**
 * What a device does for a shard in a training step: everything that a cost model may read of a
 * shard. Two shards of one shape cost the same.
 *
 * @param rows rows of the shard, at least 1
 * @param columns columns of the shard, at least 1
 * @param outputs rows that the device passes on in a step: one for each sample of each feature, of
 *     an unpooled table one for each lookup; at least 0
 * @param use lookups in the shard's rows
 * @param weightBytes bytes of an element of the weights, above 0
 * @param replicated whether every device has a copy and gradients are summed over all of them
 * @param cacheShare share of the rows that device memory holds, the most used ones; 0 if all are in
 *     host memory without a cache, empty if device memory holds all
 * @param optimizer what updates the weights
 * @param stateInDeviceMemory whether the optimizer's state is in device memory also where rows are
 *     cached
 * @param pooled whether an output is the sum of a sample's rows; if not, each lookup has one
 */
public record ShardShape(
    long rows,
    int columns,
    double outputs,
    BatchUse use,
    double weightBytes,
    boolean replicated,
    OptionalDouble cacheShare,
    Optimizer optimizer,
    boolean stateInDeviceMemory,
    boolean pooled) {
  /** Far above the rounding of a quotient, and less than a row of the largest table. */
  private static final double ROUNDING = 1e-13;

  /** Checks the ranges. */
  public ShardShape {
    Limits.of(IllegalArgumentException::new, "a shard")
        .atLeast("rows", rows, 1)
        .atLeast("columns", columns, 1)
        .check(outputs >= 0, "outputs", "at least 0", outputs)
        .check(weightBytes > 0, "bytes of a weight", "above 0", weightBytes);
  }

  /**
   * Returns how many rows a share of a table's rows has, rounded up. A share is the quotient of two
   * numbers of rows in most cases, whose rounding adds no row.
   */
  static long rows(long tableRows, double share) {
    return Math.max(1, (long) Math.ceil(tableRows * share * (1 - ROUNDING)));
  }

  /** Returns the lookups of a step. */
  public double lookups() {
    return use.lookups();
  }

  /** Returns the share of the table's rows, above 0 and at most 1. */
  public double rowShare() {
    return use.rowShare();
  }

  /** Returns the lookups of an output in all rows of the table; 0 without outputs. */
  public double tableLookupsPerOutput() {
    return outputs > 0 ? use.tableLookups() / outputs : 0;
  }

  /** Returns how many different rows a step touches. */
  public double distinctRows() {
    return use.distinctRows();
  }

  /**
   * Returns whether device memory caches rows. A shard whose rows are all in host memory computes
   * as one in device memory, beside what {@link HostLink} adds.
   */
  boolean isCached() {
    return cacheShare.orElse(TableKernel.NO_CACHE) != TableKernel.NO_CACHE;
  }

  /** Returns the touched rows that a cache lacks; 0 without a cache. */
  double missedRows() {
    return isCached() ? use.distinctBeside(cacheShare.orElseThrow() * rows) : 0;
  }

  /** Returns the share of the lookups that find their row in the cache; 1 without a cache. */
  double hitShare() {
    return isCached() ? use.lookupShare(cacheShare.orElseThrow() * rows) : 1;
  }

  /** Returns whether the optimizer's state is in host memory. */
  boolean isStateInHostMemory() {
    return cacheShare.isPresent() && !stateInDeviceMemory;
  }

  /**
   * Returns the bytes of the optimizer's state that a step reads and writes: of a copy those of all
   * rows, one after another; else those of the touched rows, in whole sectors.
   */
  double stateBytes() {
    double ofElements = (double) optimizer.bytesPerElement() * columns;
    return replicated
        ? rows * (ofElements + optimizer.bytesPerRow())
        : distinctRows()
            * (ShardFeatures.sectorBytes(ofElements)
                + ShardFeatures.sectorBytes(optimizer.bytesPerRow()));
  }

  /** Returns the bytes of a row's weights. */
  double rowBytes() {
    return columns * weightBytes;
  }

  /** Returns the numbers that the device pools in a step: outputs times columns. */
  public double outputElements() {
    return outputs * columns;
  }
}
