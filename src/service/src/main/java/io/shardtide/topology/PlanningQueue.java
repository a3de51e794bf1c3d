package io.shardtide.topology;

import io.shardtide.state.PlanningSettings;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Workloads with pending planning, and their order: first those that changed, after the debounce
 * interval or the longest wait; then those with predictions of a new cost model, the greatest
 * expected gain first. Has no clock: callers pass the time, in nanoseconds from any origin.
 */
final class PlanningQueue {
  private final long debounceNanos;
  private final long longestNanos;
  private final Map<String, Changed> changed = new LinkedHashMap<>();
  private final Map<String, Double> gains = new HashMap<>();

  /**
   * A workload that changed.
   *
   * @param first time of the first pending change
   * @param last time of the last one
   */
  private record Changed(long first, long last) {}

  PlanningQueue(PlanningSettings settings) {
    debounceNanos = settings.debounce().toNanos();
    longestNanos = settings.longestWait().toNanos();
  }

  /** Reports that a workload changed. */
  void changed(String workloadId, long now) {
    gains.remove(workloadId);
    changed.merge(
        workloadId, new Changed(now, now), (before, next) -> new Changed(before.first, now));
  }

  /** Reports a new model's predictions of a workload, and the expected gain in milliseconds. */
  void repredicted(String workloadId, double gainMs) {
    if (!changed.containsKey(workloadId)) {
      gains.put(workloadId, gainMs);
    }
  }

  /** Reports that a workload was deleted. */
  void deleted(String workloadId) {
    changed.remove(workloadId);
    gains.remove(workloadId);
  }

  /** Removes and returns a changed workload that is due. */
  Optional<String> nextChanged(long now) {
    for (Map.Entry<String, Changed> entry : changed.entrySet()) {
      Changed times = entry.getValue();
      if (now - times.last >= debounceNanos || now - times.first >= longestNanos) {
        changed.remove(entry.getKey());
        return Optional.of(entry.getKey());
      }
    }
    return Optional.empty();
  }

  /** Removes and returns the workload with the greatest expected gain from a new model. */
  Optional<String> greatestGain() {
    // Ties by name, so that hash order has no influence.
    Optional<String> greatest =
        gains.entrySet().stream()
            .max(
                Map.Entry.<String, Double>comparingByValue()
                    .thenComparing(Map.Entry.comparingByKey(Comparator.reverseOrder())))
            .map(Map.Entry::getKey);
    greatest.ifPresent(gains::remove);
    return greatest;
  }

  /** Returns the number of workloads with pending planning. */
  int size() {
    return changed.size() + gains.size();
  }
}
