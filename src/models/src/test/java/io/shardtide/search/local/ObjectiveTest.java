package io.shardtide.search.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ObjectiveTest {
  private static final int DEVICES = 6;
  private static final List<TableSpec> TABLES = Plans.randomTables(new Random(1), 12);

  private final ClusterSpec cluster = Fixtures.cluster(DEVICES, 64 * Fixtures.GIB);
  private final SearchProblem problem = Plans.problem(TABLES, cluster);
  private final CostEvaluator evaluator = problem.model().evaluator();
  private final List<TableGroup> groups = TableGroup.of(problem.tables());
  private final ShapeCosts costs = new ShapeCosts(groups, cluster, evaluator);
  private final Places places = new Places(cluster);
  private final Assignment assignment =
      new Assignment(costs, problem.model().towerSize(), TABLES.size(), places, cluster);
  private final AllToAllCosts allToAll =
      new AllToAllCosts(
          evaluator, problem.wire(), ShardScope.DEVICE, costs.elementsPerAllToAllUnit());

  private Objective objective() {
    for (int t = 0; t < TABLES.size(); t++) {
      assignment.edit(t, t % DEVICES, ShapeCosts.NONE, costs.shape(t, TABLES.get(t).columns()));
    }
    CurrentPlan nothing = new CurrentPlan(groups, PlanShards.NONE, places);
    return new Objective(
        assignment,
        evaluator,
        problem.slowdowns(),
        new Communication(
            assignment,
            allToAll,
            new SplitCosts(evaluator, problem.wire(), places, costs.elementsPerAllToAllUnit()),
            problem.slowdowns()),
        new Prices(
            new MovePrice(
                nothing,
                TableGroup.ofEach(problem.tables()),
                cluster,
                SearchSettings.DEFAULTS,
                ReplicaGroups.ONE),
            new SynchronizationPrice(problem.synchronization(), evaluator, cluster.devices())),
        problem.model().evaluator());
  }

  private SearchMove move(int table, int to) {
    int from = assignment.place(table, 0);
    int columns = assignment.columnsOfTable(table, 0);
    SearchMove move = new SearchMove(costs);
    move.begin(from, to);
    move.edit(table, from, columns, 0);
    move.edit(table, to, 0, columns);
    return move;
  }

  @Test
  void a_move_and_its_reverse_restore_every_bit() {
    Objective objective = objective();
    double cost = objective.costMs();
    Random random = new Random(2);
    for (int i = 0; i < 200; i++) {
      int table = random.nextInt(TABLES.size());
      int to = (assignment.place(table, 0) + 1 + random.nextInt(DEVICES - 1)) % DEVICES;
      SearchMove move = move(table, to);
      double score = objective.evaluate(move, Double.POSITIVE_INFINITY);
      double expected = objective.movedCostMs();
      objective.apply(move);
      assertThat(objective.costMs()).isEqualTo(expected);
      assertThat(objective.score()).isCloseTo(score, org.assertj.core.data.Offset.offset(1e-9));
      SearchMove back = move.reverse();
      objective.evaluate(back, Double.POSITIVE_INFINITY);
      objective.apply(back);
      assertThat(objective.costMs()).isEqualTo(cost);
    }
  }

  /** The limit only saves evaluations: scores that do not exceed it are exact. */
  @Test
  void a_limit_changes_no_score_that_is_below_it() {
    Objective objective = objective();
    for (int table = 0; table < TABLES.size(); table++) {
      SearchMove move = move(table, (assignment.place(table, 0) + 1) % DEVICES);
      double score = objective.evaluate(move, Double.POSITIVE_INFINITY);
      assertThat(objective.evaluate(move, score)).isEqualTo(score);
      assertThat(objective.evaluate(move, score - 1e-6)).isGreaterThan(score - 1e-6);
    }
  }

  /** The checking mode can fail: it finds shards that were added without the objective. */
  @Test
  void a_fault_in_the_increments_is_caught() {
    Objective objective = objective();
    SearchMove move = move(0, 1 + assignment.place(0, 0));
    objective.evaluate(move, Double.POSITIVE_INFINITY);
    int elsewhere = (assignment.place(0, 0) + 3) % DEVICES;
    assignment.edit(5, elsewhere, ShapeCosts.NONE, costs.shape(5, 4));
    assertThatThrownBy(() -> objective.apply(move))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("from scratch");
  }

  @Test
  void a_move_that_was_not_evaluated_is_caught() {
    Objective objective = objective();
    objective.evaluate(move(1, 0), Double.POSITIVE_INFINITY);
    assertThatThrownBy(() -> objective.apply(move(0, 1 + assignment.place(0, 0))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(".* must be .* ms as computed from scratch, got .* ms");
  }

  @Test
  void one_device_may_have_the_whole_load() {
    assertThat(allToAll.forwardMs(5, 5, 5, AllToAllLoad.LEVELS)).isPositive();
  }
}
