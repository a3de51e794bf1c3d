package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.Explanation;
import io.shardtide.plan.Explanation.Cause;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.StepCosts;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Why rows are split or copied: each gain is compared with the costs of two whole plans. */
class KindExplainerTest {
  private static final Offset<Double> EXACTLY = Offset.offset(1e-9);

  /** Moves are nearly free. */
  private static final SearchSettings SETTINGS =
      Fixtures.settings(300, 20_000, 1e6, 0, 0, 1_000_000);

  private static final TableSpec TINY = Fixtures.table("tiny", 100, 4, 1);

  private static ClusterSpec cluster(int devices, int devicesPerNode) {
    return KindsTest.cluster(devices, devicesPerNode, 80 * Fixtures.GIB);
  }

  private static SearchResult.Found plan(
      List<TableSpec> tables, ClusterSpec cluster, List<Shard> running) {
    return plan(
        tables,
        cluster,
        running.isEmpty() ? PlanShards.NONE : new PlanShards(running, cluster.devices()));
  }

  private static SearchResult.Found plan(
      List<TableSpec> tables, ClusterSpec cluster, PlanShards before) {
    SearchProblem problem = KindsTest.problem(tables, cluster, before);
    return (SearchResult.Found) LocalSearch.search(problem, SETTINGS);
  }

  private static List<Explanation> explanations(SearchResult.Found found) {
    return found.insight().orElseThrow().explanations();
  }

  private static double costMs(List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    return StepCosts.of(tables, shards, cluster, KindsTest.MODEL, KindsTest.TOWERS).predictedMs();
  }

  @Test
  void a_table_that_no_device_can_hold_is_split_for_memory() {
    TableSpec huge = Fixtures.table("huge", 1L << 34, 4, 20);
    SearchResult.Found found = plan(List.of(huge), cluster(8, 4), List.of());
    assertThat(explanations(found))
        .containsExactly(new Explanation(ExplainedAction.KIND, "huge", -1, -1, Cause.MEMORY, 0));
  }

  @Test
  void a_copy_saves_what_the_table_on_one_device_would_cost() {
    ClusterSpec cluster = cluster(128, 8);
    SearchResult.Found found = plan(List.of(TINY), cluster, List.of());
    double onDevice =
        costMs(List.of(TINY), new Sharding.TableWise(0).shards(TINY, cluster), cluster);
    assertThat(explanations(found))
        .singleElement()
        .satisfies(
            e -> {
              assertThat(e.kind()).isEqualTo(ExplainedAction.KIND);
              assertThat(e.cause()).isEqualTo(Cause.COMMUNICATION);
              assertThat(e.gainMs()).isPositive();
              assertThat(e.gainMs()).isCloseTo(onDevice - found.predictedMs(), EXACTLY);
            });
  }

  @Test
  void a_table_that_keeps_its_kind_is_explained_once() {
    ClusterSpec cluster = cluster(16, 8);
    TableSpec other = Fixtures.table("other", 120, 4, 1);
    List<Shard> before = new Sharding.DataParallel().shards(TINY, cluster);
    SearchResult.Found found = plan(List.of(TINY, other), cluster, before);
    assertThat(found.shards()).extracting(Shard::kind).containsOnly(ShardKind.DATA_PARALLEL);
    assertThat(explanations(found)).extracting(Explanation::table).containsExactly("other");
  }

  @Test
  void a_table_that_leaves_all_devices_is_compared_with_where_it_was() {
    ClusterSpec cluster = cluster(8, 8);
    List<TableSpec> tables = new ArrayList<>();
    List<Shard> before = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      TableSpec table = Fixtures.table("t" + t, 4_000_000, 64, 20);
      tables.add(table);
      before.addAll(
          (t == 0 ? new Sharding.RowWise() : new Sharding.TableWise(t)).shards(table, cluster));
    }
    SearchResult.Found found = plan(tables, cluster, before);
    List<Shard> back = new ArrayList<>(found.shards());
    back.removeIf(shard -> shard.table().equals("t0"));
    back.addAll(new Sharding.RowWise().shards(tables.get(0), cluster));
    assertThat(explanations(found))
        .filteredOn(e -> e.table().equals("t0") && e.kind() != ExplainedAction.SPLIT)
        .singleElement()
        .satisfies(
            e -> {
              assertThat(e.kind()).isEqualTo(ExplainedAction.KIND);
              assertThat(e.gainMs()).isPositive();
              assertThat(e.gainMs())
                  .isCloseTo(costMs(tables, back, cluster) - found.predictedMs(), EXACTLY);
            });
  }

  @Test
  void a_table_that_loses_its_node_is_explained_by_that() {
    TableSpec table = Fixtures.table("t", 1_000_000, 64, 2);
    List<Shard> before = new Sharding.TableRowWise(1).shards(table, cluster(4, 2));
    SearchResult.Found found = plan(List.of(table), cluster(2, 2), new PlanShards(before, 4));
    assertThat(found.shards()).extracting(Shard::kind).doesNotContain(ShardKind.TABLE_ROW_WISE);
    assertThat(explanations(found))
        .filteredOn(e -> e.kind() != ExplainedAction.SPLIT)
        .containsExactly(new Explanation(ExplainedAction.KIND, "t", -1, -1, Cause.DEVICE_LOST, 0));
  }

  /** Both were on the first node, which then had more memory. */
  @Test
  void a_table_that_leaves_its_node_is_explained_once_and_not_for_each_device() {
    ClusterSpec cluster = cluster(4, 2);
    List<TableSpec> tables = new ArrayList<>();
    List<Shard> before = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      TableSpec table =
          Fixtures.table("t" + t, 380_000_000, 64, 20)
              .withConstraints(TableConstraints.NONE.withKinds(Set.of(ShardKind.TABLE_ROW_WISE)));
      tables.add(table);
      before.addAll(new Sharding.TableRowWise(0).shards(table, cluster));
    }
    SearchResult.Found found = plan(tables, cluster, before);
    assertThat(found.shards()).extracting(Shard::kind).containsOnly(ShardKind.TABLE_ROW_WISE);
    assertThat(explanations(found))
        .singleElement()
        .satisfies(
            e ->
                assertThat(e)
                    .isEqualTo(
                        new Explanation(ExplainedAction.MOVE, e.table(), 0, 2, Cause.MEMORY, 0)));
  }
}
