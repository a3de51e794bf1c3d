package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.step.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import io.shardtide.wire.Topic;
import io.shardtide.workload.Bytes;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records that wait: how many, for how long, and what becomes of them. */
class WaitingRecordsTest extends TopologyFixture {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int MIB = 1 << 20;
  private static final ModelBundle H100 =
      ModelBundleBuilder.builder(TestModels.bundle())
          .hardware("h100")
          .modelId("")
          .build()
          .identified();

  private final Set<String> awaited = new HashSet<>();

  /** Keys, or records and work, that fail. */
  private final Set<String> failing = new HashSet<>();

  private final List<String> attempts = new ArrayList<>();
  private final List<String> pauses = new ArrayList<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private int asked;
  private Topology built;

  WaitingRecordsTest() {
    faults =
        new Faults() {
          @Override
          public void attempt(String key, String work) {
            attempts.add(key);
            if (failing.contains(key) || failing.contains(work)) {
              throw new StackOverflowError("injected");
            }
          }
        };
  }

  @BeforeEach
  void register() {
    registry.register(topics);
  }

  @Override
  Map<String, String> registrySettings() {
    return Map.of("missing.id.wait.ms", "700");
  }

  /** The model arrives after three pauses; without any, after a thousand questions. */
  @Override
  ArrivingModels models() {
    return new ArrivingModels() {
      @Override
      public long changes() {
        return predictors.changes();
      }

      @Override
      public boolean isDecided(String modelId) {
        return true;
      }

      @Override
      public boolean isDecided(ClusterSpec cluster) {
        asked++;
        if (pauses.size() >= 3 || asked > 1_000) {
          awaited.clear();
        }
        return !awaited.contains(cluster.hardware());
      }
    };
  }

  @Override
  Topology workloadTopology() {
    RegistryRetry retry =
        new RegistryRetry(
            TopologyName.WORKLOAD,
            Duration.ofMinutes(2),
            new CountDownLatch(1),
            (topology, reason) -> reason.ifPresent(pauses::add));
    built =
        new Skeleton(TopologyName.WORKLOAD, registry, topics, new PlannerMetrics(meters), retry)
            .topology(
                skeleton ->
                    faults.in(
                        new WorkloadTopology(skeleton, new WorkloadStep(predictors), models())));
    return built;
  }

  private static Change set(String hardware) {
    return new Change.ClusterSet(new ClusterSpec(2, Fixtures.GIB, 65_536, 2, hardware));
  }

  private static byte[] key(String workload) {
    return workload.getBytes(StandardCharsets.UTF_8);
  }

  private byte[] event(String workload, Change... all) {
    return bytes(Fixtures.eventOf(workload, all));
  }

  private void publish(String workload, Change... all) {
    changes.pipeInput(key(workload), event(workload, all));
  }

  private static byte[] unknown(int size) {
    return ByteBuffer.allocate(size).put((byte) 0).putInt(424_242).array();
  }

  /** No record, of any schema. */
  private static byte[] garbage(int size) {
    return ByteBuffer.allocate(size).put((byte) 1).array();
  }

  private double waiting() {
    return meters.get("shardtide.waiting.records").tag("topology", "workload").gauge().value();
  }

  private void tick() {
    workload.advanceWallClockTime(Duration.ofSeconds(1));
  }

  private static KeyValueStore<String, byte[]> room(TopologyTestDriver driver) {
    return driver.getKeyValueStore("quarantine");
  }

  private static Map<String, byte[]> entries(TopologyTestDriver driver) {
    Map<String, byte[]> entries = new HashMap<>();
    room(driver).all().forEachRemaining(entry -> entries.put(entry.key, entry.value));
    return entries;
  }

  private static void quarantined(TopologyTestDriver driver, String topology, String key) {
    Quarantine quarantine =
        new Quarantine(
            topology,
            key,
            true,
            "record failed",
            Optional.of(new SourcePosition("t.any", 0, 0)),
            false,
            false,
            false,
            "0.1.0",
            Instant.EPOCH);
    room(driver).put(key, StoreSerdes.of(Codec.QUARANTINE).serializer().serialize("", quarantine));
  }

  private static void held(
      TopologyTestDriver driver, String key, int number, Topic<?> topic, byte[] value) {
    held(driver, key, number, topic.name(), value);
  }

