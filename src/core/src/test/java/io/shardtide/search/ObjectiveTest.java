package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.StepCollectives;
import io.shardtide.option.Option;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ObjectiveTest {
  private static final int DEVICES = 6;
  private static final List<TableSpec> TABLES = Plans.randomTables(new Random(1), 12);

  private final ClusterSpec cluster = Fixtures.cluster(DEVICES, 64 * Fixtures.GIB);
  private final SearchProblem problem = Plans.problem(TABLES, cluster);
  private final LocalSearch search = CheckedSearch.of(problem, SearchSettings.QUICK);
  private final State state = search.empty();

  private Way whole(int table) {
    return search.ways.find(table, Option.ofColumns(TABLES.get(table).columns()));
  }

  private Objective objective() {
    for (int t = 0; t < TABLES.size(); t++) {
      state.add(t, whole(t), t % DEVICES);
    }
    return search.annealing(state, false).objective;
  }

  private Move move(int table, int to) {
    Move move = new Move();
    move.begin();
    move.shift(state, table, 0, to);
    return move;
  }

  @Test
  void a_move_and_its_reverse_restore_every_bit() {
    Objective objective = objective();
    double cost = objective.costMs;
    Random random = new Random(2);
    for (int i = 0; i < 200; i++) {
      int table = random.nextInt(TABLES.size());
      int to = (state.at[table][0] + 1 + random.nextInt(DEVICES - 1)) % DEVICES;
      Move move = move(table, to);
      Move back = Move.restoring(state, table);
      double score = objective.evaluate(move);
      double expected = objective.movedCostMs;
      objective.apply(move);
      assertThat(objective.costMs).isEqualTo(expected);
      assertThat(objective.score).isCloseTo(score, org.assertj.core.data.Offset.offset(1e-9));
      objective.evaluate(back);
      objective.apply(back);
      assertThat(objective.costMs).isEqualTo(cost);
    }
  }

  /** The limit only saves evaluations: scores that do not exceed it are exact. */
  @Test
  void a_limit_changes_no_score_that_is_below_it() {
    Objective objective = objective();
    for (int table = 0; table < TABLES.size(); table++) {
      Move move = move(table, (state.at[table][0] + 1) % DEVICES);
      double score = objective.evaluate(move);
      assertThat(objective.evaluate(move, score, Integer.MAX_VALUE)).isEqualTo(score);
      assertThat(objective.evaluate(move, score - 1e-6, Integer.MAX_VALUE))
          .isGreaterThan(score - 1e-6);
    }
  }

  /** The checking mode can fail: it finds shards that were added without the objective. */
  @Test
  void a_fault_in_the_increments_is_caught() {
    Objective objective = objective();
    Move move = move(0, 1 + state.at[0][0]);
    objective.evaluate(move);
    int elsewhere = (state.at[0][0] + 3) % DEVICES;
    state.add(5, state.way[5], elsewhere);
    assertThatThrownBy(() -> objective.apply(move))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("from scratch");
  }

  @Test
  void a_move_that_was_not_evaluated_is_caught() {
    Objective objective = objective();
    objective.evaluate(move(1, 0));
    assertThatThrownBy(() -> objective.apply(move(0, 1 + state.at[0][0])))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(".* must be .* ms as computed from scratch, got .* ms");
  }

  @Test
  void one_device_may_have_the_whole_load() {
    AllToAllCosts allToAll =
        new AllToAllCosts(
            search.evaluator,
            StepCollectives.of(cluster).get(ShardScope.DEVICE, Direction.FORWARD),
            16,
            1);
    assertThat(allToAll.ms(5, 5, 5, AllToAllLoad.LEVELS)).isPositive();
  }
}
