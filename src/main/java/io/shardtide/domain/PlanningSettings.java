package io.shardtide.domain;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * When plans are made, and the budgets of their searches.
 *
 * @param quietPeriod the debounce interval: a workload is planned when no change has arrived for
 *     this long; zero plans every generation by itself, at once
 * @param longestWait a change is planned after this long at the latest, however many follow it; at
 *     least the debounce interval, at most a minute
 * @param quick settings of the search that answers a change
 * @param deep settings of the background search that follows; empty for none
 * @param deepAfter how long a workload must be idle before its background search begins, at most a
 *     day: a plan that is replaced soon is not worth it
 * @param deepGain the least gain of a background search whose plan is published, as a share of the
 *     running plan's predicted cost, after the price of moves; 0 to 1
 */
public record PlanningSettings(
    Duration quietPeriod,
    Duration longestWait,
    SearchSettings quick,
    Optional<SearchSettings> deep,
    Duration deepAfter,
    double deepGain) {
  private static final Duration LONGEST = Duration.ofMinutes(1);
  private static final Duration DAY = Duration.ofDays(1);

  /**
   * 10 ms without a change: what a pipeline publishes in one go arrives within that time. Half a
   * second at most: see {@code bench latency}. Half a percent is a typical error of predictions
   * (models/README.md).
   */
  public static final PlanningSettings DEFAULTS =
      new PlanningSettings(
          Duration.ofMillis(10),
          Duration.ofMillis(500),
          SearchSettings.QUICK,
          Optional.of(SearchSettings.DEEP),
          Duration.ofSeconds(5),
          0.005);

  /** Checks the ranges. */
  public PlanningSettings {
    Objects.requireNonNull(quick, "quick");
    Objects.requireNonNull(deep, "deep");
    if (quietPeriod.isNegative() || quietPeriod.compareTo(longestWait) > 0) {
      throw new IllegalArgumentException(
          "debounce interval must be between 0 and the longest wait of %d ms, got %d ms"
              .formatted(longestWait.toMillis(), quietPeriod.toMillis()));
    }
    if (longestWait.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "longest wait must be between 0 and %d ms, got %d ms"
              .formatted(LONGEST.toMillis(), longestWait.toMillis()));
    }
    if (deepAfter.isNegative() || deepAfter.compareTo(DAY) > 0) {
      throw new IllegalArgumentException(
          "idle time before a background search must be between 0 and %d ms, got %d ms"
              .formatted(DAY.toMillis(), deepAfter.toMillis()));
    }
    if (!(deepGain >= 0 && deepGain <= 1)) {
      throw new IllegalArgumentException(
          "least gain of a background search must be between 0 and 1, got " + deepGain);
    }
  }

  /** Returns settings that plan every generation by itself, once. */
  public static PlanningSettings eachGeneration(SearchSettings search) {
    return new PlanningSettings(
        Duration.ZERO, Duration.ZERO, search, Optional.empty(), Duration.ZERO, 0);
  }
}
