package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.SplitTower.SplitPart;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * The shapes that parts of a problem's tables can have, numbered, and what each costs on each of
 * its devices. {@link #NONE} is no part: its columns, load and bytes are 0. A table's shapes on one
 * device come first, by columns; those that are split or copied follow.
 *
 * <p>The costs of a shape are computed together when one of them is first needed, which counts as
 * one evaluation. Not thread-safe.
 */
public final class ShapeCosts {
  /** The number of no shape. */
  public static final int NONE = 0;

  private final List<TableGroup> tables;
  private final List<List<SplitPart>> splits;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;

  /** The shape before a table's narrowest one, and the number of all shapes but {@link #NONE}. */
  private final int[] before;

  private final int[] tableOf;
  private final int[] columns;
  private final ShardScope[] scopes;
  private final ShapeLoad[] loads;
  private final double[] aloneMs;
  private int totalUnits;

  /**
   * @param tables the tables, those that are placed together as one
   * @param cluster the devices and the batch
   * @param evaluator predicts
   */
  public ShapeCosts(List<TableGroup> tables, ClusterSpec cluster, CostEvaluator evaluator) {
    this.tables = tables;
    splits = tables.stream().map(table -> table.splits(cluster)).toList();
    this.cluster = cluster;
    this.evaluator = evaluator;
    before = new int[tables.size() + 1];
    for (int t = 0; t < tables.size(); t++) {
      before[t + 1] = before[t] + units(t) + splits(t);
      totalUnits += units(t);
    }
    int shapes = before[tables.size()] + 1;
    tableOf = new int[shapes];
    columns = new int[shapes];
    scopes = new ShardScope[shapes];
    scopes[NONE] = ShardScope.DEVICE;
    for (int t = 0; t < tables.size(); t++) {
      for (int shape = before[t] + 1; shape <= before[t + 1]; shape++) {
        int split = shape - before[t] - 1 - units(t);
        tableOf[shape] = t;
        columns[shape] =
            split < 0
                ? (shape - before[t]) * TableSpec.COLUMN_UNIT
                : splits.get(t).get(split).columns();
        scopes[shape] = split < 0 ? ShardScope.DEVICE : splits.get(t).get(split).scope();
      }
    }
    loads = new ShapeLoad[shapes];
    loads[NONE] = new ShapeLoad(new double[evaluator.towerSize()], ShardScope.DEVICE, 0, 0);
    aloneMs = new double[shapes];
  }

  private int units(int table) {
    return tables.get(table).columns() / TableSpec.COLUMN_UNIT;
  }

  /** Returns the shape of some columns of a table on one device; {@link #NONE} for 0 columns. */
  public int shape(int table, int ofColumns) {
    return ofColumns == 0 ? NONE : before[table] + ofColumns / TableSpec.COLUMN_UNIT;
  }

  /**
   * Returns the shape of some columns of a table; {@link #NONE} if they are split or copied, and
   * were not predicted.
   *
   * @param scope where their rows are
   */
  public int shape(int table, ShardScope scope, int ofColumns) {
    if (scope == ShardScope.DEVICE) {
      return shape(table, ofColumns);
    }
    for (int shape = firstSplit(table); shape <= before[table + 1]; shape++) {
      if (scopes[shape] == scope && columns[shape] == ofColumns) {
        return shape;
      }
    }
    return NONE;
  }

  /** Returns the first of a table's shapes that are split or copied. */
  public int firstSplit(int table) {
    return before[table] + units(table) + 1;
  }

  /** Returns how many shapes of a table are split or copied. */
  public int splits(int table) {
    return splits.get(table).size();
  }

  /** Returns the columns of a shape. */
  public int columns(int shape) {
    return columns[shape];
  }

  /** Returns where the rows of a shape are. */
  public ShardScope scope(int shape) {
    return scopes[shape];
  }

  /** Returns the columns of a shape in units of {@link TableSpec#COLUMN_UNIT}. */
  public int units(ShardScope ofScope, int shape) {
    return scopes[shape] == ofScope ? columns[shape] / TableSpec.COLUMN_UNIT : 0;
  }

  /** Returns the all-to-all load of a shape, in {@link #elementsPerUnit units}. */
  public int allToAllUnits(int shape) {
    return units(ShardScope.DEVICE, shape);
  }

  /** Returns the numbers in a unit of all-to-all load: the outputs of the narrowest shape. */
  public double elementsPerUnit() {
    return (double) cluster.batchSize() * TableSpec.COLUMN_UNIT;
  }

  /** Returns the all-to-all load of all tables together, in units, if none is split. */
  public int totalUnits() {
    return totalUnits;
  }

  /** Returns what a part of a shape adds to the load of each of its devices. */
  public ShapeLoad load(int shape) {
    ShapeLoad load = loads[shape];
    if (load == null) {
      load = compute(shape);
      aloneMs[shape] = evaluator.computeMs(load.tower());
      loads[shape] = load;
    }
    return load;
  }

  private ShapeLoad compute(int shape) {
    TableGroup group = tables.get(tableOf[shape]);
    ShapeLoad sum = null;
    for (TablePrediction table : group.tables()) {
      ShapeLoad load = load(table, scopes[shape], group.columnsOf(table.table(), columns[shape]));
      sum = sum == null ? load : sum.plus(load);
    }
    return sum;
  }

  private ShapeLoad load(TablePrediction table, ShardScope scope, int ofColumns) {
    return scope == ShardScope.DEVICE
        ? ShapeLoad.ofColumns(table, ofColumns, cluster)
        : ShapeLoad.of(table.split(scope, ofColumns).orElseThrow(), table.table(), cluster);
  }

  /** Returns the predicted computation of a device with one part only, in milliseconds. */
  public double aloneMs(int shape) {
    load(shape);
    return aloneMs[shape];
  }
}
