package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

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
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Time and quality of the allocation of random pools, {@code -Dbench.pools=50} of them with {@code
 * -Dbench.workloads=20} and {@code -Dbench.devices=512}. Costs are those of the simulated nodes.
 */
@Tag("nightly")
class PoolTest {
  private static final int POOLS = Integer.getInteger("bench.pools", 2);
  private static final int WORKLOADS = Integer.getInteger("bench.workloads", 4);
  private static final int DEVICES = Integer.getInteger("bench.devices", 64);
  private static final String NODE = "node-0007";

  private final ModelBundle bundle = ModelFiles.shippedForNodes();
  private final TensorFlowTowers towers = new TensorFlowTowers(bundle);
  private final CurveSearch search =
      new CurveSearch(towers, new CostModel(bundle), SearchSettings.DEFAULTS);

  /** What was measured of one pool. */
  private record PoolRun(
      double curvesMs,
      double coldMs,
      double tableMs,
      double nodeMs,
      double overEqual,
      double ofOptimum,
      double adjusted) {}

  @AfterEach
  void close() {
    towers.close();
  }

  @Test
  void pools_are_allocated_near_the_upper_bound() {
    List<PoolRun> runs =
        IntStream.rangeClosed(1, POOLS)
            .mapToObj(
                seed ->
                    run(
                        RandomPool.of(WORKLOADS, DEVICES, bundle.hardware(), seed),
                        AllocationPolicy.DEFAULTS))
            .toList();
    Figures figures = new Figures("%d pools".formatted(POOLS), "least | median | most");
    add(figures, "all curves and the allocation, ms", runs, PoolRun::coldMs);
    add(figures, "of which curves, ms", runs, PoolRun::curvesMs);
    add(figures, "one table changed, ms", runs, PoolRun::tableMs);
    add(figures, "one node lost, ms", runs, PoolRun::nodeMs);
    add(figures, "throughput / equal shares", runs, PoolRun::overEqual);
    add(figures, "throughput / upper bound", runs, PoolRun::ofOptimum);
    add(figures, "workloads adjusted, one node lost", runs, PoolRun::adjusted);
    long optimal = runs.stream().filter(run -> run.ofOptimum() == 1).count();
    figures.add("proven optimal", "%d | | ", optimal);
    System.out.println(figures);
    assertThat(runs)
        .allSatisfy(
            run -> {
              assertThat(run.ofOptimum()).isBetween(0.97, 1.0);
              assertThat(run.overEqual()).isGreaterThan(0.99);
              assertThat(run.adjusted()).isBetween(0.0, 4.0);
            });
  }

  private static void add(
      Figures figures, String name, List<PoolRun> runs, ToDoubleFunction<PoolRun> of) {
    double[] sorted = runs.stream().mapToDouble(of).sorted().toArray();
    figures.add(name, "%,.3f | %,.3f | %,.3f", sorted[0], sorted[POOLS / 2], sorted[POOLS - 1]);
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
}
