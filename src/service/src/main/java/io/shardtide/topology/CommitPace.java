package io.shardtide.topology;

import java.util.OptionalLong;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Requests commits of what was done: at once for output that others read, but at most every {@value
 * #SPACING_MS} ms, so that under load commits take little of the time; for everything else after
 * {@value #UNREAD_WAIT_MS} ms at most.
 */
final class CommitPace {
  /** Two to five times the time of a commit; see RATIONALE.md. */
  static final long SPACING_MS = 30;

  /** How long records and state that nobody reads wait for output that somebody reads. */
  static final long UNREAD_WAIT_MS = 100;

  private final ProcessorContext<?, ?> context;
  private long requestedMs = Long.MIN_VALUE;

  /** When the first change since the last request was reported; empty without one. */
  private OptionalLong changedMs = OptionalLong.empty();

  private boolean isRead;

  CommitPace(ProcessorContext<?, ?> context) {
    this.context = context;
  }

  /** Reports output that others read. */
  void written() {
    changed();
    isRead = true;
  }

  /** Reports a record that was handled, or a change of state. */
  void changed() {
    if (changedMs.isEmpty()) {
      changedMs = OptionalLong.of(context.currentSystemTimeMs());
    }
  }

  /** Requests the commit that is due, if any; called when a record or a tick is done. */
  void done() {
    if (changedMs.isEmpty()) {
      return;
    }
    long now = context.currentSystemTimeMs();
    if (isRead
        ? isOver(now, requestedMs, SPACING_MS)
        : isOver(now, changedMs.getAsLong(), UNREAD_WAIT_MS)) {
      context.commit();
      requestedMs = now;
      changedMs = OptionalLong.empty();
      isRead = false;
    }
  }

  /** Also after the clock was set back. */
  private static boolean isOver(long now, long since, long milliseconds) {
    return now < since || since == Long.MIN_VALUE || now - since >= milliseconds;
  }
}
