package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.TableShapes;
import io.shardtide.option.Options;
import io.shardtide.option.PredictionInputs;
import io.shardtide.option.RowUse;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.UseKnowledge;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Plans of tables that device memory does not hold: their rows are in host memory, with caches. */
class CachesTest {
  private static final SearchSettings BRIEF = Fixtures.settings(200, 1_000, 10, 10, 0, 1_000);
  private static final Pattern WOULD_DO =
      Pattern.compile("With ([0-9.]+) (MiB|GiB|TiB) of host memory a device, cached tables would");

  private static ClusterSpec cluster(int devices, int perNode, long memory, long hostMemory) {
    return ClusterSpecBuilder.builder(KindsTest.cluster(devices, perNode, memory))
        .hostMemoryBytesPerDevice(hostMemory)
        .build();
  }

  private static SearchProblem problem(List<TableSpec> tables, ClusterSpec cluster) {
    return KindsTest.problem(tables, cluster, PlanShards.NONE);
  }

  /**
   * Of 2 devices a node, with room for a cache of a quarter of the columns: there are two halves.
   */
  @Test
  void cached_parts_that_stay_in_a_node_are_as_many_as_its_devices() {
    TableSpec table =
        Fixtures.table("a", 1L << 29, 64, 1)
            .withConstraints(TableConstraints.NONE.withKinds(Set.of(ShardKind.TABLE_COLUMN_WISE)));
    ClusterSpec cluster = cluster(4, 2, Fixtures.GIB / 2, 200 * Fixtures.GIB);
    SearchResult.NotFound result =
        (SearchResult.NotFound) LocalSearch.search(problem(List.of(table), cluster), BRIEF);
    assertThat(result.shortfall().proven()).isTrue();
    assertThat(result.shortfall().message()).contains("536,870,912 rows of 32 columns");
  }

  /** A table whose most used rows get more of the lookups the smaller the exponent is. */
  private static TableSpec used(TableSpec table, double exponent) {
    List<Double> shares = new ArrayList<>();
    for (double rows = 1; rows < table.rows(); rows *= 4) {
      shares.add(Math.pow(rows / table.rows(), exponent));
    }
    shares.add(1.0);
    return TableSpecBuilder.builder(table).accessCdf(new AccessCdf(shares)).build();
  }

  private static List<TableSpec> tables(Random random) {
    List<TableSpec> tables = new ArrayList<>();
    List<TableSpec> plain = new ArrayList<>(Plans.randomTables(random, 3 + random.nextInt(8)));
    for (int t = 0; t < 4; t++) {
      long rows = 1L << (20 + random.nextInt(8));
      plain.add(Fixtures.table("u" + t, rows, 4 << random.nextInt(6), 1 + random.nextInt(20)));
    }
    for (TableSpec table : plain) {
      TableSpec used = random.nextBoolean() ? table : used(table, 0.05 + random.nextDouble());
      tables.add(
          TableSpecBuilder.builder(used)
              .pooled(random.nextInt(4) > 0)
              .constraints(constraints(random))
              .build());
    }
    return tables;
  }

  private static TableConstraints constraints(Random random) {
    TableConstraints cached = TableConstraints.NONE.withMayBeCached(random.nextInt(4) > 0);
    return switch (random.nextInt(6)) {
      case 0 -> cached.withKinds(Set.of(ShardKind.DATA_PARALLEL));
      case 1 -> cached.withKinds(Set.of(ShardKind.ROW_WISE, ShardKind.DATA_PARALLEL));
      default -> cached;
    };
  }

  private static ClusterSpec cluster(Random random) {
    int perNode = 1 + random.nextInt(4);
    int devices = Math.max(1, perNode * (1 + random.nextInt(4)) - random.nextInt(2));
    return cluster(
        devices,
        perNode,
        (1 + random.nextInt(24)) * Fixtures.GIB,
        (long) random.nextInt(3) * random.nextInt(60) * Fixtures.GIB);
  }

