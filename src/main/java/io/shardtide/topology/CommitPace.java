package io.shardtide.topology;

import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Asks for a commit when something was written that others wait for: at once after a pause, and
 * then not more often than every {@value #SPACING_MS} ms, so that under load most of the time goes
 * to records and not to commits. What nobody waits for is left to the commit interval.
 */
final class CommitPace {
  /** Two to five times what a commit takes: see RATIONALE.md. */
  static final long SPACING_MS = 30;

  private final ProcessorContext<?, ?> context;
  private long asked = Long.MIN_VALUE;
  private boolean due;

  CommitPace(ProcessorContext<?, ?> context) {
    this.context = context;
  }

  /** Hears that something was written that others wait for. */
  void written() {
    due = true;
    askIfTime();
  }

  /** Looks whether it is time. */
  void tick() {
    if (due) {
      askIfTime();
    }
  }

  private void askIfTime() {
    long now = context.currentSystemTimeMs();
    // A clock that was set back must not stop commits.
    if (asked == Long.MIN_VALUE || now < asked || now - asked >= SPACING_MS) {
      context.commit();
      asked = now;
      due = false;
    }
  }
}
