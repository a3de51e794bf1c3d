package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Constraints take work away from a search; they never add any. */
class SearchWorkTest {
  private static final SearchSettings SETTINGS = SearchSettings.QUICK;

  /** Proposals for each evaluation of the budget. */
  private static final long MOST_PROPOSALS = 20;

  private static SearchProblem problem(ClusterSpec cluster, List<TableSpec> tables) {
    return KindsTest.problem(tables, cluster, PlanShards.NONE);
  }

  private static TableSpec only(TableSpec table, int leastColumns, ShardKind... kinds) {
    return table.withConstraints(
        new TableConstraints(EnumSet.copyOf(Arrays.asList(kinds)), leastColumns, Optional.empty()));
  }

  @Test
  void a_stopped_search_makes_no_starts() {
    LocalSearch search =
        new LocalSearch(
            problem(
                Fixtures.cluster(4, 8 * Fixtures.GIB), List.of(Fixtures.table("a", 1_000, 64, 5))),
            SETTINGS,
            1,
            LocalSearch.NOTHING);
    search.work.stop();
    assertThatThrownBy(search::starts).isInstanceOf(CancellationException.class);
  }

  /** A table that may be sharded in one way, which needs all devices or nodes. */
  private static TableSpec fixed(Random random, TableSpec table, int devices, int nodes) {
    List<TableSpec> ways = new ArrayList<>();
    ways.add(only(table, 0, ShardKind.ROW_WISE));
    ways.add(only(table, 0, ShardKind.DATA_PARALLEL));
    TableSpec halves = Fixtures.table(table.name(), table.rows(), 64, table.poolingFactor());
    // On nodes of one device it is column-wise.
    if (nodes == 2 && devices > nodes) {
      ways.add(only(halves, 32, ShardKind.GRID_SHARD));
    }
    if (devices == 2) {
      ways.add(only(halves, 32, ShardKind.COLUMN_WISE));
    }
    if (devices == 1) {
      ways.add(only(table, 0, ShardKind.TABLE_WISE));
    }
    return ways.get(random.nextInt(ways.size()));
  }

  /**
   * On 0a08396e such a search spends its whole budget on bookkeeping, 1,000 evaluations a table,
   * each after hundreds of proposals that no table can follow.
   */
  @Property(tries = 20)
  void a_workload_with_one_plan_has_it_at_once(@ForAll long seed) {
    Random random = new Random(seed);
    int perNode = 1 + random.nextInt(16);
    int nodes = 1 + random.nextInt(128 / perNode);
    ClusterSpec cluster = KindsTest.cluster(perNode * nodes, perNode, 80 * Fixtures.GIB);
    // Whole blocks of rows on all devices: shorter ones are predicted as the first, checked as is.
    List<TableSpec> tables =
        Plans.randomTables(random, 1 + random.nextInt(30)).stream()
            .map(
                t -> {
                  long rows = cluster.devices() * (1 + t.rows() / cluster.devices());
                  return Fixtures.table(t.name(), rows, t.columns(), t.poolingFactor());
                })
            .map(table -> fixed(random, table, perNode * nodes, nodes))
            .toList();
    SearchProblem problem = problem(cluster, tables);
    SearchResult result = LocalSearch.search(problem, SETTINGS);
    assertThat(result).isInstanceOf(SearchResult.Found.class);
    KindsTest.check(problem, (SearchResult.Found) result);
    if (cluster.devices() > 1) {
      assertThat(result.evaluations())
          .isLessThanOrEqualTo(20L * tables.size() + 5L * cluster.devices());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 100, 400})
  void few_tables_that_may_move_take_the_budget_of_all_at_most(int count) {
    ClusterSpec cluster = KindsTest.cluster(8, 8, 80 * Fixtures.GIB);
    List<TableSpec> plain = Plans.randomTables(new Random(count), count);
    List<TableSpec> constrained =
        Stream.concat(
                plain.stream()
                    .limit(2)
                    .map(t -> only(t, 0, ShardKind.ROW_WISE, ShardKind.TABLE_WISE)),
                plain.stream().skip(2).map(t -> only(t, 0, ShardKind.ROW_WISE)))
            .toList();
    SearchWork free = work(problem(cluster, plain));
    SearchWork work = work(problem(cluster, constrained));
    long budget = SETTINGS.evaluationsFromScratch(count) / 2;
    assertThat(work.evaluations()).isLessThan(budget + 1_000);
    assertThat(work.proposals).isLessThanOrEqualTo(MOST_PROPOSALS * budget + MOST_PROPOSALS);
    assertThat(work.moves).as("moves of the two tables are tried").isPositive();
    assertThat(free.proposals)
        .as("the limit of proposals is for constrained workloads only")
        .isLessThan(MOST_PROPOSALS * budget / 2);
  }

  private static SearchWork work(SearchProblem problem) {
    LocalSearch search = new LocalSearch(problem, SETTINGS, 1, LocalSearch.NOTHING);
    long budget = SETTINGS.evaluationsFromScratch(search.tables.size()) / 2;
    new Race(search.starts(), search.work).run(budget);
    return search.work;
  }
}
