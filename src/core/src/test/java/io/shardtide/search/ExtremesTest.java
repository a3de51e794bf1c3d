package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Problems at the edge of what there is to search: each has an answer, soon, and the same twice.
 */
class ExtremesTest {
  private static final SearchSettings BRIEF = Fixtures.settings(20, 1_000, 10, 10, 0, 1_000);

  /** Bytes of a row of the narrowest table. */
  private static final long ROW_BYTES = 4L * TableSpec.COLUMN_UNIT;

  /** They fill two devices with room for 100 rows each. */
  private static final List<TableSpec> TWO_FULL_DEVICES =
      List.of(
          only(narrow("a", 100), ShardKind.TABLE_WISE),
          only(narrow("b", 60), ShardKind.TABLE_WISE),
          only(narrow("c", 40), ShardKind.TABLE_WISE));

  private static TableSpec only(TableSpec table, ShardKind kind) {
    return table.withConstraints(TableConstraints.NONE.withKinds(EnumSet.of(kind)));
  }

  /** A table that cannot be cut by columns. */
  private static TableSpec narrow(String name, long rows) {
    return Fixtures.table(name, rows, TableSpec.COLUMN_UNIT, 5);
  }

  private static SearchProblem problem(List<TableSpec> tables, ClusterSpec cluster) {
    return KindsTest.problem(tables, cluster, PlanShards.NONE);
  }

  private static SearchResult search(SearchProblem problem) {
    SearchResult result = CheckedSearch.search(problem, BRIEF);
    assertThat(LocalSearch.search(problem, BRIEF)).isEqualTo(result);
    if (result instanceof SearchResult.Found found) {
      KindsTest.check(problem, found);
    }
    return result;
  }

  private static SearchResult.Found found(SearchProblem problem) {
    return (SearchResult.Found) search(problem);
  }

  /** Each move is possible but for the memory: no device has room for anything else. */
  @Test
  @Timeout(20)
  void where_nothing_has_room_to_move_the_first_plan_stays() {
    SearchProblem problem = problem(TWO_FULL_DEVICES, KindsTest.cluster(2, 2, 100 * ROW_BYTES));
    List<Shard> shards = found(problem).shards();
    assertThat(shards.get(1).device()).isEqualTo(shards.get(2).device());
    assertThat(shards.get(0).device()).isNotEqualTo(shards.get(1).device());
    SearchResult.Found longer =
        (SearchResult.Found) LocalSearch.search(problem, SearchSettings.QUICK);
    assertThat(longer.predictedMs()).isEqualTo(found(problem).predictedMs());
  }

  /** The same from a running plan, which any move would have to leave. */
  @Test
  @Timeout(20)
  void where_nothing_has_room_to_move_a_running_plan_stays() {
    ClusterSpec cluster = KindsTest.cluster(2, 2, 100 * ROW_BYTES);
    SearchResult.Found running = found(problem(TWO_FULL_DEVICES, cluster));
    SearchProblem again = KindsTest.problem(TWO_FULL_DEVICES, cluster, running.placed());
    assertThat(found(again).shards()).isEqualTo(running.shards());
    SearchResult.Found deep = (SearchResult.Found) LocalSearch.search(again, SearchSettings.DEEP);
    assertThat(deep.shards()).isEqualTo(running.shards());
  }

  /** Rows over all devices: a node, or a device, has too little memory for its part. */
  @Test
  void the_only_plan_that_fits_is_found() {
    ClusterSpec cluster = KindsTest.cluster(8, 4, 1_000 * ROW_BYTES);
    SearchResult.Found found = found(problem(List.of(narrow("a", 8_000)), cluster));
    assertThat(found.shards()).hasSize(8).extracting(Shard::kind).containsOnly(ShardKind.ROW_WISE);
    assertThat(found.deviceCosts()).allMatch(of -> of.memoryBytes() == 1_000 * ROW_BYTES);
  }

  /** One byte less of memory, and there is no plan; the message says how much is missing. */
  @Test
  void a_byte_less_than_the_only_plan_takes_is_too_little() {
    ClusterSpec cluster = KindsTest.cluster(8, 4, 1_000 * ROW_BYTES - 1);
    SearchResult.NotFound none =
        (SearchResult.NotFound) search(problem(List.of(narrow("a", 8_000)), cluster));
    assertThat(none.shortfall().proven()).isTrue();
    assertThat(none.shortfall().bytesShort()).isBetween(1L, 8L);
  }

