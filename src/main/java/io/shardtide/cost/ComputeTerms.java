package io.shardtide.cost;

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

  /** Returns the terms of a shape. */
  public static double[] of(ShardShape shape) {
    double touched = shape.distinctRows();
    return new double[] {
      1,
      shape.outputElements(),
      shape.lookups(),
      shape.lookups() * shape.columns(),
      touched,
      touched * shape.columns()
    };
  }
}
