package io.shardtide.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;

/** The threads of a planner beside those of Kafka Streams. */
final class WorkerThreads implements AutoCloseable {
  private final List<ExecutorService> all = new ArrayList<>();

  // A thread for each search; LiveSearches bounds them.
  final Executor liveSearches = closed(Executors.newCachedThreadPool(daemons("live-search")));

  // Partitions search beside one another, and leave half of the processors to everything else.
  final Executor backgroundSearches =
      fixed("background-search", Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
  final Executor training = fixed("training", 1);
  final Executor curves = fixed("curves", 1);

  private Executor fixed(String name, int threads) {
    return closed(Executors.newFixedThreadPool(threads, daemons(name)));
  }

  private Executor closed(ExecutorService executor) {
    all.add(executor);
    return executor;
  }

  /** Creates threads that do not keep the process alive. */
  static ThreadFactory daemons(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Ends what runs; the next instance repeats it. */
  @Override
  public void close() {
    all.forEach(ExecutorService::shutdownNow);
  }
}
