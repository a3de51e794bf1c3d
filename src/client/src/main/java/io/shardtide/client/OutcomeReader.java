package io.shardtide.client;

import static io.shardtide.wire.TopicType.REJECTED_EVENTS;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;

/** Finds the outcomes of events that were sent to one topic. */
abstract class OutcomeReader implements AutoCloseable {
  /** The events without an outcome yet. */
  final PendingEvents pending = new PendingEvents();

  final TopicReader reader;
  private final ClusterRefusals refusals;

  /** Connects nowhere yet. */
  OutcomeReader(Endpoint endpoint, Registry registry) {
    refusals = new ClusterRefusals(endpoint, Publisher.ROLE);
    reader =
        endpoint.reader(registry).onFailure(error -> pending.end(refusals.explain(error, "Read")));
  }

  /** Reads the topics of {@link #reader} and rejections. Closes everything if it fails. */
  final void start(Endpoint endpoint) {
    reader.handle(
        endpoint.topics().of(REJECTED_EVENTS),
        StartPosition.END,
        (position, writtenAt, rejected) -> pending.reject(rejected));
    try {
      reader.open();
    } catch (RuntimeException e) {
      close();
      throw refusals.explain(e, "Read");
    }
    reader.start("shardtide-outcomes");
  }

  /** Completes the pending events exceptionally. */
  @Override
  public void close() {
    reader.close();
    pending.end(new IllegalStateException("The publisher was closed"));
  }
}
