package io.shardtide.cost;

import java.util.List;
import java.util.Objects;

/**
 * Predictions of a table that is cut by use.
 *
 * @param hotRows rows that each device has a copy of
 * @param hot predictions of the copies
 * @param others predictions of all other rows
 */
public record UsePrediction(long hotRows, TablePrediction hot, TablePrediction others) {
  /** Checks that there are both. */
  public UsePrediction {
    Objects.requireNonNull(hot, "hot");
    Objects.requireNonNull(others, "others");
  }

  /** Returns both predictions. */
  public List<TablePrediction> both() {
    return List.of(hot, others);
  }
}
