package io.shardtide.topology;

import io.shardtide.log.DaemonThreads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The threads of a planner beside those of Kafka Streams. */
final class WorkerThreads implements AutoCloseable {
  private final List<ExecutorService> all = new ArrayList<>();

  // A thread for each search; LiveSearches bounds them.
  final Executor liveSearches =
      closed(Executors.newCachedThreadPool(DaemonThreads.named("live-search")));

  // Partitions search beside one another, and leave half of the processors to everything else.
  final Executor backgroundSearches =
      fixed("background-search", Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
  final Executor training = fixed("training", 1);
  final Executor curves = fixed("curves", 1);

  private Executor fixed(String name, int threads) {
    return closed(Executors.newFixedThreadPool(threads, DaemonThreads.named(name)));
  }

  /** Returns an executor that is closed with the others. */
  private Executor closed(ExecutorService executor) {
    all.add(executor);
    return executor;
  }

  /** Ends what runs; the next instance repeats it. */
  @Override
  public void close() {
    all.forEach(ExecutorService::shutdownNow);
  }
}
