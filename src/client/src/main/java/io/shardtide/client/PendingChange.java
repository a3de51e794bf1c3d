package io.shardtide.client;

import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.util.OptionalLong;

/**
 * Builder of one event: changes that the planner applies together, all or none. 1 to 10,000
 * changes, at most one of each table and one of the cluster. Not safe for use by several threads.
 */
public final class PendingChange extends PendingEvent<WorkloadChange, Change, PendingChange> {
  private OptionalLong expectedGeneration = OptionalLong.empty();

  PendingChange(WorkloadPublisher publisher, String workloadId) {
    super(publisher, workloadId);
  }

  /**
   * Adds a table, or replaces the table of this name. A hashed table that is replaced by one keeps
   * its number of rows if that is larger, since {@link #resize} may have changed it.
   */
  public PendingChange upsert(TableSpec table) {
    return with(new Change.TableUpserted(table));
  }

  /** Drops a table. The planner rejects the event if the workload has no table of this name. */
  public PendingChange drop(String table) {
    return with(new Change.TableDropped(table));
  }

  /**
   * Sets the capacity of a hashed table, and nothing else. The planner rejects the event if the
   * workload has no table of this name, or one with a fixed number of rows.
   *
   * @param rows slots that it has from now on, 1 to 2^36
   * @param reason why, for people: plans tell it; at most 500 characters, may be empty
   */
  public PendingChange resize(String table, long rows, String reason) {
    return with(new Change.TableResized(table, rows, reason));
  }

  /**
   * Deletes the workload: its tables, its cluster and its plans. The only change of its event. The
   * planner rejects the event if the workload does not exist. A later event creates it again.
   *
   * @param reason why, for people; may be empty
   */
  public PendingChange delete(String reason) {
    return with(new Change.WorkloadDeleted(reason));
  }

  /** Sets the workload's cluster, or replaces it. */
  public PendingChange cluster(ClusterSpec cluster) {
    return with(new Change.ClusterSet(cluster));
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

  @Override
  public WorkloadChange event() {
    WorkloadChange event =
        new WorkloadChange(eventId, key, occurredAt, source, expectedGeneration, changes);
    event.checkDistinct();
    return event;
  }
}
