package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.StepCost;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Plans with every kind of shard. */
class KindsTest {
  static final ModelBundle BUNDLE = TestModels.nodes();
  static final CostModel MODEL = new CostModel(BUNDLE);
  static final PlainTowers TOWERS = new PlainTowers(BUNDLE);

  /** Its costs have parts for each launch group of a device. */
  private static final ModelBundle H200 = TestModels.h200();

  private static final SearchSettings BRIEF = settings(300);

  private static SearchSettings settings(long evaluationsPerTable) {
    return Fixtures.settings(evaluationsPerTable, 2_000, 10, 10, 0, 1_000);
  }

  static SearchProblem problem(List<TableSpec> tables, ClusterSpec cluster, PlanShards running) {
    return new SearchProblem(TOWERS.predict(tables, cluster), cluster, MODEL, running);
  }

  static ClusterSpec cluster(int devices, int devicesPerNode, long memory) {
    return new ClusterSpec(devices, memory, 16_384, devicesPerNode, MODEL.hardware());
  }

  private static List<TableSpec> tables(Random random, int count) {
    List<TableSpec> tables = new ArrayList<>(Plans.randomTables(random, count));
    tables.add(Fixtures.table("many-rows", 1L << 29, 64, 3));
    tables.add(Fixtures.table("three-rows", 3, 32, 100));
    tables.add(Fixtures.table("few-rows", 1 + random.nextInt(20), 32, 100));
    return tables;
  }

