package io.shardtide.views;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;
import static org.assertj.core.api.Assertions.tuple;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.TablePrediction;
import io.shardtide.growth.Fill;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.Resize;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.Insight;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Shortfall;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.DriftAlarmBuilder;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Samples;
import io.shardtide.testing.TestModels;
import io.shardtide.views.WorkloadRow.WorkloadHealth;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The projection of the log, and its bounds. */
class LogProjectionTest {
  private static final String W = Fixtures.WORKLOAD;
  private static final Instant T = Fixtures.TIME;
  private static final Range SOON = new Range(2, 4, Double.POSITIVE_INFINITY);

  private final LogProjection projection = new LogProjection();

  private static SourcePosition at(String topic, long offset) {
    return new SourcePosition(topic, 0, offset);
  }

  private static ShardingPlan plan(String workload, long generation, String previous) {
    return plan(workload, generation, previous, List.of());
  }

  private static ShardingPlan plan(
      String workload, long generation, String previous, List<DeviceSpeed> slow) {
    return new ShardingPlan(
            "",
            new PlanOrigin(
                workload,
                generation,
                generation,
                Effort.QUICK,
                at("workload-changes", generation),
                TestModels.bundle().modelId(),
                SearchSettings.DEFAULTS,
                Optional.ofNullable(previous),
                slow),
            "a reason",
            List.of(new Shard("t", new Region(0, 16, 0, 100), 0, ShardKind.TABLE_WISE)),
            Replication.NONE,
            List.of(),
            List.of(),
            new PlanPrediction(
                List.of(new DeviceCost(4, 2, 2, 6400, 0), new DeviceCost(2, 4, 2, 0, 0)),
                10 - generation * 0.001,
                new Insight(
                    1,
                    0,
                    new Bottleneck(0, Explanation.Cause.COMPUTATION, "t", 1),
                    List.of(),
                    List.of()),
                List.of(),
                0,
                List.of(),
                List.of()),
            new PlanMoves(List.of(), List.of()),
            new SearchRun(1, 1, T.plusSeconds(generation)))
        .identified();
  }

  static ShardingPlan planOf(String workload, long generation) {
    return plan(workload, generation, null);
  }

  private static CostPredictions.Update.Predicted predicted(String table) {
    return new CostPredictions.Update.Predicted(
        new TablePrediction(
            Fixtures.table(table, 100, 4, 1),
            List.of(new float[TestModels.bundle().towerSize()]),
            List.of()));
  }

  private ShardingPlan publish(long generation, String previous) {
    return publish(plan(W, generation, previous));
  }

  private ShardingPlan publish(ShardingPlan plan) {
    long generation = plan.generation();
    projection.apply(at("sharding-plans", generation), T.plusSeconds(generation), plan);
    projection.applyCurrent(at("current-plans", generation), T.plusSeconds(generation), plan);
    return plan;
  }

  private static MeasuredCosts measured(ShardingPlan plan) {
    return new MeasuredCosts(
        "measurement " + plan.generation(),
        plan.workloadId(),
        plan.planId(),
        "run",
        plan.generation(),
        1,
        List.of(new MeasuredDevice(1, 1, 1)),
        List.of(),
        "trainer",
        T);
  }

  private PlanSummary summary(ShardingPlan plan) {
    WorkloadView view = projection.workload(plan.workloadId(), Optional.empty()).orElseThrow();
    return view.plans().stream()
        .filter(known -> known.planId().equals(plan.planId()))
        .findFirst()
        .orElseThrow();
  }

  private Optional<WorkloadView> view() {
    return projection.workload(W, Optional.empty());
  }

  private WorkloadRow row() {
    return view().orElseThrow().row();
  }

  @Test
  void a_summary_has_the_cost_of_the_previous_plan() {
    ShardingPlan first = publish(1, null);
    ShardingPlan second = publish(2, first.planId());
    PlanSummary summary = summary(second);
    assertThat(summary.beforeMs()).contains(first.predictedMs());
    assertThat(summary.imbalance()).as("starts at 6 and 4 ms").isEqualTo(0.2, within());
    assertThat(summary.tables()).isEqualTo(1);
    assertThat(row().planId()).contains(second.planId());
    assertThat(row().health()).isEqualTo(WorkloadHealth.GOOD);
  }

  private static org.assertj.core.data.Offset<Double> within() {
    return org.assertj.core.data.Offset.offset(1e-12);
  }