  private static void check(SearchProblem problem, SearchResult result) {
    if (result instanceof SearchResult.Found found) {
      KindsTest.check(problem, found);
      for (var table : problem.tables()) {
        List<Shard> shards =
            found.shards().stream().filter(s -> s.table().equals(table.table().name())).toList();
        assertThat(shards.stream().filter(s -> !s.isCopied()).map(Shard::cacheShare).distinct())
            .hasSizeLessThan(2);
        if (!table.table().constraints().mayBeCached()) {
          assertThat(shards).allMatch(shard -> shard.cacheShare().isEmpty());
        }
      }
    }
  }

  @Property(tries = 30)
  void a_plan_keeps_to_both_memories(@ForAll long seed) {
    Random random = new Random(seed);
    SearchProblem problem = KindsTest.problem(tables(random), cluster(random), PlanShards.NONE);
    SearchResult result = CheckedSearch.search(problem, BRIEF);
    assertThat(Plans.digest(LocalSearch.search(problem, BRIEF))).isEqualTo(Plans.digest(result));
    check(problem, result);
  }

  /** One of two parts has to leave its device; the other one and its cache stay. */
  @Test
  void a_part_that_is_placed_again_has_the_cache_of_those_that_stayed() {
    a_repair_keeps_to_both_memories(5881501843096L);
  }

