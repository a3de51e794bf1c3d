package io.shardtide.topology;

import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The failures of a topology's threads, for health. A thread that fails is replaced, and a record
 * that failed it fails the next one: in between, the topology must not seem healthy. Safe for use
 * by several threads.
 */
final class ThreadFailures {
  /** Time of running without a failure after which a single failure is over. */
  static final long SINGLE_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Failures farther apart have nothing to do with each other. */
  static final long UNRELATED_NANOS = TimeUnit.MINUTES.toNanos(10);

  private Optional<String> error = Optional.empty();
  private long failedNanos;
  private long runningNanos;
  private long overAfterNanos = SINGLE_NANOS;

  /**
   * Reports a failure.
   *
   * @param newError the error
   * @param now monotonic time, in nanoseconds
   */
  synchronized void failed(String newError, long now) {
    long gap = now - failedNanos;
    // Of a loop, twice its period must pass.
    overAfterNanos =
        error.isPresent() && gap < UNRELATED_NANOS ? Math.max(SINGLE_NANOS, 2 * gap) : SINGLE_NANOS;
    error = Optional.of(newError);
    failedNanos = now;
    runningNanos = now;
  }

  /** Reports that all threads run. */
  synchronized void running(long now) {
    runningNanos = now;
  }

  /**
   * Returns the last error, unless it is over.
   *
   * @param now monotonic time, in nanoseconds
   * @param isRunning whether all threads run now
   */
  synchronized Optional<String> lasting(long now, boolean isRunning) {
    return isRunning && now - runningNanos >= overAfterNanos ? Optional.empty() : error;
  }
}
