package io.shardtide.pool;

import io.shardtide.workload.NumberRange;

/**
 * How a pool is allocated. Each value shapes the result, so that each is recorded with it.
 *
 * @param adjustedAtOnce running workloads whose nodes may change in one allocation; {@link
 *     #ADJUSTED_AT_ONCE}. More change only if their least devices require it
 * @param fairnessLoss the largest part of the pool that may be in other hands than in the fair
 *     allocation; {@link #FAIRNESS_LOSS}: 0 is fair, 1 unlimited. Dorm's bound of the loss of
 *     dominant-resource shares, half of the sum of their differences (Sun et al., 2017)
 * @param adjustmentSeconds training time that a workload loses when its nodes change: a restart or
 *     a reshard; {@link #SECONDS}
 * @param paybackSeconds time within which the gain of an adjustment must exceed that loss; {@link
 *     #SECONDS}
 * @param solverIterations iterations that the solver may take; {@link #SOLVER_ITERATIONS}. A count,
 *     not a time, so that the result does not depend on the machine
 */
public record AllocationPolicy(
    int adjustedAtOnce,
    double fairnessLoss,
    double adjustmentSeconds,
    double paybackSeconds,
    int solverIterations) {
  /**
   * Range of {@code adjustedAtOnce}. At least 2: a workload that loses a node may need that of
   * another one.
   */
  public static final NumberRange ADJUSTED_AT_ONCE = NumberRange.whole(2, PoolState.MAX_CLAIMS);

  /** Range of {@code fairnessLoss}. */
  public static final NumberRange FAIRNESS_LOSS = NumberRange.of(0, 1);

  /** Range of {@code adjustmentSeconds} and {@code paybackSeconds}: up to a year. */
  public static final NumberRange SECONDS = NumberRange.of(0, 31_536_000);

  /** Range of {@code solverIterations}. */
  public static final NumberRange SOLVER_ITERATIONS = NumberRange.whole(1, 10_000_000);

  /**
   * Four workloads at once; half of the pool may be in other hands than fair ones: on ten random
   * pools that costs 0.2% of the throughput without a bound, and 40% costs 2% (medians); an
   * adjustment of five minutes, a restart from a checkpoint, must pay within a day. 2,000
   * iterations prove the optimum of 50 random pools of 20 workloads on 64 nodes, most in some 10
   * ms; with 40%, one of ten is left within 1% of it.
   */
  public static final AllocationPolicy DEFAULTS = new AllocationPolicy(4, 0.5, 300, 86_400, 2_000);

  /** Checks the ranges. */
  public AllocationPolicy {
    ADJUSTED_AT_ONCE.check("adjustedAtOnce", adjustedAtOnce);
    FAIRNESS_LOSS.check("fairnessLoss", fairnessLoss);
    SECONDS.check("adjustmentSeconds", adjustmentSeconds);
    SECONDS.check("paybackSeconds", paybackSeconds);
    SOLVER_ITERATIONS.check("solverIterations", solverIterations);
    if (paybackSeconds < adjustmentSeconds || paybackSeconds == 0) {
      throw new IllegalArgumentException(
          "paybackSeconds must be above 0 and at least adjustmentSeconds, %s, got %s"
              .formatted(adjustmentSeconds, paybackSeconds));
    }
  }

  /** Returns the price of an adjustment, as a share of the workload's throughput. */
  public double adjustmentPrice() {
    return adjustmentSeconds / paybackSeconds;
  }
}
