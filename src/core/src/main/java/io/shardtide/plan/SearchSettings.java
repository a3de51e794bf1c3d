package io.shardtide.plan;

import io.shardtide.workload.NumberRange;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * Settings of the search. Each shapes the result, so that each is recorded in the plan.
 *
 * @param evaluationsPerTable how long a search from scratch goes on: predicted costs of a device
 *     (of a launch group of it, where the model has those) that it may ask for, for each table up
 *     to 1,000, and for at least 160, or 8 for each of a handful; {@link #EVALUATIONS_PER_TABLE}.
 *     More never gives a worse plan in one grouping of replicas
 * @param repairEvaluations how long a search from a running plan goes on to move shards that could
 *     stay, in evaluations altogether; {@link #REPAIR_EVALUATIONS}. 0 moves none of them. Tables
 *     without a place are searched before, with {@code evaluationsPerTable}
 * @param moveGigabytesPerSecond how fast shards move between devices, in 10^9 bytes a second;
 *     {@link #MOVE_GIGABYTES_PER_SECOND}
 * @param moveOverheadMs what each shard that moves takes besides its bytes, in milliseconds; {@link
 *     #MOVE_OVERHEAD_MS}
 * @param reshardMs what a change of plan takes if any shard moves, besides the shards, in
 *     milliseconds: training stops; {@link #RESHARD_MS}
 * @param paybackSteps training steps within which moves must pay for themselves; {@link
 *     #PAYBACK_STEPS}. Moves of B bytes cost {@code B / bandwidth / steps} a step, and are made
 *     where steps get shorter by more
 * @param columnCuts how tables are cut into column parts: EQUAL, in plans until 0.2.0 also ANY
 * @param risk how much the search pays for what is not known of a cost: standard deviations that it
 *     adds to each prediction; {@link #RISK}. Below 0 it looks for shards that teach most
 */
@RecordBuilder
public record SearchSettings(
    long evaluationsPerTable,
    long repairEvaluations,
    double moveGigabytesPerSecond,
    double moveOverheadMs,
    double reshardMs,
    long paybackSteps,
    ColumnCuts columnCuts,
    double risk) {
  /** Range of {@code evaluationsPerTable}. */
  public static final NumberRange EVALUATIONS_PER_TABLE = NumberRange.whole(1, 10_000_000);

  /** Range of {@code repairEvaluations}. */
  public static final NumberRange REPAIR_EVALUATIONS = NumberRange.whole(0, 10_000_000_000L);

  /** Range of {@code moveGigabytesPerSecond}. */
  public static final NumberRange MOVE_GIGABYTES_PER_SECOND = NumberRange.above(0, 1_000_000);

  /** Range of {@code moveOverheadMs}. */
  public static final NumberRange MOVE_OVERHEAD_MS = NumberRange.of(0, 1_000_000);

  /** Range of {@code reshardMs}. */
  public static final NumberRange RESHARD_MS = NumberRange.of(0, 1_000_000);

  /** Range of {@code risk}. */
  public static final NumberRange RISK = NumberRange.of(-3, 3);

  /** Range of {@code paybackSteps}. */
  public static final NumberRange PAYBACK_STEPS = NumberRange.whole(1, 1_000_000_000_000L);

  /**
   * 7,000 evaluations a table, and those of at least 160, are 0.3 s for few tables on 16 devices
   * and about a second for 500 on 128, on two cores; 10,000 are what a repair of 26 tables on 16
   * devices in 30 ms allows. 10 GB/s is a device's share of common networks (100 Gbit/s), 2.5 ms
   * and 1 s are what a shard and a reshard take with TorchRec (search/RATIONALE.md), and 1,000
   * steps are some minutes of training.
   */
  public static final SearchSettings DEFAULTS =
      new SearchSettings(7_000, 10_000, 10, 2.5, 1_000, 1_000, ColumnCuts.EQUAL, 0.3);

  /**
   * What answers a change at once: a first plan of 2,000 tables in half a second, 2% above the
   * defaults' on average ({@code RegretTest}). From a running plan, shards move only if they have
   * to: gains are left to the background search.
   */
  public static final SearchSettings QUICK =
      new SearchSettings(1_500, 0, 10, 2.5, 1_000, 1_000, ColumnCuts.EQUAL, 0.3);

  /**
   * Settings of the background search: about a second. Moves have to pay within 10,000 steps, some
   * minutes of training: of 5,000, 10,000, 20,000 and 100,000 steps, this one moves few shards and
   * stays near the cost of a search from scratch; see {@code SuccessiveChangesTest}.
   */
  public static final SearchSettings DEEP =
      new SearchSettings(7_000, 1_000_000, 10, 2.5, 1_000, 10_000, ColumnCuts.EQUAL, 0.3);

  /** Further tables add no budget: a first plan must not take minutes. */
  private static final int MAX_BUDGETED_TABLES = 1_000;

  /**
   * A search from scratch has the budget of at least so many tables: a plan of few tables may take
   * as long as one of some, and its last percents are the hardest.
   */
  private static final int MIN_BUDGETED_TABLES = 160;

  /** The same for each table: of a handful there are few plans. */
  private static final int MIN_BUDGETED_TABLES_EACH = 8;

  /** Checks the ranges. */
  public SearchSettings {
    EVALUATIONS_PER_TABLE.check("evaluationsPerTable", evaluationsPerTable);
    REPAIR_EVALUATIONS.check("repairEvaluations", repairEvaluations);
    MOVE_GIGABYTES_PER_SECOND.check("moveGigabytesPerSecond", moveGigabytesPerSecond);
    MOVE_OVERHEAD_MS.check("moveOverheadMs", moveOverheadMs);
    RESHARD_MS.check("reshardMs", reshardMs);
    PAYBACK_STEPS.check("paybackSteps", paybackSteps);
    RISK.check("risk", risk);
  }

  /** Returns how many evaluations tables without a place may take. */
  public long evaluations(int tables) {
    return evaluationsPerTable * Math.min(tables, MAX_BUDGETED_TABLES);
  }

  /** Returns how many evaluations a search from scratch of so many tables may take. */
  public long evaluationsFromScratch(int tables) {
    int least = Math.min(MIN_BUDGETED_TABLES, MIN_BUDGETED_TABLES_EACH * Math.max(1, tables));
    return evaluations(Math.max(tables, least));
  }

  /** Returns the overhead of a move, in milliseconds a step. */
  public double moveOverheadMsPerStep() {
    return moveOverheadMs / (double) paybackSteps;
  }

  /** Returns the price of a change of plan that moves any shard, in milliseconds a step. */
  public double reshardMsPerStep() {
    return reshardMs / (double) paybackSteps;
  }

  /** Returns the price of moves and of the reshard that makes them, in milliseconds a step. */
  public double moveMs(List<Transfer> moves) {
    double sum = moves.isEmpty() ? 0 : reshardMsPerStep();
    for (Transfer move : moves) {
      sum += moveMs(move);
    }
    return sum;
  }

  /** Returns the price of a move, in milliseconds a step. */
  public double moveMs(Transfer move) {
    return moveMs((double) move.bytes()) + moveOverheadMsPerStep();
  }

  /** Returns the price of moving bytes, in milliseconds a step. */
  public double moveMs(double bytes) {
    return bytes / (moveGigabytesPerSecond * 1e6) / (double) paybackSteps;
  }
}
