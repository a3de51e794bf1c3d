package io.shardtide.cost;

import java.util.Objects;

/**
 * A prediction with the generation of its table's latest change.
 *
 * @param prediction the prediction of a table
 * @param since generation of the workload that added the table or changed it
 */
public record DatedPrediction(TablePrediction prediction, long since) {
  /** Checks that there is a prediction. */
  public DatedPrediction {
    Objects.requireNonNull(prediction, "prediction");
  }
}
