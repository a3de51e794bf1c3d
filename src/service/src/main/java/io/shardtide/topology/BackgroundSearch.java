package io.shardtide.topology;

import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningStep.SearchTask;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Background searches of one partition's workloads, one at a time, on another thread. A search
 * begins after its workload has been idle for a while; the longest idle one comes first. While
 * other workloads change, searches run for at most an eighth of the time, and leave the processor
 * to live planning; waiting for a thread is no part of it.
 */
final class BackgroundSearch {
  /**
   * Pause after a search under load, as a multiple of the search's time. Without it, 200 workloads
   * with 50 changes a second spend 10 of 37 ms of processor time a change in background searches,
   * and the 99th percentile of {@code PlannersIT} was seconds on two cores.
   */
  private static final long PAUSE_FACTOR = 7;

  private final PlanningStep step;
  private final Executor executor;
  private final LongSupplier nanoTime;
  private final long afterNanos;
  private final Map<String, Long> idleSince = new LinkedHashMap<>();
  private RunningSearch<SearchTask> running;
  private boolean changedMeanwhile;
  private long pauseBegan;
  private long pauseNanos;

  BackgroundSearch(PlanningStep step, Executor executor, LongSupplier nanoTime) {
    this.step = step;
    this.executor = executor;
    this.nanoTime = nanoTime;
    afterNanos = step.settings().deepAfter().toNanos();
  }

  /** Reports that a workload has a plan that a background search may improve. */
  void planned(String workloadId, long now) {
    idleSince.remove(workloadId);
    idleSince.put(workloadId, now);
  }

  /** Reports that a workload changed, so that a search of its old state would be useless. */
  void changed(String workloadId) {
    changedMeanwhile = true;
    idleSince.remove(workloadId);
  }

  /** Begins the next search if none is running and a workload has been idle long enough. */
  void begin(long now, Function<String, Optional<SearchTask>> searches) {
    while (running == null && !idleSince.isEmpty()) {
      Map.Entry<String, Long> first = idleSince.entrySet().iterator().next();
      if (now - first.getValue() < afterNanos || now - pauseBegan < pauseNanos) {
        return;
      }
      idleSince.remove(first.getKey());
      changedMeanwhile = false;
      searches
          .apply(first.getKey())
          .ifPresent(
              search ->
                  running =
                      RunningSearch.begin(
                          search,
                          search.request().predicted().source(),
                          () -> step.search(search),
                          executor,
                          nanoTime));
    }
  }

  /** Returns the finished search, once. */
  Optional<RunningSearch<SearchTask>> finished(long now) {
    if (running == null || !running.isDone()) {
      return Optional.empty();
    }
    RunningSearch<SearchTask> finished = running;
    pauseBegan = now;
    pauseNanos = changedMeanwhile ? PAUSE_FACTOR * finished.nanos() : 0;
    running = null;
    return Optional.of(finished);
  }

  /** Ends the search that runs; the next owner of the partition begins it again. */
  void close() {
    if (running != null) {
      running.cancel();
    }
  }

  /** Returns the number of searches that are running or due. */
  int size() {
    return idleSince.size() + (running == null ? 0 : 1);
  }
}
