package io.shardtide.topology;

import io.shardtide.wire.Causes;
import io.shardtide.workload.RejectedException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Attempts at records and due work of one task's keys. Tells a failure before the first write from
 * one after it, and errors of a key from outages.
 */
class Attempts {
  private static final Logger log = LoggerFactory.getLogger(Attempts.class);

  private final Skeleton skeleton;
  private long writes;

  /**
   * What is known of an attempt that failed and left no trace.
   *
   * @param error what was tried, and the error
   * @param aborted whether it failed before, in a transaction that was aborted
   * @param rejection the exception, if it was one
   */
  record Failure(String error, boolean aborted, Optional<RejectedException> rejection) {}

  /** An attempt failed after a write. Ends the thread, which aborts the transaction. */
  private static final class AbortedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    AbortedException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  Attempts(Skeleton skeleton) {
    this.skeleton = skeleton;
  }

  /** Reports a write to a store or a topic. */
  void written() {
    writes++;
  }

  /**
   * Tries something for a key.
   *
   * @param key the key
   * @param work what is tried
   * @param action does it
   * @return why it failed; nothing was written then, or its transaction was aborted before
   * @throws RuntimeException if there is an outage, or it failed after a write: the transaction
   *     must be aborted
   */
  Optional<Failure> attempt(String key, String work, Runnable action) {
    Optional<String> aborted = skeleton.failed().take(key, work);
    if (aborted.isPresent()) {
      return Optional.of(new Failure(aborted.get(), true, Optional.empty()));
    }
    long before = writes;
    try {
      action.run();
      return Optional.empty();
    } catch (AbortedException e) {
      // Of another key, whose work this one's record gave occasion to.
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      if (Outages.isOutage(e) || skeleton.retry().isClosing()) {
        throw e;
      }
      if (writes == before && e instanceof RejectedException rejection) {
        return Optional.of(new Failure(e.getMessage(), false, Optional.of(rejection)));
      }
      String error = "%s: %s".formatted(work, Causes.describe(e));
      if (writes == before) {
        log.error("{} topology, \"{}\": {}", skeleton.name(), key, error, e);
        return Optional.of(new Failure(error, false, Optional.empty()));
      }
      skeleton.failed().add(key, work, error);
      throw new AbortedException(
          "\"%s\" failed after it had written, %s. The transaction is aborted; the next attempt puts it into quarantine"
              .formatted(key, error),
          e);
    }
  }
}
