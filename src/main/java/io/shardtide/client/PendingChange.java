package io.shardtide.client;

import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * A change that is being put together: its parts are applied in the order in which they are given,
 * all of them or none. For one thread.
 */
public final class PendingChange {
  private final WorkloadPublisher publisher;
  private final String workloadId;
  private final String source;
  private final List<Change> changes = new ArrayList<>();
  private UUID eventId = UUID.randomUUID();
  private Instant occurredAt;
  private OptionalLong expectedGeneration = OptionalLong.empty();

  PendingChange(WorkloadPublisher publisher, String workloadId, String source, Instant now) {
    this.publisher = publisher;
    this.workloadId = workloadId;
    this.source = source;
    occurredAt = now;
  }

  /** Adds a table, or gives it other values. */
  public PendingChange upsert(TableSpec table) {
    changes.add(new Change.TableUpserted(table));
    return this;
  }

  /** Drops a table. The planner rejects the event if there is none of this name. */
  public PendingChange drop(String table) {
    changes.add(new Change.TableDropped(table));
    return this;
  }

  /** Sets or changes the devices. */
  public PendingChange cluster(ClusterSpec cluster) {
    changes.add(new Change.ClusterSet(cluster));
    return this;
  }

  /**
   * Says which generation the workload is believed to have, 0 before its first event: the planner
   * rejects the event if somebody else was faster.
   */
  public PendingChange expecting(long generation) {
    expectedGeneration = OptionalLong.of(generation);
    return this;
  }

  /** Sets the identity, where the publisher's own records have one that outlives a restart. */
  public PendingChange eventId(UUID id) {
    eventId = id;
    return this;
  }

  /** Sets when it happened at its source; now, unless told otherwise. */
  public PendingChange occurredAt(Instant time) {
    occurredAt = time;
    return this;
  }

  /**
   * Returns the event.
   *
   * @throws io.shardtide.domain.RejectedException if it is not legal: the message says why
   */
  public WorkloadChange event() {
    return new WorkloadChange(eventId, workloadId, occurredAt, source, expectedGeneration, changes);
  }

  /** Publishes, as {@link WorkloadPublisher#publish}. */
  public CompletableFuture<SourcePosition> send() {
    return publisher.publish(event());
  }

  /** Publishes and waits, as {@link WorkloadPublisher#publishAndAwait}. */
  public CompletableFuture<Outcome> sendAndAwait() {
    return publisher.publishAndAwait(event());
  }
}
