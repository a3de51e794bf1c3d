package io.shardtide.topology;

import io.shardtide.wire.RegistryUnavailableException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Retries inside a stream thread: a call of the schema registry while that is unavailable, or a
 * record that has no room to wait beside others. The thread keeps its partitions, its state and its
 * place in the consumer group meanwhile. RATIONALE.md has the alternatives. Safe for use by several
 * threads of one topology.
 */
final class RegistryRetry {
  private static final Logger log = LoggerFactory.getLogger(RegistryRetry.class);

  private static final long FIRST_PAUSE_MS = 50;
  private static final long LONGEST_PAUSE_MS = 1_000;

  private final TopologyName topology;
  private final Duration limit;
  private final CountDownLatch closing;
  private final BiConsumer<TopologyName, Optional<String>> listener;
  private final AtomicInteger waiting = new AtomicInteger();

  /**
   * @param topology name of the topology, for log lines and the listener
   * @param limit how long one call is retried; must leave the thread time to poll within {@code
   *     max.poll.interval.ms}
   * @param closing is at zero when the service closes, which ends every wait
   * @param listener is told what the topology waits for, and why; empty when it no longer waits
   */
  RegistryRetry(
      TopologyName topology,
      Duration limit,
      CountDownLatch closing,
      BiConsumer<TopologyName, Optional<String>> listener) {
    this.topology = topology;
    this.limit = limit;
    this.closing = closing;
    this.listener = listener;
  }

  /** A condition that others bring about does not hold yet. */
  static final class NotYetException extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotYetException(String message) {
      super(message);
    }
  }

  /** Returns whether the service closes. */
  boolean isClosing() {
    return closing.getCount() == 0;
  }

  /**
   * Returns the result of a call; retries it while the registry is unavailable.
   *
   * @throws RegistryUnavailableException the last one, if the limit has passed, the service closes
   *     or the thread is interrupted
   */
  <T> T call(Supplier<T> action) {
    return retry(action, RegistryUnavailableException.class, "the schema registry: ");
  }

  /**
   * Waits until a condition holds, which is tested with pauses.
   *
   * @param reason what is waited for, and why
   * @throws NotYetException if the limit has passed, the service closes or the thread is
   *     interrupted
   */
  void until(BooleanSupplier condition, String reason) {
    retry(
        () -> {
          if (!condition.getAsBoolean()) {
            throw new NotYetException(reason);
          }
          return true;
        },
        NotYetException.class,
        "");
  }

  /** Returns the result of an action; repeats it, with pauses, while it throws such an error. */
  private <T> T retry(Supplier<T> action, Class<? extends RuntimeException> type, String prefix) {
    long start = System.nanoTime();
    boolean waits = false;
    try {
      for (long pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
        try {
          return action.get();
        } catch (RuntimeException e) {
          if (!type.isInstance(e)) {
            throw e;
          }
          String reason = prefix + e.getMessage();
          if (!waits && waiting.getAndIncrement() == 0) {
            log.warn("The {} topology waits for {}", topology, reason);
          }
          waits = true;
          listener.accept(topology, Optional.of(reason));
          if (System.nanoTime() - start >= limit.toNanos() || pause(pauseMs)) {
            throw e;
          }
        }
      }
    } finally {
      if (waits && waiting.decrementAndGet() == 0) {
        listener.accept(topology, Optional.empty());
        log.info("The {} topology no longer waits", topology);
      }
    }
  }

  /** Pauses; returns whether the service closes or the thread is interrupted. */
  boolean pause(long pauseMs) {
    try {
      return closing.await(pauseMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    }
  }
}
