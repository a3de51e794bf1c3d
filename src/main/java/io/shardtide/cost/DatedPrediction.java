package io.shardtide.cost;

import java.util.Objects;

/**
 * A prediction with the generation that asked for it.
 *
 * @param prediction a table with what the model says of it
 * @param since generation of the workload that added the table or changed it
 */
public record DatedPrediction(TablePrediction prediction, long since) {
  /** Checks that there is a prediction. */
  public DatedPrediction {
    Objects.requireNonNull(prediction, "prediction");
  }
}
