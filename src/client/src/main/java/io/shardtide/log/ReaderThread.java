package io.shardtide.log;

import io.shardtide.wire.RegistryUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.WakeupException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The loop of a reader that reads on a thread of its own. */
final class ReaderThread {
  private static final Logger log = LoggerFactory.getLogger(ReaderThread.class);

  private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** A record, and the end, end a poll at once. */
  private static final long LONGEST_POLL_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Takes the reason when the thread begins to wait. */
  Consumer<RuntimeException> waiting = this::report;

  /** Takes the error that ended the thread. */
  Consumer<RuntimeException> failed = error -> {};

  /** Runs once, when the records that the reader found are read. */
  Runnable caughtUp = () -> {};

  private final TopicReader reader;
  private final List<PeriodicTask> periodic = new ArrayList<>();
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private volatile Thread thread;
  private boolean behind = true;

  /** How long the next poll waits for a server; 0 while records are read. */
  private long pauseNanos;

  private static final class PeriodicTask {
    private final long intervalNanos;
    private final Runnable task;
    private long dueNanos = System.nanoTime();

    PeriodicTask(Duration interval, Runnable task) {
      intervalNanos = interval.toNanos();
      this.task = task;
    }
  }

  ReaderThread(TopicReader reader) {
    this.reader = reader;
  }

  void every(Duration interval, Runnable task) {
    periodic.add(new PeriodicTask(interval, task));
  }

  void start(String name) {
    thread = DaemonThreads.named(name).newThread(this::run);
    thread.start();
  }

  private void run() {
    try {
      reader.locked(this::loop);
    } catch (RuntimeException e) {
      if (!reader.isClosed()) {
        log.error("Reading {} ended", reader.topics(), e);
        failed.accept(e);
      }
    } finally {
      ended.complete(null);
      reader.close();
    }
  }

  private void loop() {
    while (!reader.isClosed()) {
      long idle = runPeriodic();
      try {
        if (behind && reader.catchUp()) {
          behind = false;
          caughtUp.run();
        }
        if (reader.poll(Duration.ofNanos(idle), Map.of()) && pauseNanos > 0) {
          pauseNanos = 0;
          log.info("Records of {} are read again", reader.topics());
        }
      } catch (RegistryUnavailableException | AuthenticationException e) {
        // A certificate that expired is renewed, and a user whose password changed gets it back.
        await(e);
      }
    }
  }

  private void await(RuntimeException error) {
    if (pauseNanos == 0) {
      waiting.accept(error);
    }
    pauseNanos = Math.min(LONGEST_PAUSE_NANOS, Math.max(FIRST_PAUSE_NANOS, 2 * pauseNanos));
    long end = System.nanoTime() + pauseNanos;
    try {
      for (long left = pauseNanos; left > 0; left = end - System.nanoTime()) {
        if (stopped.await(Math.min(left, runPeriodic()), TimeUnit.NANOSECONDS)) {
          throw new WakeupException();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while a server did not answer", e);
    }
  }

  private void report(RuntimeException error) {
    log.warn("Records of {} wait: {}", reader.topics(), error.getMessage());
  }

  /** Runs the tasks that are due; returns the nanoseconds until the next one is. */
  private long runPeriodic() {
    long next = LONGEST_POLL_NANOS;
    for (PeriodicTask each : periodic) {
      if (each.dueNanos - System.nanoTime() <= 0) {
        each.task.run();
        each.dueNanos = System.nanoTime() + each.intervalNanos;
      }
      next = Math.min(next, each.dueNanos - System.nanoTime());
    }
    return Math.max(0, next);
  }

  /** Ends the loop and, on another thread, returns when it has ended. */
  void stop() {
    stopped.countDown();
    if (thread != null && thread != Thread.currentThread()) {
      ended.join();
    }
  }
}
