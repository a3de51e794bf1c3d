package io.shardtide.search;

import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.Workload;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The units in which loads of all-to-alls are counted: whole numbers, so that costs are arrays by
 * load.
 *
 * @param elementsPerUnit numbers in a unit of a device's load: an output of the narrowest shard, in
 *     the shortest format, for each sample; with tables that have another number of outputs than a
 *     multiple of that, so many that an even load is a fixed number of units
 * @param elementsPerNodeUnit numbers in a unit of a node's load, likewise; no unpooled table is
 *     split over a node
 * @param total load of all tables together, if none is split or copied that need not be
 * @param totalOfNodes load of all tables together, in units of a node's load
 * @param areExact whether all tables are pooled and have a whole number of outputs for each sample:
 *     loads are multiples of a unit then
 */
record LoadUnits(
    double elementsPerUnit,
    double elementsPerNodeUnit,
    int total,
    int totalOfNodes,
    boolean areExact) {
  /** Units of an even all-to-all load that is not exact; costs are tables by units. */
  private static final double EVEN_UNITS = 1024;

  /**
   * Units are for distinct ids where those may be sent, but so many times finer at most than for
   * all: costs are tables by units.
   */
  private static final double MOST_FINER = 16;

  /** More units are not exact: those of the most and widest tables with one output a sample. */
  private static final double MOST_EXACT =
      (double) Workload.MAX_TABLES * TableSpec.MAX_COLUMNS / TableSpec.COLUMN_UNIT;

  static LoadUnits of(List<TableGroup> tables, ClusterSpec cluster) {
    List<TableSpec> all = tables.stream().flatMap(TableGroup::specs).toList();
    boolean arePooled = all.stream().allMatch(TableSpec::pooled);
    double shortest =
        all.stream().mapToDouble(t -> ShapeLoad.sentShare(t, cluster)).min().orElse(1);
    double narrowest = (double) cluster.batchSize() * TableSpec.COLUMN_UNIT * shortest;
    boolean areWhole =
        all.stream()
                .filter(TableSpec::pooled)
                .allMatch(t -> t.outputsPerSample() == Math.rint(t.outputsPerSample()))
            && tables.stream().mapToDouble(t -> pooledElements(t, cluster)).sum() / narrowest
                <= MOST_EXACT;
    double perUnit = narrowest;
    if (!arePooled || !areWhole) {
      double sum = tables.stream().mapToDouble(table -> elements(table, cluster)).sum();
      double repeated = tables.stream().mapToDouble(table -> repeated(table, cluster)).sum();
      sum = Math.max(sum - repeated, sum / MOST_FINER);
      // Also less than the narrowest pooled shard's: blocks of rows send some of a table's outputs.
      perUnit = Math.max(1, sum / cluster.devices() / EVEN_UNITS);
    }
    double perNodeUnit = areWhole ? narrowest : perUnit;
    int total = 0;
    int totalOfNodes = 0;
    for (TableGroup table : tables) {
      totalOfNodes += (int) Math.round(pooledElements(table, cluster) / perNodeUnit);
      total += table.isAlwaysCopied() ? 0 : (int) Math.round(elements(table, cluster) / perUnit);
    }
    return new LoadUnits(perUnit, perNodeUnit, total, totalOfNodes, arePooled && areWhole);
  }

  private static double elements(TableGroup group, ClusterSpec cluster) {
    return elements(group, cluster, table -> table.outputs(cluster.batchSize(), 1));
  }

  /** Returns the numbers that the tables would contribute if all were pooled. */
  private static double pooledElements(TableGroup group, ClusterSpec cluster) {
    return elements(group, cluster, table -> cluster.batchSize() * table.outputsPerSample());
  }

  /** Returns how many numbers of outputs fewer a group has with distinct ids alone. */
  private static double repeated(TableGroup group, ClusterSpec cluster) {
    double repeated = 0;
    for (TablePrediction of : group.tables()) {
      TableSpec table = of.table();
      double left =
          of.derived().deduplicated().map(TableSpec::poolingFactor).orElse(table.poolingFactor());
      repeated +=
          (table.poolingFactor() - left)
              * cluster.batchSize()
              * table.columns()
              * ShapeLoad.sentShare(table, cluster);
    }
    return repeated;
  }

  private static double elements(
      TableGroup group, ClusterSpec cluster, ToDoubleFunction<TableSpec> outputs) {
    double elements = 0;
    for (TablePrediction of : group.tables()) {
      TableSpec table = of.table();
      elements +=
          outputs.applyAsDouble(table) * table.columns() * ShapeLoad.sentShare(table, cluster);
    }
    return elements;
  }

  /** Returns the load of a part on a device that contributes so many numbers. */
  int ofDevice(double elements) {
    return (int) Math.round(elements / elementsPerUnit);
  }

  /** Returns the load of a part of a node that contributes so many numbers. */
  int ofNode(double elements) {
    return (int) Math.round(elements / elementsPerNodeUnit);
  }
}
