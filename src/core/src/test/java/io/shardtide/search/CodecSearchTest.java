package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Transfer;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Plans whose collectives may have codecs. */
class CodecSearchTest {
  private static final CostModel MODEL = new CostModel(TestModels.nodes());
  private static final PlainTowers TOWERS = new PlainTowers(MODEL.bundle());
  private static final SearchSettings BRIEF = Fixtures.settings(300, 2_000, 10, 10, 0, 1_000);

  /** Enough that two searches with other random draws seldom differ by more than 2%, at most 4%. */
  private static final SearchSettings ENOUGH = Fixtures.settings(1_000, 10_000, 10, 10, 0, 1_000);

  private static final ClusterSpec PLAIN =
      new ClusterSpec(8, 40 * Fixtures.GIB, 65_536, 4, MODEL.hardware());
  private static final CommCodec HALF = new CommCodec("fp16", 2);

  /** Fixed seeds that means are taken of. */
  private static final int SEEDS = 8;

  /** How much two searches differ by their random draws at most, where their costs are the same. */
  private static final double DRAWS = 1.1;

  private static ClusterSpec with(CommCodec... codecs) {
    return ClusterSpecBuilder.builder(PLAIN).codecs(List.of(codecs)).build();
  }

  private static SearchProblem problem(
      List<TableSpec> tables, ClusterSpec cluster, PlanShards running) {
    return new SearchProblem(TOWERS.predict(tables, cluster), cluster, MODEL, running);
  }

  private static SearchResult.Found plan(SearchProblem problem) {
    return plan(problem, BRIEF);
  }

  private static SearchResult.Found plan(SearchProblem problem, SearchSettings settings) {
    return (SearchResult.Found) LocalSearch.search(problem, settings);
  }

  private static double stepMs(
      SearchProblem problem, SearchResult.Found found, StepCollectives of) {
    return StepCost.of(problem.tables(), found.shards(), of, MODEL, Slowdowns.none(PLAIN.devices()))
        .predictedMs();
  }

  /** The codec sends no fewer bytes than a collective without any. */
  @Test
  void a_codec_that_saves_no_bytes_is_none() {
    List<TableSpec> tables = Plans.randomTables(new Random(3), 12);
    CommCodec whole = new CommCodec("fp32", 4);
    SearchResult.Found found = plan(problem(tables, with(whole), PlanShards.NONE));
    assertThat(Plans.digest(found))
        .isEqualTo(Plans.digest(plan(problem(tables, PLAIN, PlanShards.NONE))));
    assertThat(found.collectives().codecs()).isEmpty();
  }

  /** Also the lower bound, of all choices of codecs and thus a little lower. */
  @Test
  void a_plan_costs_what_a_cluster_with_half_the_bytes_costs() {
    List<TableSpec> tables = Plans.randomTables(new Random(3), 12);
    SearchProblem problem = problem(tables, with(HALF), PlanShards.NONE);
    SearchResult.Found found = plan(problem);
    assertThat(found.collectives().codecs()).isNotEmpty().allMatch(of -> of.codec().equals(HALF));
    ClusterSpec half =
        ClusterSpecBuilder.builder(PLAIN)
            .forwardBytesPerElement(2)
            .backwardBytesPerElement(2)
            .build();
    assertThat(found.predictedMs())
        .isEqualTo(stepMs(problem, found, StepCollectives.of(half)))
        .isLessThan(stepMs(problem, found, StepCollectives.of(PLAIN)));
    SearchResult.Found ofHalf = plan(problem(tables, half, PlanShards.NONE));
    double boundOfHalf = ofHalf.insight().orElseThrow().lowerBoundMs();
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isBetween(0.98 * boundOfHalf, boundOfHalf)
        .isLessThan(found.predictedMs());
  }

  /** A search that found the codecs after the plan would end in kinds that they do not suit. */
  @Test
  void plans_with_half_the_bytes_are_as_good_as_those_of_a_cluster_that_sends_half() {
    ClusterSpec half =
        ClusterSpecBuilder.builder(PLAIN)
            .forwardBytesPerElement(2)
            .backwardBytesPerElement(2)
            .build();
    double with = 0;
    double ofHalf = 0;
    double without = 0;
    for (long seed = 0; seed < SEEDS; seed++) {
      List<TableSpec> tables = Plans.randomTables(new Random(seed), 12);
      with += plan(problem(tables, with(HALF), PlanShards.NONE)).predictedMs();
      ofHalf += plan(problem(tables, half, PlanShards.NONE)).predictedMs();
      without += plan(problem(tables, PLAIN, PlanShards.NONE)).predictedMs();
    }
    assertThat(with).isLessThan(1.02 * ofHalf).isLessThan(0.9 * without);
  }

