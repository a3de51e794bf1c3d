package io.shardtide.wire;

import io.shardtide.cost.CostPredictions;
import java.util.Optional;

/**
 * Key of a record on current-predictions: a workload, or one of its tables.
 *
 * <p>As text it is the workload id; for a table, the character zero and the table's name follow.
 * Neither name may hold control characters, so the text is unambiguous.
 *
 * @param workloadId the workload
 * @param table the table; empty for the workload's own record, which has its generation and cluster
 */
public record PredictionKey(String workloadId, Optional<String> table) {
  private static final char SEPARATOR = '\0';

  /** Returns the key of a record with these predictions. */
  public static PredictionKey of(CostPredictions part) {
    return new PredictionKey(
        part.workloadId(), part.update().flatMap(CostPredictions.Update::table));
  }

  /** Returns the key that a text stands for. */
  public static PredictionKey parse(String text) {
    int separator = text.indexOf(SEPARATOR);
    return separator < 0
        ? new PredictionKey(text, Optional.empty())
        : new PredictionKey(
            text.substring(0, separator), Optional.of(text.substring(separator + 1)));
  }

  /** Returns the key as text. */
  public String text() {
    return table.map(name -> workloadId + SEPARATOR + name).orElse(workloadId);
  }
}
