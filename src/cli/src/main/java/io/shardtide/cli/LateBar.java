package io.shardtide.cli;

import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import me.tongfei.progressbar.ProgressBar;

/** Progress that is shown only if the work takes longer than two seconds. */
final class LateBar implements AutoCloseable {
  private static final long AFTER_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final LongFunction<ProgressBar> bars;
  private final LongSupplier nanoTime;
  private final long start;
  private ProgressBar bar;

  LateBar(String name) {
    this(steps -> Progress.bar(name, steps), System::nanoTime);
  }

  /** Returns a bar that is never shown. */
  static LateBar hidden() {
    return new LateBar(steps -> null, () -> 0);
  }

  /**
   * With a clock of the caller's.
   *
   * @param bars makes the bar for a total; -1 if it is not known
   */
  LateBar(LongFunction<ProgressBar> bars, LongSupplier nanoTime) {
    this.bars = bars;
    this.nanoTime = nanoTime;
    start = nanoTime.getAsLong();
  }

  /**
   * Shows how far the work is.
   *
   * @param done steps that are done
   * @param of the total; 0 if it is not known
   */
  void show(long done, long of) {
    if (bar == null && nanoTime.getAsLong() - start > AFTER_NANOS) {
      bar = bars.apply(of > 0 ? of : -1);
    }
    if (bar != null) {
      if (of > 0) {
        bar.maxHint(of);
      }
      bar.stepTo(done);
    }
  }

  /** Ends the bar, so that what follows stands on lines of its own. */
  void end() {
    if (bar != null) {
      bar.close();
    }
  }

  @Override
  public void close() {
    end();
  }
}
