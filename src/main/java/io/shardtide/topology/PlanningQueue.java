package io.shardtide.topology;

import io.shardtide.domain.PlanningSettings;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Which workloads wait for a plan, and which of them is next: those that changed, when they have
 * been quiet for a while or have waited long enough; and while there is none, those that only a new
 * cost model concerns, the most promising first. Knows no clock: it is told the time, in
 * nanoseconds from any origin.
 */
final class PlanningQueue {
  private final long quietNanos;
  private final long longestNanos;
  private final Map<String, Changed> changed = new LinkedHashMap<>();
  private final Map<String, Double> promises = new HashMap<>();

  /**
   * A workload that changed.
   *
   * @param first when the first change that waits arrived
   * @param last when the last one did
   */
  private record Changed(long first, long last) {}

  PlanningQueue(PlanningSettings settings) {
    quietNanos = settings.quietPeriod().toNanos();
    longestNanos = settings.longestWait().toNanos();
  }

  /** Hears that a workload changed. */
  void changed(String workloadId, long now) {
    promises.remove(workloadId);
    changed.merge(
        workloadId, new Changed(now, now), (before, next) -> new Changed(before.first, now));
  }

  /** Hears that another model predicted a workload, and what that promises in milliseconds. */
  void predictedAnew(String workloadId, double promiseMs) {
    if (!changed.containsKey(workloadId)) {
      promises.put(workloadId, promiseMs);
    }
  }

  /** Returns a workload that changed and whose time has come, and waits for it no longer. */
  Optional<String> nextChanged(long now) {
    for (Map.Entry<String, Changed> entry : changed.entrySet()) {
      Changed times = entry.getValue();
      if (now - times.last >= quietNanos || now - times.first >= longestNanos) {
        changed.remove(entry.getKey());
        return Optional.of(entry.getKey());
      }
    }
    return Optional.empty();
  }

  /** Returns the most promising workload that is predicted anew, and waits for it no longer. */
  Optional<String> mostPromising() {
    String best = null;
    for (Map.Entry<String, Double> entry : promises.entrySet()) {
      String id = entry.getKey();
      int order = best == null ? 1 : Double.compare(entry.getValue(), promises.get(best));
      // Ties by name, so that hash order has no say.
      if (order > 0 || (order == 0 && id.compareTo(best) < 0)) {
        best = id;
      }
    }
    if (best != null) {
      promises.remove(best);
    }
    return Optional.ofNullable(best);
  }

  /** Returns how many workloads wait. */
  int size() {
    return changed.size() + promises.size();
  }
}