  @Test
  void a_codec_that_takes_too_long_changes_nothing() {
    List<TableSpec> tables = Plans.randomTables(new Random(4), 12);
    CommCodec slow = new CommCodec("slow", 1, 0.001, 1, true, List.of());
    SearchResult.Found found = plan(problem(tables, with(slow), PlanShards.NONE));
    SearchResult.Found plain = plan(problem(tables, PLAIN, PlanShards.NONE));
    assertThat(found.collectives().codecs()).isEmpty();
    assertThat(found.predictedMs())
        .isEqualTo(
            stepMs(problem(tables, PLAIN, PlanShards.NONE), found, StepCollectives.of(PLAIN)))
        .isCloseTo(plain.predictedMs(), withinPercentage(2));
  }

  /**
   * A plan with codecs is no worse than the same shards without, nor than the best one found
   * without, moves included, but for what random draws make of it; and each cost is exact.
   */
  @Property(tries = 8)
  void codecs_never_make_a_plan_worse(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = Plans.randomTables(random, 4 + random.nextInt(8));
    ClusterSpec cluster =
        with(
            new CommCodec("a", 2, random.nextBoolean() ? 0 : 200, 1, true, List.of()),
            new CommCodec("b", 1, 50 + random.nextInt(500), 1, random.nextBoolean(), List.of()));
    SearchProblem first = problem(tables, cluster, PlanShards.NONE);
    SearchResult.Found running = checked(first, tables, PlanShards.NONE);
    tables.remove(random.nextInt(tables.size()));
    tables.add(Plans.randomTable(random, "new"));
    checked(problem(tables, cluster, running.placed()), tables, running.placed());
  }

  private static SearchResult.Found checked(
      SearchProblem problem, List<TableSpec> tables, PlanShards running) {
    SearchResult.Found found = plan(problem, ENOUGH);
    SearchResult.Found without = plan(problem(tables, PLAIN, running), ENOUGH);
    assertThat(totalMs(found, tables, running))
        .isLessThanOrEqualTo(DRAWS * totalMs(without, tables, running));
    assertThat(found.predictedMs())
        .isEqualTo(
            stepMs(
                problem,
                found,
                new StepCollectives(problem.cluster(), found.collectives().codecs())))
        .isLessThanOrEqualTo(stepMs(problem, found, StepCollectives.of(PLAIN)));
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isLessThanOrEqualTo(found.predictedMs());
    assertThat(plan(problem, ENOUGH)).isEqualTo(found);
    return found;
  }

  /**
   * In replica groups, each of which moves its shards, also where the running plan has groups of
   * another size. A search after other groups begins from scratch, without prices of moves.
   */
  @Property(tries = 8)
  void codecs_never_make_a_plan_of_groups_worse(@ForAll GroupLayout layout, @ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = Plans.randomTables(random, 4 + random.nextInt(8));
    int nodes = 1 << random.nextInt(3);
    ClusterSpec plain = inGroups(random.nextBoolean() ? 16 : 4 * nodes, 2, 4);
    List<ReplicaGroups> groupings = inGroups(16, 2, 4).groupings();
    ReplicaGroups before = groupings.get(random.nextInt(groupings.size()));
    PlanShards running =
        plan(inGroup(tables, inGroups(16, 2, 4), PlanShards.NONE, before)).placed();
    tables.add(Plans.randomTable(random, "new"));
    CommCodec codec = new CommCodec("a", 1 + random.nextInt(2), 200, 1, true, List.of());
    ClusterSpec cluster = ClusterSpecBuilder.builder(plain).codecs(List.of(codec)).build();
    for (ReplicaGroups groups : plain.groupings()) {
      SearchResult.Found with = plan(inGroup(tables, cluster, running, groups), ENOUGH);
      SearchResult.Found without = plan(inGroup(tables, plain, running, groups), ENOUGH);
      if (running.groups().equals(groups)) {
        assertThat(totalMs(with, tables, running))
            .isLessThanOrEqualTo(DRAWS * totalMs(without, tables, running));
      }
      assertThat(with.predictedMs()).isLessThanOrEqualTo(DRAWS * without.predictedMs());
    }
  }

  private static ClusterSpec inGroups(int devices, Integer... groups) {
    return ClusterSpecBuilder.builder(PLAIN)
        .devices(devices)
        .memoryBytesPerDevice(200 * Fixtures.GIB)
        .replicaGroups(List.of(groups))
        .build();
  }

  private static SearchProblem inGroup(
      List<TableSpec> tables, ClusterSpec cluster, PlanShards running, ReplicaGroups groups) {
    return new GroupedProblem(
            TOWERS.predict(tables, cluster), cluster, MODEL, running, false, List.of())
        .inGroup(groups);
  }

  private static double totalMs(
      SearchResult.Found found, List<TableSpec> tables, PlanShards running) {
    List<Transfer> moves =
        Overlap.moves(
            Overlap.between(running, found.placed()), TableSpec.byName(tables), found.placed());
    return found.predictedMs() + BRIEF.moveMs(moves);
  }
}
