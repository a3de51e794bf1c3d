package io.shardtide.topology;

import io.shardtide.planning.PlanningOutcome;
import io.shardtide.planning.PlanningStep;
import io.shardtide.planning.PlanningStep.DeepSearch;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * Deeper searches of one partition's workloads, one at a time, on another thread. A search begins
 * when its workload has had no change for a while; the longest at rest comes first. Where changes
 * come meanwhile, live planning wants the processor, and searches take an eighth of the time.
 */
final class BackgroundSearch {
  /**
   * How many times as long as a search took it rests, if workloads changed meanwhile. Without a
   * rest, 200 workloads with 50 changes a second spend 10 of 37 ms of processor a change in deeper
   * searches, which two cores do not have: {@code bench load} waited seconds in the worst percent.
   */
  private static final long REST = 7;

  private final PlanningStep step;
  private final Executor executor;
  private final long afterNanos;
  private final Map<String, Long> atRest = new LinkedHashMap<>();
  private RunningSearch running;
  private boolean disturbed;
  private long restBegan;
  private long restNanos;

  private record RunningSearch(
      DeepSearch search, long began, CompletableFuture<PlanningOutcome> outcome) {}

  /**
   * What was found.
   *
   * @param search the search
   * @param outcome what it came to
   */
  record Finished(DeepSearch search, PlanningOutcome outcome) {}

  BackgroundSearch(PlanningStep step, Executor executor) {
    this.step = step;
    this.executor = executor;
    afterNanos = step.settings().deepAfter().toNanos();
  }

  /** Hears that a workload has a plan that a deeper search may better. */
  void planned(String workloadId, long now) {
    atRest.remove(workloadId);
    atRest.put(workloadId, now);
  }

  /** Hears that a workload changed: a search of it would be for nothing. */
  void changed(String workloadId) {
    disturbed = true;
    atRest.remove(workloadId);
  }

  /** Begins the next search if none is running and a workload has rested long enough. */
  void begin(long now, Function<String, Optional<DeepSearch>> searches) {
    while (running == null && !atRest.isEmpty()) {
      Map.Entry<String, Long> first = atRest.entrySet().iterator().next();
      if (now - first.getValue() < afterNanos || now - restBegan < restNanos) {
        return;
      }
      atRest.remove(first.getKey());
      disturbed = false;
      searches
          .apply(first.getKey())
          .ifPresent(
              search ->
                  running =
                      new RunningSearch(
                          search,
                          now,
                          CompletableFuture.supplyAsync(() -> step.search(search), executor)));
    }
  }

  /** Returns what the search found that ended, once. */
  Optional<Finished> finished(long now) {
    if (running == null || !running.outcome.isDone()) {
      return Optional.empty();
    }
    Finished finished = new Finished(running.search, running.outcome.join());
    restBegan = now;
    restNanos = disturbed ? REST * (now - running.began) : 0;
    running = null;
    return Optional.of(finished);
  }

  /** Returns how many searches are running or due. */
  int size() {
    return atRest.size() + (running == null ? 0 : 1);
  }
}
