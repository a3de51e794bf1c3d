package io.shardtide.domain;

import java.util.List;

/**
 * Settings of the search. Each shapes the result, so that each is recorded in the plan.
 *
 * @param evaluationsPerTable budget of a search from scratch: predicted computations of a device,
 *     for each table up to 1,000; 1 to 10,000,000. A larger budget never gives a worse plan
 * @param repairEvaluations budget of a search from a running plan, in evaluations in total; 0 to
 *     10,000,000,000. With 0, only tables without a device are placed
 * @param moveGigabytesPerSecond bandwidth of moves between devices, in 10^9 bytes a second; above
 *     0, at most 1,000,000
 * @param moveOverheadMs overhead of each shard that moves, in milliseconds; 0 to 1,000,000
 * @param paybackSteps training steps within which a move must pay off; 1 to 10^12. A move of B
 *     bytes costs {@code B / bandwidth / steps} a step, and is made if steps get shorter by more
 */
public record SearchSettings(
    long evaluationsPerTable,
    long repairEvaluations,
    double moveGigabytesPerSecond,
    double moveOverheadMs,
    long paybackSteps) {

  /**
   * 5,000 evaluations a table are what a plan of 50 tables in 40 ms allows on two cores, and 20,000
   * what a repair in 10 ms does; both measured with {@code bench search}. 10 GB/s is a device's
   * share of common networks (100 Gbit/s), 0.1 ms what it takes to agree on a move and to allocate
   * for it, and 1,000 steps are some minutes of training.
   */
  public static final SearchSettings DEFAULTS = new SearchSettings(5_000, 10_000, 10, 0.1, 1_000);

  /**
   * What answers a change at once: a first plan of 2,000 tables in half a second, within 2% of the
   * defaults' (26 to 2,002 tables, {@code bench search}), and the same repair.
   */
  public static final SearchSettings QUICK = new SearchSettings(1_000, 10_000, 10, 0.1, 1_000);

  /**
   * Settings of the background search: about a second. An idle workload runs its plan for hours,
   * which is what 100,000 steps take; then larger moves pay off, and 612 quickly planned tables on
   * 128 devices cost 3.5% less afterwards.
   */
  public static final SearchSettings DEEP = new SearchSettings(5_000, 1_000_000, 10, 0.1, 100_000);

  /** Checks the ranges. */
  public SearchSettings {
    check("evaluationsPerTable", (double) evaluationsPerTable, 1, 10_000_000);
    check("repairEvaluations", (double) repairEvaluations, 0, 10_000_000_000L);
    check("moveGigabytesPerSecond", moveGigabytesPerSecond, Double.MIN_VALUE, 1_000_000);
    check("moveOverheadMs", moveOverheadMs, 0, 1_000_000);
    check("paybackSteps", (double) paybackSteps, 1, 1_000_000_000_000L);
  }

  /** Returns the overhead of a move, in milliseconds a step. */
  public double moveOverheadMsPerStep() {
    return moveOverheadMs / (double) paybackSteps;
  }

  /** Returns the price of moves, in milliseconds a step. */
  public double moveMs(List<Move> moves) {
    double sum = 0;
    for (Move move : moves) {
      sum += moveMs((double) move.bytes()) + moveOverheadMsPerStep();
    }
    return sum;
  }

  /** Returns the price of moving bytes, in milliseconds a step. */
  public double moveMs(double bytes) {
    return bytes / (moveGigabytesPerSecond * 1e6) / (double) paybackSteps;
  }

  private static void check(String name, double value, double min, double max) {
    if (!(value >= min && value <= max)) {
      throw new IllegalArgumentException(
          "search.%s must be between %s and %s, got %s".formatted(name, min, max, value));
    }
  }
}