  @Test
  void only_the_latest_plans_are_kept_in_whatever_order_they_are_read() {
    String last = null;
    for (long generation = WorkloadProjection.MOST_KEPT + 50; generation >= 1; generation--) {
      last = last == null ? publish(generation, null).planId() : last;
      publish(generation, null);
    }
    List<PlanSummary> summaries = view().orElseThrow().plans();
    assertThat(summaries).hasSize(WorkloadProjection.MOST_KEPT);
    assertThat(summaries.get(0).generation()).isEqualTo(51);
    assertThat(row().planId()).contains(last);
    assertThat(row().steps())
        .hasSize(WorkloadRow.STEPS)
        .endsWith(plan(W, WorkloadProjection.MOST_KEPT + 50, null).predictedMs());
  }

  @Test
  void the_more_workloads_there_are_the_fewer_plans_and_measurements_each_keeps() {
    int workloads = 2_000;
    for (int w = 1; w < workloads; w++) {
      ShardingPlan other = plan("other " + w, 1, null);
      projection.applyCurrent(at("current-plans", w), T, other);
    }
    for (long generation = 1; generation <= WorkloadProjection.MOST_KEPT; generation++) {
      ShardingPlan plan = publish(generation, null);
      projection.apply(at("measured-costs", generation), T, measured(plan));
    }
    int kept = LogProjection.KEPT / workloads;
    List<PlanSummary> summaries = view().orElseThrow().plans();
    assertThat(summaries).hasSize(kept);
    assertThat(summaries.get(0).generation()).isEqualTo(WorkloadProjection.MOST_KEPT - kept + 1);
    assertThat(view().orElseThrow().measured()).hasSize(kept);
    assertThat(projection.rows()).hasSize(workloads);
  }

  @Test
  void the_record_that_compaction_keeps_is_preferred() {
    ShardingPlan plan = plan(W, 1, null);
    projection.applyCurrent(at("current-plans", 7), T, plan);
    assertThat(projection.plan(plan.planId()).orElseThrow().at().topic())
        .isEqualTo("current-plans");
    projection.apply(at("sharding-plans", 3), T, plan);
    projection.applyCurrent(at("current-plans", 7), T, plan);
    assertThat(projection.plan(plan.planId()).orElseThrow().at())
        .isEqualTo(at("sharding-plans", 3));
  }

  @Test
  void events_are_bounded_and_each_update_is_returned_once() {
    for (int i = 0; i < 2 * LogProjection.EVENTS; i++) {
      projection.apply(
          at("rejected-events", i),
          T,
          new RejectedEvent(
              at("workload-changes", i),
              Optional.of(W),
              RejectionReason.NO_CHANGES,
              "rows must be between 1 and 2^36, got 0",
              Optional.empty(),
              Optional.empty()));
    }
    assertThat(projection.events()).hasSize(LogProjection.EVENTS);
    assertThat(projection.events().get(LogProjection.EVENTS - 1).number())
        .isEqualTo(2L * LogProjection.EVENTS);
    assertThat(projection.drainUpdates()).hasSize(LogProjection.EVENTS);
    assertThat(projection.drainUpdates()).isEmpty();
    assertThat(projection.rows()).as("a rejected event adds no workload").isEmpty();
  }

  @Test
  void changes_and_statuses_alone_add_no_workload() {
    projection.apply(at("workload-changes", 1), T, Fixtures.event(Fixtures.drop("t")));
    projection.apply(at("plan-status", 1), T, status("nothing", PlanStatus.StatusKind.ADOPTED));
    assertThat(projection.rows()).isEmpty();
    assertThat(view()).isEmpty();
    assertThat(projection.tables(W)).isEmpty();
    assertThat(projection.drainUpdates()).noneMatch(update -> update.event().equals("workload"));
  }

  private static PlanStatus status(String planId, PlanStatus.StatusKind kind) {
    return new PlanStatus(W, planId, kind, 5, Optional.of("no room"), "trainer", "run", T, 1, 1);
  }

