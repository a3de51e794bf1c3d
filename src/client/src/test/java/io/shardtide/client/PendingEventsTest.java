package io.shardtide.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class PendingEventsTest {
  private static final UUID ID = new UUID(0, 1);
  private static final SourcePosition POSITION = new SourcePosition("pool-changes", 0, 7);
  private static final Outcome.Accepted ACCEPTED =
      new Outcome.Accepted(OptionalLong.of(3), Optional.empty());

  private final PendingEvents events = new PendingEvents();
  private final CompletableFuture<SourcePosition> sent = new CompletableFuture<>();

  private static RejectedEvent rejection(SourcePosition of) {
    return new RejectedEvent(
        of,
        Optional.empty(),
        RejectionReason.UNKNOWN_NODE,
        "no such node",
        Optional.empty(),
        Optional.empty());
  }

  @Test
  void a_rejection_may_come_before_the_position_of_its_event() {
    CompletableFuture<Outcome> outcome = events.send(ID, () -> sent);
    events.reject(rejection(new SourcePosition("pool-changes", 0, 6)));
    events.reject(rejection(POSITION));
    assertThat(outcome).isNotDone();
    sent.complete(POSITION);
    assertThat(outcome)
        .isCompletedWithValue(new Outcome.Rejected(RejectionReason.UNKNOWN_NODE, "no such node"));
    assertThat(events.contains(ID)).isFalse();
  }

  @Test
  void a_written_event_has_a_position_until_its_outcome() {
    CompletableFuture<Outcome> outcome = events.send(ID, () -> sent);
    assertThat(events.written()).isEmpty();
    sent.complete(POSITION);
    assertThat(events.written()).containsOnlyKeys(ID).containsValue(POSITION);
    assertThatThrownBy(() -> events.send(ID, () -> sent)).hasMessageContaining("pending already");
    events.accept(ID, ACCEPTED);
    assertThat(outcome).isCompletedWithValue(ACCEPTED);
    assertThat(events.written()).isEmpty();
  }

  @Test
  void after_the_end_no_event_is_taken() {
    CompletableFuture<Outcome> outcome = events.send(ID, () -> sent);
    events.end(new IllegalStateException("The publisher was closed"));
    assertThat(outcome).isCompletedExceptionally();
    assertThatThrownBy(() -> events.send(new UUID(0, 2), () -> sent))
        .hasMessage("Outcomes are no longer received: The publisher was closed");
  }

  @Test
  void an_event_that_cannot_be_sent_has_the_error_as_its_outcome() {
    assertThat(
            events.send(
                ID,
                () -> {
                  throw new IllegalStateException("no schema");
                }))
        .isCompletedExceptionally();
    assertThat(events.contains(ID)).isFalse();
  }

  @Test
  void an_event_that_the_caller_gave_up_can_be_sent_again() {
    CompletableFuture<Outcome> first = events.send(ID, () -> sent);
    first.cancel(false);
    assertThat(events.contains(ID)).isFalse();
    CompletableFuture<Outcome> again = events.send(ID, () -> sent);
    events.accept(ID, ACCEPTED);
    assertThat(again).isCompletedWithValue(ACCEPTED);
  }
}
