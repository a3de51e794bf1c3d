package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.Synchronization;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Plans with replica groups. */
class GroupSearchTest {
  private static final CostModel MODEL = new CostModel(TestModels.nodes());
  private static final PlainTowers TOWERS = new PlainTowers(MODEL.bundle());
  private static final SearchSettings BRIEF = Fixtures.settings(1_000, 2_000, 10, 0, 0, 1_000_000);

  private static ClusterSpec cluster(long memory, int steps, Integer... groups) {
    return ClusterSpecBuilder.builder(new ClusterSpec(16, memory, 65_536, 8, MODEL.hardware()))
        .replicaGroups(List.of(groups))
        .synchronizationSteps(steps)
        .build();
  }

  private static List<TableSpec> tables() {
    return Plans.randomTables(new Random(5), 24);
  }

  private static GroupedProblem problem(
      List<TableSpec> tables, ClusterSpec cluster, PlanShards running, boolean keepsGroups) {
    return new GroupedProblem(
        TOWERS.predict(tables, cluster), cluster, MODEL, running, keepsGroups, List.of());
  }

  private static SearchResult.Found plan(ClusterSpec cluster) {
    return (SearchResult.Found)
        GroupSearch.search(problem(tables(), cluster, PlanShards.NONE, false), BRIEF);
  }

  /** The step of a group by itself, and the all-reduce of the fullest device every ten steps. */
  @Test
  void a_step_is_that_of_a_group_and_its_part_of_a_synchronization() {
    ClusterSpec cluster = cluster(200 * Fixtures.GIB, 10, 2);
    SearchResult.Found found = plan(cluster);
    ReplicaGroups groups = found.replication().groups();
    ClusterSpec group = cluster.group(groups);
    List<TablePrediction> tables =
        TOWERS.predict(tables(), cluster).stream()
            .map(table -> table.inGroup(groups).orElseThrow())
            .toList();
    double stepMs = StepCosts.of(tables, found.shards(), group, MODEL).predictedMs();
    long fullest =
        found.deviceCosts().stream().mapToLong(cost -> cost.memoryBytes()).max().orElseThrow();
    double synchronizationMs =
        Synchronization.of(groups, cluster).ms(MODEL.evaluator(), (double) fullest);
    assertThat(found.deviceCosts()).hasSize(8);
    assertThat(found.replication().synchronizationMs()).isEqualTo(synchronizationMs);
    assertThat(found.predictedMs()).isEqualTo(stepMs + synchronizationMs / 10, within(1e-12));
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isBetween(synchronizationMs / 20, found.predictedMs());
    assertThat(found.placed().ranks()).isEqualTo(16);
  }

  /** The chosen way is no worse than the ways planned one by one: all of them, with this budget. */
  @Test
  void the_best_way_to_form_groups_is_chosen() {
    for (int steps : List.of(1, 200, 100_000)) {
      SearchResult.Found chosen = plan(cluster(200 * Fixtures.GIB, steps, 1, 2, 4));
      double best = Double.POSITIVE_INFINITY;
      for (int count : List.of(1, 2, 4)) {
        best = Math.min(best, plan(cluster(200 * Fixtures.GIB, steps, count)).predictedMs());
      }
      assertThat(chosen.predictedMs()).isLessThanOrEqualTo(best * 1.01);
      assertThat(chosen.replication().groups().areSeveral())
          .as("groups, synchronized every %d steps", steps)
          .isEqualTo(steps > 1);
      assertThat(chosen.insight().orElseThrow().explanations())
          .filteredOn(e -> e.kind() == ExplainedAction.GROUPS)
          .singleElement()
          .matches(e -> e.table().isEmpty() && e.gainMs() > 0);
    }
  }

  /**
   * The fullest device decides how long a synchronization takes: bytes are spread evenly for it.
   */
  @Test
  void bytes_are_spread_where_synchronization_is_frequent() {
    SearchResult.Found rarely = plan(cluster(400 * Fixtures.GIB, 1_000_000, 2));
    SearchResult.Found often = plan(cluster(400 * Fixtures.GIB, 1, 2));
    assertThat(fullest(often)).isLessThan(fullest(rarely));
  }

  private static long fullest(SearchResult.Found found) {
    return found.deviceCosts().stream().mapToLong(cost -> cost.memoryBytes()).max().orElseThrow();
  }

  @Test
  void tables_that_fit_one_group_only_are_planned_in_one() {
    long bytes = tables().stream().mapToLong(TableSpec::bytes).sum();
    ClusterSpec cluster = cluster(bytes / 10, 100_000, 1, 2, 4);
    assertThat(plan(cluster).replication().groups()).isEqualTo(ReplicaGroups.ONE);
    SearchResult none =
        GroupSearch.search(
            problem(tables(), cluster(bytes / 40, 100_000, 1, 2), PlanShards.NONE, false), BRIEF);
    assertThat(none).isInstanceOf(SearchResult.NotFound.class);
    assertThat(((SearchResult.NotFound) none).shortfall().message()).contains("16 devices");
  }

