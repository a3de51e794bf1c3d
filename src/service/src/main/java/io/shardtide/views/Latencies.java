package io.shardtide.views;

import io.shardtide.workload.SourcePosition;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;

/** Time from a change to the plan that answers it, by the timestamps of their records. */
final class Latencies {
  /** How many of the latest plans the quantiles cover. */
  static final int KEPT = 500;

  /** Changes without a plan that are kept; one plan may answer several. */
  private static final int MAX_PENDING = 20_000;

  private final Map<SourcePosition, Instant> changes = new LinkedHashMap<>();
  private final Deque<Double> latenciesMs = new ArrayDeque<>();

  void changed(SourcePosition at, Instant writtenAt) {
    Recent.put(changes, at, writtenAt, MAX_PENDING);
  }

  /**
   * Returns the time from the last change that a plan answers to the plan, in milliseconds; empty
   * if the change is unknown.
   */
  OptionalDouble answered(SourcePosition source, Instant writtenAt) {
    Instant changed = changes.remove(source);
    if (changed == null) {
      return OptionalDouble.empty();
    }
    double ms = Math.max(0, Duration.between(changed, writtenAt).toMillis());
    Recent.add(latenciesMs, ms, KEPT);
    return OptionalDouble.of(ms);
  }

  int count() {
    return latenciesMs.size();
  }

  /** Returns a quantile of the latest latencies, in milliseconds; empty without any. */
  OptionalDouble quantile(double probability) {
    if (latenciesMs.isEmpty()) {
      return OptionalDouble.empty();
    }
    double[] sorted = latenciesMs.stream().mapToDouble(Double::doubleValue).toArray();
    Arrays.sort(sorted);
    return OptionalDouble.of(sorted[(int) Math.ceil(probability * sorted.length) - 1]);
  }
}
