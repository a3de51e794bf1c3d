package io.shardtide.domain;

import java.util.Collections;
import java.util.Objects;
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
 * @param tables the tables by name; those that an event names are enough to apply it
 */
public record Workload(
    String id,
    long generation,
    Optional<ClusterSpec> cluster,
    SortedMap<String, TableSpec> tables) {

  /** Copies what may change. */
  public Workload {
    Names.check(id, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    Objects.requireNonNull(cluster, "cluster");
    tables = Collections.unmodifiableSortedMap(new TreeMap<>(tables));
  }

  /** Returns the workload that no event has spoken of yet. */
  public static Workload empty(String id) {
    return new Workload(id, 0, Optional.empty(), new TreeMap<>());
  }

  /**
   * Returns the next generation.
   *
   * @throws RejectedException if the publisher expected another generation, or a change names a
   *     table that is not there; this workload is unchanged in any case
   */
  public Workload apply(WorkloadChange event) {
    event
        .expectedGeneration()
        .ifPresent(
            expected -> {
              if (expected != generation) {
                throw new RejectedException(
                    RejectionReason.STALE_GENERATION,
                    ("The event expects generation %d of workload %s; legal is the generation that it has, %d, or none. Maybe"
                            + " read the workload again and send the change anew")
                        .formatted(expected, Names.quote(id), generation));
              }
            });
    SortedMap<String, TableSpec> next = new TreeMap<>(tables);
    Optional<ClusterSpec> nextCluster = cluster;
    for (Change change : event.changes()) {
      if (change instanceof Change.TableUpserted upserted) {
        next.put(upserted.table().name(), upserted.table());
      } else if (change instanceof Change.TableDropped dropped) {
        if (next.remove(dropped.name()) == null) {
          throw new RejectedException(
              RejectionReason.UNKNOWN_TABLE,
              "Workload %s has no table %s to drop; legal is a table that it has"
                  .formatted(Names.quote(id), Names.quote(dropped.name())));
        }
      } else if (change instanceof Change.ClusterSet set) {
        nextCluster = Optional.of(set.cluster());
      }
    }
    return new Workload(id, generation + 1, nextCluster, next);
  }
}
