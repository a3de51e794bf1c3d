package io.shardtide.domain;

import java.util.List;

/**
 * Settings of the search. Each of them shapes the result, so that each is recorded in the plan.
 *
 * @param evaluationsPerTable how long a search from scratch goes on: predicted costs of a device
 *     that it may ask for, for each table up to 1,000; 1 to 10,000,000. More never gives a worse
 *     plan
 * @param repairEvaluations how long a search from a running plan goes on, in evaluations
 *     altogether; 0 to 10,000,000,000. 0 places what has no place and moves nothing else
 * @param moveGigabytesPerSecond how fast shards move between devices, in 10^9 bytes a second; above
 *     0, at most 1,000,000
 * @param moveOverheadMs what each shard that moves takes besides its bytes, in milliseconds; 0 to
 *     1,000,000
 * @param paybackSteps training steps within which a move has to be worth its time; 1 to 10^12.
 *     Moves of B bytes cost {@code B / bandwidth / steps} a step, and are made where steps get
 *     shorter by more
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
   * What goes on after a change: a second of search. A workload that has come to rest runs its plan
   * for hours, which is what 100,000 steps take; then it pays to move much of it, and 612 quickly
   * planned tables on 128 devices cost 3.5% less afterwards.
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

  /** Returns what a move costs besides its bytes, in milliseconds a step. */
  public double moveOverheadMsPerStep() {
    return moveOverheadMs / (double) paybackSteps;
  }

  /** Returns what making moves costs, in milliseconds a step. */
  public double moveMs(List<Move> moves) {
    double sum = 0;
    for (Move move : moves) {
      sum += moveMs((double) move.bytes()) + moveOverheadMsPerStep();
    }
    return sum;
  }

  /** Returns what moving bytes costs, in milliseconds a step. */
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
