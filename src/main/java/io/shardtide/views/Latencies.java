package io.shardtide.views;

import io.shardtide.domain.SourcePosition;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;

/** How long changes waited for their plans, by the times at which both were written to the log. */
final class Latencies {
  /** Answers that quantiles are of. */
  static final int KEPT = 500;

  /** Changes that may wait for a plan, several of which one plan may answer. */
  private static final int WAITING = 20_000;

  private final Map<SourcePosition, Instant> changes =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<SourcePosition, Instant> eldest) {
          return size() > WAITING;
        }
      };
  private final Deque<Double> answers = new ArrayDeque<>();

  void changed(SourcePosition at, Instant writtenAt) {
    changes.put(at, writtenAt);
  }

  /** Returns how long the last change that a plan answers waited, in milliseconds, if known. */
  OptionalDouble answered(SourcePosition source, Instant writtenAt) {
    Instant changed = changes.remove(source);
    if (changed == null) {
      return OptionalDouble.empty();
    }
    double ms = Math.max(0, Duration.between(changed, writtenAt).toMillis());
    answers.addLast(ms);
    if (answers.size() > KEPT) {
      answers.removeFirst();
    }
    return OptionalDouble.of(ms);
  }

  int count() {
    return answers.size();
  }

  /** Returns a quantile of the latest answers, empty without any. */
  OptionalDouble quantile(double share) {
    if (answers.isEmpty()) {
      return OptionalDouble.empty();
    }
    double[] sorted = answers.stream().mapToDouble(Double::doubleValue).toArray();
    Arrays.sort(sorted);
    return OptionalDouble.of(sorted[(int) Math.ceil(share * sorted.length) - 1]);
  }
}
