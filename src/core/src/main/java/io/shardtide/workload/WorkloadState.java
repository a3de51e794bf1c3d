package io.shardtide.workload;

import java.util.Optional;
import java.util.UUID;

/**
 * A workload without its tables.
 *
 * @param generation number of events that were applied
 * @param cluster the cluster, once it is set
 * @param modelId the cost model that predicted all tables, once one did
 * @param lastEvent the latest applied event
 */
public record WorkloadState(
    long generation,
    Optional<ClusterSpec> cluster,
    Optional<String> modelId,
    Optional<AppliedEvent> lastEvent) {

  /**
   * An applied event.
   *
   * @param eventId its identity
   * @param source where it lies in the log
   */
  public record AppliedEvent(UUID eventId, SourcePosition source) {}

  /** Before the first event. */
  public static final WorkloadState NONE =
      new WorkloadState(0, Optional.empty(), Optional.empty(), Optional.empty());
}
