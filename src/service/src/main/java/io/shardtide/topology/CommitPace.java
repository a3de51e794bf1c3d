package io.shardtide.topology;

import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Requests commits for output that others read: at once, but at most every {@value #SPACING_MS} ms,
 * so that under load commits take little of the time. The commit interval covers everything else.
 */
final class CommitPace {
  /** Two to five times the time of a commit; see RATIONALE.md. */
  static final long SPACING_MS = 30;

  private final ProcessorContext<?, ?> context;
  private long requestedMs = Long.MIN_VALUE;
  private boolean due;

  CommitPace(ProcessorContext<?, ?> context) {
    this.context = context;
  }

  /** Reports output that others read. */
  void written() {
    due = true;
    requestIfDue();
  }

  /** Requests the commit that is due, if any. */
  void tick() {
    if (due) {
      requestIfDue();
    }
  }

  private void requestIfDue() {
    long now = context.currentSystemTimeMs();
    // After the clock was set back, request at once.
    if (requestedMs == Long.MIN_VALUE || now < requestedMs || now - requestedMs >= SPACING_MS) {
      context.commit();
      requestedMs = now;
      due = false;
    }
  }
}