  /** Everything that a plan must be, whatever the tables, the devices and the memory. */
  @Property(tries = 12)
  void plans_hold_each_cell_and_keep_to_memory(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random, 4 + random.nextInt(10));
    int perNode = 1 + random.nextInt(4);
    ClusterSpec cluster =
        cluster(
            perNode * (1 + random.nextInt(4)), perNode, (40 + random.nextInt(200)) * Fixtures.GIB);
    SearchProblem problem = problem(tables, cluster, PlanShards.NONE);
    SearchResult result = CheckedSearch.search(problem, BRIEF);
    if (result instanceof SearchResult.Found found) {
      check(problem, found);
      assertThat(Plans.digest(LocalSearch.search(problem, BRIEF))).isEqualTo(Plans.digest(result));
    } else {
      // Rows can be split over all devices, so that the sum of all bytes decides.
      long bytes = tables.stream().mapToLong(TableSpec::bytes).sum();
      assertThat(bytes).isGreaterThan(cluster.usableBytes() / 2);
    }
  }

  /** Copies and shards, in two precisions: each device has up to four launch groups. */
  @Property(tries = 12)
  void costs_of_launch_groups_are_those_from_scratch_after_any_moves(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables =
        tables(random, 4 + random.nextInt(10)).stream()
            .map(
                table ->
                    TableSpecBuilder.builder(table)
                        .bytesPerElement(random.nextBoolean() ? 2 : 4)
                        .build())
            .toList();
    ClusterSpec cluster =
        new ClusterSpec(8, (40 + random.nextInt(200)) * Fixtures.GIB, 16_384, 4, H200.hardware());
    SearchProblem problem =
        new SearchProblem(
            new PlainTowers(H200).predict(tables, cluster),
            cluster,
            new CostModel(H200),
            PlanShards.NONE);
    if (CheckedSearch.search(problem, BRIEF) instanceof SearchResult.Found found) {
      check(problem, found);
    }
  }

  static void check(SearchProblem problem, SearchResult.Found found) {
    ClusterSpec cluster = problem.cluster();
    List<TableSpec> tables = problem.tables().stream().map(t -> t.table()).toList();
    long[] bytes = new long[cluster.devices()];
    long[] hostBytes = new long[cluster.devices()];
    for (TableSpec table : tables) {
      List<Shard> shards =
          found.shards().stream().filter(s -> s.table().equals(table.name())).toList();
      Sharding sharding = Sharding.of(table, Plans.withAllIds(shards), cluster);
      Shard other = HotRows.others(shards).get(0);
      assertThat(sharding.shards(table, cluster))
          .extracting(shard -> shard.isCopied() ? shard : other.at(shard.region(), shard.device()))
          .isEqualTo(shards);
      assertThat(shards.stream().mapToDouble(s -> Fixtures.elements(s.region())).sum())
          .isEqualTo((double) table.rows() * table.columns());
      shards.forEach(
          s ->
              s.holders(cluster.devices())
                  .forEach(
                      d -> {
                        long whole = s.region().bytes(table);
                        bytes[d] += (long) Math.ceil(s.cacheShare().orElse(1) * whole);
                        hostBytes[d] += s.cacheShare().isPresent() ? whole : 0;
                      }));
      List<Shard> others = HotRows.others(shards);
      assertThat(others.stream().map(Shard::columns).distinct()).hasSize(1);
      assertThat(others.stream().map(Shard::device)).doesNotHaveDuplicates();
      ShardScope scope = others.get(0).kind().scope();
      if (scope == ShardScope.NODE || scope == ShardScope.CLUSTER) {
        long parts = others.stream().map(Shard::columnOffset).distinct().count();
        assertThat(others)
            .as("no device is without rows")
            .hasSize((int) parts * scope.devices(cluster));
      }
    }
    for (int d = 0; d < bytes.length; d++) {
      assertThat(bytes[d]).isLessThanOrEqualTo(cluster.usableMemory().bytes(d));
      assertThat(hostBytes[d]).isLessThanOrEqualTo(cluster.hostMemoryBytesPerDevice());
      // Blocks of rows count as the first one of their part.
      assertThat(found.deviceCosts().get(d).hostMemoryBytes())
          .isBetween(hostBytes[d], cluster.hostMemoryBytesPerDevice());
    }
    CostModel model = problem.model();
    StepCost cost =
        StepCosts.of(tables, found.shards(), cluster, model, new PlainTowers(model.bundle()));
    assertThat(found.predictedMs())
        .isCloseTo(cost.predictedMs(), org.assertj.core.data.Offset.offset(1e-9));
    StepCost recorded = StepCosts.of(problem.tables(), found.shards(), cluster, model);
    assertThat(recorded.predictedMs()).isEqualTo(found.predictedMs());
    for (int d = 0; d < bytes.length; d++) {
      assertThat(recorded.computeMs()[d]).isEqualTo(found.deviceCosts().get(d).computeMs());
    }
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isLessThanOrEqualTo(found.predictedMs());
  }

  /** A running plan of an earlier version may have devices without rows. */
  @Test
  void a_table_leaves_kinds_in_which_a_device_has_none_of_its_rows() {
    ClusterSpec cluster = cluster(4, 2, Fixtures.GIB);
    for (int rows = 1; rows <= 9; rows++) {
      TableSpec table = Fixtures.table("a", rows, 16, 2);
      List<Shard> running = new Sharding.RowWise().shards(table, cluster);
      SearchProblem problem = problem(List.of(table), cluster, new PlanShards(running, 4));
      List<ShardScope> scopes =
          problem.tables().get(0).towers().keySet().stream()
              .map(option -> option.part().scope())
              .toList();
      boolean isSplit = rows == 4 || rows == 7 || rows == 8;
      assertThat(running).hasSize(isSplit ? 4 : Math.min(rows, 3));
      assertThat(scopes.contains(ShardScope.CLUSTER)).as("%d rows", rows).isEqualTo(isSplit);
      assertThat(scopes.contains(ShardScope.NODE)).as("%d rows", rows).isEqualTo(rows >= 2);
      SearchResult.Found found =
          (SearchResult.Found)
              CheckedSearch.search(problem, Fixtures.settings(300, 0, 10, 10, 0, 1_000));
      check(problem, found);
      assertThat(found.shards().equals(running)).as("%d rows", rows).isEqualTo(isSplit);
    }
  }

  @Test
  void a_table_larger_than_a_node_is_split_over_all_devices() {
    TableSpec table = Fixtures.table("huge", 1L << 35, 4, 20);
    ClusterSpec cluster = cluster(8, 4, 80 * Fixtures.GIB);
    assertThat(kinds(problem(List.of(table), cluster, PlanShards.NONE)))
        .containsExactly(ShardKind.ROW_WISE);
  }

  @Test
  void small_tables_with_many_lookups_are_copied() {
    List<TableSpec> tables = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      tables.add(Fixtures.table("t" + i, 200, 128, 150));
    }
    assertThat(kinds(problem(tables, cluster(16, 8, 80 * Fixtures.GIB), PlanShards.NONE)))
        .contains(ShardKind.DATA_PARALLEL);
  }

  /** An all-reduce of a few bytes takes less time than two all-to-alls. */
  @Test
  void a_tiny_table_alone_is_copied() {
    List<TableSpec> tables = List.of(Fixtures.table("tiny", 100, 4, 1));
    assertThat(kinds(problem(tables, cluster(16, 8, 80 * Fixtures.GIB), PlanShards.NONE)))
        .containsExactly(ShardKind.DATA_PARALLEL);
  }

  /** Too many rows for the narrowest shard of columns; rows can be split. */
  @Test
  void a_table_that_columns_cannot_hold_has_its_rows_split() {
    TableSpec table = Fixtures.table("tall", 500_000_000, 16, 1);
    assertThat(kinds(problem(List.of(table), cluster(16, 8, 6 * Fixtures.GIB), PlanShards.NONE)))
        .containsAnyOf(ShardKind.ROW_WISE, ShardKind.TABLE_ROW_WISE, ShardKind.GRID_SHARD);
    SearchProblem tooSmall = problem(List.of(table), cluster(2, 1, Fixtures.GIB), PlanShards.NONE);
    assertThat(LocalSearch.search(tooSmall, BRIEF))
        .isInstanceOfSatisfying(
            SearchResult.NotFound.class,
            notFound -> {
              assertThat(notFound.shortfall().proven()).isTrue();
              assertThat(notFound.shortfall().message())
                  .startsWith("The narrowest shard of table tall, 4 columns, needs 7.5 GiB");
            });
  }

  private static Set<ShardKind> kinds(SearchProblem problem) {
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, BRIEF);
    check(problem, found);
    return found.shards().stream().map(Shard::kind).collect(Collectors.toSet());
  }

  @Property(tries = 4)
  void a_larger_budget_is_never_worse(@ForAll long seed) {
    SearchProblem problem =
        problem(tables(new Random(seed), 12), cluster(8, 4, 160 * Fixtures.GIB), PlanShards.NONE);
    double before = Double.POSITIVE_INFINITY;
    for (long budget : new long[] {10, 100, 1_000}) {
      SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, settings(budget));
      assertThat(found.predictedMs()).isLessThanOrEqualTo(before);
      before = found.predictedMs();
    }
  }

  /** A running plan of any kinds is where its repair starts. */
  @Property(tries = 6)
  void a_repair_starts_at_the_running_plan(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random, 10);
    ClusterSpec cluster = cluster(8, 4, 160 * Fixtures.GIB);
    SearchProblem first = problem(tables, cluster, PlanShards.NONE);
    SearchResult.Found running = (SearchResult.Found) LocalSearch.search(first, BRIEF);
    List<TableSpec> more = new ArrayList<>(tables);
    more.add(Plans.randomTable(random, "zz"));
    SearchProblem changed =
        problem(more, cluster, new PlanShards(running.shards(), cluster.devices()));
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(changed, settings(300));
    check(changed, found);
    SearchSettings moveNothing =
        SearchSettingsBuilder.builder(settings(300)).repairEvaluations(0).build();
    SearchResult.Found kept = (SearchResult.Found) CheckedSearch.search(changed, moveNothing);
    assertThat(kept.shards()).containsAll(running.shards());
  }

  /** Three units on two devices: only uneven parts would use both. */
  @Test
  void a_table_that_has_no_equal_parts_stays_whole() {
    List<TableSpec> tables = List.of(Fixtures.table("heavy", 5_000_000, 12, 150));
    ClusterSpec cluster = cluster(2, 2, 80 * Fixtures.GIB);
    SearchProblem problem =
        new SearchProblem(
            TOWERS.predict(tables, cluster.batchSize()), cluster, MODEL, PlanShards.NONE);
    assertThat(kinds(problem)).containsExactly(ShardKind.TABLE_WISE);
  }

  @Test
  void one_device_holds_all_tables() {
    SearchProblem problem =
        problem(
            List.of(Fixtures.table("a", 1, 4, 1), Fixtures.table("b", 100, 128, 9)),
            cluster(1, 1, Fixtures.GIB),
            PlanShards.NONE);
    assertThat(kinds(problem)).containsExactly(ShardKind.TABLE_WISE);
  }

  /** The last node is smaller: no table is split over a node, and all else is as it was. */
  @Test
  void nodes_of_different_sizes_hold_no_split_tables() {
    SearchProblem problem =
        problem(tables(new Random(5), 10), cluster(7, 4, 100 * Fixtures.GIB), PlanShards.NONE);
    assertThat(kinds(problem)).doesNotContain(ShardKind.TABLE_ROW_WISE, ShardKind.GRID_SHARD);
  }
}
