package io.shardtide.topology;

import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Requests commits of what was done: at once for output that others read, but at most every {@value
 * #SPACING_MS} ms, so that under load commits take little of the time; for everything else every
 * {@value #UNREAD_SPACING_MS} ms.
 */
final class CommitPace {
  /** Two to five times the time of a commit; see RATIONALE.md. */
  static final long SPACING_MS = 30;

  /** Of records and state that nobody reads. */
  static final long UNREAD_SPACING_MS = 100;

  private final ProcessorContext<?, ?> context;
  private long requestedMs = Long.MIN_VALUE;

  /** From the last request to the next one; the largest number if there is nothing to commit. */
  private long spacingMs = Long.MAX_VALUE;

  CommitPace(ProcessorContext<?, ?> context) {
    this.context = context;
  }

  /** Reports output that others read. */
  void written() {
    spacingMs = SPACING_MS;
  }

  /** Reports a record that was handled, or a change of state. */
  void changed() {
    spacingMs = Math.min(spacingMs, UNREAD_SPACING_MS);
  }

  /** Requests the commit that is due, if any; called when a record or a tick is done. */
  void done() {
    if (spacingMs == Long.MAX_VALUE) {
      return;
    }
    long now = context.currentSystemTimeMs();
    // After the clock was set back, request at once.
    if (requestedMs == Long.MIN_VALUE || now < requestedMs || now - requestedMs >= spacingMs) {
      context.commit();
      requestedMs = now;
      spacingMs = Long.MAX_VALUE;
    }
  }
}
