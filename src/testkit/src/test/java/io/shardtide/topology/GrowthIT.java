package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.FillReport;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.ShardFill;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableFill;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.TableForecasts;
import io.shardtide.replay.ForecastReplay;
import io.shardtide.replay.Recomputed;
import io.shardtide.replay.RecordKind;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.Python;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Extension;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** From reports of fill to plans with other capacities, on a broker. */
class GrowthIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final long CAPACITY = 100_000;

  private final String prefix = SharedCluster.freshPrefix();
  @TempDir private Path folder;

  private PlannerService start(EmbeddedKafka kafka, DevelopmentRegistry registry, String state)
      throws Exception {
    return PlannerService.start(
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, folder.resolve(state))
            .with(Extension.GROWTH)
            .build(),
        List.of(TestModels.bundle()),
        TensorFlowTowers::new,
        Optional.empty());
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
        log.awaitRead(TopologyName.GROWTH.applicationId(prefix), log.topics().tableFills());
      }
      try (PlannerService next = start(kafka, registry, "next")) {
        assertThat(next).isNotNull();
        for (; step < 16; step++) {
          ids += CAPACITY / 40;
          report(log, reports, plan, now, step, ids);
          List<WorkloadChange> changes = log.committed(log.topics().workloadChanges());
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
      assertThat(log.committed(log.topics().rejectedEvents())).isEmpty();
      assertReplayed(log);
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
        .until(() -> log.committed(log.topics().tableForecasts()).size() == step + 1);
  }

  private static ShardingPlan planOf(LogClient log, long generation) {
    AtomicReference<ShardingPlan> found = new AtomicReference<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              log.committed(log.topics().shardingPlans()).stream()
                  .filter(plan -> plan.generation() == generation)
                  .forEach(found::set);
              return found.get() != null;
            });
    return found.get();
  }

  /** The same reports, after the generations that forecasts name, give the same forecasts. */
  private static void assertReplayed(LogClient log) throws IOException {
    MemoryRecords records = new MemoryRecords();
    log.committed(log.topics().tableForecasts())
        .forEach(forecasts -> records.add(RecordKind.FORECASTS, forecasts));
    log.committed(log.topics().tableFills())
        .forEach(report -> records.add(RecordKind.FILLS, report));
    log.committed(log.topics().costPredictions())
        .forEach(part -> records.add(RecordKind.PREDICTIONS, part));
    assertThat(ForecastReplay.run(records, Optional.empty()))
        .isEqualTo(
            new Recomputed(
                records.all(RecordKind.FORECASTS).size(), 0, 0, Optional.empty(), List.of()));
    assertThat(log.committed(log.topics().workloadChanges()))
        .filteredOn(change -> change.source().equals(GrowthStep.SOURCE))
        .extracting(WorkloadChange::occurredAt)
        .isEqualTo(
            records.all(RecordKind.FORECASTS).stream()
                .filter(forecasts -> !forecasts.resizes().isEmpty())
                .map(TableForecasts::measuredAt)
                .toList());
  }

  /**
   * Two tables of a real training program, half full at first, have more ids than their first slots
   * within a minute. None is ever full.
   */
  @Test
  void the_reference_trainer_goes_to_plans_with_more_slots_before_tables_are_full()
      throws Exception {
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
                      + " --batch-size 256 --features 4 --rows 6000 --hashed 2"
                      + " --new-ids-per-step 8 --steps 500 --report-every 5 --follow-every 2")
                  .formatted(
                      kafka.bootstrapServers(),
                      registry.url(),
                      prefix,
                      TestModels.bundle().hardware())
                  .split(" "));
      assertThat(trained.status()).as(trained.err()).isZero();
      List<FillReport> fills = log.committed(log.topics().tableFills());
      Set<Long> capacities = new TreeSet<>();
      for (FillReport report : fills) {
        assertThat(report.tables()).hasSize(2);
        for (TableFill table : report.tables()) {
          assertThat(table.evictions()).as("%s", report).isZero();
          assertThat(table.ids()).as("%s", report).isLessThan(table.slots());
        }
        capacities.add(report.tables().get(0).slots());
      }
      assertThat(capacities).hasSizeGreaterThan(1);
      assertThat(fills.get(fills.size() - 1).tables().get(0).ids())
          .isGreaterThan(fills.get(0).tables().get(0).slots());
      assertThat(log.committed(log.topics().rejectedEvents())).isEmpty();
    }
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
      int before = log.committed(log.topics().tableForecasts()).size();
      for (String id : List.of("bad", "good")) {
        FillReport report = report(id, "r", id.equals("bad") ? "fixed" : "user_id", 10);
        log.publishValue(log.topics().tableFills(), id, report);
      }
      await()
          .atMost(PATIENCE)
          .until(() -> log.committed(log.topics().tableForecasts()).size() == before + 1);
      assertThat(log.committed(log.topics().currentForecasts()))
          .extracting(TableForecasts::workloadId)
          .contains("good")
          .doesNotContain("bad");
      RejectedEvent rejected = log.rejected(1).get(0);
      assertThat(rejected.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE);

      log.publishValue(
          log.topics().tableFills(), "good", report("good", "r2", "user_id", 1_000 * CAPACITY));
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(log.committed(log.topics().infeasibleWorkloads()))
                      .filteredOn(infeasible -> infeasible.workloadId().equals("good"))
                      .singleElement()
                      .satisfies(
                          infeasible -> {
                            assertThat(infeasible.generation()).isZero();
                            assertThat(infeasible.expected()).isPresent();
                            assertThat(infeasible.source().topic())
                                .isEqualTo(log.topics().tableFills().name());
                          }));
    }
  }

  private static FillReport report(String workload, String id, String table, long ids) {
    return new FillReport(
        id,
        workload,
        "p",
        "run",
        "trainer",
        Instant.now(),
        List.of(new TableFill(table, List.of(new ShardFill(0, 0, CAPACITY, ids, 0, 0, 0)))));
  }
}
