package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePart;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/**
 * The shapes that parts of a problem's tables can have, numbered, and what each costs on each of
 * its devices. {@link #NONE} is no part: its columns, load and bytes are 0. A table's shapes in the
 * memory of one device come first, by columns; those that are split, copied or cached follow.
 *
 * <p>The costs of a shape are computed together when one of them is first needed, which counts as
 * one evaluation. Not thread-safe.
 */
public final class ShapeCosts {
  /** The number of no shape. */
  public static final int NONE = 0;

  /** Units of an even all-to-all load at most; costs are tables by units. */
  private static final double MOST_EVEN_UNITS = 1024;

  private final List<TableGroup> tables;
  private final List<List<TablePart>> parts;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;

  /** The shape before a table's narrowest one, and the number of all shapes but {@link #NONE}. */
  private final int[] before;

  private final int[] tableOf;
  private final int[] columns;
  private final ShardScope[] scopes;
  private final OptionalDouble[] cacheShares;
  private final ShapeLoad[] loads;
  private final double[] aloneMs;

  /** All-to-all load of each shape. */
  private final int[] allToAllUnits;

  private final double elementsPerUnit;
  private final int totalUnits;

  /**
   * @param tables the tables, those that are placed together as one
   * @param cluster the devices and the batch
   * @param evaluator predicts
   */
  public ShapeCosts(List<TableGroup> tables, ClusterSpec cluster, CostEvaluator evaluator) {
    this.tables = tables;
    parts = tables.stream().map(table -> table.parts(cluster)).toList();
    this.cluster = cluster;
    this.evaluator = evaluator;
    before = new int[tables.size() + 1];
    for (int t = 0; t < tables.size(); t++) {
      before[t + 1] = before[t] + units(t) + parts(t);
    }
    int shapes = before[tables.size()] + 1;
    tableOf = new int[shapes];
    columns = new int[shapes];
    scopes = new ShardScope[shapes];
    scopes[NONE] = ShardScope.DEVICE;
    cacheShares = new OptionalDouble[shapes];
    cacheShares[NONE] = OptionalDouble.empty();
    for (int t = 0; t < tables.size(); t++) {
      for (int shape = before[t] + 1; shape <= before[t + 1]; shape++) {
        int i = shape - firstPart(t);
        TablePart part =
            i < 0
                ? new TablePart(ShardScope.DEVICE, (shape - before[t]) * TableSpec.COLUMN_UNIT)
                : parts.get(t).get(i);
        tableOf[shape] = t;
        columns[shape] = part.columns();
        scopes[shape] = part.scope();
        cacheShares[shape] = part.cacheShare();
      }
    }
    loads = new ShapeLoad[shapes];
    loads[NONE] = new ShapeLoad(new double[evaluator.sumSize()], ShardScope.DEVICE, 0, 0, 0, 0);
    aloneMs = new double[shapes];
    elementsPerUnit = elementsPerUnit();
    allToAllUnits = new int[shapes];
    for (int shape = 1; shape < shapes; shape++) {
      allToAllUnits[shape] = (int) Math.round(elements(shape) / elementsPerUnit);
    }
    totalUnits =
        IntStream.range(0, tables.size())
            .filter(t -> !tables.get(t).isAlwaysCopied())
            .map(t -> allToAllUnits[whole(t)])
            .sum();
  }

  /**
   * Returns the numbers in a unit of all-to-all load: the outputs of the narrowest shape; with
   * unpooled tables so many that an even load is a limited number of units.
   */
  private double elementsPerUnit() {
    double narrowest = (double) cluster.batchSize() * TableSpec.COLUMN_UNIT;
    double sum = IntStream.range(0, tables.size()).mapToDouble(t -> elements(whole(t))).sum();
    return arePooled() ? narrowest : Math.max(narrowest, sum / cluster.devices() / MOST_EVEN_UNITS);
  }

  /** Returns whether all tables are pooled: units of all-to-all load are exact then. */
  public boolean arePooled() {
    return tables.stream()
        .flatMap(table -> table.tables().stream())
        .allMatch(table -> table.table().pooled());
  }

  /** Returns the numbers that a shape contributes to the all-to-all. */
  private double elements(int shape) {
    double elements = 0;
    TableGroup group = tables.get(tableOf[shape]);
    for (TablePrediction prediction : group.tables()) {
      TableSpec table = prediction.table();
      if (part(shape).collectives(table) == ShardScope.DEVICE) {
        double rowShare = 1.0 / scopes[shape].devices(cluster);
        elements +=
            table.outputs(cluster.batchSize(), rowShare) * group.columnsOf(table, columns[shape]);
      }
    }
    return elements;
  }