  private static void held(
      TopologyTestDriver driver, String key, int number, String topic, byte[] value) {
    HeldRecord record =
        new HeldRecord(
            new SourcePosition(topic, 0, number),
            0,
            Optional.of(Bytes.copyOf(key(key))),
            Optional.of(Bytes.copyOf(value)));
    room(driver)
        .put(
            KeyedStore.SEPARATOR + "%019d".formatted(number),
            StoreSerdes.of(Codec.HELD_RECORD).serializer().serialize("", record));
  }

  /** What is tried again needs no room beside itself. */
  @Test
  void a_record_that_waits_for_a_schema_is_counted_once() {
    changes.pipeInput(key("w"), unknown(15 * MIB));
    changes.pipeInput(key("w"), unknown(15 * MIB));
    assertThat(waiting()).isEqualTo(2);
    List<RejectedEvent> rejections = new ArrayList<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              tick();
              rejections.addAll(rejected.readValuesToList());
              return rejections.size() == 2;
            });
    assertThat(rejections)
        .extracting(RejectedEvent::reason)
        .containsOnly(RejectionReason.UNKNOWN_SCHEMA);
    assertThat(pauses).as("the partition did not wait").isEmpty();
    assertThat(waiting()).isZero();
  }

  @Test
  void a_record_that_waits_for_a_model_is_counted_once() {
    awaited.add("h100");
    publish("w", large("h100"));
    changes.pipeInput(key("w"), garbage(14 * MIB));
    changes.pipeInput(key("w"), garbage(14 * MIB));
    tick();
    assertThat(waiting()).isEqualTo(3);
    assertThat(rejected.isEmpty()).isTrue();
    predictors.takeOver(H100);
    awaited.clear();
    tick();
    assertThat(rejected.readValuesToList())
        .extracting(event -> event.source().offset())
        .containsExactly(1L, 2L);
    assertThat(predictions.isEmpty()).isFalse();
    assertThat(pauses).isEmpty();
  }

  /** An event of almost 3 MiB. */
  private static Change[] large(String hardware) {
    Change[] many = new Change[10_000];
    many[0] = set(hardware);
    for (int i = 1; i < many.length; i++) {
      many[i] = upsert("%0250d".formatted(i), 1_000, 8, 1);
    }
    return many;
  }

  /** Beyond the bound of its key, a record waits in the partition, with pauses. */
  @Test
  void the_partition_waits_with_pauses_for_records_without_room() {
    awaited.add("h100");
    predictors.takeOver(H100);
    publish("w", set("h100"), upsert("a", 1_000, 8, 1));
    changes.pipeInput(key("w"), garbage(15 * MIB));
    changes.pipeInput(key("w"), garbage(15 * MIB));
    assertThat(pauses).isEmpty();
    asked = 0;
    changes.pipeInput(key("w"), garbage(15 * MIB));
    assertThat(asked).as("tries").isLessThan(10);
    assertThat(pauses)
        .hasSize(3)
        .allMatch(
            reason ->
                reason.contains(
                    "has no room among the records that wait, at most 32 MiB of a key and 128 MiB"
                        + " of a partition"));
    assertThat(rejected.readValuesToList())
        .as("in their order")
        .extracting(event -> event.source().offset())
        .containsExactly(1L, 2L, 3L);
    assertThat(predictions.readValue().workloadId()).isEqualTo("w");
    assertThat(waiting()).isZero();
  }

  /** Both before and after its key entered quarantine, behind a record without a schema. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void a_deletion_is_noticed_behind_a_record_that_waits(boolean entersFirst) {
    int failed = entersFirst ? 0 : 1;
    failing.add("record t.workload-changes-0@" + failed);
    List<byte[]> values =
        new ArrayList<>(
            List.of(unknown(7), event("w", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1))));
    if (entersFirst) {
      Collections.reverse(values);
    }
    values.forEach(value -> changes.pipeInput(key("w"), value));
    publish("w", Fixtures.delete());
    publish("w", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1));
    List<RejectedEvent> rejections = new ArrayList<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              tick();
              rejections.addAll(rejected.readValuesToList());
              return entries(workload).isEmpty();
            });
    assertThat(rejections)
        .extracting(event -> event.source().offset() + " " + event.reason())
        .containsExactly(
            (1 - failed) + " UNKNOWN_SCHEMA", failed + " QUARANTINED", "2 UNKNOWN_WORKLOAD");
    assertThat(predictions.readValue().generation()).isEqualTo(1);
  }

  @Test
  void a_held_record_that_cannot_be_decoded_any_more_is_rejected() {
    quarantined(workload, "workload", "w");
    held(workload, "w", 0, topics.of(WORKLOAD_CHANGES), garbage(7));
    held(workload, "w", 1, "t.no-longer-read", garbage(7));
    held(
        workload,
        "w",
        2,
        topics.of(WORKLOAD_CHANGES),
        event("w", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1)));
    tick();
    List<RejectedEvent> rejections = rejected.readValuesToList();
    assertThat(rejections)
        .extracting(RejectedEvent::reason)
        .containsExactly(RejectionReason.UNDECODABLE, RejectionReason.QUARANTINED);
    assertThat(rejections.get(1).message()).contains("t.no-longer-read");
    assertThat(predictions.readValue().workloadId()).isEqualTo("w");
    assertThat(entries(workload)).isEmpty();
  }

  /** Later predictions build on it: nothing is planned without it. */
  @Test
  void a_held_record_on_which_others_build_stays() {
    quarantined(planning, "planning", "w");
    held(planning, "w", 0, topics.of(COST_PREDICTIONS), garbage(7));
    planning.advanceWallClockTime(Duration.ofSeconds(1));
    assertThat(entries(planning)).hasSize(2);
    assertThat(rejectedStatuses.isEmpty()).isTrue();
    Quarantine entered = output(planning, topics.of(QUARANTINE)).readValue();
    assertThat(entered.entered()).isTrue();
    assertThat(entered.error())
        .startsWith("record t.cost-predictions-0@0: The record must be a CostPredictions");
  }

  /** It may have the repair, whenever it started and whatever the clocks say. */
  @Test
  void a_planner_tries_a_key_that_failed_elsewhere_after_it_had_started() {
    Topology first = built;
    Topology second = workloadTopology();
    workload.advanceWallClockTime(Duration.ofDays(1));
    failing.add("w");
    publish("w", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1));
    Map<String, byte[]> entries = entries(workload);
    assertThat(entries).hasSize(2);

    // The partition comes back to the planner on which it failed.
    attempts.clear();
    try (TopologyTestDriver driver = driver("again", first)) {
      entries.forEach(room(driver)::put);
      driver.advanceWallClockTime(Duration.ofSeconds(1));
      assertThat(entries(driver)).hasSize(2);
    }
    assertThat(attempts).isEmpty();

    failing.clear();
    try (TopologyTestDriver driver = driver("second", second)) {
      entries.forEach(room(driver)::put);
      driver.advanceWallClockTime(Duration.ofSeconds(1));
      assertThat(output(driver, topics.of(COST_PREDICTIONS)).readValue().workloadId())
          .isEqualTo("w");
      assertThat(entries(driver)).isEmpty();
    }
  }

  /** However many keys are in quarantine; those that are not go on. */
  @Test
  void what_a_task_holds_is_bounded() {
    for (int i = 0; i < 200; i++) {
      quarantined(workload, "workload", "w" + i);
    }
    // They are tried at the start, and fail again.
    for (int i = 0; i < 200; i++) {
      failing.add("w" + i);
      held(
          workload,
          "w" + i,
          i,
          topics.of(WORKLOAD_CHANGES),
          event("w" + i, set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1)));
    }
    tick();
    tick();
    tick();
    assertThat(meters.get("shardtide.quarantine.keys").tag("topology", "workload").gauge().value())
        .isEqualTo(200);
    int large = 0;
    for (int i = 0; i < 30; i++) {
      byte[] bytes = event("w" + i, large(Fixtures.HARDWARE));
      for (int n = 0; n < 2; n++) {
        changes.pipeInput(key("w" + i), bytes);
        large++;
      }
    }
    List<RejectedEvent> rejections = rejected.readValuesToList();
    assertThat(rejections)
        .isNotEmpty()
        .allMatch(r -> r.reason() == RejectionReason.QUARANTINED)
        .allMatch(r -> r.message().contains("32 MiB of its records and 128 MiB of all of a"));
    long bytes = entries(workload).values().stream().mapToLong(value -> value.length).sum();
    assertThat(bytes).isBetween(120L * MIB, 129L * MIB);
    assertThat(waiting()).isEqualTo(200 + large - rejections.size());
    publish("other", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1));
    assertThat(predictions.readValuesToList())
        .extracting(CostPredictions::workloadId)
        .containsOnly("other");
  }
}
