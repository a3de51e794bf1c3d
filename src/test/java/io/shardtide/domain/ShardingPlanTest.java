package io.shardtide.domain;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class ShardingPlanTest {
  private static final Shard SHARD =
      new Shard("a", new Region(0, 64, 0, 10), 1, ShardKind.TABLE_WISE);
  private static final DeviceCost COST = new DeviceCost(1, 2, 3, 4);
  private static final Insight INSIGHT =
      new Insight(
          5,
          new Bottleneck(1, Explanation.Cause.COMPUTATION, "a", 0.5),
          List.of(
              new Explanation(
                  Explanation.ExplainedAction.MOVE,
                  "a",
                  0,
                  1,
                  Explanation.Cause.DEVICE_LOST,
                  0.25)));
  private static final OutOfRange PLACE = new OutOfRange("a", "rows", 10, 1000, 2e7);
  private static final Move MOVE = move(64, 2560);

  private static final MoveStep DIRECT = new MoveStep(0, MoveStep.Stage.DIRECT);

  private static Move move(int columns, long bytes) {
    return new Move(new Overlap("a", new Region(0, columns, 0, 10), 0, 1), bytes);
  }

  private static ShardingPlan plan() {
    return outOfRange(List.of(PLACE), 1);
  }

  @Test
  void the_id_does_not_depend_on_clocks_nor_on_where_the_change_lies() {
    ShardingPlan plan = plan();
    ShardingPlan other =
        new ShardingPlan(
            "x",
            new PlanOrigin(
                "w",
                7,
                6,
                Effort.QUICK,
                Fixtures.at(4),
                "model",
                SearchSettings.DEFAULTS,
                Optional.of("before")),
            "why",
            List.of(SHARD),
            new PlanPrediction(List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 1),
            new PlanMoves(List.of(MOVE), List.of(DIRECT)),
            new SearchRun(99, 1, Fixtures.TIME));
    assertThat(other.contentId()).isEqualTo(plan.contentId()).hasSize(64);
    assertThat(plan.identified().planId()).isEqualTo(plan.contentId());
  }

  /** The id is in logs that are kept for ever: this value changes only with a new kind of hash. */
  @Test
  void the_id_is_the_same_in_every_version() {
    assertThat(plan().contentId())
        .isEqualTo("8ed89e64f35fa354f59374de7af3a62ec5c4b36fbb3feef109fc8eed65c8ac9c");
  }

  @Test
  void the_id_depends_on_everything_else() {
    List<ShardingPlan> different = new ArrayList<>();
    different.add(plan());
    Shard otherShard = new Shard("a", new Region(0, 64, 0, 10), 0, ShardKind.TABLE_WISE);
    DeviceCost otherCost = new DeviceCost(1, 2, 3.0000000000000004, 4);
    Move otherMove = move(64, 2561);
    SearchSettings wider = new SearchSettings(5_001, 10_000, 10, 0.1, 1_000);
    SourcePosition at = Fixtures.at(3);
    Instant time = Instant.EPOCH;
    different.add(
        with("x", 7, "model", SearchSettings.DEFAULTS, "before", "why", SHARD, COST, MOVE));
    different.add(
        with("w", 8, "model", SearchSettings.DEFAULTS, "before", "why", SHARD, COST, MOVE));
    different.add(
        with("w", 7, "other", SearchSettings.DEFAULTS, "before", "why", SHARD, COST, MOVE));
    different.add(with("w", 7, "model", wider, "before", "why", SHARD, COST, MOVE));
    different.add(
        with("w", 7, "model", SearchSettings.DEFAULTS, "other", "why", SHARD, COST, MOVE));
    different.add(
        with("w", 7, "model", SearchSettings.DEFAULTS, "before", "so", SHARD, COST, MOVE));
    different.add(
        with("w", 7, "model", SearchSettings.DEFAULTS, "before", "why", otherShard, COST, MOVE));
    different.add(
        with("w", 7, "model", SearchSettings.DEFAULTS, "before", "why", SHARD, otherCost, MOVE));
    different.add(
        with("w", 7, "model", SearchSettings.DEFAULTS, "before", "why", SHARD, COST, otherMove));
    different.add(
        new ShardingPlan(
            "",
            new PlanOrigin(
                "w",
                7,
                6,
                Effort.QUICK,
                at,
                "model",
                SearchSettings.DEFAULTS,
                Optional.of("before")),
            "why",
            List.of(SHARD),
            new PlanPrediction(List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 1),
            new PlanMoves(List.of(MOVE), List.of(DIRECT)),
            new SearchRun(100, 12.5, time)));
    different.add(
        new ShardingPlan(
            "",
            new PlanOrigin(
                "w", 7, 6, Effort.QUICK, at, "model", SearchSettings.DEFAULTS, Optional.empty()),
            "why",
            List.of(SHARD),
            new PlanPrediction(List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 1),
            new PlanMoves(List.of(MOVE), List.of(DIRECT)),
            new SearchRun(99, 12.5, time)));
    different.add(ordered(5, Effort.QUICK, DIRECT));
    different.add(ordered(6, Effort.DEEP, DIRECT));
    different.add(ordered(6, Effort.QUICK, new MoveStep(0, MoveStep.Stage.TO_HOST)));
    different.add(outOfRange(List.of(), 1));
    different.add(outOfRange(List.of(PLACE), 2));
    different.add(outOfRange(List.of(new OutOfRange("a", "rows", 11, 1000, 2e7)), 1));
    Set<String> ids = new HashSet<>();
    different.forEach(plan -> ids.add(plan.contentId()));
    assertThat(ids).hasSize(different.size());
  }

  private static ShardingPlan ordered(long firstGeneration, Effort effort, MoveStep step) {
    return new ShardingPlan(
        "",
        new PlanOrigin(
            "w",
            7,
            firstGeneration,
            effort,
            Fixtures.at(3),
            "model",
            SearchSettings.DEFAULTS,
            Optional.of("before")),
        "why",
        List.of(SHARD),
        new PlanPrediction(List.of(COST, COST), 6, INSIGHT, List.of(PLACE), 1),
        new PlanMoves(List.of(MOVE), List.of(step)),
        new SearchRun(99, 12.5, Instant.EPOCH));
  }

  private static ShardingPlan outOfRange(List<OutOfRange> places, int count) {
    return new ShardingPlan(
        "",
        new PlanOrigin(
            "w",
            7,
            6,
            Effort.QUICK,
            Fixtures.at(3),
            "model",
            SearchSettings.DEFAULTS,
            Optional.of("before")),
        "why",
        List.of(SHARD),
        new PlanPrediction(List.of(COST, COST), 6, INSIGHT, places, count),
        new PlanMoves(List.of(MOVE), List.of(DIRECT)),
        new SearchRun(99, 12.5, Instant.EPOCH));
  }

  private static ShardingPlan with(
      String workload,
      long generation,
      String model,
      SearchSettings settings,
      String previous,
      String reason,
      Shard shard,
      DeviceCost cost,
      Move move) {
    return new ShardingPlan(
        "",
        new PlanOrigin(
            workload,
            generation,
            6,
            Effort.QUICK,
            Fixtures.at(3),
            model,
            settings,
            Optional.of(previous)),
        reason,
        List.of(shard),
        new PlanPrediction(List.of(cost, COST), 6, INSIGHT, List.of(PLACE), 1),
        new PlanMoves(List.of(move), List.of(DIRECT)),
        new SearchRun(99, 12.5, Instant.EPOCH));
  }

  /** Whatever two shardings of a table look like, what moves and what stays is the whole table. */
  @Property
  void moves_are_what_changes_its_device(
      @ForAll("shardings") List<Shard> before, @ForAll("shardings") List<Shard> after) {
    TableSpec table = Fixtures.table("a", 10, 32, 1);
    List<Move> moves = Overlap.moves(Overlap.between(before, after), Map.of("a", table));
    int[] deviceNow = devices(before);
    for (Move move : moves) {
      for (int c = move.region().columnOffset(); c < move.region().columnEnd(); c++) {
        assertThat(deviceNow[c]).isEqualTo(move.fromDevice());
        deviceNow[c] = move.toDevice();
      }
      assertThat(move.bytes()).isEqualTo(table.bytes(move.region().columns()));
    }
    assertThat(deviceNow).isEqualTo(devices(after));
    assertThat(moves).isSortedAccordingTo(Move.ORDER);
  }

  @Test
  void rows_that_were_added_do_not_move() {
    Shard before = new Shard("a", new Region(0, 4, 0, 10), 0, ShardKind.TABLE_WISE);
    Shard after = new Shard("a", new Region(0, 4, 0, 30), 1, ShardKind.TABLE_WISE);
    assertThat(
            Overlap.moves(
                Overlap.between(List.of(before), List.of(after)),
                Map.of("a", Fixtures.table("a", 30, 4, 1))))
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
                      Shard.ofColumns(
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
