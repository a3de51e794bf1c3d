package io.shardtide.learn;

import io.shardtide.state.ResidualWindow;
import io.shardtide.step.KeyValues;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The residual windows of a workload as a measurement changes them, until it is accepted. */
final class ResidualWindows {
  private final KeyValues<ResidualWindow> stored;
  private final String workloadId;
  private final SortedMap<String, ResidualWindow> changed = new TreeMap<>();

  ResidualWindows(KeyValues<ResidualWindow> stored, String workloadId) {
    this.stored = stored;
    this.workloadId = workloadId;
  }

  /** Returns the window of a series, if there is one. */
  Optional<ResidualWindow> get(String series) {
    return Optional.ofNullable(changed.get(series)).or(() -> stored.get(workloadId, series));
  }

  void put(String series, ResidualWindow window) {
    changed.put(series, window);
  }

  /** Stores what changed. */
  void store() {
    changed.forEach((series, window) -> stored.put(workloadId, series, window));
  }
}
