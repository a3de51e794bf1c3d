package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.Outcome;
import io.shardtide.pool.Allocation;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What became of an event that a command published.
 *
 * @param kind accepted, rejected, no outcome, or not sent
 * @param text the same for a table: the generation, or the reason's code
 * @param detail why, for people; empty if there is nothing to say
 * @param generation the generation, if it was accepted and has one
 * @param allocation of an event of a pool that was accepted, the first allocation that contains it
 */
record PublishedOutcome(
    String kind,
    String text,
    String detail,
    OptionalLong generation,
    Optional<Allocation> allocation) {
  static final String NO_OUTCOME = "no outcome";
  static final String NOT_SENT = "not sent";

  private static final String ACCEPTED = "accepted";
  private static final String REJECTED = "rejected";

  private PublishedOutcome(String kind, String text, String detail) {
    this(kind, text, detail, OptionalLong.empty(), Optional.empty());
  }

  /**
   * Waits for the outcome of an event.
   *
   * @param outcome the outcome
   * @param nanos how long to wait; not at all if it is not above 0
   * @param timeout what the user waits, for people
   * @param planner which planner applies the event, for people
   */
  static PublishedOutcome await(
      CompletableFuture<Outcome> outcome, long nanos, Duration timeout, String planner)
      throws InterruptedException {
    try {
      Outcome found = outcome.get(Math.max(0, nanos), TimeUnit.NANOSECONDS);
      if (found instanceof Outcome.Rejected rejected) {
        return new PublishedOutcome(REJECTED, rejected.reason().name(), rejected.message());
      }
      Outcome.Accepted accepted = (Outcome.Accepted) found;
      OptionalLong generation = accepted.generation();
      return new PublishedOutcome(
          ACCEPTED,
          generation.isPresent() ? "generation " + generation.getAsLong() : "accepted, no cluster",
          accepted
              .proxyHardware()
              .map("warning: costs of %s until its hardware is measured"::formatted)
              .orElse(""),
          generation,
          accepted.allocation());
    } catch (TimeoutException e) {
      return new PublishedOutcome(
          NO_OUTCOME,
          NO_OUTCOME,
          "within %d s; the event is on the log and will be applied when %s runs"
              .formatted(timeout.toSeconds(), planner));
    } catch (ExecutionException e) {
      return new PublishedOutcome(NOT_SENT, NOT_SENT, Errors.describe(e.getCause()));
    }
  }

  /** Returns whether the planner applied the event. */
  boolean isAccepted() {
    return kind.equals(ACCEPTED);
  }

  /** Returns whether the planner decided on the event. */
  boolean isDecided() {
    return isAccepted() || kind.equals(REJECTED);
  }

  /** Writes it to a JSON object. */
  void write(ObjectNode node) {
    node.put("outcome", kind);
    if (kind.equals(REJECTED)) {
      node.put("reason", text);
    }
    generation.ifPresent(number -> node.put("generation", number));
    if (!detail.isEmpty()) {
      node.put("message", detail);
    }
  }
}
