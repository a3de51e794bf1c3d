package io.shardtide.bench.soak;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The result of a soak.
 *
 * @param report which guarantees held
 * @param faults what each kind of fault cost
 * @param answered number of events that were answered
 * @param unanswered number of events that were not
 * @param median median of the times until an event was answered
 * @param p99 99th percentile of them
 */
public record SoakResult(
    SoakReport report,
    List<FaultCost> faults,
    int answered,
    int unanswered,
    Duration median,
    Duration p99) {
  /** Copies what may change. */
  public SoakResult {
    faults = List.copyOf(faults);
  }

  /**
   * What a kind of fault cost.
   *
   * @param fault what happened
   * @param count how often
   * @param median median over faults of the longest time that a publisher waited for an answer, of
   *     the changes that it sent while the fault lasted
   * @param longest the longest of these times
   * @param afterwards the longest time for a change that was sent after the end of the fault, when
   *     what was stopped starts again, and before the next one
   * @param failures events that Kafka did not acknowledge meanwhile, and that were sent again
   * @param alert the alert that names such a fault if it lasts
   * @param alerted how many of them it named
   */
  public record FaultCost(
      String fault,
      int count,
      Duration median,
      Duration longest,
      Duration afterwards,
      long failures,
      Optional<String> alert,
      int alerted) {}

  /** Returns whether all guarantees held, and all events were answered. */
  public boolean isClean() {
    return report.isClean() && unanswered == 0;
  }
}