  @Test
  void the_worst_problem_is_shown_and_the_next_plan_ends_it() {
    ShardingPlan plan = publish(1, null);
    projection.apply(at("drift-alarms", 1), T, alarm(plan.planId(), OptionalInt.empty()));
    assertThat(row().health()).isEqualTo(WorkloadHealth.DRIFT);
    projection.apply(at("drift-alarms", 2), T, alarm(plan.planId(), OptionalInt.of(1)));
    assertThat(row().health()).isEqualTo(WorkloadHealth.SLOW_DEVICE);
    assertThat(row().problem().orElseThrow())
        .startsWith("Device 1 is slow: the ratio of measured to predicted compute costs went");
    projection.apply(
        at("plan-status", 1), T, status(plan.planId(), PlanStatus.StatusKind.REJECTED));
    assertThat(row().health()).isEqualTo(WorkloadHealth.REFUSED);
    assertThat(row().problem()).contains("trainer rejected the plan: no room");
    projection.apply(
        at("infeasible-workloads", 1),
        T,
        new InfeasibleWorkload(
            W,
            2,
            at("workload-changes", 2),
            "m",
            new Shortfall(1024, true, List.of(), "too large"),
            Optional.empty()));
    assertThat(row().health()).isEqualTo(WorkloadHealth.DOES_NOT_FIT);
    assertThat(row().problem()).contains("Generation 2 does not fit, 1.0 KiB short: too large");
    publish(3, plan.planId());
    assertThat(row().health()).isEqualTo(WorkloadHealth.GOOD);
    assertThat(row().problem()).isEmpty();
  }

  @Test
  void a_workload_that_will_not_fit_is_an_event_and_fits_until_then() {
    publish(1, null);
    InfeasibleWorkload expected = Samples.expectedInfeasible();
    projection.apply(at("infeasible-workloads", 1), T, expected);
    assertThat(row().health()).isEqualTo(WorkloadHealth.GOOD);
    assertThat(projection.events())
        .anySatisfy(
            event -> {
              assertThat(event.text()).isEqualTo(expected.shortfall().message());
              assertThat(event.code()).isEqualTo("EXPECTED");
            });
  }

  /** The alarm is about the plan before: the device is slow until a plan has full speed again. */
  @Test
  void a_workload_whose_plan_has_slow_devices_shows_them() {
    ShardingPlan before = publish(1, null);
    projection.apply(at("drift-alarms", 1), T, alarm(before.planId(), OptionalInt.of(1)));
    DeviceSpeed speed = new DeviceSpeed(1, CostPart.COMPUTATION, 1.5, 0.02, T);
    DeviceSpeed link = new DeviceSpeed(1, CostPart.COMMUNICATION, 2, 0.1, T);
    ShardingPlan plan = publish(plan(W, 2, before.planId(), List.of(speed, link)));
    assertThat(summary(plan).slow()).containsExactly(speed, link);
    assertThat(row().health()).isEqualTo(WorkloadHealth.SLOW_DEVICE);
    assertThat(row().problem())
        .contains(
            "The latest plan gives slow devices less work: %s; %s"
                .formatted(speed.describe(), link.describe()));
    projection.apply(at("drift-alarms", 2), T, alarm(plan.planId(), OptionalInt.empty()));
    assertThat(row().health()).as("worse than drift").isEqualTo(WorkloadHealth.SLOW_DEVICE);
    ShardingPlan many =
        publish(
            plan(
                W,
                3,
                plan.planId(),
                List.of(
                    speed,
                    link,
                    Fixtures.on(2, link),
                    Fixtures.on(3, link),
                    Fixtures.on(4, link))));
    assertThat(row().problem().orElseThrow())
        .endsWith(Fixtures.on(2, link).describe() + "; 2 more");
    publish(4, many.planId());
    assertThat(row().health()).isEqualTo(WorkloadHealth.GOOD);
  }

  private static DriftAlarm alarm(String planId, OptionalInt device) {
    return DriftAlarmBuilder.builder()
        .hardware("simulated")
        .modelId("m")
        .kind(device.isPresent() ? DriftAlarm.AlarmKind.STRAGGLER : DriftAlarm.AlarmKind.MODEL)
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
    return CostPredictionsBuilder.builder()
        .workloadId(W)
        .generation(generation)
        .eventId(UUID.randomUUID())
        .source(at("workload-changes", generation))
        .modelId(TestModels.bundle().modelId())
        .part(0)
        .parts(1)
        .cluster(Fixtures.cluster(2, 1000))
        .proxyHardware(Optional.empty())
        .update(Optional.of(update))
        .build();
  }

