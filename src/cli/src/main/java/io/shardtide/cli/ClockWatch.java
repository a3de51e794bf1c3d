package io.shardtide.cli;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Tells whether the machine's clock was set back. Kafka's clients measure with it when a heartbeat
 * is due, a broker may be tried again, or metadata is too old: after it was set back, they do
 * nothing of this until it has caught up. Such a member of a group is dropped after a session,
 * joins again, and is dropped again, and each time the whole group waits.
 */
final class ClockWatch {
  /** Far above what clocks are corrected by as they run, and below a group's session of 6 s. */
  private static final long TOLERANCE_MS = 5_000;

  private final LongSupplier clockMs;
  private final LongSupplier nanoTime;
  private long offsetMs;

  /**
   * @param clockMs the machine's clock, in milliseconds since 1970
   * @param nanoTime monotonic time, in nanoseconds from any origin
   */
  ClockWatch(LongSupplier clockMs, LongSupplier nanoTime) {
    this.clockMs = clockMs;
    this.nanoTime = nanoTime;
    offsetMs = offset();
  }

  private long offset() {
    return clockMs.getAsLong() - TimeUnit.NANOSECONDS.toMillis(nanoTime.getAsLong());
  }

  /** Returns by how much the clock was set back since the last call; zero if it was not. */
  Duration setBack() {
    long before = offsetMs;
    offsetMs = offset();
    long back = before - offsetMs;
    return back < TOLERANCE_MS ? Duration.ZERO : Duration.ofMillis(back);
  }
}
