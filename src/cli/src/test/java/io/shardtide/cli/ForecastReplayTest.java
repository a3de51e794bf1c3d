package io.shardtide.cli;

import static io.shardtide.testing.Fixtures.eventOf;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.GrowthTables;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableForecastsBuilder;
import io.shardtide.replay.Export;
import io.shardtide.replay.ForecastReplay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.Verdict;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands replay and export, of a log with tables that grow. */
class ForecastReplayTest {
  private static final List<String> WORKLOADS = List.of("ads", "search");

  @TempDir private Path folder;

  private final Random random = new Random(5);
  private final MemoryRecords log = new MemoryRecords();
  private final Workloads workloads = Workloads.inMemory();
  private final WorkloadStep predicting = new WorkloadStep(new PlainPredictors());
  private final GrowthStep step = new GrowthStep(CapacityPolicy.DEFAULTS);
  private final GrowthTables store = GrowthTables.inMemory();
  private final Map<String, Long> ids = new HashMap<>();

  /** Predictions that the growth step has not read yet: reports come between them. */
  private final Deque<CostPredictions> unread = new ArrayDeque<>();

  private Instant now = Fixtures.TIME;
  private long offset;
  private int reports;
  private int rejected;
  private int resizes;

  private void publish(WorkloadChange event) {
    log.add(TopicType.WORKLOAD_CHANGES, event);
    for (CostPredictions part : predicting.apply(workloads, Fixtures.at(offset++), event)) {
      log.add(TopicType.COST_PREDICTIONS, part);
      unread.add(part);
    }
  }

  private void report(String workload, String table) {
    now = now.plus(Duration.ofMinutes(30));
    long grown = ids.merge(workload + table, 1_000L + random.nextInt(400), Long::sum);
    FillReport report =
        new FillReport(
            "r" + reports++,
            workload,
            "p",
            "run",
            "trainer",
            now,
            List.of(new TableFill(table, List.of(new ShardFill(0, 0, 200_000, grown, 7, 0, 3)))));
    log.add(TopicType.TABLE_FILLS, report);
    try {
      GrowthStep.Growth growth = step.report(store, report, now.toEpochMilli());
      log.add(TopicType.TABLE_FORECASTS, growth.forecasts());
      if (growth.change().isPresent()) {
        resizes++;
        publish(growth.change().get());
      }
    } catch (RejectedException e) {
      rejected++;
    }
  }

  /** Two workloads with tables that come, are resized, and go; some reports are rejected. */
  @BeforeEach
  void makeLog() {
    log.add(TestModels.bundle());
    for (String id : WORKLOADS) {
      publish(
          eventOf(
              id,
              Fixtures.set(4, Fixtures.GIB),
              Fixtures.upsert("fixed", 1_000, 64, 5),
              new Change.TableUpserted(Fixtures.hashed("a", 200_000, 64, 5)),
              new Change.TableUpserted(Fixtures.hashed("b", 200_000, 64, 5))));
    }
    for (int round = 0; round < 400; round++) {
      int read = random.nextInt(3);
      while (read-- > 0 && !unread.isEmpty()) {
        step.onPredictions(store, unread.remove());
      }
      String id = WORKLOADS.get(random.nextInt(2));
      report(id, List.of("a", "a", "b", "b", "b", "fixed").get(random.nextInt(6)));
      if (round == 150) {
        publish(eventOf("ads", Fixtures.drop("b")));
      }
      if (round == 250) {
        publish(eventOf("ads", new Change.TableUpserted(Fixtures.hashed("b", 300_000, 32, 5))));
      }
    }
    assertThat(rejected).isPositive();
    assertThat(resizes).isGreaterThan(1);
    assertThat(log.all(TopicType.TABLE_FORECASTS))
        .anyMatch(f -> f.inputs().orElseThrow().parts() > 0)
        .anyMatch(f -> f.generation() > 3);
  }

  private ReplayResult replay(MemoryRecords records) throws IOException {
    return ForecastReplay.run(records, Optional.empty());
  }