  @Property(tries = 20)
  void a_repair_keeps_to_both_memories(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random);
    ClusterSpec before = cluster(random);
    SearchResult running = LocalSearch.search(problem(tables, before), BRIEF);
    if (running instanceof SearchResult.Found found) {
      ClusterSpec now = random.nextBoolean() ? before : cluster(random);
      List<TableSpec> changed = new ArrayList<>(tables);
      changed.set(0, changed.get(0).withPoolingFactor(7));
      SearchProblem problem =
          KindsTest.problem(changed, now, new PlanShards(found.shards(), before.devices()));
      check(problem, CheckedSearch.search(problem, BRIEF));
    }
  }

  /** What a message promises is tried, to the byte. */
  @Property(tries = 40)
  void so_much_host_memory_as_is_said_would_do(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random);
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(cluster(random)).hostMemoryBytesPerDevice(0).build();
    if (LocalSearch.search(problem(tables, cluster), BRIEF) instanceof SearchResult.NotFound none) {
      Matcher said = WOULD_DO.matcher(none.shortfall().message());
      if (said.find()) {
        double unit = Math.pow(1024, List.of("MiB", "GiB", "TiB").indexOf(said.group(2)) + 2);
        long bytes = (long) Math.ceil(Double.parseDouble(said.group(1)) * unit);
        ClusterSpec more =
            ClusterSpecBuilder.builder(cluster).hostMemoryBytesPerDevice(bytes).build();
        assertThat(LocalSearch.search(problem(tables, more), BRIEF))
            .as(none.shortfall().message())
            .isInstanceOf(SearchResult.Found.class);
      }
    }
  }

  /** Copies are in device memory, however much host memory there is. */
  @Test
  void host_memory_is_not_advised_for_tables_that_may_only_be_copied() {
    TableSpec copied =
        Fixtures.table("copied", 1L << 26, 64, 1)
            .withConstraints(TableConstraints.NONE.withKinds(Set.of(ShardKind.DATA_PARALLEL)));
    List<TableSpec> tables = List.of(copied, Fixtures.table("free", 1L << 20, 64, 1));
    SearchResult.NotFound none =
        (SearchResult.NotFound)
            LocalSearch.search(problem(tables, cluster(4, 4, 10 * Fixtures.GIB, 0)), BRIEF);
    assertThat(none.shortfall().message())
        .doesNotContain("host memory")
        .endsWith("with column_wise allowed for table copied it would fit");
  }

  @Test
  void tables_are_cached_only_where_they_do_not_fit() {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      tables.add(used(Fixtures.table("t" + t, 1L << 26, 64, 10), 0.2));
    }
    // 128 GiB of tables.
    assertThat(planned(tables, cluster(4, 4, 40 * Fixtures.GIB, 100 * Fixtures.GIB)))
        .allMatch(shard -> shard.cacheShare().isEmpty());
    assertThat(planned(tables, cluster(4, 4, 20 * Fixtures.GIB, 100 * Fixtures.GIB)))
        .anyMatch(shard -> shard.cacheShare().isPresent());
  }

  /** Rows that are hardly used need no device memory. */
  @Test
  void device_memory_goes_to_the_table_that_gains_more() {
    List<TableSpec> tables =
        List.of(
            used(Fixtures.table("even", 1L << 26, 64, 20), 1),
            used(Fixtures.table("skewed", 1L << 26, 64, 20), 0.05));
    List<Shard> shards = planned(tables, cluster(2, 2, 10 * Fixtures.GIB, 40 * Fixtures.GIB));
    assertThat(share(shards, "skewed")).isLessThan(share(shards, "even"));
  }

  @Test
  void a_cache_is_explained_by_what_it_saves() {
    List<TableSpec> tables = List.of(used(Fixtures.table("skewed", 1L << 26, 64, 20), 0.3));
    SearchResult.Found found =
        (SearchResult.Found)
            LocalSearch.search(
                problem(tables, cluster(2, 2, 4 * Fixtures.GIB, 40 * Fixtures.GIB)), BRIEF);
    assertThat(found.insight().orElseThrow().explanations())
        .filteredOn(e -> e.kind() == Explanation.ExplainedAction.CACHE)
        .singleElement()
        .satisfies(
            e -> {
              assertThat(e.cause()).isEqualTo(Explanation.Cause.MEMORY);
              assertThat(e.gainMs()).isPositive();
            });
  }

  /** Half of the rows of this table, the most used ones, have 2^-0.3 of its lookups. */
  @Test
  void a_plan_says_how_many_lookups_miss() {
    TableSpec table = used(Fixtures.table("skewed", 1L << 26, 64, 20), 0.3);
    TableSpec other = Fixtures.table("other", 1L << 20, 64, 20);
    ClusterSpec cluster = cluster(2, 2, 40 * Fixtures.GIB, 40 * Fixtures.GIB);
    List<Shard> shards =
        new ArrayList<>(
            new Sharding.RowWise()
                .shards(table, cluster).stream()
                    .map(shard -> Plans.cached(shard, OptionalDouble.of(0.5)))
                    .toList());
    shards.addAll(new Sharding.TableWise(1).shards(other, cluster));
    assertThat(TableShapes.cacheMisses(List.of(table, other), shards, cluster))
        .singleElement()
        .satisfies(
            misses -> {
              assertThat(misses.table()).isEqualTo("skewed");
              assertThat(misses.lookupShare()).isCloseTo(1 - Math.pow(2, -0.3), within(0.01));
              assertThat(misses.known()).isEqualTo(UseKnowledge.ACCESS_CDF);
              assertThat(misses.reservation()).isEmpty();
            });
  }

  private static List<Double> offered(TableSpec table, ClusterSpec cluster) {
    return Options.of(table, PredictionInputs.of(cluster)).all().stream()
        .flatMap(option -> option.part().cacheShare().stream().boxed())
        .distinct()
        .sorted()
        .toList();
  }

  private static ClusterSpec prefetching(ClusterSpec cluster) {
    return ClusterSpecBuilder.builder(cluster)
        .countsStepMemory(true)
        .pipeline(Optional.of(TrainingPipeline.PREFETCH))
        .build();
  }

  /** A batch of 16,384 touches 2.5% of the rows of this table, two touch 4.9%. */
  @Test
  void caches_hold_what_they_need_at_once() {
    TableSpec table = Fixtures.table("a", 26_214_400, 64, 40.508);
    ClusterSpec cluster = cluster(2, 2, 40 * Fixtures.GIB, 40 * Fixtures.GIB);
    assertThat(RowUse.leastCacheShare(table, cluster)).isCloseTo(0.025, within(1e-4));
    assertThat(offered(table, cluster)).startsWith(0.034, 0.051).hasSize(9);
    assertThat(offered(table, prefetching(cluster))).startsWith(0.051, 0.076).hasSize(8);
    TableSpec unused = table.withPoolingFactor(1e-3);
    assertThat(offered(unused, prefetching(cluster))).startsWith(0.01, 0.015).hasSize(12);
    TableSpec busy = table.withPoolingFactor(1e4);
    assertThat(offered(busy, cluster)).as("all rows are needed").isEmpty();
  }

  /** Whoever names a size gets it, and the plan says that it is too small. */
  @Test
  void a_smaller_cache_is_planned_where_it_is_asked_for() {
    TableSpec table =
        TableSpecBuilder.builder(Fixtures.table("a", 26_214_400, 64, 40.508))
            .kernel(
                TableKernelBuilder.builder(TableKernel.NONE)
                    .computeKernel(Optional.of(ComputeKernel.FUSED_UVM_CACHING))
                    .cacheLoadFactor(OptionalDouble.of(0.03))
                    .build())
            .build();
    ClusterSpec cluster = cluster(2, 2, 40 * Fixtures.GIB, 40 * Fixtures.GIB);
    for (ClusterSpec of : List.of(cluster, prefetching(cluster))) {
      assertThat(offered(table, of)).containsExactly(0.03);
      List<Shard> shards = planned(List.of(table), of);
      assertThat(share(shards, "a")).isEqualTo(0.03);
      assertThat(TableShapes.cacheMisses(List.of(table), shards, of).get(0).leastShare())
          .isEqualTo(
              of.cachedBatches() == 1
                  ? OptionalDouble.empty()
                  : OptionalDouble.of(RowUse.leastCacheShare(table, of)));
    }
  }

  /** A change of the pipeline changes predictions of tables whose caches a planner sizes. */
  @Test
  void prefetching_changes_predictions_of_caches_alone() {
    TableSpec table = Fixtures.table("a", 26_214_400, 64, 40.508);
    TableSpec small = Fixtures.table("b", 1_000, 64, 10);
    TableSpec uncached = table.withConstraints(TableConstraints.NONE.withMayBeCached(false));
    TableKernel uvm =
        TableKernelBuilder.builder(TableKernel.NONE)
            .computeKernel(Optional.of(ComputeKernel.FUSED_UVM))
            .build();
    TableKernel caching =
        TableKernelBuilder.builder(uvm)
            .computeKernel(Optional.of(ComputeKernel.FUSED_UVM_CACHING))
            .build();
    ClusterSpec cluster = cluster(2, 2, 40 * Fixtures.GIB, 40 * Fixtures.GIB);
    PredictionInputs one = PredictionInputs.of(cluster);
    PredictionInputs two = PredictionInputs.of(prefetching(cluster));
    assertThat(one).isNotEqualTo(two);
    assertThat(one.predictAlike(table, two)).isFalse();
    assertThat(one.predictAlike(withKernel(table, caching), two)).isFalse();
    assertThat(one.predictAlike(withKernel(table, uvm), two)).isTrue();
    assertThat(one.predictAlike(small, two)).isTrue();
    assertThat(one.predictAlike(uncached, two)).isTrue();
    ClusterSpec withoutHost = cluster(2, 2, 40 * Fixtures.GIB, 0);
    assertThat(PredictionInputs.of(prefetching(withoutHost)))
        .isEqualTo(PredictionInputs.of(withoutHost));
  }

  private static TableSpec withKernel(TableSpec table, TableKernel kernel) {
    return TableSpecBuilder.builder(table).kernel(kernel).build();
  }

  private static double share(List<Shard> shards, String table) {
    return shards.stream()
        .filter(shard -> shard.table().equals(table))
        .findFirst()
        .orElseThrow()
        .cacheShare()
        .orElse(1);
  }

  private static List<Shard> planned(List<TableSpec> tables, ClusterSpec cluster) {
    SearchProblem problem = problem(tables, cluster);
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, BRIEF);
    check(problem, found);
    return found.shards();
  }
}