  @Test
  void tables_that_fill_all_devices_exactly_fit() {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 12; t++) {
      tables.add(only(narrow("t%02d".formatted(t), 100), ShardKind.TABLE_WISE));
    }
    ClusterSpec cluster = KindsTest.cluster(4, 4, 300 * ROW_BYTES);
    SearchResult.Found found = found(problem(tables, cluster));
    assertThat(found.deviceCosts()).allMatch(of -> of.memoryBytes() == 300 * ROW_BYTES);
    SearchResult.Found again = found(KindsTest.problem(tables, cluster, found.placed()));
    assertThat(again.shards()).as("a full plan that runs").isEqualTo(found.shards());
    assertThat(search(problem(tables, KindsTest.cluster(4, 4, 300 * ROW_BYTES - 1))))
        .isInstanceOf(SearchResult.NotFound.class);
  }

  /** All rows are in host memory, and device memory has room for the smallest cache alone. */
  @Test
  void host_memory_that_is_exactly_full_will_do() {
    TableSpec table = Fixtures.table("a", 1 << 24, 64, 5);
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(KindsTest.cluster(1, 1, Fixtures.GIB))
            .hostMemoryBytesPerDevice(table.bytes())
            .build();
    SearchResult.Found found = found(problem(List.of(table), cluster));
    assertThat(found.deviceCosts().get(0).hostMemoryBytes()).isEqualTo(table.bytes());
    ClusterSpec less =
        ClusterSpecBuilder.builder(cluster).hostMemoryBytesPerDevice(table.bytes() - 1).build();
    assertThat(search(problem(List.of(table), less))).isInstanceOf(SearchResult.NotFound.class);
  }

  /** On two nodes there is every kind. */
  @ParameterizedTest
  @EnumSource
  void tables_that_may_all_be_of_one_kind_are(ShardKind kind) {
    List<TableSpec> tables =
        Plans.randomTables(new Random(7), 10).stream()
            .map(
                table ->
                    TableSpecBuilder.builder(table)
                        .columns(Math.max(8, table.columns() / 8 * 8))
                        .build())
            .map(table -> only(table, kind))
            .toList();
    SearchResult.Found found = found(problem(tables, KindsTest.cluster(8, 4, 80 * Fixtures.GIB)));
    assertThat(found.shards()).extracting(Shard::kind).containsOnly(kind);
    SearchProblem again =
        KindsTest.problem(tables, KindsTest.cluster(8, 4, 80 * Fixtures.GIB), found.placed());
    assertThat(found(again).shards()).extracting(Shard::kind).containsOnly(kind);
  }

  /** Returns predictions of many tables, some of which are equal but for their names. */
  private static List<TablePrediction> many(int count, ClusterSpec cluster) {
    List<TablePrediction> some =
        KindsTest.TOWERS.predict(Plans.randomTables(new Random(3), 50), cluster);
    List<TablePrediction> all = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      TablePrediction of = some.get(t % some.size());
      TableSpec table = TableSpecBuilder.builder(of.table()).name("table%06d".formatted(t)).build();
      all.add(
          new TablePrediction(table, of.towers(), of.derived(), of.byGroups(), of.outOfRange()));
    }
    return all;
  }

  @Test
  @Timeout(60)
  void twenty_thousand_tables_have_a_plan() {
    ClusterSpec cluster = KindsTest.cluster(8, 8, ClusterSpec.MAX_MEMORY_BYTES);
    List<TablePrediction> tables = many(20_000, cluster);
    SearchSettings settings = Fixtures.settings(1, 1_000, 10, 10, 0, 1_000);
    SearchProblem problem = new SearchProblem(tables, cluster, KindsTest.MODEL, PlanShards.NONE);
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, settings);
    assertThat(found.shards().stream().map(Shard::table).distinct()).hasSize(20_000);
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isBetween(0.25 * found.predictedMs(), found.predictedMs());
    SearchProblem again =
        new SearchProblem(tables.subList(0, 19_000), cluster, KindsTest.MODEL, found.placed());
    SearchResult.Found kept =
        (SearchResult.Found) LocalSearch.search(again, Fixtures.settings(1, 0, 10, 10, 0, 1_000));
    assertThat(kept.moves(again.running(), again.tables())).isEmpty();
    SearchResult.Found repaired = (SearchResult.Found) LocalSearch.search(again, settings);
    double moveMs = settings.moveMs(repaired.moves(again.running(), again.tables()));
    assertThat(repaired.predictedMs() + moveMs).isLessThanOrEqualTo(kept.predictedMs());
  }

  @ParameterizedTest
  @Timeout(20)
  @ValueSource(ints = {4, 64, 4_096})
  void one_table_on_many_devices_has_a_plan(int columns) {
    TableSpec table = Fixtures.table("a", 10_000_000, columns, 20);
    ClusterSpec cluster = KindsTest.cluster(1_024, 8, 8 * Fixtures.GIB);
    SearchProblem problem = problem(List.of(table), cluster);
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, BRIEF);
    KindsTest.check(problem, found);
    assertThat(LocalSearch.search(problem, BRIEF)).isEqualTo(found);
    double elements = found.shards().stream().mapToDouble(s -> Fixtures.elements(s.region())).sum();
    assertThat(elements).isEqualTo(1e7 * columns);
  }

  @Test
  void one_table_without_room_on_many_devices_says_so() {
    TableSpec table = Fixtures.table("a", TableSpec.MAX_ROWS, 4_096, 20);
    SearchResult.NotFound none =
        (SearchResult.NotFound)
            search(problem(List.of(table), KindsTest.cluster(1_024, 8, Fixtures.GIB)));
    assertThat(none.shortfall().proven()).isTrue();
    assertThat(none.shortfall().bytesShort()).isPositive();
  }
}
