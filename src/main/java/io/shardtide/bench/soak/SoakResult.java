package io.shardtide.bench.soak;

import java.time.Duration;
import java.util.List;

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
   * @param median median over faults of the longest time that a publisher waited for an answer,
   *     from the beginning of the fault to that of the next one
   * @param longest the longest time
   */
  public record FaultCost(String fault, int count, Duration median, Duration longest) {}

  /** Returns whether all guarantees held, and all events were answered. */
  public boolean isClean() {
    return report.isClean() && unanswered == 0;
  }
}
