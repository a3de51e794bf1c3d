package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.hashed;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.cost.CostPredictions;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.Forecast;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the gauges of growth show, on which alerts rely. */
class GrowthTopologyTest {
  @TempDir private Path state;
  private final Topics topics = Topics.inUse("t.", Set.of(Extension.GROWTH));
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final Workloads workloads = Workloads.inMemory();
  private final WorkloadStep predicting = new WorkloadStep(new PlainPredictors());
  private SimpleMeterRegistry meters;
  private TopologyTestDriver driver;
  private Instant now = Fixtures.TIME;
  private int reports;

  @BeforeEach
  void start() {
    registry.register(topics);
    open();
  }

  private void open() {
    meters = new SimpleMeterRegistry();
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "growth");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    driver =
        new TopologyTestDriver(
            TopologyFixture.skeleton(
                    TopologyName.GROWTH, registry, topics, new PlannerMetrics(meters))
                .topology(
                    skeleton ->
                        new GrowthTopology(skeleton, new GrowthStep(CapacityPolicy.DEFAULTS))),
            properties);
  }

  @AfterEach
  void stop() {
    driver.close();
  }

  /** As an instance that takes the partition over: the same stores, and nothing in memory. */
  private void restart() {
    Map<StoreName, Map<String, Object>> stored = new TreeMap<>();
    for (StoreName name :
        List.of(StoreName.GROWTH_HEADERS, StoreName.GROWTH_TABLES, StoreName.REPORTED_FILLS)) {
      try (var entries = driver.<String, Object>getKeyValueStore(name.toString()).all()) {
        Map<String, Object> all = new TreeMap<>();
        entries.forEachRemaining(entry -> all.put(entry.key, entry.value));
        stored.put(name, all);
      }
    }
    stop();
    open();
    stored.forEach(
        (name, entries) ->
            entries.forEach(driver.<String, Object>getKeyValueStore(name.toString())::put));
    driver.advanceWallClockTime(TopologyName.GROWTH.tick());
  }

  private <V> void put(Topic<V> topic, String key, V value, Instant at) {
    driver
        .createInputTopic(topic.name(), new ByteArraySerializer(), new ByteArraySerializer())
        .pipeInput(
            key.getBytes(StandardCharsets.UTF_8),
            registry.serde(topic).serializer().serialize(topic.name(), value),
            at);
  }

  private void predict(String workload, Change... changes) {
    WorkloadChange event = TopologyFixture.of(workload, changes);
    for (CostPredictions part : predicting.apply(workloads, Fixtures.at(reports), event)) {
      put(topics.of(COST_PREDICTIONS), workload, part, now);
    }
  }

  private void report(String workload, long ids) {
    now = now.plus(Duration.ofHours(1));
    put(
        topics.of(TABLE_FILLS),
        workload,
        new FillReport(
            "r" + reports++,
            workload,
            "plan",
            "run",
            "trainer",
            now,
            List.of(new TableFill("a", List.of(new ShardFill(0, 0, 1_000_000, ids, 7, 0, 3))))),
        now);
  }

  private double daysUntilFull() {
    return meters.get("shardtide.table.days.until.full").gauge().value();
  }

  private double daysUntilMemoryEnd() {
    return meters.get("shardtide.memory.days.until.full").gauge().value();
  }

  /** A restart, or a rebalance, must not end TableNearlyFull and MemoryEndsSoon. */
  @Test
  void a_partition_that_moves_shows_what_was_forecast_before() {
    predict(
        "grows",
        Fixtures.set(1, 1_200_000L * hashed("a", 1, 64, 5).bytes()),
        new Change.TableUpserted(hashed("a", 1_000_000, 64, 5)));
    predict(
        "idle",
        Fixtures.set(1, Fixtures.GIB),
        new Change.TableUpserted(hashed("a", 1_000_000, 64, 5)));
    for (int hour = 0; hour < 48; hour++) {
      report("grows", 500_000 + 2_000L * hour);
      report("idle", 1_000);
    }
    double full = daysUntilFull();
    double memory = daysUntilMemoryEnd();
    assertThat(full).isBetween(1.0, 20.0);
    assertThat(memory).isBetween(1.0, 40.0);

    restart();
    assertThat(daysUntilFull()).isEqualTo(full);
    assertThat(daysUntilMemoryEnd()).isEqualTo(memory);
    assertThat(
            driver
                .createOutputTopic(
                    topics.of(TABLE_FORECASTS).name(),
                    new StringDeserializer(),
                    registry.serde(topics.of(TABLE_FORECASTS)).deserializer())
                .isEmpty())
        .as("nothing is published again")
        .isTrue();

    predict("grows", Fixtures.delete());
    assertThat(daysUntilFull()).isEqualTo(Forecast.MOST_DAYS);
    restart();
    assertThat(daysUntilFull()).isEqualTo(Forecast.MOST_DAYS);
    assertThat(daysUntilMemoryEnd()).isEqualTo(Forecast.MOST_DAYS);
  }
}
