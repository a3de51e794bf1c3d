package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Transfer;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** What a search from a running plan moves, and what it leaves. */
class RepairTest {
  private static final SearchSettings BRIEF =
      Fixtures.settings(200, 3_000, 10, 2.5, 1_000, 100_000);

  private static SearchSettings settings(long repairEvaluations, double reshardMs) {
    return SearchSettingsBuilder.builder(BRIEF)
        .repairEvaluations(repairEvaluations)
        .reshardMs(reshardMs)
        .build();
  }

  private static SearchProblem problem(
      List<TableSpec> tables, ClusterSpec cluster, PlanShards running) {
    SearchProblem any = Plans.problem(tables, cluster, running.shards());
    return new SearchProblem(any.tables(), cluster, any.model(), running);
  }

  private static SearchResult.Found search(SearchProblem problem, SearchSettings settings) {
    SearchResult result = CheckedSearch.search(problem, settings);
    assertThat(result).isInstanceOf(SearchResult.Found.class);
    return (SearchResult.Found) result;
  }

  private static PlanShards running(List<TableSpec> tables, ClusterSpec cluster) {
    return new PlanShards(
        search(problem(tables, cluster, PlanShards.NONE), BRIEF).shards(), cluster.devices());
  }

  private static List<Transfer> moves(SearchProblem problem, SearchResult.Found found) {
    List<TableSpec> tables = problem.tables().stream().map(t -> t.table()).toList();
    return Overlap.moves(
        Overlap.between(problem.running(), found.placed()),
        TableSpec.byName(tables),
        found.placed());
  }

  /** Adds a table, drops one, and raises the lookups of another. */
  private static List<TableSpec> changed(List<TableSpec> tables, Random random) {
    List<TableSpec> changed = new ArrayList<>(tables);
    changed.remove(random.nextInt(changed.size()));
    TableSpec other = changed.get(random.nextInt(changed.size()));
    changed.set(changed.indexOf(other), other.withPoolingFactor(2 * other.poolingFactor()));
    changed.add(Plans.randomTable(random, "new"));
    changed.sort(Comparator.comparing(TableSpec::name));
    return changed;
  }

  /** Returns the problem of other tables after a plan of random ones. */
  private static SearchProblem changed(long seed, int devices) {
    Random random = new Random(seed);
    List<TableSpec> tables = Plans.randomTables(random, 15);
    ClusterSpec cluster = Fixtures.cluster(devices, 64 * Fixtures.GIB);
    return problem(changed(tables, random), cluster, running(tables, cluster));
  }

  @Property(tries = 12)
  void without_a_budget_nothing_moves_that_fits(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 9) int devices) {
    SearchProblem problem = changed(seed, devices);
    SearchResult.Found found = search(problem, settings(0, 1_000));
    Plans.check(problem, found);
    assertThat(moves(problem, found)).isEmpty();
  }

  /** A reshard at 100 times the cost of a step for each step: no gain pays for it. */
  @Property(tries = 8)
  void a_gain_below_the_price_of_a_reshard_moves_nothing(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 9) int devices) {
    SearchProblem problem = changed(seed, devices);
    SearchSettings settings =
        SearchSettingsBuilder.builder(settings(5_000, 1_000_000)).paybackSteps(1).build();
    assertThat(moves(problem, search(problem, settings))).isEmpty();
  }

  /** What moves pays: for the shards, their bytes and the reshard. */
  @Property(tries = 8)
  void moves_pay_for_themselves_and_more_budget_is_never_worse(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 9) int devices) {
    SearchProblem problem = changed(seed, devices);
    double before = Double.POSITIVE_INFINITY;
    for (long budget : new long[] {0, 100, 1_000, 1_001, 6_000, 30_000}) {
      SearchSettings settings = settings(budget, 1_000);
      SearchResult.Found found = search(problem, settings);
      double totalMs = found.predictedMs() + settings.moveMs(moves(problem, found));
      assertThat(totalMs).as("with %d evaluations", budget).isLessThanOrEqualTo(before + 1e-9);
      before = totalMs;
    }
  }
}
