package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * What a shard's work is counted in before any net corrects it: a shard as such, the numbers that
 * it gives, its lookups and the different rows that they touch, each once alone (indices,
 * addresses) and once with every column (bytes). A device has to do all of it whatever it is made
 * of, so that the sum, with coefficients that are fitted to the samples and not below zero, is
 * right in kind far outside them. The net learns what the sum misses.
 */
public final class ComputeTerms {
  /** Names with units, in the order of {@link #of}. */
  public static final List<String> NAMES =
      List.of(
          "shards",
          "outputs_per_batch",
          "lookups_per_batch",
          "lookups_times_columns",
          "touched_rows_per_batch",
          "touched_rows_times_columns");

  private ComputeTerms() {}

  /**
   * Returns the terms of {@code width} columns of a table.
   *
   * @param table the table
   * @param width columns of the shard
   * @param batchSize samples in a batch, over all devices
   */
  public static double[] of(TableSpec table, int width, int batchSize) {
    double lookups = ShardFeatures.lookups(table, batchSize);
    double touched = ShardFeatures.touchedRows(table, batchSize);
    return new double[] {
      1, (double) batchSize * width, lookups, lookups * width, touched, touched * width
    };
  }
}