  @Test
  void tables_are_added_and_dropped_and_the_model_gives_their_shares() {
    for (String name : List.of("a", "b")) {
      TableSpec table =
          TableSpecBuilder.builder(Fixtures.table(name, 100, 4, name.equals("a") ? 1 : 50))
              .optimizerBytesPerElement(name.equals("a") ? 0 : 8)
              .optimizerBytesPerRow(name.equals("a") ? 0 : 2)
              .build();
      float[] tower = new float[TestModels.bundle().towerSize()];
      java.util.Arrays.fill(tower, name.equals("a") ? 0.5f : 2);
      projection.apply(
          at("current-predictions", 1),
          T,
          part(
              1,
              new CostPredictions.Update.Predicted(
                  new TablePrediction(table, List.of(tower), List.of()))));
    }
    assertThat(row().health()).isEqualTo(WorkloadHealth.PLANNING);
    assertThat(projection.statistics(OptionalLong.of(3), true).planning()).isEqualTo(1);
    assertThat(projection.tables(W).orElseThrow()).allMatch(t -> t.aloneMs().isEmpty());
    projection.apply(at("cost-models", 1), T, TestModels.bundle());
    List<TableRow> tables = projection.tables(W).orElseThrow();
    assertThat(tables).extracting(TableRow::name).containsExactly("a", "b");
    assertThat(tables.get(0).bytes()).isEqualTo(1600);
    assertThat(tables.get(1).optimizerBytesPerElement()).isEqualTo(8);
    assertThat(tables.get(1).optimizerBytesPerRow()).isEqualTo(2);
    assertThat(tables.get(1).bytes()).isEqualTo(100 * (4 * 12 + 2));
    Region part = new Region(0, 4, 0, 10);
    assertThat(projection.bytes(W, new Overlap("b", part, 0, 1), 8, 8))
        .contains(10L * (4 * 12 + 2));
    assertThat(projection.bytes(W, new Overlap("b", part, 0, Shard.EVERY_DEVICE), 8, 8))
        .contains(7L * 10 * (4 * 12 + 2));
    assertThat(tables.get(1).aloneMs().orElseThrow())
        .isGreaterThan(tables.get(0).aloneMs().orElseThrow());
    projection.delete(W, workload -> workload.tables.remove("a"));
    assertThat(projection.tables(W).orElseThrow()).extracting(TableRow::name).containsExactly("b");
  }

  /** Each compacted topic has a tombstone of its own, in any order; other topics have history. */
  @Test
  void a_workload_is_deleted_by_both_tombstones() {
    ShardingPlan plan = plan(W, 1, null);
    projection.apply(at("current-predictions", 1), T, part(1, predicted("t")).withoutTable());
    projection.applyCurrent(at("current-plans", 1), T, plan);
    projection.drainUpdates();
    projection.delete(W, WorkloadProjection::planDeleted);
    assertThat(projection.rows()).hasSize(1);
    assertThat(projection.drainUpdates()).noneMatch(update -> update.event().equals("deleted"));
    projection.delete(W, WorkloadProjection::predictionsDeleted);
    assertThat(projection.rows()).isEmpty();
    assertThat(view()).isEmpty();
    assertThat(projection.tables(W)).isEmpty();
    assertThat(projection.drainUpdates())
        .containsExactly(ViewUpdate.ofRow("deleted", "workload", W, Map.of("workloadId", W)));
    projection.apply(at("sharding-plans", 1), T, plan);
    assertThat(projection.rows()).as("an old plan does not bring it back").isEmpty();

    projection.applyCurrent(at("current-plans", 3), T, plan(W, 3, null));
    assertThat(projection.rows()).singleElement().extracting(WorkloadRow::generation).isEqualTo(3L);
  }

  private static TableForecasts forecasts(long ids, Optional<MemoryEnd> end) {
    Range range = new Range(ids, ids + 1, ids + 2);
    return new TableForecasts(
        W,
        "r",
        T,
        1,
        List.of(
            new TableForecast(
                "kept",
                ids,
                100,
                300,
                0,
                0,
                0,
                range,
                range,
                range,
                Optional.of(SOON),
                Optional.empty()),
            new TableForecast(
                "resized",
                ids,
                100,
                100,
                0,
                0,
                0,
                range,
                range,
                range,
                Optional.empty(),
                Optional.of(grown()))),
        List.of(new Resize("resized", 400, "why")),
        end,
        Optional.empty());
  }

