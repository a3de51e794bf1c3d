package io.shardtide.views;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The workloads that one of the compacted topics has, by id. What other topics say of a workload is
 * kept apart until a compacted topic has it: topics are read in any order.
 */
final class KnownWorkloads {
  private final Map<String, WorkloadProjection> workloads = new TreeMap<>();

  /** Workloads that no compacted topic has: not yet, no longer, or never. */
  final Map<String, WorkloadProjection> unknown = new HashMap<>();

  /** Those that were unknown when {@link #forgetUnknown} was called last. */
  private Set<String> longUnknown = Set.of();

  private final Set<String> changed = new LinkedHashSet<>();

  /** Returns the projection for a record that does not tell whether its workload exists. */
  WorkloadProjection changed(String workloadId) {
    WorkloadProjection known = workloads.get(workloadId);
    if (known != null) {
      changed.add(workloadId);
      return known;
    }
    return unknown.computeIfAbsent(workloadId, WorkloadProjection::new);
  }

  /** Applies a record of a compacted topic. */
  void applyCurrent(String workloadId, Consumer<WorkloadProjection> record) {
    WorkloadProjection workload = changed(workloadId);
    record.accept(workload);
    if (workload.exists()) {
      unknown.remove(workloadId);
      workloads.put(workloadId, workload);
      changed.add(workloadId);
    } else if (workloads.remove(workloadId) != null) {
      unknown.put(workloadId, workload);
    }
  }

  /**
   * Applies a tombstone of a compacted topic; one of a workload that is not there leaves nothing.
   */
  void applyTombstone(String workloadId, Consumer<WorkloadProjection> tombstone) {
    if (workloads.containsKey(workloadId)) {
      applyCurrent(workloadId, tombstone);
    } else if (unknown.containsKey(workloadId)) {
      tombstone.accept(unknown.get(workloadId));
    }
  }

  /**
   * Removes what is known of workloads that were unknown at the last call already: they are
   * deleted, or never existed. To be called only once all that was on the log at the start is read.
   */
  void forgetUnknown() {
    unknown.keySet().removeAll(longUnknown);
    longUnknown = Set.copyOf(unknown.keySet());
  }

  Optional<WorkloadProjection> get(String workloadId) {
    return Optional.ofNullable(workloads.get(workloadId));
  }

  Collection<WorkloadProjection> all() {
    return workloads.values();
  }

  /** Returns the ids of the workloads that changed, or ceased to exist, since the last call. */
  List<String> drainChanged() {
    List<String> ids = List.copyOf(changed);
    changed.clear();
    return ids;
  }
}
