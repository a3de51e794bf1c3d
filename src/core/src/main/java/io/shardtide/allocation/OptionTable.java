package io.shardtide.allocation;

import io.shardtide.allocation.choice.ChoiceProblem;
import io.shardtide.allocation.choice.ChoiceResult;
import io.shardtide.allocation.choice.ChoiceSolver;
import io.shardtide.pool.AllocationPolicy;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Options of demands, of which one each is chosen.
 *
 * @param demands the demands
 * @param options the options of each; {@link NodeCount#NONE} is the last where it is allowed
 */
record OptionTable(List<Demand> demands, List<List<NodeCount>> options) {
  /** What a demand has or uses with an option. */
  interface Quantity {
    double of(int demand, NodeCount option);
  }

  /** How much all chosen options may use together, and what each uses. */
  record Limit(double most, Quantity use) {}

  static OptionTable of(List<Demand> demands, Predicate<Demand> mayHaveNone) {
    return new OptionTable(
        demands,
        demands.stream()
            .map(
                demand ->
                    Stream.concat(
                            demand.options().stream(),
                            Stream.of(NodeCount.NONE).filter(none -> mayHaveNone.test(demand)))
                        .toList())
            .toList());
  }

  /** Returns a quantity of each option, by demand. */
  double[][] each(Quantity quantity) {
    double[][] each = new double[options.size()][];
    for (int d = 0; d < each.length; d++) {
      int demand = d;
      each[d] = options.get(d).stream().mapToDouble(o -> quantity.of(demand, o)).toArray();
    }
    return each;
  }

  /** Returns whether an option is an adjustment, as a number: 1 or 0. */
  double adjusted(int demand, NodeCount option) {
    return demands.get(demand).isAdjustment(option) ? 1 : 0;
  }

  /** Returns the greatest sum of values within limits that the solver finds. */
  ChoiceResult solve(
      double[][] values, List<Limit> limits, int[] fallback, AllocationPolicy policy) {
    return ChoiceSolver.solve(
        new ChoiceProblem(
            values,
            limits.stream().map(limit -> each(limit.use())).toArray(double[][][]::new),
            limits.stream().mapToDouble(Limit::most).toArray(),
            fallback),
        policy.solverIterations());
  }
}
