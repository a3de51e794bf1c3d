package io.shardtide.domain;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * When plans are made, and how long is searched for them.
 *
 * @param quietPeriod a workload is planned when no change to it has arrived for this long; zero
 *     plans every generation by itself, at once
 * @param longestWait a change is planned after this long at the latest, however many follow it; at
 *     least the quiet period, at most a minute
 * @param quick settings of the search that answers a change at once
 * @param deep settings of the search that goes on afterwards, beside the live changes; empty for
 *     none
 * @param deepAfter how long a workload has to have no change before the deeper search begins; what
 *     changes all the time is not worth it. At most a day
 * @param deepGain the least gain of a deeper search's plan that is published, as a share of the
 *     running plan's predicted cost, after the moves are paid; 0 to 1
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
   * Quiet for 10 ms: what pipelines publish in one go arrives closer together than that, and nobody
   * notices 10 ms. Half a second at most: see {@code bench latency}. A half percent is what a
   * prediction can be wrong by (models/README.md).
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
          "A quiet period of %d ms and a longest wait of %d ms; legal are 0 and more, and the quiet period not above the longest wait"
              .formatted(quietPeriod.toMillis(), longestWait.toMillis()));
    }
    if (longestWait.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "A longest wait of %d ms; legal are 0 to %d"
              .formatted(longestWait.toMillis(), LONGEST.toMillis()));
    }
    if (deepAfter.isNegative() || deepAfter.compareTo(DAY) > 0) {
      throw new IllegalArgumentException(
          "A deeper search after %d ms; legal are 0 to %d"
              .formatted(deepAfter.toMillis(), DAY.toMillis()));
    }
    if (!(deepGain >= 0 && deepGain <= 1)) {
      throw new IllegalArgumentException(
          "A deeper search's least gain of %s; legal are 0 to 1".formatted(deepGain));
    }
  }

  /** Returns settings under which every generation is planned by itself, once. */
  public static PlanningSettings eachGeneration(SearchSettings search) {
    return new PlanningSettings(
        Duration.ZERO, Duration.ZERO, search, Optional.empty(), Duration.ZERO, 0);
  }
}
