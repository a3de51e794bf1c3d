package io.shardtide.views;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.DriftAlarmBuilder;
import io.shardtide.domain.Effort;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.Insight;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.Shortfall;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import io.shardtide.views.WorkloadRow.Health;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What is remembered of the log, and how much of it. */
class BoardTest {
  private static final String W = Fixtures.WORKLOAD;
  private static final Instant T = Fixtures.TIME;

  private final Board board = new Board(DetectorKind.DEFAULT);

  private static SourcePosition at(String topic, long offset) {
    return new SourcePosition(topic, 0, offset);
  }

  private static ShardingPlan plan(String workload, long generation, String previous) {
    return new ShardingPlan(
            "",
            workload,
            generation,
            generation,
            Effort.QUICK,
            at("workload-changes", generation),
            Fixtures.bundle().modelId(),
            SearchSettings.DEFAULTS,
            Optional.ofNullable(previous),
            "a reason",
            List.of(new Shard("t", ShardKind.TABLE_WISE, 0, 16, 0, 100, 0)),
            List.of(new DeviceCost(4, 2, 2, 6400), new DeviceCost(2, 4, 2, 0)),
            10 - generation * 0.001,
            List.of(),
            List.of(),
            new Insight(1, new Bottleneck(0, Explanation.Cause.COMPUTATION, "t", 1), List.of()),
            List.of(),
            0,
            1,
            1,
            T.plusSeconds(generation))
        .identified();
  }

  private ShardingPlan publish(long generation, String previous) {
    ShardingPlan plan = plan(W, generation, previous);
    board.take(at("sharding-plans", generation), T.plusSeconds(generation), plan);
    board.takeCurrent(at("current-plans", generation), T.plusSeconds(generation), plan);
    return plan;
  }

  private WorkloadRow row() {
    return board.workload(W).orElseThrow().row();
  }

  @Test
  void a_line_says_what_a_plan_is_and_what_ran_before() {
    ShardingPlan first = publish(1, null);
    ShardingPlan second = publish(2, first.planId());
    PlanLine line = board.line(second.planId()).orElseThrow();
    assertThat(line.beforeMs()).isEqualTo(OptionalDouble.of(first.predictedMs()));
    assertThat(line.imbalance()).as("starts at 6 and 4 ms").isEqualTo(0.2, within());
    assertThat(line.tables()).isEqualTo(1);
    assertThat(row().planId()).contains(second.planId());
    assertThat(row().health()).isEqualTo(Health.GOOD);
  }

  private static org.assertj.core.data.Offset<Double> within() {
    return org.assertj.core.data.Offset.offset(1e-12);
  }

  @Test
  void only_the_latest_plans_are_remembered_in_whatever_order_they_are_read() {
    String last = null;
    for (long generation = WorkloadBoard.PLANS + 50; generation >= 1; generation--) {
      last = last == null ? publish(generation, null).planId() : last;
      publish(generation, null);
    }
    List<PlanLine> lines = board.workload(W).orElseThrow().plans();
    assertThat(lines).hasSize(WorkloadBoard.PLANS);
    assertThat(lines.get(0).generation()).isEqualTo(51);
    assertThat(row().planId()).contains(last);
  }

  @Test
  void where_a_plan_lies_for_good_is_preferred() {
    ShardingPlan plan = plan(W, 1, null);
    board.takeCurrent(at("current-plans", 7), T, plan);
    assertThat(board.plan(plan.planId()).orElseThrow().at().topic()).isEqualTo("current-plans");
    board.take(at("sharding-plans", 3), T, plan);
    board.takeCurrent(at("current-plans", 7), T, plan);
    assertThat(board.plan(plan.planId()).orElseThrow().at()).isEqualTo(at("sharding-plans", 3));
  }

  @Test
  void entries_are_bounded_and_news_are_told_once() {
    for (int i = 0; i < 2 * Board.ENTRIES; i++) {
      board.take(
          at("rejected-events", i),
          T,
          new RejectedEvent(
              at("workload-changes", i),
              Optional.of(W),
              RejectionReason.NO_CHANGES,
              "legal are 1 and more",
              Optional.empty(),
              Optional.empty()));
    }
    assertThat(board.entries()).hasSize(Board.ENTRIES);
    assertThat(board.entries().get(Board.ENTRIES - 1).number()).isEqualTo(2L * Board.ENTRIES);
    assertThat(board.news()).hasSize(Board.ENTRIES);
    assertThat(board.news()).isEmpty();
    assertThat(board.rows()).as("what is rejected makes no workload").isEmpty();
  }

  @Test
  void changes_statuses_and_measurements_alone_make_no_workload() {
    board.take(at("workload-changes", 1), T, Fixtures.event(Fixtures.drop("t")));
    board.take(at("plan-status", 1), T, status("nothing", PlanStatus.Kind.ADOPTED));
    assertThat(board.rows()).isEmpty();
    assertThat(board.workload(W)).isEmpty();
    assertThat(board.tables(W)).isEmpty();
    assertThat(board.news()).noneMatch(News.Row.class::isInstance);
  }

