package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.TablePrediction;
import io.shardtide.option.DerivedTables;
import io.shardtide.option.Option;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.bound.PlanBound;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.StepCosts;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;

/** Plans of unpooled tables a few rows of which get most lookups. */
class HotRowsTest {
  private static final SearchSettings BRIEF = Fixtures.settings(1_000, 1_000, 10, 10, 0, 1_000);
  private static final ClusterSpec CLUSTER = KindsTest.cluster(16, 8, 40 * Fixtures.GIB);

  /** A table of 2^24 rows whose most used ones get more of the lookups the smaller the exponent. */
  private static TableSpec table(String name, double exponent) {
    List<Double> shares = new ArrayList<>();
    long rows = 1L << 24;
    for (double ranked = 1; ranked < rows; ranked *= 4) {
      shares.add(Math.pow(ranked / rows, exponent));
    }
    shares.add(1.0);
    return TableSpecBuilder.builder(Fixtures.table(name, rows, 64, 40))
        .accessCdf(new AccessCdf(shares))
        .pooled(false)
        .build();
  }

  private static List<TableSpec> tables() {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      tables.add(table("skewed" + t, 0.02));
      tables.add(table("even" + t, 1));
      tables.add(Fixtures.table("pooled" + t, 1 << 20, 64, 20));
    }
    return tables;
  }

  private static SearchProblem problem(List<TableSpec> tables, PlanShards running) {
    return KindsTest.problem(tables, CLUSTER, running);
  }

  private static SearchResult.Found plan(List<TableSpec> tables, PlanShards running) {
    SearchProblem problem = problem(tables, running);
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(problem, BRIEF);
    KindsTest.check(problem, found);
    return found;
  }

  private static List<TableSpec> with(List<TableSpec> tables, TableConstraints constraints) {
    return tables.stream().map(table -> table.withConstraints(constraints)).toList();
  }

  @Test
  void skewed_tables_are_cut_by_use_and_others_are_not() {
    SearchResult.Found found = plan(tables(), PlanShards.NONE);
    Map<String, Long> hotRows = HotRows.byTable(found.shards());
    assertThat(hotRows).containsOnlyKeys("skewed0", "skewed1", "skewed2", "skewed3");
    SearchResult.Found without =
        plan(with(tables(), TableConstraints.NONE.withMayHaveHotRows(false)), PlanShards.NONE);
    assertThat(HotRows.byTable(without.shards())).isEmpty();
    assertThat(found.predictedMs()).isLessThan(0.85 * without.predictedMs());
  }

  @Test
  void hot_rows_are_explained_by_what_they_save() {
    SearchResult.Found found = plan(tables(), PlanShards.NONE);
    List<Explanation> explained =
        found.insight().orElseThrow().explanations().stream()
            .filter(e -> e.kind() == ExplainedAction.HOT_ROWS)
            .toList();
    assertThat(explained).hasSize(4).allMatch(e -> e.gainMs() > 0);
    assertThat(found.insight().orElseThrow().explanations())
        .noneMatch(e -> e.table().contains("hot rows"));
  }

  @Test
  void copies_of_hot_rows_need_leave_for_copies() {
    TableConstraints notCopied =
        TableConstraints.NONE.withKinds(EnumSet.complementOf(EnumSet.of(ShardKind.DATA_PARALLEL)));
    assertThat(HotRows.byTable(plan(with(tables(), notCopied), PlanShards.NONE).shards()))
        .isEmpty();
  }

  /** Without copies, nothing that these constraints allow is a way to shard an unpooled table. */
  @Test
  void a_table_whose_other_rows_would_have_no_kind_is_not_cut() {
    TableConstraints rows =
        TableConstraints.NONE.withKinds(
            EnumSet.of(ShardKind.DATA_PARALLEL, ShardKind.TABLE_ROW_WISE));
    TableSpec table = table("skewed", 0.02).withConstraints(rows);
    assertThat(problem(List.of(table), PlanShards.NONE).tables().get(0).derived().byUse())
        .isEmpty();
  }

  /** A table whose devices another one must share is not cut: nothing says where its copies go. */
  @Test
  void a_table_that_another_one_follows_is_not_cut() {
    List<TableSpec> tables = new ArrayList<>(tables());
    tables.set(
        1,
        tables
            .get(1)
            .withConstraints(
                new TableConstraints(EnumSet.noneOf(ShardKind.class), 0, Optional.of("skewed0"))));
    assertThat(HotRows.byTable(plan(tables, PlanShards.NONE).shards()))
        .isNotEmpty()
        .doesNotContainKeys("skewed0", tables.get(1).name());
  }

  @Test
  void a_repair_keeps_hot_rows_and_chooses_them_for_new_tables() {
    PlanShards running = plan(tables(), PlanShards.NONE).placed();
    List<TableSpec> more = new ArrayList<>(tables());
    more.add(table("added", 0.02));
    SearchResult.Found found = plan(more, running);
    assertThat(HotRows.byTable(found.shards()))
        .containsAllEntriesOf(HotRows.byTable(running.shards()))
        .containsKey("added");
    assertThat(found.shards().stream().filter(s -> !s.table().equals("added")).toList())
        .isEqualTo(running.shards());
  }

  /** Nothing is kept of copies that a plan may no longer have, but the other rows stay. */
  @Test
  void hot_rows_end_where_they_are_no_longer_allowed() {
    PlanShards running = plan(tables(), PlanShards.NONE).placed();
    List<TableSpec> tables = with(tables(), TableConstraints.NONE.withMayHaveHotRows(false));
    assertThat(HotRows.byTable(plan(tables, running).shards())).isEmpty();
  }

  @Property(tries = 20)
  void the_bound_is_below_plans_with_and_without_hot_rows(
      @ForAll @IntRange(min = 2, max = 24) int devices,
      @ForAll @Scale(15) @DoubleRange(min = 0.01, max = 0.5) double exponent) {
    List<TableSpec> tables = List.of(table("a", exponent), table("b", exponent / 2));
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(KindsTest.cluster(devices, 8, 100 * Fixtures.GIB)).build();
    SearchProblem problem = KindsTest.problem(tables, cluster, PlanShards.NONE);
    double bound = PlanBound.of(problem, 100_000);
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(problem, BRIEF);
    KindsTest.check(problem, found);
    assertThat(bound).isLessThanOrEqualTo(found.predictedMs());
    for (TablePrediction table : problem.tables()) {
      table
          .derived()
          .byUse()
          .forEach(
              (hotRows, cut) ->
                  assertThat(cut.others().rows() + hotRows).isEqualTo(table.table().rows()));
    }
  }

  private static Map<Option, float[]> withoutHotRows(Map<Option, float[]> towers) {
    Map<Option, float[]> without = new LinkedHashMap<>(towers);
    without.keySet().removeIf(option -> option.hotRows() > 0);
    return without;
  }

  /** As those of tables that are gone: a log may have predictions of an earlier version. */
  @Test
  void hot_rows_that_were_not_predicted_are_left_out() {
    SearchProblem problem = problem(tables(), PlanShards.NONE);
    SearchResult.Found found = plan(tables(), PlanShards.NONE);
    List<TablePrediction> without =
        problem.tables().stream()
            .map(
                t ->
                    new TablePrediction(
                        t.table(),
                        withoutHotRows(t.towers()),
                        DerivedTables.NONE,
                        Map.of(),
                        t.outOfRange()))
            .toList();
    List<Shard> shards = found.shards();
    assertThat(StepCosts.of(without, shards, CLUSTER, problem.model()).predictedMs())
        .as("hot rows that were not predicted are left out")
        .isLessThan(StepCosts.of(problem.tables(), shards, CLUSTER, problem.model()).predictedMs());
  }
}
