package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.delete;
import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.step.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is on current-predictions once it is compacted: the latest record of each key. */
class CurrentPredictionsTest {
  @TempDir private Path state;
  private final Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://current-predictions", Map.of());
  private final Map<String, CostPredictions> compacted = new TreeMap<>();
  private TopologyTestDriver driver;
  private TestInputTopic<String, WorkloadChange> changes;
  private TestOutputTopic<String, CostPredictions> current;

  @BeforeEach
  void start() {
    PlainPredictors predictors = new PlainPredictors();
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "workload");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    driver =
        new TopologyTestDriver(
            TopologyFixture.skeleton(
                    TopologyName.WORKLOAD, registry, topics, PlannerMetrics.unread())
                .topology(
                    skeleton ->
                        new WorkloadTopology(
                            skeleton, new WorkloadStep(predictors), predictors::changes)),
            properties);
    changes =
        driver.createInputTopic(
            topics.of(WORKLOAD_CHANGES).name(),
            new StringSerializer(),
            registry.serde(topics.of(WORKLOAD_CHANGES)).serializer());
    current =
        driver.createOutputTopic(
            topics.of(CURRENT_PREDICTIONS).name(),
            new StringDeserializer(),
            registry.serde(topics.of(CURRENT_PREDICTIONS)).deserializer());
  }

  @AfterEach
  void stop() {
    driver.close();
  }

  private void publish(WorkloadChange event) {
    changes.pipeInput(event.workloadId(), event);
    current
        .readKeyValuesToList()
        .forEach(
            record -> {
              if (record.value == null) {
                compacted.remove(record.key);
              } else {
                compacted.put(record.key, record.value);
              }
            });
  }

  private static String key(String table) {
    return new PredictionKey(Fixtures.WORKLOAD, Optional.of(table)).text();
  }

  private long rows(String table) {
    return ((Update.Predicted) compacted.get(key(table)).update().orElseThrow())
        .prediction()
        .table()
        .rows();
  }

  @Test
  void it_has_a_record_for_the_workload_and_for_each_of_its_tables() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100, 64, 5), upsert("b", 200, 64, 5)));
    assertThat(compacted).containsOnlyKeys(Fixtures.WORKLOAD, key("a"), key("b"));
    publish(event(upsert("a", 300, 64, 5), drop("b")));
    assertThat(compacted).containsOnlyKeys(Fixtures.WORKLOAD, key("a"));
    assertThat(rows("a")).isEqualTo(300);
    publish(event(set(2, Fixtures.GIB)));
    CostPredictions workload = compacted.get(Fixtures.WORKLOAD);
    assertThat(workload.generation()).isEqualTo(3);
    assertThat(workload.cluster().devices()).isEqualTo(2);
    assertThat(workload.update()).isEmpty();
    assertThat(rows("a")).as("it was not predicted again").isEqualTo(300);
  }

  @Test
  void it_has_no_record_of_a_deleted_workload() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100, 64, 5), upsert("b", 200, 64, 5)));
    publish(event(delete()));
    assertThat(compacted).isEmpty();
    publish(event(upsert("c", 100, 64, 5)));
    assertThat(compacted).as("it has no cluster").isEmpty();
    publish(event(set(2, Fixtures.GIB)));
    assertThat(compacted).containsOnlyKeys(Fixtures.WORKLOAD, key("c"));
    assertThat(compacted.get(Fixtures.WORKLOAD).generation()).isEqualTo(4);
  }

  @Test
  void a_key_is_read_as_it_was_written() {
    assertThat(PredictionKey.parse(key("a\\b c")))
        .isEqualTo(new PredictionKey(Fixtures.WORKLOAD, Optional.of("a\\b c")));
    assertThat(PredictionKey.parse(Fixtures.WORKLOAD))
        .isEqualTo(new PredictionKey(Fixtures.WORKLOAD, Optional.empty()));
  }
}