  private static PlanStatus status(String planId, PlanStatus.Kind kind) {
    return new PlanStatus(W, planId, kind, 5, Optional.of("no room"), "trainer", "run", T);
  }

  @Test
  void the_worst_that_is_wrong_is_said_and_is_over_with_the_next_plan() {
    ShardingPlan plan = publish(1, null);
    board.take(at("drift-alarms", 1), T, alarm(plan.planId(), OptionalInt.empty()));
    assertThat(row().health()).isEqualTo(Health.DRIFT);
    board.take(at("drift-alarms", 2), T, alarm(plan.planId(), OptionalInt.of(1)));
    assertThat(row().health()).isEqualTo(Health.SLOW_DEVICE);
    assertThat(row().problem().orElseThrow()).startsWith("Device 1 is slow: compute measured");
    board.take(at("plan-status", 1), T, status(plan.planId(), PlanStatus.Kind.REJECTED));
    assertThat(row().health()).isEqualTo(Health.REFUSED);
    assertThat(row().problem()).contains("trainer refused the plan: no room");
    board.take(
        at("infeasible-workloads", 1),
        T,
        new InfeasibleWorkload(
            W,
            2,
            at("workload-changes", 2),
            "m",
            new Shortfall(1024, true, List.of(), "too large")));
    assertThat(row().health()).isEqualTo(Health.DOES_NOT_FIT);
    assertThat(row().problem()).contains("Generation 2 is 1.0 KiB short: too large");
    publish(3, plan.planId());
    assertThat(row().health()).isEqualTo(Health.GOOD);
    assertThat(row().problem()).isEmpty();
  }

  private static DriftAlarm alarm(String planId, OptionalInt device) {
    return DriftAlarmBuilder.builder()
        .hardware("simulated")
        .modelId("m")
        .kind(device.isPresent() ? DriftAlarm.Kind.STRAGGLER : DriftAlarm.Kind.MODEL)
        .quantity(CostQuantity.COMPUTE)
        .workloadId(W)
        .device(device)
        .planId(planId)
        .detector("page-hinkley")
        .samples(40)
        .usualRatio(1)
        .recentRatio(1.5)
        .measuredAt(T)
        .build();
  }

  private static CostPredictions part(long generation, CostPredictions.Update update) {
    return new CostPredictions(
        W,
        generation,
        UUID.randomUUID(),
        at("workload-changes", generation),
        Fixtures.bundle().modelId(),
        0,
        1,
        Fixtures.cluster(2, 1000),
        Optional.of(update));
  }

  @Test
  void tables_come_and_go_and_the_model_says_their_share() {
    for (String name : List.of("a", "b")) {
      TableSpec table = Fixtures.table(name, 100, 4, name.equals("a") ? 1 : 50);
      float[] tower = new float[Fixtures.bundle().towerSize()];
      java.util.Arrays.fill(tower, name.equals("a") ? 0.5f : 2);
      board.take(
          at("cost-predictions", 1),
          T,
          part(
              1,
              new CostPredictions.Update.Predicted(
                  new TablePrediction(table, List.of(tower), List.of()))));
    }
    assertThat(row().health()).isEqualTo(Health.PLANNING);
    assertThat(board.pulse(OptionalLong.of(3), true).planning()).isEqualTo(1);
    assertThat(board.tables(W).orElseThrow()).allMatch(t -> t.aloneMs().isEmpty());
    board.take(at("cost-models", 1), T, Fixtures.bundle());
    List<TableLine> tables = board.tables(W).orElseThrow();
    assertThat(tables).extracting(TableLine::name).containsExactly("a", "b");
    assertThat(tables.get(0).bytes()).isEqualTo(1600);
    assertThat(tables.stream().mapToDouble(t -> t.share().orElseThrow()).sum())
        .isEqualTo(1, within());
    assertThat(tables.get(1).share().orElseThrow())
        .isGreaterThan(tables.get(0).share().orElseThrow());
    board.take(at("cost-predictions", 3), T, part(2, new CostPredictions.Update.Forgotten("a")));
    assertThat(board.tables(W).orElseThrow()).extracting(TableLine::name).containsExactly("b");
  }

  @Test
  void the_time_of_an_answer_is_from_record_to_record_and_counts_once() {
    SourcePosition change = at("workload-changes", 1);
    board.take(change, T, Fixtures.event(Fixtures.drop("t")));
    ShardingPlan plan = plan(W, 1, null);
    board.takeCurrent(at("current-plans", 1), T.plusMillis(70), plan);
    board.take(at("sharding-plans", 1), T.plusMillis(70), plan);
    assertThat(board.line(plan.planId()).orElseThrow().answeredMs()).hasValue(70);
    Pulse pulse = board.pulse(OptionalLong.empty(), false);
    assertThat(pulse.answers()).isEqualTo(1);
    assertThat(pulse.medianMs()).hasValue(70);
    assertThat(pulse.p99Ms()).hasValue(70);
  }
}
