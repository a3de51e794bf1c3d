package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import java.util.Arrays;

/**
 * What exchanges cost a device, looked up. The columns of all devices together never change in a
 * search, so that the cost is a function of the device's own columns and of the largest of all.
 */
final class AllToAllCosts {
  private static final double UNKNOWN = -1;

  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final int totalColumns;
  private final double[][] forward;
  private final double[][] backward;

  /**
   * @param evaluator predicts
   * @param cluster the devices
   * @param totalColumns columns on all devices together
   */
  AllToAllCosts(CostEvaluator evaluator, ClusterSpec cluster, int totalColumns) {
    this.evaluator = evaluator;
    this.cluster = cluster;
    this.totalColumns = totalColumns;
    int sizes = Math.max(totalColumns, TableSpec.COLUMN_UNIT) / TableSpec.COLUMN_UNIT + 1;
    forward = new double[sizes][];
    backward = new double[sizes][];
  }

  /** Returns the columns on all devices together. */
  int totalColumns() {
    return totalColumns;
  }

  /** Returns the forward exchange in milliseconds, waiting not included. */
  double forwardMs(int columns, int maxColumns) {
    return ms(forward, columns, maxColumns, true);
  }

  /** Returns the backward exchange in milliseconds. */
  double backwardMs(int columns, int maxColumns) {
    return ms(backward, columns, maxColumns, false);
  }

  private double ms(double[][] known, int columns, int maxColumns, boolean isForward) {
    if (cluster.devices() == 1 || maxColumns == 0) {
      return 0;
    }
    int max = maxColumns / TableSpec.COLUMN_UNIT;
    int own = columns / TableSpec.COLUMN_UNIT;
    double[] row = known[max];
    if (row == null) {
      row = new double[max + 1];
      Arrays.fill(row, UNKNOWN);
      known[max] = row;
    }
    double ms = row[own];
    if (ms == UNKNOWN) {
      ms =
          isForward
              ? evaluator.forwardMs(
                  columns, maxColumns, totalColumns, cluster.devices(), cluster.batchSize())
              : evaluator.backwardMs(
                  columns, maxColumns, totalColumns, cluster.devices(), cluster.batchSize());
      row[own] = ms;
    }
    return ms;
  }
}
