package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.testing.StepCosts;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Blocks of rows on any devices. */
class PartialRowWiseTest {
  private static final List<ShardKind> KINDS = List.of(ShardKind.values());
  private static final SearchSettings BRIEF = Fixtures.settings(300, 2_000, 10, 10, 0, 1_000);

  private static TableSpec named(TableSpec table, ShardKind... others) {
    Set<ShardKind> kinds = EnumSet.of(ShardKind.PARTIAL_ROW_WISE, others);
    return table.withConstraints(TableConstraints.NONE.withKinds(kinds));
  }

  private static TableSpec withAll(TableSpec table) {
    return named(table, ShardKind.values());
  }

  private static SearchProblem problem(
      ClusterSpec cluster, PlanShards running, TableSpec... tables) {
    return KindsTest.problem(List.of(tables), cluster, running);
  }

  private static SearchResult.Found search(SearchProblem problem) {
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(problem, BRIEF);
    KindsTest.check(problem, found);
    return found;
  }

  private static List<Integer> devices(List<Shard> shards) {
    return shards.stream().map(Shard::device).toList();
  }

  private static List<Integer> blocks(TableSpec table, ClusterSpec cluster) {
    return KindsTest.problem(List.of(table), cluster, PlanShards.NONE)
        .tables()
        .get(0)
        .towers()
        .keySet()
        .stream()
        .map(option -> option.part().blocks())
        .filter(blocks -> blocks > 1)
        .toList();
  }

  /** A table that no device can hold, on devices of which each column part sends as much. */
  @Test
  void a_table_that_is_too_large_for_a_device_is_cut_into_blocks() {
    TableSpec table = named(Fixtures.table("a", 1L << 28, 4, 20));
    ClusterSpec cluster = KindsTest.cluster(8, 4, 2 * Fixtures.GIB);
    List<Shard> shards = search(problem(cluster, PlanShards.NONE, table)).shards();
    assertThat(shards).hasSizeBetween(3, 8);
    assertThat(shards).allMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
    assertThat(shards).allMatch(shard -> shard.columns() == 4);
    long block = Sharding.blockRows(table, shards.size());
    for (int i = 0; i < shards.size(); i++) {
      assertThat(shards.get(i).rowOffset()).isEqualTo(i * block);
    }
  }

