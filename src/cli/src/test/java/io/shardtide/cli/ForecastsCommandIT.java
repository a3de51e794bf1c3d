package io.shardtide.cli;

import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.Fill;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.GrowthInputs;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecastBuilder;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableForecastsBuilder;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import io.shardtide.growth.WhatIfGrowth;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.CheckResult;
import io.shardtide.topology.ClusterChecks;
import io.shardtide.wire.Codec;
import io.shardtide.wire.Extension;
import io.shardtide.wire.JsonLines;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command forecasts, and doctor's check of them, on a real broker, registry and planner. */
class ForecastsCommandIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final TableForecasts EARLIER = forecasts("ads", 100, Optional.empty());
  private static final TableForecasts ADS =
      forecasts("ads", 200, Optional.of(new MemoryEnd(new Range(10, 12, 15), 1 << 30)));
  private static final TableForecasts FEED = withInputs(forecasts("feed", 300, Optional.empty()));

  @TempDir private static Path folder;
  private static LocalPlanner planner;

  private record ForecastsResult(int status, String out, String err) {}

  private static TableForecasts forecasts(String workload, long ids, Optional<MemoryEnd> end) {
    Range soon = new Range(ids, ids + 10, ids + 20);
    TableForecast table =
        new TableForecast(
            "user",
            ids,
            400,
            800,
            1,
            2,
            3,
            soon,
            soon,
            soon,
            Optional.of(new Range(2, 3, 4)),
            Optional.empty());
    return new TableForecasts(
        workload,
        "report " + ids,
        Instant.parse("2026-11-27T10:00:00Z"),
        1,
        List.of(table),
        List.of(),
        end,
        Optional.empty());
  }

  /** As of a table of 300 ids that are said to be 10 more each day. */
  private static TableForecasts withInputs(TableForecasts forecasts) {
    FillHistory history = FillHistory.of(new Fill(forecasts.measuredAt().toEpochMilli(), 300));
    TableInputs inputs = new TableInputs(new TableGrowth(history, 400, 0, 0), 10, false, 64);
    return TableForecastsBuilder.builder(forecasts)
        .tables(
            forecasts.tables().stream()
                .map(
                    table ->
                        TableForecastBuilder.builder(table).inputs(Optional.of(inputs)).build())
                .toList())
        .inputs(Optional.of(new GrowthInputs(0, 1e6, CapacityPolicy.DEFAULTS)))
        .build();
  }

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.start(folder, PREFIX, Set.of(Extension.GROWTH));
    try (LogClient log = planner.log()) {
      for (TableForecasts each :
          List.of(FEED, EARLIER, forecasts("gone", 1, ADS.memoryEnd()), ADS)) {
        log.publishValue(log.topics().of(CURRENT_FORECASTS), each.workloadId(), each);
      }
      log.publish(log.topics().of(CURRENT_FORECASTS), "gone", null);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    planner.close();
  }

  private static ForecastsResult run(String prefix, String... args) {
    List<String> all = new ArrayList<>(List.of("forecasts", "--prefix", prefix));
    all.addAll(
        List.of("--bootstrap", planner.bootstrapServers(), "--registry", planner.registryUrl()));
    all.addAll(List.of(args));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(new String[0]));
    return new ForecastsResult(status, out.toString(), err.toString());
  }

  @Test
  void the_latest_forecasts_of_workloads_that_exist_are_shown() {
    ForecastsResult all = run(PREFIX);
    assertThat(all.err()).isEmpty();
    assertThat(all.status()).isZero();
    assertThat(all.out()).isEqualTo(ForecastView.text(List.of(ADS, FEED)));
    ForecastsResult one = run(PREFIX, "--workload", "feed");
    assertThat(one.status()).isZero();
    assertThat(one.out()).isEqualTo(ForecastView.text(List.of(FEED)));
  }

  @Test
  void json_has_a_record_a_line() {
    JsonLines<TableForecasts, ?> lines = new JsonLines<>(Codec.TABLE_FORECASTS);
    List<String> printed = run(PREFIX, "--json").out().lines().toList();
    assertThat(printed).hasSize(2);
    assertThat(lines.read(printed.get(0))).isEqualTo(ADS);
    assertThat(lines.read(printed.get(1))).isEqualTo(FEED);
    assertThat(run(PREFIX, "--json", "--workload", "ads").out().lines())
        .containsExactly(printed.get(0));
  }

  @Test
  void other_growth_is_forecast_from_the_latest_report() {
    ForecastsResult doubled = run(PREFIX, "--workload", "feed", "--growth", "2");
    assertThat(doubled.err()).isEmpty();
    assertThat(doubled.out())
        .startsWith("As if tables grew 2.0 times as fast:\n")
        .endsWith(ForecastView.text(List.of(WhatIfGrowth.of(FEED, 2))))
        // 20 a day instead of 10, until 320 of 400 slots are taken.
        .containsPattern("feed +user +300 +400 +75.0% +320 .* 440 .* 860 .*1.0 days");
    ForecastsResult of = run(PREFIX, "--growth", "2");
    assertThat(of.status()).isEqualTo(1);
    assertThat(of.err())
        .startsWith(
            "shardtide: forecasts of workload \"ads\" must say what they were made from, got");
  }

  @Test
  void an_unknown_or_deleted_workload_is_named() {
    ForecastsResult gone = run(PREFIX, "--workload", "gone");
    assertThat(gone.status()).isEqualTo(1);
    assertThat(gone.out()).isEmpty();
    assertThat(gone.err().strip())
        .isEqualTo(
            "shardtide: There are no forecasts of workload \"gone\"; expected one of [ads, feed]."
                + " The first follows a report of how full its hashed tables are");
  }

  @Test
  void where_growth_is_not_enabled_the_command_says_so() {
    ForecastsResult result = run("other.", "--timeout", "5");
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err().strip())
        .startsWith("shardtide: There is no topic other.current-forecasts on the Kafka cluster at ")
        .endsWith("Set growth.enabled=true for the planner, or use its topic prefix")
        .doesNotContain("\n");
  }

  @Test
  void doctor_names_memory_that_ends_if_growth_is_enabled() throws Exception {
    TestSettings settings =
        TestSettings.of(
            planner.bootstrapServers(), planner.registryUrl(), PREFIX, folder.resolve("doctor"));
    assertThat(ClusterChecks.run(settings.build()))
        .extracting(CheckResult::check)
        .doesNotContain("forecasts");
    assertThat(ClusterChecks.run(settings.with(Extension.GROWTH).build()))
        .filteredOn(check -> check.check().equals("forecasts"))
        .singleElement()
        .satisfies(
            check -> {
              assertThat(check.status()).isEqualTo(CheckResult.CheckStatus.WARNING);
              assertThat(check.finding())
                  .startsWith(
                      "memory holds workload \"ads\" for 12 days (10 to 15) after its report")
                  .doesNotContain("gone", "feed");
            });
  }

  @Test
  void doctor_finds_nothing_before_the_first_start() throws Exception {
    assertThat(
            ClusterChecks.run(
                TestSettings.of(
                        planner.bootstrapServers(),
                        planner.registryUrl(),
                        SharedCluster.freshPrefix(),
                        folder.resolve("new"))
                    .with(Extension.GROWTH)
                    .build()))
        .anySatisfy(
            check ->
                assertThat(check)
                    .isEqualTo(
                        CheckResult.ok("no planner with growth.enabled=true has started yet")
                            .named("forecasts")));
  }
}
