package io.shardtide.search.local;

import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.TableGroup;
import java.util.List;

/**
 * The units in which loads of all-to-alls are counted: whole numbers, so that costs are arrays by
 * load.
 *
 * @param elementsPerUnit numbers in a unit of a device's load: the outputs of the narrowest shard
 *     in the shortest format; with unpooled tables so many that an even load is a fixed number of
 *     units
 * @param elementsPerNodeUnit numbers in a unit of a node's load: the outputs of the narrowest shard
 *     in the shortest format
 * @param total load of all tables together, if none is split or copied that need not be
 * @param totalOfNodes load of all tables together, if the rows of each are split over a node
 * @param areExact whether all tables are pooled: loads are multiples of a unit then
 */
record LoadUnits(
    double elementsPerUnit,
    double elementsPerNodeUnit,
    int total,
    int totalOfNodes,
    boolean areExact) {
  /** Units of an even all-to-all load with unpooled tables; costs are tables by units. */
  private static final double EVEN_UNITS = 1024;

  static LoadUnits of(List<TableGroup> tables, ClusterSpec cluster) {
    boolean arePooled =
        tables.stream().flatMap(g -> g.tables().stream()).allMatch(t -> t.table().pooled());
    double shortest =
        tables.stream()
            .flatMap(group -> group.tables().stream())
            .mapToDouble(of -> ShapeLoad.sentShare(of.table(), cluster))
            .min()
            .orElse(1);
    double narrowest = cluster.batchSize() * TableSpec.COLUMN_UNIT * shortest;
    double perUnit = narrowest;
    if (!arePooled) {
      double sum = tables.stream().mapToDouble(table -> elements(table, cluster)).sum();
      // Also less than the narrowest pooled shard's: blocks of rows send some of a table's outputs.
      perUnit = Math.max(1, sum / cluster.devices() / EVEN_UNITS);
    }
    int total = 0;
    int totalOfNodes = 0;
    for (TableGroup table : tables) {
      for (TablePrediction of : table.tables()) {
        double sent = of.table().columns() * ShapeLoad.sentShare(of.table(), cluster);
        totalOfNodes += (int) Math.round(sent / (TableSpec.COLUMN_UNIT * shortest));
      }
      total += table.isAlwaysCopied() ? 0 : (int) Math.round(elements(table, cluster) / perUnit);
    }
    return new LoadUnits(perUnit, narrowest, total, totalOfNodes, arePooled);
  }

  private static double elements(TableGroup group, ClusterSpec cluster) {
    double elements = 0;
    for (TablePrediction of : group.tables()) {
      elements +=
          of.table().outputs(cluster.batchSize(), 1)
              * of.table().columns()
              * ShapeLoad.sentShare(of.table(), cluster);
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
