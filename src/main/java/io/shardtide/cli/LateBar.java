package io.shardtide.cli;

import java.util.concurrent.TimeUnit;
import me.tongfei.progressbar.ProgressBar;

/** A progress bar that shows itself only where work takes longer than a person likes to wait. */
final class LateBar implements AutoCloseable {
  private static final long AFTER_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final String name;
  private final long start = System.nanoTime();
  private ProgressBar bar;

  LateBar(String name) {
    this.name = name;
  }

  /**
   * Shows how far the work is.
   *
   * @param done steps that are done
   * @param of how many there are; 0 if nobody knows
   */
  void show(long done, long of) {
    if (bar == null && System.nanoTime() - start > AFTER_NANOS) {
      bar = Progress.bar(name, of > 0 ? of : -1);
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
