package io.shardtide.replay;

import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;

import io.shardtide.allocation.AllocationRequest;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolHistory;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * What allocations were made from: the events of the pools, and the curves by their ids. The
 * recorded events include rejected ones: the rules of the domain decide which were applied, as they
 * did in the planner.
 */
final class AllocationInputs {
  private final Map<String, PoolEvents> byPool = new TreeMap<>();
  private final Map<String, ThroughputCurve> curves = new HashMap<>();

  /** By pool, the workloads that it has a curve of now. */
  private final Map<String, Set<String>> workloads = new HashMap<>();

  private static final class PoolEvents {
    final List<PoolChange> applied = new ArrayList<>();
    final PoolHistory history;

    /** The state that was asked for last: allocations ascend, so that few events are applied. */
    PoolState state;

    PoolEvents(String poolId) {
      history = new PoolHistory(poolId);
      state = history.state();
    }
  }

  /** Reads the events and the curves of all pools; none where they are not recorded. */
  static AllocationInputs read(LogRecords records) throws IOException {
    AllocationInputs inputs = new AllocationInputs();
    records.read(POOL_CHANGES, inputs::add);
    records.read(THROUGHPUT_CURVES, inputs::add);
    return inputs;
  }

  private void add(PoolChange event) {
    PoolEvents events = byPool.computeIfAbsent(event.poolId(), PoolEvents::new);
    if (events.history.apply(event).isPresent()) {
      events.applied.add(event);
    }
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

  /** Returns the curve that an allocation names for a workload, if it is recorded. */
  Optional<ThroughputCurve> curve(Allocation allocation, String workloadId) {
    return Optional.ofNullable(allocation.curveIds().get(workloadId))
        .map(curves::get)
        .filter(curve -> curve.workloadId().equals(workloadId));
  }

  /** Returns the input of an allocation that is not recorded, for people; empty if all are. */
  Optional<String> missing(Allocation allocation) {
    Optional<PoolState> state = at(allocation.poolId(), allocation.generation());
    if (state.isEmpty()) {
      return Optional.of(
          "it is of generation %d, and the recorded events make %d generations"
              .formatted(allocation.generation(), last(allocation.poolId())));
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
        at(allocation.poolId(), allocation.generation()).orElseThrow(),
        named,
        before,
        allocation.policy());
  }

  /** Returns the pools that have events, ascending. */
  Set<String> pools() {
    return byPool.keySet();
  }

  /** Returns the number of applied events of a pool. */
  long last(String poolId) {
    return byPool.containsKey(poolId) ? byPool.get(poolId).applied.size() : 0;
  }

  /** Returns the state of a pool in a generation; empty if the events up to it are not recorded. */
  Optional<PoolState> at(String poolId, long generation) {
    if (generation < 0 || generation > last(poolId)) {
      return Optional.empty();
    }
    PoolEvents events = byPool.computeIfAbsent(poolId, PoolEvents::new);
    if (events.state.generation() > generation) {
      events.state = PoolState.empty(poolId);
    }
    while (events.state.generation() < generation) {
      events.state = events.state.apply(events.applied.get((int) events.state.generation()));
    }
    return Optional.of(events.state);
  }

  /** Returns what led from one generation of a pool to a later one, in order. */
  List<PlanProvenance.ProvenanceEvent> between(String poolId, long after, long upTo) {
    List<PlanProvenance.ProvenanceEvent> between = new ArrayList<>();
    for (long generation = after + 1; generation <= Math.min(upTo, last(poolId)); generation++) {
      PoolChange event = byPool.get(poolId).applied.get((int) generation - 1);
      PoolState before = at(poolId, generation - 1).orElseThrow();
      between.add(
          new PlanProvenance.ProvenanceEvent(
              generation,
              event.eventId(),
              Optional.of(event.source()),
              Optional.of(event.occurredAt()),
              ChangeTexts.describe(before, event)));
    }
    return between;
  }
}
