package io.shardtide.state;

import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Transfer;
import io.shardtide.workload.NumberRange;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * When plans are made, and the budgets of their searches.
 *
 * @param debounce the debounce interval: a workload is planned when no change has arrived for this
 *     long; zero plans every generation by itself, at once
 * @param longestWait a change is planned after this long at the latest, however many follow it; at
 *     least the debounce interval; {@link #WAIT_MS}
 * @param quick settings of the search that answers a change at once
 * @param deep settings of the search that goes on afterwards, beside the live changes; empty for
 *     none
 * @param deepAfter how long a workload has to have no change before the background search begins;
 *     what changes all the time is not worth it; {@link #DEEP_AFTER_MS}
 * @param deepGain the least gain of a background search's plan that is published, as a share of the
 *     running plan's predicted cost, after the moves are paid; {@link #DEEP_GAIN}
 * @param exploration how much more than the best plan an exploratory plan may cost, from which a
 *     fine-tuned model learns more, as a share of its predicted cost; 0 for no such plans; {@link
 *     #EXPLORATION}
 */
public record PlanningSettings(
    Duration debounce,
    Duration longestWait,
    SearchSettings quick,
    Optional<SearchSettings> deep,
    Duration deepAfter,
    double deepGain,
    double exploration) {
  /** Range of {@code debounce} and {@code longestWait}, in milliseconds. */
  public static final NumberRange WAIT_MS = NumberRange.whole(0, 60_000);

  /** Range of {@code deepAfter}, in milliseconds. */
  public static final NumberRange DEEP_AFTER_MS = NumberRange.whole(0, 86_400_000);

  /** Range of {@code exploration}. */
  public static final NumberRange EXPLORATION = NumberRange.of(0, 0.1);

  /** Range of {@code deepGain}. */
  public static final NumberRange DEEP_GAIN = NumberRange.of(0, 1);

  /**
   * 5 ms without a change: what a pipeline publishes in one go arrives within that time. Half a
   * second at most: see {@code bench latency}. Gains are collected until they are half a percent, a
   * typical error of predictions (models/README.md), besides what the reshard costs.
   */
  public static final PlanningSettings DEFAULTS =
      new PlanningSettings(
          Duration.ofMillis(5),
          Duration.ofMillis(500),
          SearchSettings.QUICK,
          Optional.of(SearchSettings.DEEP),
          Duration.ofSeconds(5),
          0.005,
          0.005);

  /**
   * Predicted computations of a search that balances the load over devices with other speeds: about
   * a third of a second, in which the planner plans nothing else.
   */
  private static final long REBALANCING_EVALUATIONS = 300_000;

  /** Checks the ranges. */
  public PlanningSettings {
    WAIT_MS.check("debounce in ms", debounce.toMillis());
    WAIT_MS.check("longestWait in ms", longestWait.toMillis());
    DEEP_AFTER_MS.check("deepAfter in ms", deepAfter.toMillis());
    DEEP_GAIN.check("deepGain", deepGain);
    EXPLORATION.check("exploration", exploration);
    if (debounce.compareTo(longestWait) > 0) {
      throw new IllegalArgumentException(
          "the debounce interval must be at most the longest wait of %s ms, got %s ms"
              .formatted(longestWait.toMillis(), debounce.toMillis()));
    }
  }

  /**
   * Returns whether a background search's plan is worth publishing.
   *
   * @param search settings of the search
   * @param nowMs predicted cost of the plan that it has to beat, in milliseconds
   * @param paidMs price of what is already on its way, in milliseconds a step
   * @param nextMs predicted cost of the plan, in milliseconds
   * @param moves its moves
   */
  public boolean pays(
      SearchSettings search, double nowMs, double paidMs, double nextMs, List<Transfer> moves) {
    return nextMs + search.moveMs(moves) <= nowMs + paidMs - deepGain * nowMs;
  }

  /**
   * Returns the settings of the search that answers a change of the devices' speeds at once: a
   * workload that always changes never has a background search. Moves have the price that they have
   * there, the budget is smaller; without a background search, those of the quick search.
   */
  public SearchSettings slowDeviceSearch() {
    return deep.map(
            search ->
                SearchSettingsBuilder.builder(search)
                    .repairEvaluations(
                        Math.min(search.repairEvaluations(), REBALANCING_EVALUATIONS))
                    .build())
        .orElse(quick);
  }

  /** Returns settings that plan every generation by itself, once. */
  public static PlanningSettings eachGeneration(SearchSettings search) {
    return new PlanningSettings(
        Duration.ZERO, Duration.ZERO, search, Optional.empty(), Duration.ZERO, 0, 0);
  }
}
