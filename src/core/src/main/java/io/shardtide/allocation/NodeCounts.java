package io.shardtide.allocation;

import io.shardtide.allocation.OptionTable.Limit;
import io.shardtide.allocation.choice.ChoiceResult;
import io.shardtide.pool.AllocationPolicy;
import java.util.List;
import java.util.stream.IntStream;

/**
 * How many nodes each admitted workload has: the greatest weighted throughput, less the price of
 * adjustments, within the pool, the fairness loss and the number of adjustments.
 *
 * <p>The weight of a workload is the value of one of its samples; it has no part in what is fair.
 *
 * @param chosen what each demand gets
 * @param fair the fair share of each demand, in nodes
 * @param gap by how much the optimum may be better at most, as a share of it
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record NodeCounts(List<NodeCount> chosen, double[] fair, double gap) {
  /**
   * Decides.
   *
   * @param demands the admitted demands
   * @param nodes number of nodes, at least the least nodes of all
   * @param policy the policy
   * @param stopped running workloads that were not admitted: they are adjustments too
   */
  static NodeCounts decide(List<Demand> demands, int nodes, AllocationPolicy policy, int stopped) {
    double[] fair = FairShares.of(demands, nodes);
    double sum = 0;
    for (int w = 0; w < fair.length; w++) {
      sum += demands.get(w).weighted(demands.get(w).atMost(fair[w]));
    }
    // The solver's values are of the size of 1.
    double unit = sum > 0 ? sum : 1;
    double greatestLoss = policy.fairnessLoss() * 2 * nodes;
    int mayAdjust = policy.adjustedAtOnce() - stopped;
    FallbackCounts fallback = FallbackCounts.find(demands, fair, nodes, mayAdjust, greatestLoss);
    OptionTable table = OptionTable.of(demands, demand -> false);
    List<Limit> limits =
        List.of(
            new Limit(nodes, (w, option) -> option.nodes()),
            new Limit(
                Math.max(greatestLoss, fallback.loss()),
                (w, option) -> Math.abs(option.nodes() - fair[w])),
            new Limit(Math.max(mayAdjust, fallback.adjusted), table::adjusted));
    ChoiceResult result =
        table.solve(
            table.each((w, option) -> demands.get(w).value(option, policy) / unit),
            limits,
            fallback.choice(),
            policy);
    return new NodeCounts(
        IntStream.range(0, fair.length)
            .mapToObj(w -> demands.get(w).options().get(result.choice()[w]))
            .toList(),
        fair,
        result.gap());
  }
}
