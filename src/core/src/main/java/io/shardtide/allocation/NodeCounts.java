package io.shardtide.allocation;

import io.shardtide.allocation.choice.ChoiceProblem;
import io.shardtide.allocation.choice.ChoiceResult;
import io.shardtide.allocation.choice.ChoiceSolver;
import io.shardtide.domain.pool.AllocationPolicy;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Decides how many nodes each admitted workload has: the greatest weighted throughput, less the
 * price of adjustments, within the pool, the fairness loss and the number of adjustments.
 *
 * <p>The weight of a workload is the value of one of its samples; it has no part in what is fair.
 */
final class NodeCounts {
  private final List<Demand> demands;
  private final int nodes;
  private final AllocationPolicy policy;
  private final double[] fair;

  /** Weighted throughput of fair shares: the solver's values are of the size of 1. */
  private final double unit;

  /**
   * @param demands the admitted demands
   * @param nodes number of nodes, at least the least nodes of all
   * @param policy the policy
   */
  NodeCounts(List<Demand> demands, int nodes, AllocationPolicy policy) {
    this.demands = demands;
    this.nodes = nodes;
    this.policy = policy;
    fair = FairShares.of(demands, nodes);
    double sum = 0;
    for (int w = 0; w < fair.length; w++) {
      sum += demands.get(w).weighted(demands.get(w).atMost(fair[w]));
    }
    unit = sum > 0 ? sum : 1;
  }

  /**
   * Counts that were decided.
   *
   * @param chosen what each demand gets
   * @param gap by how much the optimum may be better at most, as a share of it
   */
  record Decision(List<NodeCount> chosen, double gap) {}

  /** Returns the fair share of a demand, in nodes. */
  double fair(int demand) {
    return fair[demand];
  }

  /**
   * Decides.
   *
   * @param stopped running workloads that were not admitted: they are adjustments too
   */
  Decision decide(int stopped) {
    double greatestLoss = policy.fairnessLoss() * 2 * nodes;
    FallbackCounts fallback =
        new FallbackCounts(demands, fair, nodes, policy.adjustedAtOnce() - stopped, greatestLoss);
    double[] limits = {
      nodes,
      Math.max(greatestLoss, fallback.loss()),
      Math.max(policy.adjustedAtOnce() - stopped, fallback.adjusted())
    };
    double[][] values = new double[demands.size()][];
    double[][][] uses = new double[limits.length][demands.size()][];
    for (int w = 0; w < values.length; w++) {
      List<NodeCount> options = demands.get(w).options();
      values[w] = new double[options.size()];
      for (int q = 0; q < limits.length; q++) {
        uses[q][w] = new double[options.size()];
      }
      for (int o = 0; o < options.size(); o++) {
        values[w][o] = demands.get(w).value(options.get(o), policy) / unit;
        uses[0][w][o] = options.get(o).nodes();
        uses[1][w][o] = Math.abs(options.get(o).nodes() - fair[w]);
        uses[2][w][o] = demands.get(w).isAdjustment(options.get(o)) ? 1 : 0;
      }
    }
    ChoiceResult result =
        ChoiceSolver.solve(
            new ChoiceProblem(values, uses, limits, fallback.choice()), policy.solverIterations());
    int[] choice = result.choice();
    List<NodeCount> chosen =
        IntStream.range(0, choice.length)
            .mapToObj(w -> demands.get(w).options().get(choice[w]))
            .toList();
    return new Decision(chosen, result.gap());
  }
}
