package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerSums;
import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * What is known of a shard of each table at each width, computed once when it is first asked for.
 */
public final class ShardCosts {
  private final List<TablePrediction> tables;
  private final CostEvaluator evaluator;
  private final ShardCost[][] entries;

  /**
   * A shard.
   *
   * @param tower what it adds to a device's sum
   * @param aloneMs predicted computation of a device that holds nothing else, in milliseconds
   * @param bytes memory that it fills
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  public record ShardCost(double[] tower, double aloneMs, long bytes) {}

  /**
   * @param tables the tables with what the model says of them
   * @param evaluator predicts
   */
  public ShardCosts(List<TablePrediction> tables, CostEvaluator evaluator) {
    this.tables = tables;
    this.evaluator = evaluator;
    entries = new ShardCost[tables.size()][];
    for (int t = 0; t < entries.length; t++) {
      entries[t] = new ShardCost[tables.get(t).towers().size()];
    }
  }

  /** Returns what is known of {@code width} columns of a table. */
  public ShardCost get(int table, int width) {
    int w = width / TableSpec.COLUMN_UNIT - 1;
    ShardCost entry = entries[table][w];
    if (entry == null) {
      TablePrediction prediction = tables.get(table);
      double[] tower = TowerSums.exact(prediction.tower(width));
      entry = new ShardCost(tower, evaluator.computeMs(tower), prediction.table().bytes(width));
      entries[table][w] = entry;
    }
    return entry;
  }
}