  /** Seventeen tables, each most of a device, on sixteen: nothing proves that they do not fit. */
  @Test
  void tables_that_find_no_room_in_any_groups_name_the_kind_that_would_fit() {
    TableSpec table = Fixtures.table("ads", 1_000_000, 64, 10);
    TableConstraints whole = TableConstraints.NONE.withKinds(EnumSet.of(ShardKind.TABLE_WISE));
    List<TableSpec> tables =
        IntStream.range(0, 17)
            .mapToObj(i -> Fixtures.table("ads" + i, 1_000_000, 64, 10).withConstraints(whole))
            .toList();
    ClusterSpec cluster = cluster((long) (table.bytes() / 0.9), 100_000, 1, 2);
    SearchResult.NotFound none =
        (SearchResult.NotFound)
            GroupSearch.search(problem(tables, cluster, PlanShards.NONE, false), BRIEF);
    assertThat(none.shortfall().proven()).isFalse();
    assertThat(none.shortfall().message())
        .endsWith(" short; with column_wise allowed for table ads0 it would fit");
  }

  /** The answer to a change keeps the groups; a background search may change them. */
  @Test
  void the_groups_of_a_running_plan_stay_unless_a_change_pays() {
    SearchResult.Found one = plan(cluster(200 * Fixtures.GIB, 100_000, 1));
    ClusterSpec cluster = cluster(200 * Fixtures.GIB, 100_000, 1, 2, 4);
    SearchResult.Found kept =
        (SearchResult.Found)
            GroupSearch.search(problem(tables(), cluster, one.placed(), true), BRIEF);
    assertThat(kept.replication().groups()).isEqualTo(ReplicaGroups.ONE);
    SearchResult.Found changed =
        (SearchResult.Found)
            GroupSearch.search(problem(tables(), cluster, one.placed(), false), BRIEF);
    assertThat(changed.replication().groups().areSeveral()).isTrue();
    assertThat(changed.predictedMs()).isLessThan(kept.predictedMs());
    SearchSettings expensiveMoves = Fixtures.settings(1_000, 2_000, 0.001, 0, 0, 10);
    SearchResult.Found unchanged =
        (SearchResult.Found)
            GroupSearch.search(problem(tables(), cluster, one.placed(), false), expensiveMoves);
    assertThat(unchanged.replication().groups()).isEqualTo(ReplicaGroups.ONE);
    ClusterSpec others = cluster(200 * Fixtures.GIB, 100_000, 2, 4);
    assertThat(
            ((SearchResult.Found)
                    GroupSearch.search(problem(tables(), others, one.placed(), true), BRIEF))
                .replication()
                .groups()
                .areSeveral())
        .as("one group is no longer allowed")
        .isTrue();
  }

  /** A repair moves within groups: each rank gets what the same rank of another group gets. */
  @Property(tries = 5)
  void repairs_move_alike_in_all_groups(@ForAll GroupLayout layout, @ForAll long seed) {
    ClusterSpec cluster = cluster(200 * Fixtures.GIB, 1_000, 4);
    ReplicaGroups groups = new ReplicaGroups(4, layout);
    SearchResult.Found first =
        (SearchResult.Found)
            LocalSearch.search(
                problem(tables(), cluster, PlanShards.NONE, true).inGroup(groups), BRIEF);
    List<TableSpec> more = Plans.randomTables(new Random(seed), 26);
    SearchResult.Found next =
        (SearchResult.Found)
            GroupSearch.search(problem(more, cluster, first.placed(), true), BRIEF);
    assertThat(next.replication().groups()).isEqualTo(groups);
    Map<Integer, List<Overlap>> byGroup =
        Overlap.between(first.placed(), next.placed()).stream()
            .filter(o -> o.toDevice() >= 0 && o.fromDevice() >= 0)
            .collect(Collectors.groupingBy(o -> groups.groupOf(o.toDevice(), 4)));
    byGroup.forEach(
        (group, overlaps) -> {
          assertThat(overlaps).allMatch(o -> groups.groupOf(o.fromDevice(), 4) == group);
          assertThat(overlaps).hasSameSizeAs(byGroup.get(0));
        });
    assertThat(
            Plans.digest(GroupSearch.search(problem(more, cluster, first.placed(), true), BRIEF)))
        .isEqualTo(Plans.digest(next));
  }

  /** As those of a model without measured collectives. */
  @Test
  void tables_without_predictions_for_groups_are_planned_in_one() {
    ClusterSpec cluster = cluster(200 * Fixtures.GIB, 100_000, 1, 2);
    GroupedProblem problem =
        new GroupedProblem(TOWERS.predict(tables(), cluster.batchSize()), cluster, MODEL);
    SearchResult.Found found = (SearchResult.Found) GroupSearch.search(problem, BRIEF);
    assertThat(found.replication().groups()).isEqualTo(ReplicaGroups.ONE);
  }

  @Test
  void tables_without_any_predictions_are_an_error() {
    GroupedProblem problem =
        new GroupedProblem(
            TOWERS.predict(tables(), cluster(Fixtures.GIB, 1, 1)),
            cluster(Fixtures.GIB, 1, 2),
            MODEL);
    assertThatThrownBy(() -> GroupSearch.search(problem, BRIEF))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("must have predictions for replica groups of [2], got none");
  }
}
