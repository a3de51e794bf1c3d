package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * The shapes that shards of a problem's tables can have, numbered, and what each costs. {@link
 * #NONE} is no shard: its columns, load and bytes are 0.
 *
 * <p>The costs of a shape are computed together when one of them is first needed, which counts as
 * one evaluation. Not thread-safe.
 */
public final class ShapeCosts {
  /** The number of no shape. */
  public static final int NONE = 0;

  private final List<TablePrediction> tables;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;

  /** The shape before a table's narrowest one. */
  private final int[] before;

  private final int[] tableOf;
  private final int[] columns;
  private final int[] units;
  private final ShapeLoad[] loads;
  private final double[] aloneMs;

  /**
   * @param tables predictions of the tables
   * @param cluster the devices and the batch
   * @param evaluator predicts
   */
  public ShapeCosts(List<TablePrediction> tables, ClusterSpec cluster, CostEvaluator evaluator) {
    this.tables = tables;
    this.cluster = cluster;
    this.evaluator = evaluator;
    before = new int[tables.size() + 1];
    for (int t = 0; t < tables.size(); t++) {
      before[t + 1] = before[t] + tables.get(t).table().columns() / TableSpec.COLUMN_UNIT;
    }
    int shapes = before[tables.size()] + 1;
    tableOf = new int[shapes];
    columns = new int[shapes];
    units = new int[shapes];
    for (int t = 0; t < tables.size(); t++) {
      for (int shape = before[t] + 1; shape <= before[t + 1]; shape++) {
        tableOf[shape] = t;
        columns[shape] = (shape - before[t]) * TableSpec.COLUMN_UNIT;
        units[shape] = shape - before[t];
      }
    }
    loads = new ShapeLoad[shapes];
    loads[NONE] = new ShapeLoad(new double[evaluator.towerSize()], ShardScope.DEVICE, 0, 0);
    aloneMs = new double[shapes];
  }

  /** Returns the shape of some columns of a table, with all rows; {@link #NONE} for 0 columns. */
  public int shape(int table, int ofColumns) {
    return ofColumns == 0 ? NONE : before[table] + ofColumns / TableSpec.COLUMN_UNIT;
  }

  /** Returns the columns of a shape. */
  public int columns(int shape) {
    return columns[shape];
  }

  /** Returns the all-to-all load of a shape, in {@link #elementsPerUnit units}. */
  public int allToAllUnits(int shape) {
    return units[shape];
  }

  /** Returns the numbers in a unit of all-to-all load: the outputs of the narrowest shape. */
  public double elementsPerUnit() {
    return (double) cluster.batchSize() * TableSpec.COLUMN_UNIT;
  }

  /** Returns the all-to-all load of all tables together, in units. */
  public int totalUnits() {
    return before[tables.size()];
  }

  /** Returns what a shard of a shape adds to the load of its device. */
  public ShapeLoad load(int shape) {
    ShapeLoad load = loads[shape];
    if (load == null) {
      load = ShapeLoad.ofColumns(tables.get(tableOf[shape]), columns[shape], cluster);
      aloneMs[shape] = evaluator.computeMs(load.tower());
      loads[shape] = load;
    }
    return load;
  }

  /** Returns the predicted computation of a device with one shard only, in milliseconds. */
  public double aloneMs(int shape) {
    load(shape);
    return aloneMs[shape];
  }
}
