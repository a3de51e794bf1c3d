package io.shardtide.views;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.TablePrediction;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Extension;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Future;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How many records the views read when they start, on a real broker whose log cleaner runs. */
@Tag("nightly")
class ViewsStartIT {
  private static final int WORKLOADS = 10;
  private static final int TABLES = 10;

  /** Records of current-predictions that are current: one for each table and each workload. */
  private static final int CURRENT = WORKLOADS * (TABLES + 1);

  /** The same before the last few were compacted. */
  private static final int AT_MOST = 5 * CURRENT;

  @TempDir private static Path folder;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private final String prefix = UUID.randomUUID() + ".";
  private LogClient log;
  private KafkaProducer<String, byte[]> producer;
  private final List<Future<RecordMetadata>> sent = new ArrayList<>();
  private long generation;

  @BeforeAll
  static void start() throws Exception {
    kafka =
        EmbeddedKafka.start(folder.resolve("kafka"), 0, Map.of("log.cleaner.backoff.ms", "100"));
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
  }

  /** As a planner without pools does. */
  @BeforeEach
  void createTopics() throws Exception {
    log = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
    producer =
        new KafkaProducer<>(
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
                kafka.bootstrapServers(),
                ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
                false),
            new StringSerializer(),
            new ByteArraySerializer());
    try (Admin admin =
        Admin.create(
            Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers()))) {
      List<NewTopic> topics = new ArrayList<>();
      // A dashboard must start where pools are off, too.
      for (Topic<?> topic : Topics.inUse(prefix, Set.of()).all()) {
        Map<String, String> config = new HashMap<>(topic.config());
        if (topic.type().retention() == TopicType.Retention.LATEST) {
          // A cluster compacts when half of a log is stale, and a segment when it is full.
          config.put(TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG, "0");
          config.put(TopicConfig.SEGMENT_MS_CONFIG, "100");
        }
        topics.add(new NewTopic(topic.name(), 2, (short) 1).configs(config));
      }
      admin.createTopics(topics).all().get();
    }
  }

  @AfterEach
  void disconnect() throws Exception {
    producer.close();
    log.close();
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
    kafka.close();
  }

  /** Predicts every table of every workload again and again, as the planner writes it. */
  private void predict(int count) throws Exception {
    for (int i = 0; i < count; i++) {
      if (i % TABLES == 0) {
        generation++;
      }
      String workload = "w" + i / TABLES % WORKLOADS;
      CostPredictions part =
          new CostPredictions(
              workload,
              generation,
              new UUID(0, generation),
              Fixtures.at(generation),
              TestModels.bundle().modelId(),
              i % TABLES,
              TABLES,
              Fixtures.cluster(2, Fixtures.GIB),
              Optional.empty(),
              Optional.of(
                  new Update.Predicted(
                      new TablePrediction(
                          Fixtures.table("t" + i % TABLES, generation, 4, 1),
                          List.of(new float[TestModels.bundle().towerSize()]),
                          List.of()))));
      send(log.topics().of(COST_PREDICTIONS), workload, part);
      send(log.topics().of(CURRENT_PREDICTIONS), PredictionKey.of(part).text(), part);
      if (part.isLast()) {
        send(log.topics().of(CURRENT_PREDICTIONS), workload, part.withoutTable());
      }
    }
    awaitSent();
  }

  private void send(Topic<CostPredictions> topic, String key, CostPredictions value) {
    byte[] bytes =
        value == null
            ? null
            : log.registry().serde(topic).serializer().serialize(topic.name(), value);
    sent.add(producer.send(new ProducerRecord<>(topic.name(), key, bytes)));
  }

  private void awaitSent() throws Exception {
    for (Future<RecordMetadata> record : sent) {
      record.get();
    }
    sent.clear();
  }

  /** Waits until the log cleaner leaves little of current-predictions. */
  private void awaitCompaction() {
    await()
        .atMost(3, MINUTES)
        .pollInterval(500, MILLISECONDS)
        .until(
            () -> {
              // The segment that is written to is never compacted: a record closes it.
              predict(TABLES);
              return log.committed(log.topics().of(CURRENT_PREDICTIONS)).size() <= AT_MOST;
            });
  }

  /** Returns how many records all consumers of this process have received. */
  private static double received() throws Exception {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    double sum = 0;
    for (ObjectName consumer :
        server.queryNames(
            new ObjectName("kafka.consumer:type=consumer-fetch-manager-metrics,client-id=*"),
            null)) {
      sum += (Double) server.getAttribute(consumer, "records-consumed-total");
    }
    return sum;
  }

  private Endpoint endpoint() {
    return Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix(prefix);
  }

  private Views views() {
    Views views =
        Views.start(
            endpoint(),
            Set.of(),
            error -> {
              throw new AssertionError(error);
            });
    await().until(() -> views.isCaughtUp() && views.statistics().tablesAreRead());
    return views;
  }

  private double recordsReadAtStart() throws Exception {
    double before = received();
    long start = System.nanoTime();
    try (Views views = views()) {
      for (int w = 0; w < WORKLOADS; w++) {
        assertThat(views.log().tables("w" + w).orElseThrow()).hasSize(TABLES);
        assertThat(views.workload("w" + w).orElseThrow().cluster()).isPresent();
      }
      double read = received() - before;
      System.out.printf(
          "%,d generations: %,.0f records at the start, %,.2f s%n",
          generation, read, (System.nanoTime() - start) / 1e9);
      return read;
    }
  }

  @Test
  void topics_of_pools_are_read_only_where_pools_are_enabled() {
    try (Views views = views()) {
      assertThat(views.pools().rows()).isEmpty();
    }
    assertThatThrownBy(() -> Views.start(endpoint(), Set.of(Extension.POOLS), error -> {}))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("There is no topic " + prefix);
  }

  @Test
  void a_start_reads_as_many_records_from_a_long_log_as_from_a_short_one() throws Exception {
    predict(1000);
    awaitCompaction();
    assertThat(recordsReadAtStart()).isBetween((double) CURRENT, (double) AT_MOST);
    predict(49_000);
    awaitCompaction();
    assertThat(log.committed(log.topics().of(COST_PREDICTIONS))).hasSizeGreaterThan(50_000);
    assertThat(recordsReadAtStart()).isBetween((double) CURRENT, (double) AT_MOST);
  }

  @Test
  void a_tombstone_drops_a_table() throws Exception {
    predict(WORKLOADS * TABLES);
    try (Views views = views()) {
      send(
          log.topics().of(CURRENT_PREDICTIONS),
          new PredictionKey("w3", Optional.of("t7")).text(),
          null);
      awaitSent();
      await().until(() -> views.log().tables("w3").orElseThrow().size() == TABLES - 1);
      assertThat(views.log().tables("w3").orElseThrow())
          .noneMatch(table -> table.name().equals("t7"));
    }
    try (Views views = views()) {
      assertThat(views.log().tables("w3").orElseThrow()).hasSize(TABLES - 1);
      assertThat(views.log().tables("w2").orElseThrow()).hasSize(TABLES);
    }
  }
}
