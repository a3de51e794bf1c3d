package io.shardtide.topology;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/**
 * Monotonic time for Kafka Streams: the machine's clock at the start plus the time elapsed. With
 * the machine's clock, no punctuator is called and nothing is committed after the clock was set
 * back, until it reaches its former value.
 */
final class MonotonicTime implements Time {
  private final LongSupplier nanoTime;
  private final long startMillis;
  private final long startNanos;

  /**
   * @param startMillis the time now, in milliseconds since 1970
   * @param nanoTime monotonic time, in nanoseconds from any origin
   */
  MonotonicTime(long startMillis, LongSupplier nanoTime) {
    this.startMillis = startMillis;
    this.nanoTime = nanoTime;
    startNanos = nanoTime.getAsLong();
  }

  /** Begins at the machine's clock. */
  static MonotonicTime system() {
    return new MonotonicTime(Time.SYSTEM.milliseconds(), Time.SYSTEM::nanoseconds);
  }

  @Override
  public long milliseconds() {
    return startMillis + TimeUnit.NANOSECONDS.toMillis(nanoTime.getAsLong() - startNanos);
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