  /** Returns what was reported until T of a table that has an id more each day, for 40 days. */
  private static TableInputs grown() {
    FillHistory history = FillHistory.of(new Fill(T.minus(Duration.ofDays(40)).toEpochMilli(), 0));
    for (int days : new int[] {20, 0}) {
      history = history.with(new Fill(T.minus(Duration.ofDays(days)).toEpochMilli(), 40.0 - days));
    }
    return new TableInputs(new TableGrowth(history, 100, 400, T.toEpochMilli()), 0, true, 8);
  }

  @Test
  void the_past_of_a_table_is_four_weeks_and_its_latest_resize() {
    publish(1, null);
    projection.apply(at("current-forecasts", 1), T, forecasts(40, Optional.empty()));
    List<WorkloadForecasts.ForecastRow> rows =
        view().orElseThrow().forecasts().orElseThrow().tables();
    WorkloadForecasts.ForecastRow earlier = rows.get(0);
    assertThat(earlier.past()).as("of an earlier planner").isEmpty();
    assertThat(earlier.resizedAt()).isEmpty();
    assertThat(earlier.fullAt()).hasValue(80);
    WorkloadForecasts.ForecastRow evicts = rows.get(1);
    assertThat(evicts.fullAt()).as("makes room by itself").isEmpty();
    assertThat(evicts.resizedAt()).contains(T);
    assertThat(evicts.slotsGiven()).isEqualTo(400);
    assertThat(evicts.past()).hasSize(29);
    Instant first = Instant.parse("2026-10-25T00:00:00Z");
    assertThat(evicts.past().get(0).atMs())
        .as("the first end of a day in 28 days")
        .isEqualTo(first.toEpochMilli());
    assertThat(evicts.past().get(0).ids())
        .isCloseTo(40 - Duration.between(first, T).toMinutes() / 1440.0, offset(1e-3));
    assertThat(evicts.past().get(28)).isEqualTo(new Fill(T.toEpochMilli(), 40));
  }

  @Test
  void the_latest_forecasts_are_shown_until_the_workload_is_deleted() {
    projection.apply(
        at("current-forecasts", 1), T, forecasts(5, Optional.of(new MemoryEnd(SOON, 7))));
    assertThat(projection.rows()).as("forecasts bring no workload").isEmpty();
    publish(1, null);
    WorkloadForecasts first = view().orElseThrow().forecasts().orElseThrow();
    WorkloadForecasts.ForecastDays days =
        new WorkloadForecasts.ForecastDays(
            2,
            OptionalDouble.of(4),
            OptionalDouble.empty(),
            "4.0 days (2.0 to more than 180 days)");
    assertThat(first.memoryEnd()).contains(new WorkloadForecasts.ForecastMemoryEnd(days, 7));
    assertThat(first.tables())
        .extracting(
            WorkloadForecasts.ForecastRow::name,
            WorkloadForecasts.ForecastRow::slotsGiven,
            WorkloadForecasts.ForecastRow::daysUntilFull)
        .containsExactly(
            tuple("kept", 300L, Optional.of(days)), tuple("resized", 400L, Optional.empty()));
    projection.drainUpdates();
    projection.apply(at("current-forecasts", 2), T, forecasts(6, Optional.empty()));
    assertThat(projection.drainUpdates())
        .as("pages of the workload reload")
        .singleElement()
        .returns("workload", ViewUpdate::event);
    WorkloadForecasts second = view().orElseThrow().forecasts().orElseThrow();
    assertThat(second.memoryEnd()).isEmpty();
    assertThat(second.tables().get(0).ids()).isEqualTo(6);
    projection.delete(W, WorkloadProjection::planDeleted);
    projection.delete(W, w -> w.forecasts = Optional.empty());
    publish(2, null);
    assertThat(view().orElseThrow().forecasts()).as("of the one before").isEmpty();
  }

  @Test
  void the_latency_of_a_plan_is_between_the_records_and_counts_once() {
    SourcePosition change = at("workload-changes", 1);
    projection.apply(change, T, Fixtures.event(Fixtures.drop("t")));
    ShardingPlan plan = plan(W, 1, null);
    projection.applyCurrent(at("current-plans", 1), T.plusMillis(70), plan);
    projection.apply(at("sharding-plans", 1), T.plusMillis(70), plan);
    assertThat(summary(plan).answeredMs()).hasValue(70);
    PlannerStatistics statistics = projection.statistics(OptionalLong.empty(), false);
    assertThat(statistics.answers()).isEqualTo(1);
    assertThat(statistics.medianMs()).hasValue(70);
    assertThat(statistics.p99Ms()).hasValue(70);
  }
}
