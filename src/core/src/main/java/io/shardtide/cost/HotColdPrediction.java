package io.shardtide.cost;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Predictions of a table that is cut by use.
 *
 * @param hotRows rows that each device has a copy of
 * @param hot predictions of the copies
 * @param others predictions of all other rows
 */
public record HotColdPrediction(long hotRows, TablePrediction hot, TablePrediction others) {

  /** Returns both predictions. */
  public List<TablePrediction> both() {
    return List.of(hot, others);
  }

  /**
   * Returns predictions with two tables in place of each that is cut by use; without those of a cut
   * that was not predicted.
   *
   * @param hotRows how many hot rows each table has that is cut, by its name
   */
  public static List<TablePrediction> separate(
      List<TablePrediction> tables, Map<String, Long> hotRows) {
    List<TablePrediction> separated = new ArrayList<>();
    for (TablePrediction table : tables) {
      Long rows = hotRows.get(table.table().name());
      if (rows == null) {
        separated.add(table);
      } else {
        table.byUse(rows).ifPresent(use -> separated.addAll(use.both()));
      }
    }
    return separated;
  }
}
