package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * A cost that no plan is below.
 *
 * <p>Some device has at least the mean number of columns M, rounded up, so that its forward
 * exchange takes {@code forward(M, M)} or longer: more columns never make an exchange shorter (the
 * terms of {@link io.shardtide.cost.AllToAllTerms} grow with them, and a test looks at what the net
 * makes of it). The last device to begin it has at least the mean load: the mean computation and
 * the mean backward exchange. Computation: the head scales each work by no less than {@link
 * CostEvaluator#leastFactors}, and of all ways to cut a table the least work is found by dynamic
 * programming. Backward exchange: no less than a straight line under it, at the mean.
 */
final class LowerBound {
  private LowerBound() {}

  static double of(
      List<TablePrediction> tables,
      ClusterSpec cluster,
      CostEvaluator evaluator,
      AllToAllCosts exchange) {
    double[] factors = evaluator.leastFactors();
    double work = 0;
    long columns = 0;
    for (TablePrediction table : tables) {
      work += leastWork(table, factors);
      columns += table.table().columns();
    }
    double computeMs = work / cluster.devices();
    if (cluster.devices() == 1 || columns == 0) {
      return computeMs;
    }
    int unit = TableSpec.COLUMN_UNIT;
    double mean = (double) columns / cluster.devices();
    int max = (int) Math.ceil(mean / unit) * unit;
    return computeMs + exchange.forwardMs(max, max) + lineUnderBackward(exchange, max, mean);
  }

  /** Returns the least that a table adds to all devices' computation, however it is cut. */
  private static double leastWork(TablePrediction table, double[] factors) {
    int units = table.towers().size();
    double[] least = new double[units + 1];
    for (int u = 1; u <= units; u++) {
      float[] tower = table.towers().get(u - 1);
      double whole = 0;
      for (int k = 0; k < factors.length; k++) {
        whole += factors[k] * tower[k];
      }
      least[u] = whole;
      for (int part = 1; part <= u / 2; part++) {
        least[u] = Math.min(least[u], least[part] + least[u - part]);
      }
    }
    return least[units];
  }

  /**
   * Returns the value at the mean of the highest line under the backward exchange that is as steep
   * as from a device without columns to one with the most.
   */
  private static double lineUnderBackward(AllToAllCosts exchange, int max, double mean) {
    double slope = (exchange.backwardMs(max, max) - exchange.backwardMs(0, max)) / max;
    double least = Double.POSITIVE_INFINITY;
    for (int columns = 0; columns <= max; columns += TableSpec.COLUMN_UNIT) {
      least = Math.min(least, exchange.backwardMs(columns, max) - slope * columns);
    }
    return least + slope * mean;
  }
}
