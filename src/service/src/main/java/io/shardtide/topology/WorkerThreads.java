package io.shardtide.topology;

import io.shardtide.log.DaemonThreads;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The threads of a planner beside those of Kafka Streams. */
final class WorkerThreads implements AutoCloseable {
  // A thread for each search; LiveSearches bounds them.
  private final ExecutorService liveSearches =
      Executors.newCachedThreadPool(DaemonThreads.named("live-search"));

  // Partitions search beside one another, and leave half of the processors to everything else.
  private final ExecutorService backgroundSearches =
      fixed("background-search", Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
  private final ExecutorService training = fixed("training", 1);
  private final ExecutorService curves = fixed("curves", 1);

  private static ExecutorService fixed(String name, int threads) {
    return Executors.newFixedThreadPool(threads, DaemonThreads.named(name));
  }

  Executor liveSearches() {
    return liveSearches;
  }

  Executor backgroundSearches() {
    return backgroundSearches;
  }

  Executor training() {
    return training;
  }

  Executor curves() {
    return curves;
  }

  /** Ends what runs; the next instance repeats it. */
  @Override
  public void close() {
    liveSearches.shutdownNow();
    backgroundSearches.shutdownNow();
    training.shutdownNow();
    curves.shutdownNow();
  }
}
