package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.Objects;

/**
 * What a device does for a shard in a training step: everything that a cost model may read of a
 * shard. Two shards of one shape cost the same.
 *
 * @param rows rows of the shard, at least 1
 * @param columns columns of the shard, at least 1
 * @param outputs rows that the device pools in a step, one for each sample that it looks up; at
 *     least 0
 * @param lookups rows that the device looks up in a step, at least 0
 * @param reuse how often a step uses the rows that it touches
 * @param bytesPerElement bytes of an element on the device, weight plus optimizer state; above 0
 * @param replicated whether every device has a copy and gradients are summed over all of them
 */
public record ShardShape(
    long rows,
    int columns,
    double outputs,
    double lookups,
    ReuseHistogram reuse,
    double bytesPerElement,
    boolean replicated) {

  /** Checks the ranges. */
  public ShardShape {
    Objects.requireNonNull(reuse, "reuse");
    check("rows", rows, rows >= 1, "at least 1");
    check("columns", columns, columns >= 1, "at least 1");
    check("outputs", outputs, outputs >= 0, "at least 0");
    check("lookups", lookups, lookups >= 0, "at least 0");
    check("bytes per element", bytesPerElement, bytesPerElement > 0, "above 0");
  }

  private static void check(String what, Object value, boolean isValid, String expected) {
    if (!isValid) {
      throw new IllegalArgumentException(
          "%s of a shard must be %s, got %s".formatted(what, expected, value));
    }
  }

  /**
   * Returns the shape of some columns of a table, with all its rows, on one device.
   *
   * @param batchSize samples in a batch, over all devices
   */
  public static ShardShape ofColumns(TableSpec table, int columns, int batchSize) {
    return new ShardShape(
        table.rows(),
        columns,
        batchSize,
        table.poolingFactor() * batchSize,
        table.reuseHistogram(),
        table.bytesPerElement(),
        false);
  }

  /**
   * Returns the shape of a shard. Ids are taken to be hashed, so that a range of rows gets its
   * share of the lookups; a copy of a table gets the lookups of its device's samples.
   *
   * @param table the table as it is now: a shard with all rows has those that the table has
   */
  public static ShardShape of(Shard shard, TableSpec table, ClusterSpec cluster) {
    ShardShape whole = ofColumns(table, shard.columns(), cluster.batchSize());
    return switch (shard.kind()) {
      case TABLE_WISE, COLUMN_WISE, TABLE_COLUMN_WISE -> whole;
      case ROW_WISE, TABLE_ROW_WISE, GRID_SHARD ->
          whole.with(
              shard.rows(),
              whole.outputs,
              whole.lookups * ((double) shard.rows() / table.rows()),
              false);
      case DATA_PARALLEL ->
          whole.with(
              table.rows(),
              whole.outputs / cluster.devices(),
              whole.lookups / cluster.devices(),
              true);
    };
  }

  private ShardShape with(
      long newRows, double newOutputs, double newLookups, boolean isReplicated) {
    return new ShardShape(
        newRows, columns, newOutputs, newLookups, reuse, bytesPerElement, isReplicated);
  }

  /**
   * Returns how many different rows a step touches. Without a histogram: as many as if all rows
   * were equally likely, {@code rows * (1 - exp(-lookups / rows))}.
   */
  public double distinctRows() {
    double all = (double) rows;
    return reuse.isKnown()
        ? Math.min(all, lookups / ShardFeatures.meanUses(reuse))
        : all * -StrictMath.expm1(-lookups / all);
  }

  /** Returns the numbers that the device pools in a step: outputs times columns. */
  public double outputElements() {
    return outputs * columns;
  }

  /** Returns the bytes of the shard on its device, rounded up. */
  public long bytes() {
    return (long) Math.ceil((double) rows * columns * bytesPerElement);
  }
}
