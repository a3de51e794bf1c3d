package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cost.CostPredictions;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Records with the id of a schema that the registry may still give: only their keys wait. */
class UndecidedSchemaTest extends TopologyFixture {
  private static final int UNKNOWN_ID = 424_242;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final List<CostPredictions> parts = new ArrayList<>();
  private final List<RejectedEvent> refused = new ArrayList<>();

  @Override
  Map<String, String> registrySettings() {
    return Map.of("missing.id.wait.ms", "700");
  }

  @BeforeEach
  void register() {
    registry.register(topics);
  }

  private void pipe(String key, byte[] value) {
    changes.pipeInput(key.getBytes(StandardCharsets.UTF_8), value);
  }

  private void pipe(WorkloadChange event) {
    pipe(event.workloadId(), bytes(event));
  }

  private static byte[] unknown(int size) {
    return ByteBuffer.allocate(size).put((byte) 0).putInt(UNKNOWN_ID).array();
  }

  private static WorkloadChange first(String workload) {
    return of(workload, set(2, Fixtures.GIB), upsert("t", 1_000, 8, 1));
  }

  private void read() {
    parts.addAll(predictions.readValuesToList());
    refused.addAll(rejected.readValuesToList());
  }

  private boolean isRejected() {
    workload.advanceWallClockTime(Duration.ofSeconds(1));
    read();
    return !refused.isEmpty();
  }

  @Test
  void records_of_other_keys_do_not_wait() {
    pipe(first("a"));
    pipe("a", unknown(7));
    pipe(of("a", upsert("second", 1_000, 8, 1)));
    pipe(of("a", drop("second")));
    pipe(first("b"));
    read();
    assertThat(refused).isEmpty();
    assertThat(parts).extracting(CostPredictions::workloadId).contains("a", "b");
    assertThat(parts).extracting(CostPredictions::generation).containsOnly(1L);

    await().atMost(PATIENCE).until(this::isRejected);
    workload.advanceWallClockTime(Duration.ofSeconds(1));
    read();
    assertThat(refused).hasSize(1);
    assertThat(refused.get(0).reason()).isEqualTo(RejectionReason.UNKNOWN_SCHEMA);
    assertThat(refused.get(0).workloadId()).contains("a");
    assertThat(parts)
        .filteredOn(part -> part.workloadId().equals("a"))
        .extracting(CostPredictions::generation)
        .as("in their order")
        .startsWith(1L)
        .endsWith(3L)
        .isSorted();
    assertThat(workload.<String, byte[]>getKeyValueStore("quarantine").all().hasNext()).isFalse();
    pipe("a", unknown(7));
    read();
    assertThat(refused).as("the answer is remembered").hasSize(2);
  }

  @Test
  void they_wait_for_the_next_planner_too() {
    pipe("a", unknown(7));
    pipe(first("a"));
    Map<String, byte[]> held = new HashMap<>();
    try (KeyValueIterator<String, byte[]> all =
        workload.<String, byte[]>getKeyValueStore("quarantine").all()) {
      all.forEachRemaining(entry -> held.put(entry.key, entry.value));
    }
    assertThat(held).hasSize(2);
    restart(settings);
    held.forEach(workload.<String, byte[]>getKeyValueStore("quarantine")::put);
    await().atMost(PATIENCE).until(this::isRejected);
    workload.advanceWallClockTime(Duration.ofSeconds(1));
    read();
    assertThat(parts).extracting(CostPredictions::workloadId).contains("a");
  }
}
