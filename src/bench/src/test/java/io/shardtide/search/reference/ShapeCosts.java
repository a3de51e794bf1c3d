package io.shardtide.search.reference;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;

/**
 * The shapes that column shards of a problem's tables can have, numbered by table and columns, and
 * what each costs on its device.
 *
 * <p>The costs of a shape are computed together when one of them is first needed, which counts as
 * one evaluation. Not thread-safe.
 */
final class ShapeCosts {
  /** Units of an even all-to-all load at most; pooled tables have loads in whole units anyway. */
  private static final double MOST_EVEN_UNITS = 1024;

  private final List<TablePrediction> tables;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;

  /** The first shape of each table. */
  private final int[] first;

  private final int[] tableOf;
  private final ShapeLoad[] loads;
  private final double[] aloneMs;
  private final double elementsPerUnit;

  /**
   * @param tables the tables
   * @param cluster the devices and the batch
   * @param evaluator predicts
   */
  ShapeCosts(List<TablePrediction> tables, ClusterSpec cluster, CostEvaluator evaluator) {
    this.tables = tables;
    this.cluster = cluster;
    this.evaluator = evaluator;
    first = new int[tables.size() + 1];
    for (int t = 0; t < tables.size(); t++) {
      first[t + 1] = first[t] + table(t).columns() / TableSpec.COLUMN_UNIT;
    }
    int shapes = first[tables.size()];
    tableOf = new int[shapes];
    for (int t = 0; t < tables.size(); t++) {
      for (int shape = first[t]; shape < first[t + 1]; shape++) {
        tableOf[shape] = t;
      }
    }
    loads = new ShapeLoad[shapes];
    aloneMs = new double[shapes];
    elementsPerUnit = elementsPerUnit();
  }

  private TableSpec table(int t) {
    return tables.get(t).table();
  }

  /**
   * Returns the numbers in a unit of all-to-all load: the outputs of the narrowest shape; with
   * unpooled tables so many that an even load is a limited number of units.
   */
  private double elementsPerUnit() {
    double narrowest = (double) cluster.batchSize() * TableSpec.COLUMN_UNIT;
    if (tables.stream().allMatch(table -> table.table().pooled())) {
      return narrowest;
    }
    double sum = 0;
    for (int t = 0; t < tables.size(); t++) {
      sum += elements(t, table(t).columns());
    }
    return Math.max(narrowest, sum / cluster.devices() / MOST_EVEN_UNITS);
  }

  /** Returns the numbers that a shard of some columns contributes to the all-to-all. */
  private double elements(int t, int columns) {
    return table(t).outputs(cluster.batchSize(), 1) * columns;
  }

  /** Returns the shape of some columns of a table, a multiple of 4. */
  int shape(int t, int columns) {
    return first[t] + columns / TableSpec.COLUMN_UNIT - 1;
  }

  private int columns(int shape) {
    return (shape - first[tableOf[shape]] + 1) * TableSpec.COLUMN_UNIT;
  }

  /** Returns the all-to-all load of a shape in {@link #elementsPerAllToAllUnit}. */
  int allToAllUnits(int shape) {
    return (int) Math.round(elements(tableOf[shape], columns(shape)) / elementsPerUnit);
  }

  /** Returns the numbers in a unit of all-to-all load. */
  double elementsPerAllToAllUnit() {
    return elementsPerUnit;
  }

  /** Returns the all-to-all load of all tables together, in units. */
  int totalUnits() {
    int units = 0;
    for (int t = 0; t < tables.size(); t++) {
      units += allToAllUnits(shape(t, table(t).columns()));
    }
    return units;
  }

  /** Returns what a shard of a shape adds to the load of its device. */
  ShapeLoad load(int shape) {
    ShapeLoad load = loads[shape];
    if (load == null) {
      TablePrediction table = tables.get(tableOf[shape]);
      load = table.load(Option.ofColumns(columns(shape)), evaluator, cluster).orElseThrow();
      aloneMs[shape] = evaluator.computeMs(load.tower());
      loads[shape] = load;
    }
    return load;
  }

  /** Returns the predicted computation of a device with one shard only, in milliseconds. */
  double aloneMs(int shape) {
    load(shape);
    return aloneMs[shape];
  }
}
