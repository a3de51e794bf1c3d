package io.shardtide.bench;

import io.shardtide.allocation.AllocationRequest;
import io.shardtide.allocation.Allocator;
import io.shardtide.allocation.Curve;
import io.shardtide.allocation.CurveSearch;
import io.shardtide.allocation.EqualShares;
import io.shardtide.bench.RandomPool.PoolWorkload;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.workload.TableSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.DoubleStream;

/** Time and quality of the allocation of random pools. Costs are those of the simulated nodes. */
public final class PoolBenchmark implements AutoCloseable {
  private static final String NODE = "node-0007";

  private final ModelBundle bundle = ModelFiles.shippedForNodes();
  private final TensorFlowTowers towers = new TensorFlowTowers(bundle);
  private final CurveSearch search =
      new CurveSearch(towers, new CostModel(bundle), SearchSettings.DEFAULTS);
  private final Consumer<String> progress;

  /**
   * One figure over all pools.
   *
   * @param name what was measured
   * @param median its median
   * @param worst the worst: the longest time, the least ratio, the most workloads
   */
  public record PoolFigure(String name, String median, String worst) {}

  /** What was measured of one pool. */
  private record PoolRun(
      double curvesMs,
      double coldMs,
      double tableMs,
      double nodeMs,
      double overEqual,
      double ofOptimum,
      boolean isExact,
      int adjusted) {}

  /**
   * @param progress receives the name of the next pool
   */
  public PoolBenchmark(Consumer<String> progress) {
    this.progress = progress;
  }

  /**
   * Measures random pools.
   *
   * @param pools number of pools, at least 1
   * @param workloads workloads of each, at least 1
   * @param devices devices of each, a multiple of 8
   * @param policy the policy
   */
  public List<PoolFigure> run(int pools, int workloads, int devices, AllocationPolicy policy) {
    List<PoolRun> runs = new ArrayList<>();
    for (int p = 0; p < pools; p++) {
      progress.accept("pool %d of %d".formatted(p + 1, pools));
      runs.add(run(RandomPool.of(workloads, devices, bundle.hardware(), p + 1), policy));
    }
    return List.of(
        new PoolFigure("first pool, from cold", "", ms(runs.get(0).coldMs())),
        times("all curves and the allocation", runs.stream().mapToDouble(PoolRun::coldMs)),
        times("of which curves", runs.stream().mapToDouble(PoolRun::curvesMs)),
        times("one table changed", runs.stream().mapToDouble(PoolRun::tableMs)),
        times("one node lost", runs.stream().mapToDouble(PoolRun::nodeMs)),
        ratios("throughput / equal shares", runs.stream().mapToDouble(PoolRun::overEqual)),
        ratios("throughput / upper bound", runs.stream().mapToDouble(PoolRun::ofOptimum)),
        new PoolFigure(
            "proven optimal",
            "%d of %d".formatted(runs.stream().filter(PoolRun::isExact).count(), pools),
            ""),
        new PoolFigure(
            "workloads adjusted, one node lost",
            "",
            Integer.toString(runs.stream().mapToInt(PoolRun::adjusted).max().orElse(0))));
  }

  private PoolRun run(RandomPool pool, AllocationPolicy policy) {
    PoolState state = pool.state();
    Map<String, Curve> searched = new HashMap<>();
    long start = System.nanoTime();
    pool.workloads()
        .forEach(
            (id, workload) -> searched.put(id, search(state, id, 1, workload, Optional.empty())));
    double curvesMs = since(start);
    Map<String, ThroughputCurve> curves = new HashMap<>();
    searched.forEach((id, curve) -> curves.put(id, curve.throughput()));
    AllocationRequest request = new AllocationRequest(state, curves, Optional.empty(), policy);
    Allocation first = Allocator.allocate(request);
    double coldMs = since(start);

    String changed = pool.workloads().firstKey();
    PoolWorkload workload = pool.workloads().get(changed);
    List<TableSpec> tables = new ArrayList<>(workload.tables());
    tables.set(0, SyntheticTables.changed(tables.get(0), new Random(1)));
    start = System.nanoTime();
    Map<String, ThroughputCurve> next = new HashMap<>(curves);
    next.put(
        changed,
        search(
                state,
                changed,
                2,
                new PoolWorkload(workload.cluster(), tables),
                Optional.of(searched.get(changed)))
            .throughput());
    Allocator.allocate(new AllocationRequest(state, next, Optional.of(first), policy));
    double tableMs = since(start);

    PoolState smaller =
        state.apply(
            new PoolChange(
                new UUID(0, 1),
                state.id(),
                Instant.EPOCH,
                "bench",
                List.of(new PoolUpdate.PoolNodeLost(NODE))));
    start = System.nanoTime();
    Allocation after =
        Allocator.allocate(new AllocationRequest(smaller, curves, Optional.of(first), policy));
    double nodeMs = since(start);
    return new PoolRun(
        curvesMs,
        coldMs,
        tableMs,
        nodeMs,
        first.quality().weightedThroughput() / EqualShares.weightedThroughput(request),
        1 - first.quality().gap(),
        first.quality().gap() == 0,
        after.quality().adjusted());
  }

  private Curve search(
      PoolState state, String id, long generation, PoolWorkload workload, Optional<Curve> before) {
    Pool pool = state.pool().orElseThrow();
    List<Integer> devices = List.copyOf(CurveSearch.devices(pool, state.claims().get(id)));
    Curve unknown =
        new Curve(
            CurveRequest.of(state.id(), id, pool, devices),
            generation,
            workload.cluster(),
            workload.tables(),
            bundle.modelId(),
            new TreeMap<>());
    return search.complete(before.map(unknown::after).orElse(unknown));
  }

  private static double since(long start) {
    return (System.nanoTime() - start) / 1e6;
  }

  private static PoolFigure times(String name, DoubleStream values) {
    double[] sorted = values.sorted().toArray();
    return new PoolFigure(name, ms(sorted[sorted.length / 2]), ms(sorted[sorted.length - 1]));
  }

  private static PoolFigure ratios(String name, DoubleStream values) {
    double[] sorted = values.sorted().toArray();
    return new PoolFigure(
        name, "%.3f".formatted(sorted[sorted.length / 2]), "%.3f".formatted(sorted[0]));
  }

  private static String ms(double ms) {
    return "%,.0f ms".formatted(ms);
  }

  @Override
  public void close() {
    towers.close();
  }
}