  /** Returns the shape of all columns of a table in the memory of one device. */
  private int whole(int table) {
    return before[table] + units(table);
  }

  private int units(int table) {
    return tables.get(table).columns() / TableSpec.COLUMN_UNIT;
  }

  /**
   * Returns the shape of some columns of a table in the memory of one device; {@link #NONE} for 0
   * columns.
   */
  public int shape(int table, int ofColumns) {
    return ofColumns == 0 ? NONE : before[table] + ofColumns / TableSpec.COLUMN_UNIT;
  }

  /**
   * Returns the shape of a part of a table; {@link #NONE} if it is split, copied or cached, and was
   * not predicted.
   */
  public int shape(int table, TablePart part) {
    if (part.isOnDevice()) {
      return shape(table, part.columns());
    }
    int i = parts.get(table).indexOf(part);
    return i < 0 ? NONE : firstPart(table) + i;
  }

  /** Returns the first of a table's shapes that are split, copied or cached. */
  public int firstPart(int table) {
    return before[table] + units(table) + 1;
  }

  /** Returns how many shapes of a table are split, copied or cached. */
  public int parts(int table) {
    return parts.get(table).size();
  }

  /** Returns what part of its table a shape is. */
  public TablePart part(int shape) {
    return new TablePart(scopes[shape], columns[shape], cacheShares[shape]);
  }

  /** Returns whether the rows of a shape are in host memory. */
  public boolean isCached(int shape) {
    return cacheShares[shape].isPresent();
  }

  /** Returns the columns of a shape. */
  public int columns(int shape) {
    return columns[shape];
  }

  /** Returns where the rows of a shape are. */
  public ShardScope scope(int shape) {
    return scopes[shape];
  }

  /**
   * Returns the same part with the next larger cache: without a cache if it has the largest; {@link
   * #NONE} if there is none.
   */
  public int withMoreCache(int shape) {
    if (!isCached(shape)) {
      return NONE;
    }
    int next = shape + 1;
    return next <= before[tableOf[shape] + 1] && isSameButForCache(shape, next)
        ? next
        : shape(tableOf[shape], new TablePart(scopes[shape], columns[shape]));
  }

  /** Returns the same part with the next smaller cache; {@link #NONE} if there is none. */
  public int withLessCache(int shape) {
    if (isCached(shape)) {
      return isSameButForCache(shape, shape - 1) ? shape - 1 : NONE;
    }
    int last = NONE;
    int table = tableOf[shape];
    for (int other = firstPart(table); other <= before[table + 1]; other++) {
      last = isSameButForCache(shape, other) ? other : last;
    }
    return last;
  }

  /** Returns whether a shape has a cache, and the scope and columns of another one. */
  private boolean isSameButForCache(int shape, int cached) {
    return isCached(cached)
        && tableOf[cached] == tableOf[shape]
        && scopes[cached] == scopes[shape]
        && columns[cached] == columns[shape];
  }

  /** Returns the columns of a shape that is split over a node, in {@link #elementsPerNodeUnit}. */
  public int nodeUnits(int shape) {
    return scopes[shape] == ShardScope.NODE ? columns[shape] / TableSpec.COLUMN_UNIT : 0;
  }

  /**
   * Returns the all-to-all load of a shape on each of its devices, in {@link
   * #elementsPerAllToAllUnit}.
   */
  public int allToAllUnits(int shape) {
    return allToAllUnits[shape];
  }

  /** Returns the numbers in a unit of all-to-all load. */
  public double elementsPerAllToAllUnit() {
    return elementsPerUnit;
  }

  /** Returns the numbers in a unit of a node's load: the outputs of the narrowest shape. */
  public double elementsPerNodeUnit() {
    return (double) cluster.batchSize() * TableSpec.COLUMN_UNIT;
  }

  /**
   * Returns the all-to-all load of all tables together, in units, if none is split or copied that
   * need not be.
   */
  public int totalUnits() {
    return totalUnits;
  }

  /** Returns the columns of all tables together, in units of a node's load. */
  public int totalNodeUnits() {
    return IntStream.range(0, tables.size()).map(this::units).sum();
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
      int ofTable = group.columnsOf(table.table(), columns[shape]);
      TablePart part = new TablePart(scopes[shape], ofTable, cacheShares[shape]);
      ShapeLoad load =
          ShapeLoad.of(evaluator, table.tower(part).orElseThrow(), part, table.table(), cluster);
      sum = sum == null ? load : sum.plus(load);
    }
    return sum;
  }

  /** Returns the predicted computation of a device with one part only, in milliseconds. */
  public double aloneMs(int shape) {
    load(shape);
    return aloneMs[shape];
  }
}