  @Test
  void all_forecasts_are_made_again() throws IOException {
    int all = log.all(TopicType.TABLE_FORECASTS).size();
    ReplayResult result = replay(log.interleaved(random));
    assertThat(result.rows()).hasSize(all).allMatch(row -> row.verdict() == Verdict.EQUAL);
    assertThat(result.first()).isEmpty();
    assertThat(result.notes()).isEmpty();
    ReplayResult ads = ForecastReplay.run(log, Optional.of("ads"));
    assertThat(ads.rows()).hasSizeBetween(1, all - 1);
    assertThat(ads.isEqual()).isTrue();
  }

  @Test
  void an_exported_log_is_replayed_and_a_changed_report_is_found() throws IOException {
    Export.write(log, folder);
    int all = log.all(TopicType.TABLE_FORECASTS).size();
    assertThat(run("replay")).as("%s", out).isZero();
    assertThat(out.toString())
        .contains("forecasts, ", "fills, ", "%d forecasts equal, 0 differ, 0 not".formatted(all));
    FillReport changed = log.all(TopicType.TABLE_FILLS).get(reports / 2);
    log.change(
        TopicType.TABLE_FILLS,
        report ->
            report.equals(changed)
                ? new FillReport(
                    report.reportId(),
                    report.workloadId(),
                    report.planId(),
                    report.run(),
                    report.source(),
                    report.measuredAt(),
                    List.of(
                        new TableFill(
                            report.tables().get(0).table(),
                            List.of(new ShardFill(0, 0, 200_000, 1, 7, 0, 3)))))
                : report);
    Export.write(log, folder);
    assertThat(run("replay")).isEqualTo(1);
    assertThat(out.toString())
        .contains(
            "%d forecasts equal, 1 differ, 0 not reproduced".formatted(all - 1),
            "First difference: forecasts after report " + changed.reportId(),
            "ids: recorded");
  }

  private StringWriter out;

  private int run(String command) {
    out = new StringWriter();
    PrintWriter writer = new PrintWriter(out);
    return Shardtide.run(
        writer,
        writer,
        command,
        "--events",
        folder.resolve("events.jsonl").toString(),
        "--out",
        folder.resolve("made.jsonl").toString());
  }

  /** The cluster deletes reports and forecasts after some days, not predictions. */
  @Test
  void a_log_whose_first_reports_are_gone_is_replayed_from_the_first_forecasts_on()
      throws IOException {
    List<TableForecasts> forecasts = log.all(TopicType.TABLE_FORECASTS);
    Instant gone = forecasts.get(forecasts.size() / 3).measuredAt();
    log.change(TopicType.TABLE_FILLS, r -> r.measuredAt().isBefore(gone) ? null : r);
    log.change(TopicType.TABLE_FORECASTS, f -> f.measuredAt().isBefore(gone) ? null : f);
    ReplayResult result = replay(log);
    assertThat(result.count(Verdict.EQUAL))
        .isEqualTo(log.all(TopicType.TABLE_FORECASTS).size() - 2);
    assertThat(result.isEqual()).isTrue();
    assertThat(result.notes())
        .hasSize(2)
        .first()
        .asString()
        .startsWith("forecasts of workload ")
        .endsWith("what was reported before them is not recorded");
  }

  @Test
  void inputs_that_are_missing_are_named() throws IOException {
    List<TableForecasts> forecasts = new ArrayList<>(log.all(TopicType.TABLE_FORECASTS));
    TableForecasts last = forecasts.get(forecasts.size() - 1);
    log.change(
        TopicType.TABLE_FORECASTS,
        f ->
            f.equals(forecasts.get(9))
                ? TableForecastsBuilder.builder(f).inputs(Optional.empty()).build()
                : f);
    log.change(TopicType.TABLE_FILLS, r -> r.reportId().equals(last.reportId()) ? null : r);
    ReplayResult result = replay(log);
    assertThat(result.count(Verdict.NOT_REPRODUCED)).isEqualTo(1);
    assertThat(result.count(Verdict.DIFFERS)).isZero();
    assertThat(result.first().orElseThrow().explanation()).isEqualTo("its report is not recorded");
    assertThat(result.notes())
        .contains(
            "1 forecasts are not recomputed: their planner did not write what it made them from");

    log.change(TopicType.COST_PREDICTIONS, p -> p.generation() > 1 ? null : p);
    ReplayResult without = replay(log);
    assertThat(without.count(Verdict.DIFFERS)).isZero();
    assertThat(without.first().orElseThrow().explanation())
        .matches("predictions of generation [0-9]+ are not recorded");
  }
}
