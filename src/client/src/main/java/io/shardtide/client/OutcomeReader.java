package io.shardtide.client;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import java.util.Optional;
import org.apache.kafka.common.acl.AclOperation;

/** Finds the outcomes of events that were sent to one topic. */
abstract class OutcomeReader implements AutoCloseable {
  /** The events without an outcome yet. */
  final PendingEvents pending = new PendingEvents();

  final TopicReader reader;
  private final ClusterRefusals refusals;

  /** Connects nowhere yet; of the planner's topics, {@link #reader} has that of rejections. */
  OutcomeReader(Endpoint endpoint, Registry registry) {
    refusals = new ClusterRefusals(endpoint, Publisher.ROLE);
    reader =
        endpoint
            .reader(registry)
            .handle(
                endpoint.topics().rejectedEvents(),
                StartPosition.END,
                Optional.empty(),
                (position, writtenAt, rejected) -> pending.reject(rejected))
            .onFailure(error -> pending.end(refusals.explain(error, AclOperation.READ)));
  }

  /** Opens the reader and starts its thread. Closes everything if it fails. */
  final void start() {
    try {
      reader.open();
    } catch (RuntimeException e) {
      close();
      throw refusals.explain(e, AclOperation.READ);
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
