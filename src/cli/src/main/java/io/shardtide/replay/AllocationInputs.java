package io.shardtide.replay;

import io.shardtide.allocation.AllocationRequest;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** What allocations were made from: the events of the pools, and the curves by their ids. */
final class AllocationInputs {
  private final PoolGenerations generations;
  private final Map<String, ThroughputCurve> curves = new HashMap<>();

  /** By pool, the workloads that it has a curve of now. */
  private final Map<String, Set<String>> workloads = new HashMap<>();

  private AllocationInputs(PoolGenerations generations) {
    this.generations = generations;
  }

  /** Reads the events and the curves of all pools; none where they are not recorded. */
  static AllocationInputs read(LogRecords records) throws IOException {
    AllocationInputs inputs = new AllocationInputs(PoolGenerations.read(records));
    if (records.has(RecordKind.CURVES)) {
      records.read(RecordKind.CURVES, inputs::add);
    }
    return inputs;
  }

  private void add(CurveReport report) {
    Set<String> known = workloads.computeIfAbsent(report.poolId(), pool -> new HashSet<>());
    if (report.curve().isPresent()) {
      known.add(report.workloadId());
      curves.put(report.curve().get().id(), report.curve().get());
    } else {
      known.remove(report.workloadId());
    }
  }

  /** Returns whether the latest report of a workload to a pool has a curve. */
  boolean hasCurve(String poolId, String workloadId) {
    return workloads.getOrDefault(poolId, Set.of()).contains(workloadId);
  }

  PoolGenerations generations() {
    return generations;
  }

  /** Returns the curve that an allocation names for a workload, if it is recorded. */
  Optional<ThroughputCurve> curve(Allocation allocation, String workloadId) {
    return Optional.ofNullable(allocation.curveIds().get(workloadId))
        .map(curves::get)
        .filter(curve -> curve.workloadId().equals(workloadId));
  }

  /** Returns the input of an allocation that is not recorded, for people; empty if all are. */
  Optional<String> missing(Allocation allocation) {
    Optional<PoolState> state = generations.at(allocation.poolId(), allocation.generation());
    if (state.isEmpty()) {
      return Optional.of(
          "it is of generation %d, and the recorded events make %d generations"
              .formatted(allocation.generation(), generations.last(allocation.poolId())));
    }
    if (state.get().pool().isEmpty()) {
      return Optional.of(
          "the recorded events do not set the pool up to generation %d"
              .formatted(allocation.generation()));
    }
    return allocation.curveIds().entrySet().stream()
        .filter(named -> curve(allocation, named.getKey()).isEmpty())
        .findFirst()
        .map(
            named ->
                "curve %s of %s, which it names, is not recorded"
                    .formatted(named.getValue(), named.getKey()));
  }

  /**
   * Returns what an allocation was made from. None of it may be {@link #missing}.
   *
   * @param before the allocation before, if there was one
   */
  AllocationRequest request(Allocation allocation, Optional<Allocation> before) {
    Map<String, ThroughputCurve> named = new TreeMap<>();
    allocation
        .curveIds()
        .keySet()
        .forEach(id -> named.put(id, curve(allocation, id).orElseThrow()));
    return new AllocationRequest(
        generations.at(allocation.poolId(), allocation.generation()).orElseThrow(),
        named,
        before,
        allocation.policy());
  }
}
