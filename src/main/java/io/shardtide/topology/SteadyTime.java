package io.shardtide.topology;

import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/**
 * The time by which Kafka Streams decides what is due: never goes back and never stands still. It
 * follows the machine's clock forwards; when that is set back, it goes on at the pace of time. By
 * the machine's own clock nothing would be planned and nothing committed until the clock is where
 * it was before.
 */
final class SteadyTime implements Time {
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final LongSupplier wallMillis;
  private final LongSupplier nanoTime;
  private long lastNanos;
  private long nanosAhead;
  private long lastMillis;

  /**
   * @param wallMillis the machine's clock, in milliseconds since 1970
   * @param nanoTime what has passed, in nanoseconds from any origin; never goes back
   */
  SteadyTime(LongSupplier wallMillis, LongSupplier nanoTime) {
    this.wallMillis = wallMillis;
    this.nanoTime = nanoTime;
    lastNanos = nanoTime.getAsLong();
    lastMillis = wallMillis.getAsLong();
  }

  /** Returns the time of this machine. */
  static SteadyTime system() {
    return new SteadyTime(Time.SYSTEM::milliseconds, Time.SYSTEM::nanoseconds);
  }

  @Override
  public synchronized long milliseconds() {
    long nanos = nanoTime.getAsLong();
    // What is less than a millisecond is kept: asked often, the time must not stand still.
    nanosAhead += nanos - lastNanos;
    lastNanos = nanos;
    long passed = nanosAhead / NANOS_PER_MILLI;
    nanosAhead -= passed * NANOS_PER_MILLI;
    lastMillis = Math.max(lastMillis + passed, wallMillis.getAsLong());
    return lastMillis;
  }

  @Override
  public long nanoseconds() {
    return nanoTime.getAsLong();
  }

  @Override
  public void sleep(long ms) {
    Time.SYSTEM.sleep(ms);
  }

  @Override
  public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs)
      throws InterruptedException {
    long left = deadlineMs - milliseconds();
    Time.SYSTEM.waitObject(object, condition, Time.SYSTEM.milliseconds() + left);
  }
}
