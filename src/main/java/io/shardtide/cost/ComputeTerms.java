package io.shardtide.cost;

import java.util.List;

/**
 * The terms of a shard's computation, before a net corrects their sum: a constant for each shard,
 * the elements that it outputs, its lookups and the distinct rows that they touch, each once alone
 * (indices, addresses) and once times the columns (bytes). Any hardware does all of this, so that
 * the sum, with fitted coefficients that are not negative, extrapolates well. The net learns the
 * difference.
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
