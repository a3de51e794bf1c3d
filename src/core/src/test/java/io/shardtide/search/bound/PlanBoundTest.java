package io.shardtide.search.bound;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.Synchronization;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.Feasibility;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** No plan is below the bound: all plans of small problems, and what searches find of others. */
class PlanBoundTest {
  private static final ModelBundle NODES = TestModels.nodes();
  private static final ModelBundle H200 = TestModels.h200();

  /** Many enough for tables to be cut in all ways, few enough for a second. */
  private static final double MOST_PLANS = 40_000;

  /** All rounds. */
  private static final long ALL = Long.MAX_VALUE;

  private static final SearchSettings BRIEF = Fixtures.settings(100, 1_000, 10, 10, 0, 1_000);

  private static SearchProblem problem(
      ModelBundle bundle, List<TableSpec> tables, ClusterSpec cluster, Slowdowns slowdowns) {
    return new SearchProblem(
        new PlainTowers(bundle).predict(tables, cluster),
        cluster,
        new CostModel(bundle),
        PlanShards.NONE,
        Synchronization.NONE,
        slowdowns);
  }

  private static SearchProblem problem(
      ModelBundle bundle, List<TableSpec> tables, ClusterSpec cluster) {
    return problem(bundle, tables, cluster, Slowdowns.none(cluster.devices()));
  }

  private static TableSpec table(Random random, String name, boolean maybeUnpooled) {
    TableSpec table =
        Fixtures.table(
            name,
            1 + (long) Math.pow(10, 7 * random.nextDouble()),
            4 << random.nextInt(4),
            Math.pow(10, 2.3 * random.nextDouble()));
    TableSpecBuilder builder =
        TableSpecBuilder.builder(table).bytesPerElement(random.nextBoolean() ? 4 : 2);
    if (maybeUnpooled && random.nextInt(3) == 0) {
      builder.pooled(false).poolingFactor(1 + random.nextInt(20)).accessCdf(used(table.rows()));
    }
    if (random.nextInt(4) == 0) {
      Set<ShardKind> kinds = EnumSet.noneOf(ShardKind.class);
      kinds.add(List.of(ShardKind.values()).get(random.nextInt(ShardKind.values().length)));
      kinds.add(ShardKind.TABLE_WISE);
      builder.constraints(new TableConstraints(kinds, 0, Optional.empty()));
    }
    TableSpec built = builder.build();
    return random.nextInt(4) == 0 ? Fixtures.withFeatures(built, random) : built;
  }

  private static AccessCdf used(long rows) {
    List<Double> shares = new ArrayList<>();
    for (double r = 1; r < rows; r *= 4) {
      shares.add(Math.pow(r / rows, 0.1));
    }
    shares.add(1.0);
    return new AccessCdf(shares);
  }

