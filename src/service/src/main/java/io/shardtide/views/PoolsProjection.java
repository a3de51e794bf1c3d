package io.shardtide.views;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.PoolChange;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Projection of the topics of pools. Thread-safe. */
public final class PoolsProjection {
  private final Predicate<String> simulated;
  private final Map<String, PoolProjection> pools = new TreeMap<>();
  private final Set<String> changed = new LinkedHashSet<>();

  /**
   * @param simulated returns whether a model was trained on simulated costs
   */
  PoolsProjection(Predicate<String> simulated) {
    this.simulated = simulated;
  }

  private PoolProjection changed(String poolId) {
    changed.add(poolId);
    return pools.computeIfAbsent(poolId, PoolProjection::new);
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, PoolChange event) {
    changed(event.poolId()).apply(event, writtenAt);
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, CurveReport report) {
    changed(report.poolId()).apply(report);
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, Allocation allocation) {
    changed(allocation.poolId()).apply(allocation, writtenAt);
  }

  synchronized void applyCurrent(SourcePosition at, Instant writtenAt, Allocation allocation) {
    changed(allocation.poolId()).applyCurrent(allocation, writtenAt);
  }

  /** Returns the updates since the last call. */
  synchronized List<ViewUpdate> drainUpdates() {
    List<ViewUpdate> updates =
        changed.stream()
            .map(pools::get)
            .filter(PoolProjection::exists)
            .map(pool -> pool.row(simulated))
            .map(row -> ViewUpdate.ofRow("pool", "pool", row.poolId(), row))
            .toList();
    changed.clear();
    return updates;
  }

  /** Returns all pools, by id. */
  public synchronized List<PoolRow> rows() {
    return pools.values().stream()
        .filter(PoolProjection::exists)
        .map(pool -> pool.row(simulated))
        .toList();
  }

  /** Returns a pool; empty if it does not exist. */
  public synchronized Optional<PoolView> pool(String poolId) {
    return Optional.ofNullable(pools.get(poolId))
        .filter(PoolProjection::exists)
        .map(pool -> pool.view(simulated));
  }

  /** Returns what a workload asks of a pool and has of it; it has a claim on one at most. */
  synchronized Optional<PoolShare> share(String workloadId) {
    return pools.values().stream().flatMap(pool -> pool.share(workloadId).stream()).findFirst();
  }
}
