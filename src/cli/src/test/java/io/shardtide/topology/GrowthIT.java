package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.ForecastReader;
import io.shardtide.client.TrainerReports;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.ForecastReplay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.Verdict;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.Python;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Extension;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** From reports of fill to plans with other capacities, on a broker. */
class GrowthIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final long CAPACITY = 100_000;

  private final String prefix = SharedCluster.freshPrefix();
  @TempDir private Path folder;

  private PlannerService start(EmbeddedKafka kafka, DevelopmentRegistry registry, String state)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(
            TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, folder.resolve(state))
                .with(Extension.GROWTH)
                .build(),
            List.of(TestModels.bundle()),
            TensorFlowTowers::new));
  }

  private static long slots(ShardingPlan plan) {
    return plan.shards().stream().mapToLong(shard -> shard.region().rowEnd()).max().orElseThrow();
  }

  /**
   * A table grows by half its capacity in a minute. It gets more slots before it is full, once by a
   * planner that was started in the middle, without the state of the one before.
   */
  @Test
  void a_table_that_fills_within_a_minute_is_planned_again_before_it_is_full() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    AtomicReference<Instant> now = new AtomicReference<>(Instant.now().minusSeconds(300));
    try (LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        TrainerReports reports =
            TrainerReports.connect(
                Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix(prefix),
                log.registry(),
                "trainer",
                "run",
                now::get)) {
      ShardingPlan plan;
      long ids = CAPACITY / 2;
      long step = 0;
      try (PlannerService first = start(kafka, registry, "first")) {
        assertThat(first).isNotNull();
        log.publish(
            Fixtures.event(
                Fixtures.set(4, Fixtures.GIB),
                Fixtures.upsert("fixed", 100_000, 64, 8),
                new Change.TableUpserted(Fixtures.hashed("user_id", CAPACITY, 64, 5))));
        plan = log.plans(1).get(0);
        for (; step < 4; step++) {
          ids += CAPACITY / 40;
          report(log, reports, plan, now, step, ids);
        }
        log.awaitRead(TopologyName.GROWTH.applicationId(prefix), log.topics().of(TABLE_FILLS));
      }
      try (PlannerService next = start(kafka, registry, "next")) {
        assertThat(next).isNotNull();
        for (; step < 16; step++) {
          ids += CAPACITY / 40;
          report(log, reports, plan, now, step, ids);
          List<WorkloadChange> changes = log.committed(log.topics().of(WORKLOAD_CHANGES));
          WorkloadChange last = changes.get(changes.size() - 1);
          if (last.source().equals(GrowthStep.SOURCE)) {
            ShardingPlan latest = planOf(log, changes.size());
            assertThat(slots(latest))
                .isEqualTo(((Change.TableResized) last.changes().get(0)).rows());
            plan = latest;
          }
          assertThat(ids).as("step %d", step).isLessThanOrEqualTo(slots(plan));
        }
      }
      assertThat(plan.reason())
          .matches(
              ".*\"user_id\" has [0-9,]+ slots instead of [0-9,]+: it is full in [0-9.]+ (seconds|minutes) .*");
      assertThat(log.committed(log.topics().of(REJECTED_EVENTS))).isEmpty();
      assertReplayed(log, Fixtures.WORKLOAD);
    }
  }

  /** Waits until the report is answered by a forecast. */
  private static void report(
      LogClient log,
      TrainerReports reports,
      ShardingPlan plan,
      AtomicReference<Instant> now,
      long step,
      long ids) {
    now.updateAndGet(at -> at.plusSeconds(3));
    long half = slots(plan) / 2;
    reports
        .filled(
            plan,
            step,
            List.of(
                new TableFill(
                    "user_id",
                    List.of(
                        new ShardFill(0, 0, half, ids / 2, 10, 0, 1),
                        new ShardFill(1, half, slots(plan) - half, ids - ids / 2, 10, 0, 1)))))
        .join();
    await()
        .atMost(PATIENCE)
        .until(() -> log.committed(log.topics().of(TABLE_FORECASTS)).size() == step + 1);
  }

  private static ShardingPlan planOf(LogClient log, long generation) {
    AtomicReference<ShardingPlan> found = new AtomicReference<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              log.committed(log.topics().of(SHARDING_PLANS)).stream()
                  .filter(plan -> plan.generation() == generation)
                  .forEach(found::set);
              return found.get() != null;
            });
    return found.get();
  }

  /**
   * The same reports, after the generations that forecasts name, give the same forecasts; each
   * resize is on the log once, and each report has a forecast or a rejection.
   */
  static void assertReplayed(LogClient log, String workload) throws IOException {
    MemoryRecords records = new MemoryRecords();
    log.committed(log.topics().of(TABLE_FORECASTS))
        .forEach(forecasts -> records.add(TopicType.TABLE_FORECASTS, forecasts));
    log.committed(log.topics().of(TABLE_FILLS))
        .forEach(report -> records.add(TopicType.TABLE_FILLS, report));
    log.committed(log.topics().of(COST_PREDICTIONS))
        .forEach(part -> records.add(TopicType.COST_PREDICTIONS, part));
    List<TableForecasts> forecasts =
        of(workload, TableForecasts::workloadId, records.all(TopicType.TABLE_FORECASTS));
    ReplayResult replayed = ForecastReplay.run(records, Optional.of(workload));
    assertThat(replayed.rows())
        .hasSameSizeAs(forecasts)
        .allMatch(row -> row.verdict() == Verdict.EQUAL);
    assertThat(replayed.notes()).isEmpty();
    assertThat(forecasts).extracting(TableForecasts::measuredAt).doesNotHaveDuplicates();
    assertThat(
            of(
                workload,
                WorkloadChange::workloadId,
                log.committed(log.topics().of(WORKLOAD_CHANGES))))
        .filteredOn(change -> change.source().equals(GrowthStep.SOURCE))
        .extracting(WorkloadChange::occurredAt)
        .isEqualTo(
            forecasts.stream()
                .filter(of -> !of.resizes().isEmpty())
                .map(TableForecasts::measuredAt)
                .toList());
    assertThat(log.committed(log.topics().of(REJECTED_EVENTS)))
        .filteredOn(r -> r.source().topic().equals(log.topics().of(TABLE_FILLS).name()))
        .filteredOn(r -> r.workloadId().equals(Optional.of(workload)))
        .hasSize(
            of(workload, FillReport::workloadId, records.all(TopicType.TABLE_FILLS)).size()
                - forecasts.size());
  }

  private static <V> List<V> of(String workload, Function<V, String> idOf, List<V> values) {
    return values.stream().filter(value -> idOf.apply(value).equals(workload)).toList();
  }

  @Test
  void the_reference_trainer_goes_to_plans_with_more_slots_before_tables_are_full()
      throws Exception {
    train(2, 8, 0);
  }

  @Tag("nightly")
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void tables_of_the_reference_trainer_that_double_their_ids_are_never_full(int seed)
      throws Exception {
    train(1 + seed % 4, 4 + seed % 5, seed);
  }

  /**
   * Tables of a real training program are half full at first: the smallest has more ids than its
   * first slots within a minute. None is ever full, and not each report leads to a reshard.
   *
   * @param tables how many; each has twice the slots of the next one, the smallest 3,000
   * @param newIds ids that a step brings to each
   */
  private void train(int tables, int newIds, int seed) throws Exception {
    Python.assumeHas("torch", "confluent_kafka", "avro");
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        PlannerService planner = start(kafka, registry, "training")) {
      assertThat(planner).isNotNull();
      Python.Ended trained =
          Python.run(
              folder,
              Map.of("OMP_NUM_THREADS", "1"),
              ("-m torch.distributed.run --standalone --nproc-per-node 2 examples/dlrm/train.py"
                      + " %s %s --prefix %s --workload dlrm --hardware %s --memory-gib 1"
                      + " --batch-size 256 --features 4 --rows %d --hashed %d --seed %d"
                      + " --new-ids-per-step %d --steps 500 --report-every 5 --follow-every 2")
                  .formatted(
                      kafka.bootstrapServers(),
                      registry.url(),
                      prefix,
                      TestModels.bundle().hardware(),
                      1_500 << tables,
                      tables,
                      seed,
                      newIds)
                  .split(" "));
      assertThat(trained.status()).as(trained.err()).isZero();
      List<FillReport> fills = log.committed(log.topics().of(TABLE_FILLS));
      for (FillReport report : fills) {
        assertThat(report.tables()).hasSize(tables);
        for (TableFill table : report.tables()) {
          assertThat(table.sum(ShardFill::evictions)).as("%s", report).isZero();
          assertThat(table.sum(ShardFill::ids))
              .as("%s", report)
              .isLessThan(table.sum(ShardFill::slots));
        }
      }
      assertThat(fills.get(fills.size() - 1).tables().get(tables - 1).sum(ShardFill::ids))
          .isGreaterThan(fills.get(0).tables().get(tables - 1).sum(ShardFill::slots));
      int resizes = log.committed(log.topics().of(WORKLOAD_CHANGES)).size() - 1;
      assertThat(resizes).as("reshards").isLessThan(fills.size() / 4);
      assertThat(log.committed(log.topics().of(REJECTED_EVENTS))).isEmpty();
    }
  }

  static FillReport fill(
      String workload, String reportId, String run, Instant at, String table, long ids) {
    return new FillReport(
        reportId,
        workload,
        "p",
        run,
        "trainer",
        at,
        List.of(new TableFill(table, List.of(new ShardFill(0, 0, CAPACITY, ids, 0, 0, 0)))));
  }

  /** What was reported before a deletion is reported again, and the same is forecast. */
  @Test
  void a_workload_that_is_deleted_and_a_table_that_is_dropped_begin_afresh() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    Instant now = Instant.now();
    List<FillReport> fills = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      fills.add(
          fill(
              Fixtures.WORKLOAD,
              "r" + i,
              i < 2 ? "first" : "second",
              now.plusSeconds(i),
              "user_id",
              1_000L * i));
    }
    try (LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        PlannerService planner = start(kafka, registry, "deleting");
        ForecastReader current =
            ForecastReader.connect(
                Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix(prefix))) {
      assertThat(planner).isNotNull();
      Change hashed = new Change.TableUpserted(Fixtures.hashed("user_id", CAPACITY, 64, 5));
      Change fixed = Fixtures.upsert("fixed", 100_000, 64, 8);
      predict(log, 1, Fixtures.set(4, Fixtures.GIB), fixed, hashed);
      publish(log, fills);
      assertThat(current.read()).containsOnlyKeys(Fixtures.WORKLOAD);
      predict(log, 2, Fixtures.drop("user_id"));
      assertThat(current.read()).isEmpty();
      predict(log, 3, hashed);
      // Earlier than what was reported before.
      FillReport again = fill(Fixtures.WORKLOAD, "again", "second", now, "user_id", 10);
      publish(log, List.of(again));
      assertThat(current.read()).containsOnlyKeys(Fixtures.WORKLOAD);
      predict(log, 3, Fixtures.delete());
      assertThat(current.read()).isEmpty();
      predict(log, 4, Fixtures.set(4, Fixtures.GIB), fixed, hashed);
      publish(log, fills);
      assertThat(log.committed(log.topics().of(REJECTED_EVENTS))).isEmpty();
      List<TableForecasts> forecasts = log.committed(log.topics().of(TABLE_FORECASTS));
      assertThat(forecasts.subList(fills.size() + 1, forecasts.size()))
          .usingRecursiveComparison()
          .ignoringFields("generation")
          .isEqualTo(forecasts.subList(0, fills.size()));
      assertThat(current.read()).containsValue(forecasts.get(forecasts.size() - 1));
    }
  }

  /** Publishes an event, and waits until so many plans are made and growth knows its tables. */
  private void predict(LogClient log, int plans, Change... changes) throws Exception {
    int before = log.committed(log.topics().of(COST_PREDICTIONS)).size();
    log.publish(Fixtures.event(changes));
    log.plans(plans);
    log.read(log.topics().of(COST_PREDICTIONS), before + 1);
    log.awaitRead(TopologyName.GROWTH.applicationId(prefix), log.topics().of(COST_PREDICTIONS));
  }

  /** Waits until all are answered. */
  private static void publish(LogClient log, List<FillReport> fills) throws Exception {
    int before = log.committed(log.topics().of(TABLE_FORECASTS)).size();
    for (FillReport fill : fills) {
      log.publishValue(log.topics().of(TABLE_FILLS), fill.workloadId(), fill);
    }
    await()
        .atMost(PATIENCE)
        .until(
            () -> log.committed(log.topics().of(TABLE_FORECASTS)).size() == before + fills.size());
  }

  @Test
  void a_report_of_a_table_with_fixed_rows_is_rejected_and_memory_that_ends_is_announced()
      throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        PlannerService planner = start(kafka, registry, "rejecting")) {
      assertThat(planner).isNotNull();
      for (String id : List.of("bad", "good")) {
        log.publish(
            Fixtures.eventOf(
                id,
                Fixtures.set(4, Fixtures.GIB),
                Fixtures.upsert("fixed", 100_000, 64, 8),
                new Change.TableUpserted(Fixtures.hashed("user_id", CAPACITY, 64, 5))));
      }
      await().atMost(PATIENCE).until(() -> log.plansOf("good").size() == 1);
      int before = log.committed(log.topics().of(TABLE_FORECASTS)).size();
      for (String id : List.of("bad", "good")) {
        FillReport report =
            fill(id, "r", "run", Instant.now(), id.equals("bad") ? "fixed" : "user_id", 10);
        log.publishValue(log.topics().of(TABLE_FILLS), id, report);
      }
      await()
          .atMost(PATIENCE)
          .until(() -> log.committed(log.topics().of(TABLE_FORECASTS)).size() == before + 1);
      assertThat(log.committed(log.topics().of(CURRENT_FORECASTS)))
          .extracting(TableForecasts::workloadId)
          .contains("good")
          .doesNotContain("bad");
      RejectedEvent rejected = log.rejected(1).get(0);
      assertThat(rejected.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE);

      log.publishValue(
          log.topics().of(TABLE_FILLS),
          "good",
          fill("good", "r2", "run", Instant.now(), "user_id", 1_000 * CAPACITY));
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(log.committed(log.topics().of(INFEASIBLE_WORKLOADS)))
                      .filteredOn(infeasible -> infeasible.workloadId().equals("good"))
                      .singleElement()
                      .satisfies(
                          infeasible -> {
                            assertThat(infeasible.generation()).isZero();
                            assertThat(infeasible.expected()).isPresent();
                            assertThat(infeasible.source().topic())
                                .isEqualTo(log.topics().of(TABLE_FILLS).name());
                          }));
    }
  }
}
