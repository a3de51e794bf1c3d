package io.shardtide.option;

import io.shardtide.workload.TableSpec;
import java.util.List;

/**
 * One thing that a plan decides of the parts of a table, beside their places. Nothing but the list
 * in {@link Options} knows which there are.
 */
interface Freedom {
  /**
   * Adds the parts that a table may have with this freedom to those of the freedoms before it.
   *
   * @param parts receives them
   */
  void add(List<TablePart> parts, TableSpec table, PredictionInputs inputs);

  /** Returns what this freedom decides of a part, for people; empty if nothing. */
  default String label(TablePart part) {
    return "";
  }
}
