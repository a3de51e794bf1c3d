package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.testing.Samples;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class ShardingPlanTest {
  private static final Shard SHARD =
      new Shard("a", new Region(0, 64, 0, 10), 1, ShardKind.TABLE_WISE);
  private static final DeviceCost COST = new DeviceCost(1, 2, 3, 4, 0);
  private static final Insight INSIGHT =
      new Insight(
          5,
          0,
          new Bottleneck(1, Explanation.Cause.COMPUTATION, "a", 0.5),
          List.of(
              new Explanation(
                  Explanation.ExplainedAction.MOVE,
                  "a",
                  0,
                  1,
                  Explanation.Cause.DEVICE_LOST,
                  0.25)),
          List.of());
  private static final OutOfRange PLACE = new OutOfRange("a", "rows", 10, 1000, 2e7);
  private static final Transfer MOVE = move(64, 2560);

  private static final MoveStep DIRECT = new MoveStep(0, MoveStep.Stage.DIRECT);

  private static Transfer move(int columns, long bytes) {
    return new Transfer(new Overlap("a", new Region(0, columns, 0, 10), 0, 1), bytes);
  }

  /** Of every version: defaults may change, and ids must not. */
  private static final SearchSettings SETTINGS =
      new SearchSettings(5_000, 10_000, 10, 0.1, 0, 1_000, ColumnCuts.ANY, 0);

  private static final PlanOrigin ORIGIN =
      new PlanOrigin(
          "w",
          7,
          6,
          Effort.QUICK,
          Fixtures.at(3),
          "model",
          SETTINGS,
          Optional.of("before"),
          List.of());
  private static final PlanPrediction PREDICTION =
      new PlanPrediction(List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 1, List.of(), List.of());
  private static final PlanMoves MOVES = new PlanMoves(List.of(MOVE), List.of(DIRECT));
  private static final SearchRun RUN = new SearchRun(99, 12.5, Instant.EPOCH);

  private static ShardingPlan plan() {
    return plan(ORIGIN);
  }

  private static ShardingPlan plan(PlanOrigin origin) {
    return new ShardingPlan(
        "",
        origin,
        "why",
        List.of(SHARD),
        Replication.NONE,
        List.of(),
        List.of(),
        PREDICTION,
        MOVES,
        RUN);
  }

  private static ShardingPlan plan(PlanPrediction prediction) {
    return new ShardingPlan(
        "",
        ORIGIN,
        "why",
        List.of(SHARD),
        Replication.NONE,
        List.of(),
        List.of(),
        prediction,
        MOVES,
        RUN);
  }

  private static ShardingPlan plan(Transfer move, MoveStep step) {
    PlanMoves moves = new PlanMoves(List.of(move), List.of(step));
    return new ShardingPlan(
        "",
        ORIGIN,
        "why",
        List.of(SHARD),
        Replication.NONE,
        List.of(),
        List.of(),
        PREDICTION,
        moves,
        RUN);
  }

  private static PlanOrigin origin(
      String workload,
      long generation,
      long firstGeneration,
      Effort effort,
      String model,
      SearchSettings settings,
      Optional<String> previous) {
    return new PlanOrigin(
        workload,
        generation,
        firstGeneration,
        effort,
        Fixtures.at(3),
        model,
        settings,
        previous,
        List.of());
  }

  @Test
  void the_id_does_not_depend_on_clocks_nor_on_where_the_change_lies() {
    ShardingPlan plan = plan();
    PlanOrigin elsewhere =
        new PlanOrigin(
            "w",
            7,
            6,
            Effort.QUICK,
            Fixtures.at(4),
            "model",
            SETTINGS,
            Optional.of("before"),
            List.of());
    ShardingPlan other =
        new ShardingPlan(
            "x",
            elsewhere,
            "why",
            List.of(SHARD),
            Replication.NONE,
            List.of(),
            List.of(),
            PREDICTION,
            MOVES,
            new SearchRun(99, 1, Fixtures.TIME));
    assertThat(other.contentId()).isEqualTo(plan.contentId()).hasSize(64);
    assertThat(plan.identified().planId()).isEqualTo(plan.contentId());
  }

  private static ShardingPlan replicated(ReplicaGroups groups, int steps, double ms) {
    ShardingPlan plan = plan();
    return new ShardingPlan(
        plan.planId(),
        plan.origin(),
        plan.reason(),
        plan.shards(),
        new Replication(groups, steps, ms),
        List.of(),
        List.of(),
        plan.prediction(),
        plan.transition(),
        plan.run());
  }

  /** Plans without codecs keep their ids, and codecs change an id, what they save included. */
  @Test
  void the_id_covers_codecs() {
    ShardingPlan plan = plan();
    CollectiveCodec codec =
        new CollectiveCodec(ShardScope.DEVICE, Direction.FORWARD, new CommCodec("fp16", 2), 0.5);
    CollectiveCodec other =
        new CollectiveCodec(ShardScope.DEVICE, Direction.FORWARD, new CommCodec("fp16", 2), 0.25);
    CollectiveCodec backward =
        new CollectiveCodec(ShardScope.DEVICE, Direction.BACKWARD, new CommCodec("fp16", 2), 0.5);
    CollectiveCodec denser =
        new CollectiveCodec(
            ShardScope.DEVICE,
            Direction.FORWARD,
            new CommCodec("fp16", 2, 0, 0.5, true, List.of()),
            0.5);
    assertThat(Samples.with(plan, List.of()).planId()).isEqualTo(plan.contentId());
    assertThat(
            Stream.of(codec, other, backward, denser)
                .map(of -> Samples.with(plan, List.of(of)).planId()))
        .doesNotHaveDuplicates()
        .doesNotContain(plan.contentId());
    ShardingPlan with = Samples.with(plan, List.of(codec));
    assertThat(with.hasValidId()).isTrue();
  }

  @Test
  void the_id_depends_on_kernels_and_without_any_is_that_of_earlier_versions() {
    ShardingPlan plan = plan();
    PlannedKernel kernel = new PlannedKernel("a", Samples.kernel(), false);
    List<List<PlannedKernel>> others =
        List.of(
            List.of(kernel),
            List.of(new PlannedKernel("b", Samples.kernel(), false)),
            List.of(new PlannedKernel("a", Samples.kernel(), true)),
            List.of(new PlannedKernel("a", TableKernel.NONE, true)),
            List.of(kernel, new PlannedKernel("b", TableKernel.NONE, true)));
    assertThat(Samples.withKernels(plan, List.of()).planId()).isEqualTo(plan.contentId());
    assertThat(others.stream().map(of -> Samples.withKernels(plan, of).planId()))
        .doesNotHaveDuplicates()
        .doesNotContain(plan.contentId());
    assertThat(Samples.withKernels(plan, List.of(kernel)).hasValidId()).isTrue();
  }

  /** Ids are in logs that are kept for ever: these values change only with the format. */
  @Test
  void the_id_is_the_same_in_every_version() {
    assertThat(plan().contentId())
        .isEqualTo("1f3b1afea9f4120fdc19ceda2a49625ac17800c29a454e5993ad033b2d496e7e");
  }

  @Test
  void the_id_depends_on_everything_else() {
    SearchSettings defaults = SETTINGS;
    SearchSettings wider =
        SearchSettingsBuilder.builder(defaults).evaluationsPerTable(5_001).build();
    SearchSettings priced = SearchSettingsBuilder.builder(defaults).reshardMs(1).build();
    SearchSettings daring = SearchSettingsBuilder.builder(defaults).risk(1).build();
    SearchSettings equal =
        SearchSettingsBuilder.builder(defaults).columnCuts(ColumnCuts.EQUAL).build();
    Optional<String> before = Optional.of("before");
    Shard otherShard = new Shard("a", new Region(0, 64, 0, 10), 0, ShardKind.TABLE_WISE);
    DeviceCost otherCost = new DeviceCost(1, 2, 3.0000000000000004, 4, 0);
    OutOfRange otherPlace = new OutOfRange("a", "rows", 11, 1000, 2e7);
    List<ShardingPlan> different =
        List.of(
            plan(),
            replicated(new ReplicaGroups(2, GroupLayout.STRIDED), 1, 0),
            replicated(new ReplicaGroups(2, GroupLayout.CONSECUTIVE), 1, 0),
            replicated(new ReplicaGroups(2, GroupLayout.CONSECUTIVE), 2, 0),
            replicated(new ReplicaGroups(2, GroupLayout.CONSECUTIVE), 2, 1),
            plan(origin("x", 7, 6, Effort.QUICK, "model", defaults, before)),
            plan(origin("w", 8, 6, Effort.QUICK, "model", defaults, before)),
            plan(origin("w", 7, 5, Effort.QUICK, "model", defaults, before)),
            plan(origin("w", 7, 6, Effort.DEEP, "model", defaults, before)),
            plan(origin("w", 7, 6, Effort.QUICK, "other", defaults, before)),
            plan(origin("w", 7, 6, Effort.QUICK, "model", wider, before)),
            plan(origin("w", 7, 6, Effort.QUICK, "model", priced, before)),
            plan(origin("w", 7, 6, Effort.QUICK, "model", equal, before)),
            plan(origin("w", 7, 6, Effort.QUICK, "model", daring, before)),
            plan(origin("w", 7, 6, Effort.QUICK, "model", defaults, Optional.of("other"))),
            plan(origin("w", 7, 6, Effort.QUICK, "model", defaults, Optional.empty())),
            ShardingPlanBuilder.builder(plan()).reason("so").build(),
            ShardingPlanBuilder.builder(plan()).shards(List.of(otherShard)).build(),
            ShardingPlanBuilder.builder(plan())
                .run(new SearchRun(100, 12.5, Instant.EPOCH))
                .build(),
            plan(
                new PlanPrediction(
                    List.of(otherCost, COST), 6, INSIGHT, List.of(PLACE), 1, List.of(), List.of())),
            plan(
                new PlanPrediction(
                    List.of(COST, COST), 7, INSIGHT, List.of(PLACE), 1, List.of(), List.of())),
            plan(
                new PlanPrediction(
                    List.of(COST, COST), 6, INSIGHT, List.of(), 1, List.of(), List.of())),
            plan(
                new PlanPrediction(
                    List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 2, List.of(), List.of())),
            plan(
                misses(
                    new CacheMisses("a", 0.25, UseKnowledge.ACCESS_CDF, OptionalDouble.empty()))),
            plan(
                misses(new CacheMisses("a", 0.5, UseKnowledge.ACCESS_CDF, OptionalDouble.empty()))),
            plan(
                misses(new CacheMisses("b", 0.5, UseKnowledge.ACCESS_CDF, OptionalDouble.empty()))),
            plan(misses(new CacheMisses("b", 0.5, UseKnowledge.NONE, OptionalDouble.empty()))),
            plan(misses(new CacheMisses("b", 0.5, UseKnowledge.NONE, OptionalDouble.of(0.5)))),
            plan(misses(new CacheMisses("b", 0.5, UseKnowledge.NONE, OptionalDouble.of(0.7)))),
            plan(
                new PlanPrediction(
                    List.of(COST, COST), 6, INSIGHT, List.of(otherPlace), 1, List.of(), List.of())),
            plan(move(64, 2561), DIRECT),
            plan(MOVE, new MoveStep(0, MoveStep.Stage.TO_HOST)));
    assertThat(different.stream().map(ShardingPlan::contentId).distinct())
        .hasSize(different.size());
  }

  private static PlanPrediction misses(CacheMisses misses) {
    return new PlanPrediction(
        List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 1, List.of(misses), List.of());
  }

  @Test
  void a_cache_misses_a_share_of_the_lookups() {
    for (double share : new double[] {-0.1, 1.1, Double.NaN}) {
      assertThatThrownBy(
              () -> new CacheMisses("a", share, UseKnowledge.NONE, OptionalDouble.empty()))
          .hasMessage("share of lookups that a cache misses must be between 0 and 1, got " + share);
    }
  }

  @Test
  void generations_of_a_plan_are_checked() {
    assertThatThrownBy(() -> origin("w", 7, 8, Effort.QUICK, "m", SETTINGS, Optional.empty()))
        .hasMessage("first generation of a plan must be between 1 and 7, got 8");
    assertThatThrownBy(() -> origin("w", 7, 0, Effort.QUICK, "m", SETTINGS, Optional.empty()))
        .hasMessage("first generation of a plan must be between 1 and 7, got 0");
  }

  /** Whatever two shardings of a table look like, what moves and what stays is the whole table. */
  @Property
  void moves_are_what_changes_its_device(
      @ForAll("shardings") List<Shard> before, @ForAll("shardings") List<Shard> after) {
    TableSpec table = Fixtures.table("a", 10, 32, 1);
    List<Transfer> moves =
        Overlap.moves(
            Overlap.between(Plans.placed(before), Plans.placed(after)),
            Map.of("a", table),
            Plans.placed(after));
    int[] deviceNow = devices(before);
    for (Transfer move : moves) {
      for (int c = move.region().columnOffset(); c < move.region().columnEnd(); c++) {
        assertThat(deviceNow[c]).isEqualTo(move.fromDevice());
        deviceNow[c] = move.toDevice();
      }
      assertThat(move.bytes()).isEqualTo(table.bytes(move.region().columns()));
    }
    assertThat(deviceNow).isEqualTo(devices(after));
    assertThat(moves).isSortedAccordingTo(Transfer.ORDER);
  }

  @Test
  void rows_that_were_added_do_not_move() {
    Shard before = new Shard("a", new Region(0, 4, 0, 10), 0, ShardKind.TABLE_WISE);
    Shard after = new Shard("a", new Region(0, 4, 0, 30), 1, ShardKind.TABLE_WISE);
    assertThat(
            Overlap.moves(
                Overlap.between(Plans.placed(List.of(before)), Plans.placed(List.of(after))),
                Map.of("a", Fixtures.table("a", 30, 4, 1)),
                Plans.placed(List.of(after))))
        .containsExactly(move(4, 160));
  }

  private static int[] devices(List<Shard> shards) {
    int[] device = new int[32];
    for (Shard shard : shards) {
      for (int c = shard.columnOffset(); c < shard.region().columnEnd(); c++) {
        device[c] = shard.device();
      }
    }
    return device;
  }

  @Provide
  Arbitrary<List<Shard>> shardings() {
    return Arbitraries.integers()
        .between(0, 2)
        .list()
        .ofSize(8)
        .map(
            devices -> {
              List<Shard> shards = new ArrayList<>();
              int start = 0;
              for (int i = 1; i <= 8; i++) {
                if (i == 8 || !devices.get(i).equals(devices.get(start))) {
                  shards.add(
                      Fixtures.shard(
                          Fixtures.table("a", 10, 32, 1),
                          4 * start,
                          4 * (i - start),
                          devices.get(start)));
                  start = i;
                }
              }
              return shards;
            });
  }
}
