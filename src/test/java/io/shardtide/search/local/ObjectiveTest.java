package io.shardtide.search.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.ShardCosts;
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
  private final Assignment assignment =
      new Assignment(
          new ShardCosts(problem.tables(), evaluator),
          problem.model().towerSize(),
          TABLES.size(),
          DEVICES);
  private final AllToAllCosts exchange =
      new AllToAllCosts(evaluator, cluster, TABLES.stream().mapToInt(TableSpec::columns).sum());

  private Objective objective() {
    for (int t = 0; t < TABLES.size(); t++) {
      assignment.edit(t, t % DEVICES, 0, TABLES.get(t).columns());
    }
    CurrentPlan nothing = new CurrentPlan(TABLES, List.of(), DEVICES);
    return new Objective(
        assignment,
        evaluator,
        exchange,
        new MovePrice(nothing, new double[0], 0),
        problem.model().evaluator());
  }

  private SearchMove move(int table, int to) {
    int from = assignment.device(table, 0);
    int width = assignment.widthOfTable(table, 0);
    SearchMove change = new SearchMove();
    change.begin(from, to);
    change.edit(table, from, width, 0);
    change.edit(table, to, 0, width);
    return change;
  }

  @Test
  void a_change_and_its_reverse_leave_every_bit() {
    Objective objective = objective();
    double cost = objective.costMs();
    Random random = new Random(2);
    for (int i = 0; i < 200; i++) {
      int table = random.nextInt(TABLES.size());
      int to = (assignment.device(table, 0) + 1 + random.nextInt(DEVICES - 1)) % DEVICES;
      SearchMove change = move(table, to);
      double looked = objective.look(change, Double.POSITIVE_INFINITY);
      double expected = objective.changedCostMs();
      objective.make(change);
      assertThat(objective.costMs()).isEqualTo(expected);
      assertThat(objective.score()).isCloseTo(looked, org.assertj.core.data.Offset.offset(1e-9));
      SearchMove back = change.reverse();
      objective.look(back, Double.POSITIVE_INFINITY);
      objective.make(back);
      assertThat(objective.costMs()).isEqualTo(cost);
    }
  }

  /** The limit only saves work: whatever is not above it is given exactly. */
  @Test
  void a_limit_changes_no_score_that_is_below_it() {
    Objective objective = objective();
    for (int table = 0; table < TABLES.size(); table++) {
      SearchMove change = move(table, (assignment.device(table, 0) + 1) % DEVICES);
      double score = objective.look(change, Double.POSITIVE_INFINITY);
      assertThat(objective.look(change, score)).isEqualTo(score);
      assertThat(objective.look(change, score - 1e-6)).isGreaterThan(score - 1e-6);
    }
  }

  /** The checking mode can fail: columns that change behind the objective's back are noticed. */
  @Test
  void a_fault_in_the_increments_is_caught() {
    Objective objective = objective();
    SearchMove change = move(0, 1 + assignment.device(0, 0));
    objective.look(change, Double.POSITIVE_INFINITY);
    int elsewhere = (assignment.device(0, 0) + 3) % DEVICES;
    assignment.edit(5, elsewhere, 0, 4);
    assertThatThrownBy(() -> objective.make(change))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("from scratch");
  }

  @Test
  void a_stale_look_is_caught() {
    Objective objective = objective();
    objective.look(move(1, 0), Double.POSITIVE_INFINITY);
    assertThatThrownBy(() -> objective.make(move(0, 1 + assignment.device(0, 0))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching("The .* is kept as .* ms and is .* ms from scratch");
  }
}
