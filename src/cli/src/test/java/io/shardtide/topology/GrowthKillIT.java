package io.shardtide.topology;

import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.embedded.JavaProcess;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.TableForecasts;
import io.shardtide.testing.Fixtures;
import io.shardtide.wire.Extension;
import io.shardtide.workload.Change;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** While trainers report how full their tables are, the planner is killed, and goes without. */
@Tag("nightly")
class GrowthKillIT extends ExtensionFixture {
  private static final Logger log = LoggerFactory.getLogger(GrowthKillIT.class);

  private static final List<String> WORKLOADS = List.of("w0", "w1", "w2");
  private static final long CAPACITY = 100_000;

  /** Longer than a resize is waited for. */
  private static final Duration HALF_AN_HOUR = Duration.ofMinutes(30);

  private final List<FillReport> published = new ArrayList<>();

  /** Earlier than the log by more than all reports take. */
  private Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS).minus(Duration.ofDays(3));

  private void publishWorkloads() throws Exception {
    for (String workload : WORKLOADS) {
      change(
          workload,
          Fixtures.set(4, Fixtures.GIB),
          Fixtures.upsert("fixed", 100_000, 64, 8),
          new Change.TableUpserted(Fixtures.hashed("user_id", CAPACITY, 64, 5)));
    }
  }

  private void publish(FillReport report) throws Exception {
    published.add(report);
    client.publishValue(topics.of(TABLE_FILLS), report.workloadId(), report);
  }

  /** Reports a table that grows from report to report; some reports are sent twice. */
  private void report(Duration later) throws Exception {
    if (!published.isEmpty() && random.nextInt(8) == 0) {
      publish(published.get(published.size() - 1 - random.nextInt(Math.min(3, published.size()))));
    }
    now = now.plus(later);
    int number = published.size();
    String workload = WORKLOADS.get(random.nextInt(WORKLOADS.size()));
    publish(
        GrowthIT.fill(workload, "r" + number, "run", now, "user_id", CAPACITY / 2 + 500L * number));
  }

  private Void publishReports() throws Exception {
    while (publishing) {
      report(Duration.ofSeconds(1));
      Thread.sleep(random.nextInt(60));
    }
    return null;
  }

  private boolean isAnswered() {
    return client.committed(topics.of(TABLE_FORECASTS)).size()
            + rejected(topics.of(TABLE_FILLS)).size()
        == published.size();
  }

  /** Turned on for a log with plans, killed, off while reports go on, and on again. */
  @Test
  void growth_costs_nothing_while_off_and_survives_kills_when_on() throws Exception {
    try (JavaProcess off = planner()) {
      assertThat(off).isNotNull();
      publishWorkloads();
      awaitPlanned();
      assertNothingOfExtensions("growth|fill|forecast");
    }
    log.info("Planned without growth");
    try (JavaProcess first = planner(Extension.GROWTH)) {
      killWhile(first, Extension.GROWTH, this::publishReports);
    }
    log.info(
        "{} reports and {} resizes until growth is off",
        published.size(),
        changesOf(GrowthStep.SOURCE).size());
    try (JavaProcess off = planner()) {
      assertThat(off).isNotNull();
      awaitPlanned();
      int before = client.committed(topics.of(TABLE_FORECASTS)).size();
      for (int i = 0; i < 60; i++) {
        report(HALF_AN_HOUR);
      }
      change(WORKLOADS.get(0), Fixtures.upsert("another", 100_000, 64, 8));
      awaitPlanned();
      assertThat(client.committed(topics.of(TABLE_FORECASTS))).hasSize(before);
    }
    loseState();
    try (JavaProcess last = planner(Extension.GROWTH)) {
      assertThat(last).isNotNull();
      awaitEnd(this::isAnswered);
    }
    log.info(
        "{} reports, {} resizes; {} forecasts were in aborted transactions",
        published.size(),
        changesOf(GrowthStep.SOURCE).size(),
        client.aborted(topics.of(TABLE_FORECASTS)));
    assertThat(client.committed(topics.of(TABLE_FILLS)))
        .containsExactlyInAnyOrderElementsOf(published);
    assertThat(rejected(topics.of(TABLE_FILLS))).as("some are sent twice").isNotEmpty();
    for (String workload : WORKLOADS) {
      GrowthIT.assertReplayed(client, workload);
    }
    WORKLOADS.forEach(
        workload ->
            assertThat(changesOf(GrowthStep.SOURCE))
                .filteredOn(change -> change.workloadId().equals(workload))
                .as("no table loses slots")
                .isNotEmpty()
                .extracting(change -> ((Change.TableResized) change.changes().get(0)).rows())
                .isSorted());
    assertEachGenerationHasOnePlan();
    assertThat(latest(client.committed(topics.of(CURRENT_FORECASTS))))
        .isEqualTo(latest(client.committed(topics.of(TABLE_FORECASTS))));
  }

  private static Map<String, TableForecasts> latest(List<TableForecasts> forecasts) {
    Map<String, TableForecasts> latest = new HashMap<>();
    forecasts.forEach(each -> latest.put(each.workloadId(), each));
    return latest;
  }
}
