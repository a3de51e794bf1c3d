package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.allocation.PoolDecision;
import io.shardtide.allocation.PoolStep;
import io.shardtide.allocation.PoolTables;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.StoredPool;
import io.shardtide.step.AppliedEvents;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToDoubleFunction;

/**
 * pool-changes and throughput-curves to allocations, current-allocations, curve-requests and
 * workload-changes: applies events to pools, allocates them, and gives each workload its cluster.
 */
final class PoolTopology extends KeyedProcessor {
  /**
   * How long an allocation waits for the curves of new claims, so that the first workload does not
   * get a pool that it then has to share. A workload without a cluster never has one.
   */
  static final long CURVES_WITHIN_MS = 10_000;

  /** What gauges show of each pool. */
  static final Map<Metric, ToDoubleFunction<StoredPool>> METRICS =
      Map.of(
          Metric.CLAIMS_WITHOUT_DEVICES,
          PoolTopology::claimsWithoutDevices,
          Metric.POOL_FREE_NODES,
          PoolTopology::freeNodes,
          Metric.ALLOCATION_GAP,
          pool -> quality(pool, AllocationQuality::gap),
          Metric.ALLOCATION_FAIRNESS_LOSS,
          pool -> quality(pool, AllocationQuality::fairnessLoss));

  private final PoolStep step;
  private final Set<String> due = new LinkedHashSet<>();

  /** Until when an allocation waits for curves, by pool, in milliseconds since 1970. */
  private final Map<String, Long> waitsUntilMs = new HashMap<>();

  /** Events of each pool that this instance applied since its latest allocation. */
  private final Map<String, List<SourcePosition>> unallocated = new HashMap<>();

  private final Map<String, StoredPool> shown = new ConcurrentHashMap<>();
  private PoolTables store;

  /**
   * @param step allocates pools
   */
  PoolTopology(Skeleton skeleton, PoolStep step) {
    super(skeleton);
    this.step = step;
    on(POOL_CHANGES, this::apply);
    on(THROUGHPUT_CURVES, this::onCurve);
  }

  @Override
  void open(KeyedStore.Opener stores) {
    store =
        new PoolTables(
            stores.open(StoreName.POOL_HEADERS),
            stores.open(StoreName.POOL_MEMBERS),
            new AppliedEvents(stores.open(StoreName.APPLIED_POOL_EVENTS)));
    METRICS.forEach((metric, of) -> show(metric, () -> shown.values().stream().mapToDouble(of)));
  }

  @Override
  void resume() {
    store.headers().workloads().forEach(id -> isolate(id, "pending work", () -> resume(id)));
  }

  @Override
  void resume(String poolId) {
    StoredPool header = store.header(poolId);
    shown.put(poolId, header);
    if (header.isDue()) {
      due.add(poolId);
    }
  }

  private void apply(PoolChange event, SourcePosition source, long timestamp) {
    for (CurveRequest request : step.apply(store, event)) {
      forward(request.workloadId(), request, timestamp, CURVE_REQUESTS);
    }
    if (event.updates().stream().anyMatch(PoolUpdate.ClaimSet.class::isInstance)) {
      waitsUntilMs.put(event.poolId(), nowMs() + CURVES_WITHIN_MS);
    }
    due.add(event.poolId());
    unallocated.computeIfAbsent(event.poolId(), pool -> new ArrayList<>()).add(source);
    shown.put(event.poolId(), store.header(event.poolId()));
    written();
  }

  private void onCurve(CurveReport report, SourcePosition source, long timestamp) {
    step.onCurve(store, report, Instant.ofEpochMilli(timestamp))
        .ifPresent(change -> send(change, timestamp));
    due.add(report.poolId());
  }

  @Override
  void work() {
    for (String poolId : List.copyOf(due)) {
      if (!waits(poolId)) {
        due.remove(poolId);
        waitsUntilMs.remove(poolId);
        List<SourcePosition> events =
            Optional.ofNullable(unallocated.remove(poolId)).orElse(List.of());
        isolate(poolId, "allocation", () -> allocate(poolId))
            .ifPresent(error -> events.forEach(event -> failed(poolId, event, error)));
      }
    }
  }

  private boolean waits(String poolId) {
    Long until = waitsUntilMs.get(poolId);
    long now = nowMs();
    // A clock that was set back does not prolong the wait.
    return until != null
        && now < until
        && until - now <= CURVES_WITHIN_MS
        && step.waitsForCurves(store, poolId);
  }

  private void allocate(String poolId) {
    long now = nowMs();
    long started = System.nanoTime();
    step.allocate(store, poolId, Instant.ofEpochMilli(now))
        .ifPresent(decision -> publish(decision, started, now));
  }

  private void failed(String poolId, SourcePosition event, String error) {
    failed(
        poolId,
        event,
        "The change was applied, but the pool could not be allocated: %s. Its last allocation stays current until it changes; please report this"
            .formatted(error),
        nowMs());
  }

  private void publish(PoolDecision decision, long started, long now) {
    Allocation allocation = decision.allocation();
    count(metrics, allocation, (System.nanoTime() - started) / 1e6);
    shown.put(allocation.poolId(), store.header(allocation.poolId()));
    forward(allocation.poolId(), allocation, now, ALLOCATIONS);
    forward(allocation.poolId(), allocation, now, CURRENT_ALLOCATIONS);
    decision.clusters().forEach(change -> send(change, now));
    written();
  }

  private void send(WorkloadChange change, long timestamp) {
    forward(change.workloadId(), change, timestamp, WORKLOAD_CHANGES);
    written();
  }

  private static double claimsWithoutDevices(StoredPool pool) {
    return pool.state().claims().keySet().stream()
        .filter(
            id -> pool.allocation().flatMap(a -> a.of(id)).filter(w -> w.devices() > 0).isEmpty())
        .count();
  }

  private static double freeNodes(StoredPool pool) {
    Set<String> free =
        new HashSet<>(pool.state().pool().map(p -> p.nodes().keySet()).orElse(Set.of()));
    pool.allocation().ifPresent(a -> free.removeAll(a.holders().keySet()));
    return free.size();
  }

  private static double quality(StoredPool pool, ToDoubleFunction<AllocationQuality> part) {
    return pool.allocation().map(a -> part.applyAsDouble(a.quality())).orElse(0.0);
  }

  /** Counts an allocation that took some time. */
  static void count(PlannerMetrics metrics, Allocation published, double millis) {
    metrics.time(Metric.ALLOCATION, millis);
    metrics.count(Metric.ALLOCATIONS);
    metrics.add(Metric.WORKLOADS_ADJUSTED, published.quality().adjusted());
  }
}
