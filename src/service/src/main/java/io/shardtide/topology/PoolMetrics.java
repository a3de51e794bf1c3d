package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.StoredPool;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

/**
 * Metrics of pools. Gauges are about the pools of this instance, so that the sum over all instances
 * is that of all pools. They have no tags: current-allocations has the details of each pool.
 */
final class PoolMetrics {
  private final MeterRegistry meters;
  private final Counter allocations;
  private final Counter adjusted;
  private final Timer allocation;
  private final Timer curve;
  private final List<OpenPools> open = new CopyOnWriteArrayList<>();
  private final List<IntSupplier> pendingCurves = new CopyOnWriteArrayList<>();

  PoolMetrics(MeterRegistry meters, Duration[] buckets) {
    this.meters = meters;
    allocations =
        Counter.builder("shardtide.allocations")
            .description("Published allocations of pools")
            .register(meters);
    adjusted =
        Counter.builder("shardtide.workloads.adjusted")
            .description("Running workloads that an allocation gave other nodes")
            .register(meters);
    allocation =
        Timer.builder("shardtide.allocation")
            .description("Time of allocating a pool")
            .serviceLevelObjectives(buckets)
            .register(meters);
    curve =
        Timer.builder("shardtide.curve")
            .description("Time from the timestamp of a change to the curve that it needs")
            .serviceLevelObjectives(buckets)
            .register(meters);
    Gauge.builder(
            "shardtide.curves.pending",
            pendingCurves,
            p -> p.stream().mapToInt(IntSupplier::getAsInt).sum())
        .description("Workloads with a claim whose curve is not predicted yet")
        .register(meters);
    gauge(
        "shardtide.claims.without.devices",
        "Claims that have no devices",
        p -> values(p, PoolMetrics::claimsWithoutDevices).sum());
    gauge(
        "shardtide.pool.free.nodes",
        "Nodes of pools that no workload has",
        p -> values(p, PoolMetrics::freeNodes).sum());
    gauge(
        "shardtide.allocation.gap",
        "By how much the optimum may be better at most, as a share of it, in the worst pool",
        p -> values(p, pool -> quality(pool, AllocationQuality::gap)).max().orElse(0));
    gauge(
        "shardtide.allocation.fairness.loss",
        "Part of the pool in other hands than in the fair allocation, in the worst pool",
        p -> values(p, pool -> quality(pool, AllocationQuality::fairnessLoss)).max().orElse(0));
  }

  private void gauge(
      String name, String description, ToDoubleFunction<Collection<OpenPools>> value) {
    Gauge.builder(name, open, value::applyAsDouble).description(description).register(meters);
  }

  private static DoubleStream values(
      Collection<OpenPools> tasks, ToDoubleFunction<StoredPool> value) {
    return tasks.stream().flatMap(t -> t.pools.values().stream()).mapToDouble(value);
  }

  private static boolean hasDevices(StoredPool pool, String workloadId) {
    return pool.allocation()
        .flatMap(a -> a.of(workloadId))
        .filter(w -> w.devices() > 0)
        .isPresent();
  }

  private static double claimsWithoutDevices(StoredPool pool) {
    return pool.state().claims().keySet().stream().filter(id -> !hasDevices(pool, id)).count();
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

  /** The pools of a task; one thread calls it, others read the gauges. */
  final class OpenPools implements AutoCloseable {
    private final Map<String, StoredPool> pools = new ConcurrentHashMap<>();

    /** Shows the state of a pool from now on. */
    void show(StoredPool pool) {
      pools.put(pool.state().id(), pool);
    }

    @Override
    public void close() {
      open.remove(this);
    }
  }

  /** Adds a task's pools to the gauges until the result is closed. */
  OpenPools open() {
    OpenPools pools = new OpenPools();
    open.add(pools);
    return pools;
  }

  /** Begins to measure an allocation, for {@link #allocated}. */
  Timer.Sample allocating() {
    return Timer.start(meters);
  }

  /** Counts a published allocation. */
  void allocated(Timer.Sample started, Allocation published) {
    started.stop(allocation);
    allocations.increment();
    adjusted.increment(published.quality().adjusted());
  }

  /**
   * Adds a task's number of due curves to the gauge until the result is closed. The supplier is
   * called from another thread.
   */
  PlannerMetrics.Pending pendingCurves(IntSupplier due) {
    pendingCurves.add(due);
    return () -> pendingCurves.remove(due);
  }

  /**
   * Records the time from a change to the curve that it needs.
   *
   * @param changed timestamp of the change's record, in milliseconds since 1970
   * @param now the time, likewise; times before {@code changed} count as zero
   */
  void predicted(long changed, long now) {
    curve.record(Math.max(0, now - changed), TimeUnit.MILLISECONDS);
  }
}
