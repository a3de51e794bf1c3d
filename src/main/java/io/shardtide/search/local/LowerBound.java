package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.SplitTower;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import java.util.List;

/**
 * A lower bound of the predicted cost of every plan.
 *
 * <p>Some device has at least the mean all-to-all load M, rounded up, so that its forward
 * all-to-all takes {@code forward(M, M)} or longer: a larger load never shortens an all-to-all (the
 * terms of {@link io.shardtide.cost.CollectiveInputs} grow with it, and a test checks it with the
 * net's correction). The last device to begin it has at least the mean of computation plus backward
 * all-to-all. Computation: the head scales each latency component by no less than {@link
 * CostEvaluator#leastFactors}, and dynamic programming finds the cheapest of all ways to cut each
 * table. Backward all-to-all: no less than a straight line below it, at the mean.
 */
final class LowerBound {
  private LowerBound() {}

  static double of(
      List<TablePrediction> tables,
      ClusterSpec cluster,
      CostEvaluator evaluator,
      AllToAllCosts allToAll) {
    double[] factors = evaluator.leastFactors();
    double sumMs = 0;
    for (TablePrediction table : tables) {
      sumMs += Math.min(leastMs(table, factors), leastSplitMs(table, factors, cluster));
    }
    double computeMs = sumMs / cluster.devices();
    // Tables that may be split or copied may do without an all-to-all.
    int total =
        tables.stream()
            .filter(table -> table.splits().isEmpty())
            .mapToInt(table -> table.towers().size())
            .sum();
    if (cluster.devices() == 1 || total == 0) {
      return computeMs;
    }
    double mean = (double) total / cluster.devices();
    int max = (int) Math.ceil(mean);
    return computeMs
        + allToAll.forwardMs(max, max, total, AllToAllLoad.LEVELS)
        + lineBelowBackward(allToAll, max, total);
  }

  /** Returns the least that a table adds to all devices' computation, however it is cut. */
  private static double leastMs(TablePrediction table, double[] factors) {
    int units = table.towers().size();
    double[] least = new double[units + 1];
    for (int u = 1; u <= units; u++) {
      float[] tower = table.towers().get(u - 1);
      least[u] = ms(tower, factors);
      for (int part = 1; part <= u / 2; part++) {
        least[u] = Math.min(least[u], least[part] + least[u - part]);
      }
    }
    return least[units];
  }

  /** Returns the same of all ways to split or copy the table. */
  private static double leastSplitMs(TablePrediction table, double[] factors, ClusterSpec cluster) {
    double least = Double.POSITIVE_INFINITY;
    for (SplitTower split : table.splits()) {
      double ofPart = ms(split.tower(), factors);
      int parts = table.table().columns() / split.columns();
      least = Math.min(least, ofPart * parts * split.scope().devices(cluster));
    }
    return least;
  }

  private static double ms(float[] tower, double[] factors) {
    double ms = 0;
    for (int k = 0; k < factors.length; k++) {
      ms += factors[k] * tower[k];
    }
    return ms;
  }

  /**
   * Returns the value at the mean of the highest line below the backward all-to-all that is as
   * steep as from a device without load to one with the largest.
   */
  private static double lineBelowBackward(AllToAllCosts allToAll, int max, int total) {
    double slope =
        (allToAll.backwardMs(max, max, total, AllToAllLoad.LEVELS)
                - allToAll.backwardMs(0, max, total, AllToAllLoad.LEVELS))
            / max;
    double least = Double.POSITIVE_INFINITY;
    for (int units = 0; units <= max; units++) {
      least =
          Math.min(
              least, allToAll.backwardMs(units, max, total, AllToAllLoad.LEVELS) - slope * units);
    }
    return least + slope * total / allToAll.group().devices();
  }
}
