package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.shardtide.views.LogEvent;
import io.shardtide.views.PlannerStatistics;
import io.shardtide.views.PoolView.PoolRow;
import io.shardtide.views.ViewUpdate;
import io.shardtide.views.WorkloadRow;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What a browser receives that reads more slowly than workloads change. */
class PendingUpdatesTest {
  private final UpdateTexts texts = new UpdateTexts(ApiJson.mapper());
  private final PendingUpdates pending = new PendingUpdates();

  private void add(ViewUpdate update) throws JsonProcessingException {
    pending.add(update, texts.of(update));
  }

  private static ViewUpdate row(String workload, long generation) {
    return new ViewUpdate(
        "workload",
        Optional.of("workload " + workload),
        new WorkloadRow(
            workload,
            generation,
            1,
            2,
            Optional.empty(),
            Optional.empty(),
            0,
            Optional.empty(),
            false,
            List.of(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            WorkloadRow.WorkloadHealth.GOOD,
            Optional.empty()));
  }

  private static ViewUpdate deleted(String workload) {
    return new ViewUpdate(
        "deleted", Optional.of("workload " + workload), Map.of("workloadId", workload));
  }

  private static ViewUpdate poolRow(String pool, long generation) {
    return new ViewUpdate(
        "pool",
        Optional.of("pool " + pool),
        new PoolRow(
            pool,
            generation,
            Optional.empty(),
            8,
            2,
            1,
            0,
            16,
            1,
            0,
            Optional.empty(),
            0,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            false,
            Optional.empty()));
  }

  private static ViewUpdate event(long number) {
    return new ViewUpdate(
        "event",
        Optional.empty(),
        new LogEvent(
            number,
            LogEvent.EventKind.CHANGE,
            Instant.EPOCH,
            Optional.of("w"),
            "event " + number,
            "test",
            Optional.empty(),
            OptionalDouble.empty()));
  }

  private static ViewUpdate statistics(int pending) {
    return ViewUpdate.of(
        new PlannerStatistics(
            OptionalLong.of(pending),
            pending,
            0,
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            true));
  }

  private String drained() {
    return new String(pending.drain(), StandardCharsets.UTF_8);
  }

  private static int count(String text, String part) {
    return text.split(part, -1).length - 1;
  }

  @Test
  void the_latest_row_of_each_of_many_workloads_arrives() throws Exception {
    for (long generation = 1; generation <= 3; generation++) {
      for (int w = 0; w < 10_000; w++) {
        add(row("workload " + w, generation));
      }
      add(statistics((int) generation));
    }
    String text = drained();
    assertThat(count(text, "event: workload\n")).isEqualTo(10_000);
    assertThat(count(text, "\"generation\":3")).isEqualTo(10_000);
    assertThat(count(text, "event: statistics\n")).isEqualTo(1);
    assertThat(pending.isEmpty()).isTrue();
  }

  @Test
  void a_deletion_replaces_the_row_and_a_row_the_deletion() throws Exception {
    add(row("w", 1));
    add(deleted("w"));
    assertThat(drained()).contains("event: deleted").doesNotContain("event: workload");
    add(deleted("w"));
    add(row("w", 2));
    assertThat(drained()).contains("event: workload").doesNotContain("event: deleted");
  }

  @Test
  void the_latest_row_of_a_pool_arrives_beside_a_workload_of_that_name() throws Exception {
    add(row("w", 1));
    add(poolRow("w", 1));
    add(poolRow("w", 2));
    String text = drained();
    assertThat(count(text, "event: workload\n")).isEqualTo(1);
    assertThat(count(text, "event: pool\n")).isEqualTo(1);
    assertThat(text).contains("event: pool\ndata: {\"poolId\":\"w\",\"generation\":2,");
  }

  @Test
  void the_latest_events_arrive_in_their_order() throws Exception {
    for (long number = 1; number <= PendingUpdates.EVENTS + 20; number++) {
      add(event(number));
    }
    String text = drained();
    assertThat(count(text, "event: event\n")).isEqualTo(PendingUpdates.EVENTS);
    assertThat(text).startsWith("event: event\ndata: {\"number\":21,");
    assertThat(text.indexOf("\"number\":22,")).isLessThan(text.indexOf("\"number\":23,"));
  }

  @Test
  void an_update_is_encoded_once_for_all_browsers() throws Exception {
    ViewUpdate update = row("w", 1);
    assertThat(texts.of(update)).isSameAs(texts.of(update));
    assertThat(new String(texts.of(row("w", 2)), StandardCharsets.UTF_8))
        .contains("\"generation\":2");
  }
}
