package io.shardtide.topology;

import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningStep.QuickSearch;
import io.shardtide.workload.SourcePosition;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Searches that answer changes of one partition's workloads. The stream thread waits for each of
 * them for a short turn. A search that takes longer goes on beside other workloads; so do later
 * ones of its workload, without a turn, until one of them is quick. A few such slow searches run at
 * a time, and others wait for them; one that exceeds its turn meanwhile is begun again then.
 */
final class LiveSearches {
  /**
   * Slow searches that run at a time. They must leave the processors to others; but on a busy
   * machine many are slow for once, and must not wait for one that does not end.
   */
  private static final int MAX_RUNNING = 4;

  private static final Logger log = LoggerFactory.getLogger(LiveSearches.class);

  private final PlanningStep step;
  private final Executor executor;
  private final LongSupplier nanoTime;
  private final long turnNanos;

  /** Workloads whose last search was slow. */
  private final Set<String> slow = new HashSet<>();

  /** Searches that took longer than their turn, by workload; at most {@link #MAX_RUNNING}. */
  private final Map<String, RunningSearch<QuickSearch>> running = new LinkedHashMap<>();

  /** Slow workloads whose search has not begun, or was interrupted, in their order. */
  private final Set<String> waiting = new LinkedHashSet<>();

  /**
   * @param step searches
   * @param executor runs searches; has a thread for each that it gets
   * @param nanoTime monotonic time, in nanoseconds from any origin
   * @param turnNanos how long the stream thread waits for a search, in nanoseconds
   */
  LiveSearches(PlanningStep step, Executor executor, LongSupplier nanoTime, long turnNanos) {
    this.step = step;
    this.executor = executor;
    this.nanoTime = nanoTime;
    this.turnNanos = turnNanos;
  }

  /**
   * Begins a workload's search, and waits for it for a turn.
   *
   * @param search returns the search, if a plan is due
   * @return it if it is done; otherwise it runs or waits
   */
  Optional<RunningSearch<QuickSearch>> begin(
      String workloadId, Function<String, Optional<QuickSearch>> search) {
    if (running.containsKey(workloadId)) {
      return Optional.empty(); // It is planned again once that search ends.
    }
    boolean isSlow = slow.contains(workloadId);
    if (isSlow && running.size() >= MAX_RUNNING) {
      waiting.add(workloadId);
      return Optional.empty();
    }
    return search.apply(workloadId).flatMap(found -> run(workloadId, found, isSlow));
  }

  private Optional<RunningSearch<QuickSearch>> run(
      String workloadId, QuickSearch search, boolean isSlow) {
    SourcePosition source = search.request().predicted().source();
    RunningSearch<QuickSearch> run =
        RunningSearch.begin(search, source, () -> step.search(search), executor, nanoTime);
    if (isSlow ? run.isDone() : run.await(turnNanos)) {
      return Optional.of(finished(workloadId, run));
    }
    if (slow.add(workloadId)) {
      log.info(
          "Planning workload {} takes more than {} ms; other workloads are planned meanwhile",
          workloadId,
          turnNanos / 1_000_000);
    }
    if (running.size() < MAX_RUNNING) {
      running.put(workloadId, run);
    } else {
      run.cancel();
      waiting.add(workloadId);
    }
    return Optional.empty();
  }

  private RunningSearch<QuickSearch> finished(String workloadId, RunningSearch<QuickSearch> run) {
    if (run.nanos() <= turnNanos) {
      slow.remove(workloadId);
    }
    return run;
  }

  /** Returns the slow searches that have finished, each once. */
  List<RunningSearch<QuickSearch>> finished() {
    List<RunningSearch<QuickSearch>> finished = new ArrayList<>();
    for (String workloadId : List.copyOf(running.keySet())) {
      if (running.get(workloadId).isDone()) {
        finished.add(finished(workloadId, running.remove(workloadId)));
      }
    }
    return finished;
  }

  /** Removes and returns a slow workload that may be planned now. */
  Optional<String> nextWaiting() {
    Optional<String> first =
        waiting.stream().filter(next -> running.size() < MAX_RUNNING).findFirst();
    first.ifPresent(waiting::remove);
    return first;
  }

  /** Reports that a workload was deleted. */
  void deleted(String workloadId) {
    slow.remove(workloadId);
    waiting.remove(workloadId);
    Optional.ofNullable(running.remove(workloadId)).ifPresent(RunningSearch::cancel);
  }

  /** Returns the number of workloads whose search runs or waits. */
  int size() {
    return running.size() + waiting.size();
  }

  /** Ends all searches; the next owner of the partition begins them again. */
  void close() {
    running.values().forEach(RunningSearch::cancel);
  }
}
