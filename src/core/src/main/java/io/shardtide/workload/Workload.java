package io.shardtide.workload;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The tables of a recommendation model and the cluster that trains it, after all events up to a
 * generation.
 *
 * @param id identity
 * @param generation number of events that were applied; 0 before the first
 * @param cluster the cluster, once an event has set it
 * @param tables the tables by name; to apply an event, those that it names are enough, with those
 *     whose devices they share; all for a deletion
 */
public record Workload(
    String id,
    long generation,
    Optional<ClusterSpec> cluster,
    SortedMap<String, TableSpec> tables) {

  /**
   * The most tables. The first plan of as many must be found and written within one transaction,
   * also on a slow machine, and the other workloads of the partition wait for it: topology's
   * RATIONALE.md.
   */
  public static final int MAX_TABLES = 20_000;

  /** Copies what may change. */
  public Workload {
    Names.check(id, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    tables = Collections.unmodifiableSortedMap(new TreeMap<>(tables));
  }

  /** Returns a workload before its first event. */
  public static Workload empty(String id) {
    return new Workload(id, 0, Optional.empty(), new TreeMap<>());
  }

  /** Returns whether it has a table or a cluster. A deleted workload has neither. */
  public boolean exists() {
    return cluster.isPresent() || !tables.isEmpty();
  }

  /**
   * Returns the next generation.
   *
   * @throws RejectedException if the publisher expected another generation, a change drops or
   *     resizes a table that does not exist, a table is resized that is not hashed, a workload is
   *     deleted that does not exist, or a table that is added or changed must be on the devices of
   *     one that does not exist or allows none of its kinds
   */
  public Workload apply(WorkloadChange event) {
    long expected = event.expectedGeneration().orElse(generation);
    if (expected != generation) {
      throw RejectionReason.STALE_GENERATION.failure(
          "expected generation of workload %s must be its current one, %s, or absent, got %s. Maybe read the workload and publish the change again"
              .formatted(Names.quote(id), generation, expected));
    }
    SortedMap<String, TableSpec> next = new TreeMap<>(tables);
    Optional<ClusterSpec> nextCluster = cluster;
    List<TableSpec> upserts = new ArrayList<>();
    for (Change change : event.changes()) {
      if (change instanceof Change.TableUpserted upserted) {
        TableSpec table = upserted.table();
        TableSpec kept = TableSpec.upserted(Optional.ofNullable(next.get(table.name())), table);
        next.put(table.name(), kept);
        upserts.add(kept);
      } else if (change instanceof Change.TableResized resized) {
        next.put(resized.name(), resized(next.get(resized.name()), resized));
      } else if (change instanceof Change.TableDropped dropped) {
        if (next.remove(dropped.name()) == null) {
          throw RejectionReason.UNKNOWN_TABLE.failure(
              "dropped table must be one of workload %s, got %s"
                  .formatted(Names.quote(id), Names.quote(dropped.name())));
        }
      } else if (change instanceof Change.ClusterSet set) {
        nextCluster = Optional.of(set.cluster());
      } else if (change instanceof Change.WorkloadDeleted) {
        if (!exists()) {
          throw RejectionReason.UNKNOWN_WORKLOAD.failure(
              "a deleted workload must have a table or a cluster, workload %s has neither"
                  .formatted(Names.quote(id)));
        }
        next.clear();
        nextCluster = Optional.empty();
      }
    }
    upserts.forEach(table -> checkConstraints(table, next));
    return new Workload(id, generation + 1, nextCluster, next);
  }

  private TableSpec resized(TableSpec table, Change.TableResized change) {
    if (table == null) {
      throw RejectionReason.UNKNOWN_TABLE.failure(
          "resized table must be one of workload %s, got %s"
              .formatted(Names.quote(id), Names.quote(change.name())));
    }
    if (table.storage().isEmpty()) {
      throw RejectionReason.INVALID_STORAGE.failure(
          "resized table must be hashed, got %s of workload %s, which has a fixed number of rows. Maybe publish the table again with its storage, or with other rows"
              .formatted(Names.quote(change.name()), Names.quote(id)));
    }
    return table.resized(change.rows(), Optional.of(change.reason()));
  }

  private void checkConstraints(TableSpec table, SortedMap<String, TableSpec> next) {
    Optional<String> leader = table.constraints().sameDevicesAs();
    // A later change of the event may have dropped the table, or changed it again.
    if (leader.isEmpty() || !table.equals(next.get(table.name()))) {
      return;
    }
    TableSpec other = next.get(leader.get());
    if (other == null) {
      throw RejectionReason.UNKNOWN_TABLE.failure(
          "table %s must be on the devices of a table of workload %s, got %s"
              .formatted(Names.quote(table.name()), Names.quote(id), Names.quote(leader.get())));
    }
    table.constraints().checkWith(other, table.name());
  }
}