  private static List<TableSpec> tables(Random random, int count, boolean maybeUnpooled) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      tables.add(table(random, "t" + t, maybeUnpooled));
    }
    return tables;
  }

  private static ClusterSpecBuilder cluster(Random random, ModelBundle bundle, int devices) {
    int perNode = random.nextBoolean() ? Math.max(1, devices / 2) : devices;
    return ClusterSpecBuilder.builder(
        new ClusterSpec(
            devices, 80 * Fixtures.GIB, 1 << (8 + random.nextInt(10)), perNode, bundle.hardware()));
  }

  private static ModelBundle model(Random random) {
    return random.nextBoolean() ? NODES : H200;
  }

  /** Returns a problem with few tables and few plans. */
  private static SearchProblem small(Random random, boolean isTight, boolean isCached) {
    ModelBundle bundle = model(random);
    int devices = 2 + random.nextInt(3);
    int count = isCached ? 2 : 2 + random.nextInt(3);
    List<TableSpec> tables = tables(random, count, !isCached);
    ClusterSpecBuilder builder = cluster(random, bundle, devices);
    if (isCached && random.nextBoolean()) {
      tables.set(0, tables.get(0).withConstraints(TableConstraints.NONE));
      tables.set(0, TableSpecBuilder.builder(tables.get(0)).kernel(inHostMemory(random)).build());
    }
    if (isTight || isCached) {
      double bytes = tables.stream().mapToDouble(TableSpec::bytes).sum();
      double share = (isCached ? 0.3 : 0.9) + 0.6 * random.nextDouble();
      builder.memoryBytesPerDevice((long) Math.max(1_000, share * bytes / devices));
      builder.hostMemoryBytesPerDevice(isCached ? 100 * Fixtures.GIB : 0);
      boolean counts = random.nextInt(4) == 0;
      builder.countsStepMemory(counts);
      builder.pipeline(
          counts && random.nextBoolean()
              ? Optional.of(TrainingPipeline.SPARSE_DIST)
              : Optional.empty());
    }
    if (random.nextInt(3) == 0) {
      builder.codecs(
          List.of(
              new CommCodec("a", 2, random.nextBoolean() ? 0 : 200, 1, true, List.of()),
              new CommCodec("b", 1, 50 + random.nextInt(500), 1, random.nextBoolean(), List.of())));
    }
    ClusterSpec equal = builder.build();
    ClusterSpec cluster =
        isTight && random.nextBoolean() ? Fixtures.withUnequalMemory(random, equal) : equal;
    List<DeviceSpeed> slow =
        random.nextInt(3) > 0
            ? List.of()
            : List.of(
                new DeviceSpeed(
                    random.nextInt(devices),
                    random.nextBoolean() ? CostPart.COMPUTATION : CostPart.COMMUNICATION,
                    1 + random.nextDouble(),
                    0,
                    Fixtures.TIME));
    while (true) {
      SearchProblem problem =
          problem(bundle, tables, cluster, Slowdowns.of(slow, new PlanShards(List.of(), devices)));
      if (tables.size() == 1 || AllPlans.count(problem) <= MOST_PLANS) {
        return problem;
      }
      tables.remove(tables.size() - 1);
    }
  }

  /** No cache, or one that may be too small: what the link to host memory takes is added. */
  private static TableKernel inHostMemory(Random random) {
    boolean isCached = random.nextBoolean();
    return TableKernelBuilder.builder(TableKernel.NONE)
        .computeKernel(
            Optional.of(isCached ? ComputeKernel.FUSED_UVM_CACHING : ComputeKernel.FUSED_UVM))
        .cacheLoadFactor(
            isCached ? OptionalDouble.of(0.01 + 0.3 * random.nextDouble()) : OptionalDouble.empty())
        .build();
  }

  private static void check(SearchProblem problem) {
    checkAtMost(problem, AllPlans.bestMs(problem));
  }

  private static void checkAtMost(SearchProblem problem, double bestMs) {
    double some = PlanBound.of(problem, 0);
    assertThat(some).isLessThanOrEqualTo(bestMs);
    assertThat(PlanBound.of(problem, ALL)).isBetween(some, bestMs);
  }

  @Property(tries = 40)
  void no_plan_of_a_few_tables_is_below_it(@ForAll long seed) {
    check(small(new Random(seed), false, false));
  }

  /** A table without lookups sends nothing, whatever its parts are. */
  @Test
  void no_plan_of_a_table_without_lookups_is_below_it() {
    check(small(new Random(29_839), false, false));
  }

  @Property(tries = 25)
  void no_plan_is_below_it_where_memory_is_scarce(@ForAll long seed) {
    check(small(new Random(seed), true, false));
  }

  @Property(tries = 40)
  void what_is_refuted_has_no_plan(@ForAll long seed) {
    SearchProblem problem = small(new Random(seed), true, false);
    if (Feasibility.isRefuted(problem)) {
      assertThat(AllPlans.bestMs(problem)).isInfinite();
    }
  }

  @Property(tries = 40)
  void no_plan_with_caches_is_below_it(@ForAll long seed) {
    check(small(new Random(seed), true, true));
  }

  @Property(tries = 40)
  void no_plan_that_a_search_finds_is_below_it(@ForAll long seed) {
    Random random = new Random(seed);
    ModelBundle bundle = model(random);
    int perNode = 1 + random.nextInt(8);
    int devices = perNode * (1 + random.nextInt(4)) + (random.nextInt(5) == 0 ? 1 : 0);
    List<TableSpec> tables = tables(random, 3 + random.nextInt(30), true);
    if (random.nextInt(3) == 0) {
      TableSpec first = tables.get(0);
      tables.set(0, first.withConstraints(TableConstraints.NONE));
      TableSpec second =
          TableSpecBuilder.builder(tables.get(1))
              .columns(first.columns())
              .pooled(first.pooled())
              .constraints(new TableConstraints(Set.of(), 0, Optional.of(first.name())))
              .build();
      tables.set(1, second);
    }
    double bytes = tables.stream().mapToDouble(TableSpec::bytes).sum();
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(
                new ClusterSpec(
                    devices,
                    (long) (bytes * (0.2 + 2 * random.nextDouble()) / devices) + 1_000_000,
                    1 << (10 + random.nextInt(8)),
                    perNode,
                    bundle.hardware()))
            .hostMemoryBytesPerDevice(random.nextInt(3) == 0 ? 100 * Fixtures.GIB : 0)
            .build();
    SearchProblem problem = problem(bundle, tables, cluster);
    if (LocalSearch.search(problem, BRIEF) instanceof SearchResult.Found found) {
      checkAtMost(problem, found.predictedMs());
    }
  }

  /** Split by rows, an unpooled table sends as tables of one device do, a pooled one does not. */
  @Property(tries = 40)
  void no_plan_of_tables_together_that_send_otherwise_is_below_it(@ForAll long seed) {
    Random random = new Random(seed);
    ModelBundle bundle = model(random);
    int perNode = 1 + random.nextInt(4);
    int devices = perNode * (1 + random.nextInt(3));
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 4 + random.nextInt(8); t++) {
      boolean pooled = t % 2 == 0;
      TableSpec table =
          Fixtures.table(
              "t" + t, 2_000 + random.nextInt(900_000), 256, pooled ? 1 : 1 + random.nextInt(100));
      Optional<String> with = t % 4 == 0 ? Optional.empty() : Optional.of("t" + (t - t % 4));
      tables.add(
          TableSpecBuilder.builder(table)
              .pooled(pooled)
              .accessCdf(pooled ? table.accessCdf() : used(table.rows()))
              .constraints(new TableConstraints(Set.of(ShardKind.ROW_WISE), 0, with))
              .build());
    }
    ClusterSpec cluster =
        new ClusterSpec(
            devices, 80 * Fixtures.GIB, 1 << (8 + random.nextInt(10)), perNode, bundle.hardware());
    SearchProblem problem = problem(bundle, tables, cluster);
    checkAtMost(problem, ((SearchResult.Found) LocalSearch.search(problem, BRIEF)).predictedMs());
  }

  /** On devices that may have everything, most is known: what a plan takes, and its bound. */
  @Test
  void it_is_close_where_there_is_little_to_choose() {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 32; t++) {
      tables.add(
          Fixtures.table("t" + t, 2_000_000, 16, 10 + t)
              .withConstraints(
                  new TableConstraints(Set.of(ShardKind.TABLE_WISE), 0, Optional.empty())));
    }
    SearchProblem problem =
        problem(NODES, tables, new ClusterSpec(8, 80 * Fixtures.GIB, 65_536, 8, NODES.hardware()));
    SearchResult.Found found =
        (SearchResult.Found) LocalSearch.search(problem, SearchSettings.DEFAULTS);
    assertThat(PlanBound.of(problem, ALL))
        .isBetween(0.9 * found.predictedMs(), found.predictedMs());
  }

  /** To the last bit: not of clocks, hash order or what was computed before. */
  @Property(tries = 10)
  void it_depends_on_the_problem_only(@ForAll long seed) {
    SearchProblem problem = small(new Random(seed), true, false);
    double bound = PlanBound.of(problem, ALL);
    PlanBound.of(small(new Random(seed + 1), false, false), ALL);
    assertThat(PlanBound.of(problem, ALL)).isEqualTo(bound);
  }

  @Test
  void the_order_of_tables_changes_rounding_only() {
    List<TableSpec> tables = new ArrayList<>(Plans.randomTables(new Random(6), 20));
    ClusterSpec cluster = new ClusterSpec(16, 8 * Fixtures.GIB, 65_536, 8, NODES.hardware());
    double bound = PlanBound.of(problem(NODES, tables, cluster), ALL);
    Collections.reverse(tables);
    assertThat(PlanBound.of(problem(NODES, tables, cluster), ALL))
        .isEqualTo(bound, within(0.01 * bound));
  }

  @Test
  void a_workload_without_tables_takes_no_time() {
    ClusterSpec cluster = new ClusterSpec(4, Fixtures.GIB, 1_024, 4, NODES.hardware());
    assertThat(PlanBound.of(problem(NODES, List.of(), cluster), ALL)).isZero();
  }

  @Test
  void one_device_takes_what_it_computes() {
    List<TableSpec> tables = List.of(Fixtures.table("a", 100_000, 32, 20));
    SearchProblem problem =
        problem(NODES, tables, new ClusterSpec(1, Fixtures.GIB, 16_384, 1, NODES.hardware()));
    double bestMs = AllPlans.bestMs(problem);
    assertThat(PlanBound.of(problem, ALL)).isBetween(0.95 * bestMs, bestMs);
  }

  /** Of one width, more of them than digits counted once: they are no wider together. */
  @Property(tries = 3)
  void a_device_of_many_parts_is_not_below_it(@ForAll Random random) {
    List<TableSpec> tables = new ArrayList<>();
    int columns = 4 << random.nextInt(7);
    for (int t = 505 + random.nextInt(200); t > 0; t--) {
      tables.add(Fixtures.table("t" + t, 1_000 + random.nextInt(100_000), columns, 1 + t % 9));
    }
    SearchProblem problem =
        problem(H200, tables, new ClusterSpec(1, 1_024 * Fixtures.GIB, 16_384, 1, H200.hardware()));
    double ms =
        ((SearchResult.Found) LocalSearch.search(problem, SearchSettings.QUICK)).predictedMs();
    assertThat(PlanBound.of(problem, ALL)).isPositive().isLessThanOrEqualTo(ms);
  }
}
