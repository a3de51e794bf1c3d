package io.shardtide.topology;

import io.shardtide.step.PlanningOutcome;
import io.shardtide.workload.SourcePosition;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A search on another thread, timed from when it begins to run.
 *
 * @param search the search
 * @param source where the change that it plans lies in the log
 * @param time how long it ran, in nanoseconds; 0 until it is done, and if it failed
 * @param <S> type of the search
 */
record RunningSearch<S>(
    S search, SourcePosition source, FutureTask<PlanningOutcome> task, AtomicLong time) {
  /**
   * Hands a search to an executor.
   *
   * @param search the search
   * @param source where the change that it plans lies in the log
   * @param outcome searches
   * @param executor runs it, at once or later
   * @param nanoTime monotonic time, in nanoseconds from any origin
   */
  static <S> RunningSearch<S> begin(
      S search,
      SourcePosition source,
      Supplier<PlanningOutcome> outcome,
      Executor executor,
      LongSupplier nanoTime) {
    AtomicLong time = new AtomicLong();
    FutureTask<PlanningOutcome> task =
        new FutureTask<>(
            () -> {
              long began = nanoTime.getAsLong();
              PlanningOutcome found = outcome.get();
              time.set(nanoTime.getAsLong() - began);
              return found;
            });
    executor.execute(task);
    return new RunningSearch<>(search, source, task, time);
  }

  boolean isDone() {
    return task.isDone();
  }

  /** Waits until the search is done, for some nanoseconds at most; returns whether it is done. */
  boolean await(long nanos) {
    try {
      task.get(nanos, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (TimeoutException | ExecutionException e) {
      // A failure is an outcome.
    }
    return task.isDone();
  }

  /** Returns the outcome; the search must be done. An error is an outcome, too. */
  PlanningOutcome outcome() {
    try {
      return task.get();
    } catch (InterruptedException e) {
      throw new IllegalStateException("a search must be done before its outcome is asked for", e);
    } catch (ExecutionException e) {
      return new PlanningOutcome.Failed(source, new IllegalStateException(e.getCause()));
    }
  }

  /** Returns how long the search ran, in nanoseconds; 0 if it failed. It must be done. */
  long nanos() {
    return time.get();
  }

  /** Interrupts the search, which then ends soon; nobody may ask for its outcome. */
  void cancel() {
    task.cancel(true);
  }
}
