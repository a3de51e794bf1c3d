package io.shardtide.learning;

import io.shardtide.domain.ResidualWindow;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The residual windows of a workload as a measurement changes them, until it is accepted. */
final class ResidualWindows {
  private final FeedbackStore store;
  private final String workloadId;
  private final SortedMap<String, ResidualWindow> changed = new TreeMap<>();

  ResidualWindows(FeedbackStore store, String workloadId) {
    this.store = store;
    this.workloadId = workloadId;
  }

  /** Returns the window of a series, if there is one. */
  Optional<ResidualWindow> get(String series) {
    return Optional.ofNullable(changed.get(series)).or(() -> store.window(workloadId, series));
  }

  void put(String series, ResidualWindow window) {
    changed.put(series, window);
  }

  /** Stores what changed. */
  void store() {
    changed.forEach((series, window) -> store.putWindow(workloadId, series, window));
  }
}