  /** One table takes longer than all others on a device, and its four columns cannot be cut. */
  @Test
  void a_search_chooses_blocks_where_they_pay_and_only_if_they_are_named() {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 15; t++) {
      tables.add(Fixtures.table("t" + t, 1_000_000 + t, 64, 10));
    }
    TableSpec hot = Fixtures.table("u-hot", 100_000_000, 4, 200);
    tables.add(hot);
    ClusterSpec cluster = KindsTest.cluster(16, 8, 16 * Fixtures.GIB);
    SearchResult.Found without = search(KindsTest.problem(tables, cluster, PlanShards.NONE));
    tables.set(15, withAll(hot));
    SearchResult.Found with = search(KindsTest.problem(tables, cluster, PlanShards.NONE));
    assertThat(without.shards()).noneMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
    assertThat(with.shards())
        .filteredOn(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE)
        .hasSizeGreaterThan(1)
        .allMatch(shard -> shard.table().equals("u-hot"));
    assertThat(with.predictedMs()).isLessThan(without.predictedMs());
  }

  @Test
  void blocks_are_predicted_of_pooled_tables_that_name_them_and_none_is_without_rows() {
    TableSpec table = Fixtures.table("a", 1_000, 16, 2);
    ClusterSpec few = KindsTest.cluster(6, 2, Fixtures.GIB);
    assertThat(blocks(table, few)).isEmpty();
    assertThat(blocks(withAll(table), few)).containsExactly(2, 3, 4, 5, 6);
    TableSpec unpooled = TableSpecBuilder.builder(withAll(table)).pooled(false).build();
    assertThat(blocks(unpooled, few)).isEmpty();
    TableSpec five = TableSpecBuilder.builder(withAll(table)).rows(5).build();
    assertThat(blocks(five, few)).as("blocks of 3, 2 and 1 rows").containsExactly(2, 3, 5);
    assertThat(blocks(withAll(table), KindsTest.cluster(1, 1, Fixtures.GIB))).isEmpty();
  }

  @Test
  void on_many_devices_some_numbers_of_blocks_are_predicted() {
    assertThat(
            blocks(
                withAll(Fixtures.table("a", 1_000_000, 16, 2)),
                KindsTest.cluster(70, 8, Fixtures.GIB)))
        .containsExactly(2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 31, 39, 49, 61, 70);
  }

  @Test
  void blocks_have_no_caches() {
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(KindsTest.cluster(4, 4, Fixtures.GIB))
            .hostMemoryBytesPerDevice(100 * Fixtures.GIB)
            .build();
    TablePrediction table =
        problem(cluster, PlanShards.NONE, withAll(Fixtures.table("a", 1 << 28, 16, 2)))
            .tables()
            .get(0);
    List<TablePart> parts = table.towers().keySet().stream().map(Option::part).toList();
    assertThat(parts).anyMatch(part -> part.cacheShare().isPresent());
    assertThat(parts).anyMatch(part -> part.blocks() > 1);
    assertThat(parts).noneMatch(part -> part.blocks() > 1 && part.cacheShare().isPresent());
  }

  /** The time of a block is that of so many rows, lookups and outputs, alone on a device. */
  @Test
  void a_block_sends_all_outputs_and_has_its_share_of_the_lookups() {
    TableSpec table = named(Fixtures.table("a", 9_000, 16, 6));
    ClusterSpec cluster = KindsTest.cluster(3, 3, Fixtures.GIB);
    SearchProblem problem = problem(cluster, PlanShards.NONE, table);
    List<Shard> shards = new Sharding.PartialRowWise(List.of(2, 0, 1)).shards(table, cluster);
    StepCost cost = StepCosts.of(problem.tables(), shards, cluster, KindsTest.MODEL);
    TableSpec third = TableSpecBuilder.builder(table).constraints(TableConstraints.NONE).build();
    List<TableSpec> columns = new ArrayList<>();
    List<Shard> onDevices = new ArrayList<>();
    for (int d = 0; d < 3; d++) {
      TableSpec whole = TableSpecBuilder.builder(third).name("c" + d).build();
      columns.add(whole);
      onDevices.add(Fixtures.shard(whole, 0, 16, d));
    }
    StepCost ofWholes =
        StepCosts.of(
            KindsTest.TOWERS.predict(columns, cluster), onDevices, cluster, KindsTest.MODEL);
    for (int d = 0; d < 3; d++) {
      assertThat(cost.backwardCommMs()[d])
          .as("each device sends as much as one with all rows")
          .isCloseTo(ofWholes.backwardCommMs()[d], within(1e-12));
      assertThat(cost.computeMs()[d]).isLessThan(ofWholes.computeMs()[d]);
    }
  }

  /** Kinds of any tables, and what runs: everything that a plan must be. */
  @Property(tries = 60)
  void plans_hold_each_cell_and_cost_what_they_say(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (TableSpec table : Plans.randomTables(random, 2 + random.nextInt(6))) {
      tables.add(random(random, table));
    }
    int perNode = 1 + random.nextInt(4);
    ClusterSpec cluster =
        KindsTest.cluster(
            Math.max(1, perNode * (1 + random.nextInt(4)) - random.nextInt(2)),
            perNode,
            (1 + random.nextInt(40)) * Fixtures.GIB);
    SearchProblem problem = KindsTest.problem(tables, cluster, PlanShards.NONE);
    if (!(CheckedSearch.search(problem, BRIEF) instanceof SearchResult.Found found)) {
      return;
    }
    KindsTest.check(problem, found);
    check(tables, found.shards());
    ClusterSpec next =
        ClusterSpecBuilder.builder(cluster)
            .devices(Math.max(1, cluster.devices() - random.nextInt(2) + random.nextInt(3)))
            .build();
    List<TableSpec> changed =
        tables.stream().map(t -> random.nextInt(4) == 0 ? random(random, t) : t).toList();
    SearchProblem repair =
        KindsTest.problem(changed, next, new PlanShards(found.shards(), cluster.devices()));
    if (CheckedSearch.search(repair, BRIEF) instanceof SearchResult.Found repaired) {
      KindsTest.check(repair, repaired);
      check(changed, repaired.shards());
    }
  }

  private static TableSpec random(Random random, TableSpec table) {
    TableSpec pooled =
        TableSpecBuilder.builder(table.withConstraints(TableConstraints.NONE))
            .pooled(random.nextInt(6) > 0)
            .rows(random.nextBoolean() ? 1 + random.nextInt(20) : table.rows())
            .build();
    return switch (random.nextInt(3)) {
      case 0 -> pooled.withConstraints(TableConstraints.NONE);
      case 1 -> withAll(pooled);
      default ->
          named(
              TableSpecBuilder.builder(pooled).pooled(true).build(),
              KINDS.get(random.nextInt(KINDS.size())));
    };
  }

  private static void check(List<TableSpec> tables, List<Shard> shards) {
    for (TableSpec table : tables) {
      assertThat(shards)
          .filteredOn(shard -> shard.table().equals(table.name()))
          .allMatch(
              shard ->
                  shard.kind() != ShardKind.PARTIAL_ROW_WISE
                      || table.constraints().kinds().contains(ShardKind.PARTIAL_ROW_WISE));
    }
  }

  /** A device that comes or goes leaves the other blocks where they are. */
  @Test
  void blocks_stay_on_their_devices_if_one_is_lost() {
    TableSpec table = named(Fixtures.table("a", 1_000_000, 16, 2));
    ClusterSpec cluster = KindsTest.cluster(6, 2, Fixtures.GIB);
    List<Shard> running = new Sharding.PartialRowWise(List.of(3, 5, 1)).shards(table, cluster);
    ClusterSpec next = ClusterSpecBuilder.builder(cluster).devices(5).build();
    SearchProblem problem = problem(next, new PlanShards(running, 6), table);
    SearchResult.Found found =
        (SearchResult.Found)
            CheckedSearch.search(problem, Fixtures.settings(300, 0, 10, 10, 0, 1_000));
    KindsTest.check(problem, found);
    List<Integer> devices = devices(found.shards());
    assertThat(devices).hasSize(3);
    assertThat(devices.get(0)).isEqualTo(3);
    assertThat(devices.get(1)).isIn(0, 2, 4);
    assertThat(devices.get(2)).isEqualTo(1);
  }

  @Test
  void blocks_that_are_no_longer_named_are_given_up() {
    TableSpec table = Fixtures.table("a", 1_000_000, 16, 2);
    ClusterSpec cluster = KindsTest.cluster(6, 2, Fixtures.GIB);
    List<Shard> running = new Sharding.PartialRowWise(List.of(3, 5, 1)).shards(table, cluster);
    SearchProblem problem = problem(cluster, new PlanShards(running, 6), table);
    assertThat(search(problem).shards())
        .noneMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
  }

  /** The blocks of a running plan are counted, since those of a table with more rows are larger. */
  @Test
  void a_running_plan_of_fewer_rows_is_predicted_with_as_many_blocks() {
    TableSpec small = named(Fixtures.table("a", 9_000, 16, 2));
    TableSpec large = TableSpecBuilder.builder(small).rows(10_007).build();
    ClusterSpec cluster = KindsTest.cluster(6, 2, Fixtures.GIB);
    CostModel model = KindsTest.MODEL;
    Sharding sharding = new Sharding.PartialRowWise(List.of(3, 5, 1, 0));
    List<TablePrediction> predicted = KindsTest.TOWERS.predict(List.of(large), cluster);
    StepCost ofRunning = StepCosts.of(predicted, sharding.shards(small, cluster), cluster, model);
    StepCost ofNew = StepCosts.of(predicted, sharding.shards(large, cluster), cluster, model);
    assertThat(ofRunning.predictedMs()).isEqualTo(ofNew.predictedMs()).isPositive();
  }

  /**
   * Devices of tables that share them have none in common: documented, and named if that is all.
   */
  @Test
  void tables_that_share_devices_have_no_blocks() {
    TableSpec a = withAll(Fixtures.table("a", 1_000_000, 16, 2));
    TableSpec b =
        Fixtures.table("b", 1_000_000, 16, 2)
            .withConstraints(
                new TableConstraints(EnumSet.allOf(ShardKind.class), 0, Optional.of("a")));
    ClusterSpec cluster = KindsTest.cluster(6, 2, Fixtures.GIB);
    assertThat(search(problem(cluster, PlanShards.NONE, a, b)).shards())
        .noneMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
    SearchResult.NotFound none =
        (SearchResult.NotFound)
            LocalSearch.search(
                problem(
                    cluster,
                    PlanShards.NONE,
                    named(a),
                    b.withConstraints(
                        new TableConstraints(
                            Set.of(ShardKind.PARTIAL_ROW_WISE), 0, Optional.of("a")))),
                BRIEF);
    assertThat(none.shortfall().message()).contains("a (partial_row_wise), b (partial_row_wise)");
  }

  @Test
  void blocks_are_on_single_devices() {
    OptionalDouble none = OptionalDouble.empty();
    assertThat(new TablePart(ShardScope.DEVICE, 16, 2, none).count(16)).isEqualTo(2);
    for (ShardScope scope : ShardScope.values()) {
      int blocks = scope == ShardScope.DEVICE ? 0 : 2;
      assertThatThrownBy(() -> new TablePart(scope, 16, blocks, none))
          .hasMessage(
              "blocks of rows of a part must be at least 1, and several are on single devices; got %d of scope %s"
                  .formatted(blocks, scope.label()));
    }
  }

  @Test
  void explanations_say_that_rows_are_split() {
    TableSpec table = named(Fixtures.table("a", 1L << 28, 4, 20));
    ClusterSpec cluster = KindsTest.cluster(8, 4, 2 * Fixtures.GIB);
    assertThat(
            search(problem(cluster, PlanShards.NONE, table)).insight().orElseThrow().explanations())
        .extracting(explanation -> explanation.kind().name())
        .containsExactly("KIND");
  }
}
