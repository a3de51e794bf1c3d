package io.shardtide.client;

import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * Builder of one event: changes that the planner applies together, all or none. 1 to 10,000
 * changes, at most one of each table and one of the cluster. Not safe for use by several threads.
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

  /**
   * Adds a table, or replaces the table of this name. A hashed table that is replaced by one keeps
   * its number of rows if that is larger, since {@link #resize} may have changed it.
   */
  public PendingChange upsert(TableSpec table) {
    changes.add(new Change.TableUpserted(table));
    return this;
  }

  /** Drops a table. The planner rejects the event if the workload has no table of this name. */
  public PendingChange drop(String table) {
    changes.add(new Change.TableDropped(table));
    return this;
  }

  /**
   * Sets the capacity of a hashed table, and nothing else. The planner rejects the event if the
   * workload has no table of this name, or one with a fixed number of rows.
   *
   * @param rows slots that it has from now on, 1 to 2^36
   * @param reason why, for people: plans tell it; at most 500 characters, may be empty
   */
  public PendingChange resize(String table, long rows, String reason) {
    changes.add(new Change.TableResized(table, rows, reason));
    return this;
  }

  /**
   * Deletes the workload: its tables, its cluster and its plans. The only change of its event. The
   * planner rejects the event if the workload does not exist. A later event creates it again.
   *
   * @param reason why, for people; may be empty
   */
  public PendingChange delete(String reason) {
    changes.add(new Change.WorkloadDeleted(reason));
    return this;
  }

  /** Sets the workload's cluster, or replaces it. */
  public PendingChange cluster(ClusterSpec cluster) {
    changes.add(new Change.ClusterSet(cluster));
    return this;
  }

  /**
   * Sets the generation that the workload must have before this event: the planner rejects the
   * event if another publisher changed the workload in the meantime.
   *
   * @param generation at least 0; 0 before the workload's first event
   */
  public PendingChange expectedGeneration(long generation) {
    expectedGeneration = OptionalLong.of(generation);
    return this;
  }

  /**
   * Sets the event's id, for publishers that must send the same id again after a restart. A random
   * one otherwise.
   */
  public PendingChange eventId(UUID id) {
    eventId = id;
    return this;
  }

  /** Sets when the change occurred at its source. Now, otherwise. For people; orders nothing. */
  public PendingChange occurredAt(Instant time) {
    occurredAt = time;
    return this;
  }

  /**
   * Returns the event.
   *
   * @throws io.shardtide.workload.RejectedException if a value is out of range, or two changes are
   *     of one table or of the cluster; the message names the value and what is expected
   */
  public WorkloadChange event() {
    WorkloadChange event =
        new WorkloadChange(eventId, workloadId, occurredAt, source, expectedGeneration, changes);
    event.checkDistinct();
    return event;
  }

  /** Builds and sends the event, as {@link WorkloadPublisher#publish}. */
  public CompletableFuture<SourcePosition> send() {
    return publisher.publish(event());
  }

  /** Builds and sends the event, as {@link WorkloadPublisher#publishAndAwait}. */
  public CompletableFuture<Outcome> sendAndAwait() {
    return publisher.publishAndAwait(event());
  }
}
