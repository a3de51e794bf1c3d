package io.shardtide.log;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The consumer loop on a real broker and a real registry. */
@Timeout(120)
class TopicReaderIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  private LogClient client;
  private Topic<WorkloadChange> topic;
  private final List<Integer> received = new CopyOnWriteArrayList<>();
  private final List<RejectedEvent> undecodable = new CopyOnWriteArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
  }

  @BeforeEach
  void createTopic() throws Exception {
    client = new LogClient(kafka.bootstrapServers(), registry.url(), UUID.randomUUID() + ".");
    topic = client.topics().of(WORKLOAD_CHANGES);
    try (Admin admin = Admin.create(settings())) {
      admin.createTopics(List.of(new NewTopic(topic.name(), 1, (short) 1))).all().get();
    }
    client.registry().register(client.topics());
  }

  private static Map<String, Object> settings() {
    return Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers());
  }

  /** An event that carries a number. */
  private static WorkloadChange event(int number) {
    return Fixtures.event(Fixtures.upsert("t", number, 16, 1));
  }

  private void publish(int from, int to) throws Exception {
    for (int number = from; number <= to; number++) {
      client.publish(event(number));
    }
  }

  private TopicReader reader(StartPosition start) {
    return reader(start, client.registry());
  }

  private TopicReader reader(StartPosition start, Registry schemas) {
    return new TopicReader(settings(), schemas)
        .handle(
            topic,
            start,
            (position, writtenAt, event) ->
                received.add((int) ((Change.TableUpserted) event.changes().get(0)).table().rows()))
        .onUndecodable(undecodable::add);
  }

  @Test
  void reads_from_the_beginning_the_end_or_near_it() throws Exception {
    publish(1, 5);
    try (TopicReader all = reader(StartPosition.BEGINNING)) {
      all.open();
      all.readToEnd();
      assertThat(received).containsExactly(1, 2, 3, 4, 5);
      publish(6, 6);
      all.readToEnd();
      assertThat(received).as("goes on where it stopped").containsExactly(1, 2, 3, 4, 5, 6);
    }
    received.clear();
    try (TopicReader few = reader(new StartPosition(2))) {
      few.open();
      few.readToEnd();
      assertThat(received).containsExactly(5, 6);
    }
    received.clear();
    try (TopicReader late = reader(StartPosition.END)) {
      late.open();
      publish(7, 7);
      late.readToEnd();
      assertThat(received).containsExactly(7);
    }
  }

  @Test
  void reads_a_range_and_nothing_that_is_written_later() throws Exception {
    publish(1, 5);
    try (TopicReader reader = reader(StartPosition.BEGINNING)) {
      Map<TopicPartition, OffsetRange> ranges = reader.ranges(topic);
      publish(6, 7);
      ranges.forEach(reader::readRange);
      assertThat(received).containsExactly(1, 2, 3, 4, 5);
      reader.readRange(new TopicPartition(topic.name(), 0), new OffsetRange(2, 4));
      assertThat(received).containsExactly(1, 2, 3, 4, 5, 3, 4);
    }
  }

  @Test
  void reports_a_record_that_cannot_be_decoded_and_goes_on() throws Exception {
    publish(1, 1);
    client.publish(Fixtures.WORKLOAD, "noise".getBytes(StandardCharsets.UTF_8));
    client.publish("another key", null);
    publish(2, 2);
    try (TopicReader reader =
        reader(StartPosition.BEGINNING).onlyKey(Optional.of(Fixtures.WORKLOAD))) {
      reader.open();
      reader.readToEnd();
      assertThat(received).containsExactly(1, 2);
      assertThat(undecodable).extracting(record -> record.source().offset()).containsExactly(1L);
      assertThat(reader.undecodableRecords()).isEqualTo(1);
    }
    received.clear();
    List<String> tombstones = new ArrayList<>();
    try (TopicReader reader =
        reader(StartPosition.BEGINNING)
            .onTombstone(topic, (position, key) -> tombstones.add(position.offset() + key))) {
      reader.open();
      reader.readToEnd();
      assertThat(tombstones).containsExactly("2another key");
    }
  }

  @Test
  void says_once_that_it_has_caught_up_and_runs_periodic_tasks() throws Exception {
    publish(1, 3);
    List<Integer> atCatchUp = new CopyOnWriteArrayList<>();
    CountDownLatch ticks = new CountDownLatch(3);
    try (TopicReader reader =
        reader(StartPosition.BEGINNING)
            .onCaughtUp(() -> atCatchUp.addAll(received))
            .every(Duration.ofMillis(1), ticks::countDown)) {
      reader.open();
      reader.start("test-reader");
      await().atMost(PATIENCE).until(() -> !atCatchUp.isEmpty());
      publish(4, 4);
      await().atMost(PATIENCE).until(() -> received.size() == 4);
      assertThat(atCatchUp).containsExactly(1, 2, 3);
      assertThat(ticks.await(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void hands_on_the_latest_record_of_each_key_at_the_start_and_then_all() throws Exception {
    publish(1, 3);
    client.publish(Fixtures.eventOf("other", Fixtures.upsert("t", 4, 16, 1)));
    publish(5, 6);
    List<Integer> atCatchUp = new CopyOnWriteArrayList<>();
    try (TopicReader reader =
        reader(StartPosition.BEGINNING)
            .latestOnlyAtStart(topic)
            .onCaughtUp(() -> atCatchUp.addAll(received))) {
      reader.open();
      reader.start("test-reader");
      await().atMost(PATIENCE).until(() -> !atCatchUp.isEmpty());
      publish(7, 8);
      await().atMost(PATIENCE).until(() -> received.contains(8));
    }
    assertThat(atCatchUp).containsExactly(4, 6);
    assertThat(received).containsExactly(4, 6, 7, 8);
    assertThat(undecodable).isEmpty();
  }

  @Test
  void waits_for_the_registry_and_skips_nothing() throws Exception {
    DevelopmentRegistry mine = SharedCluster.anotherRegistry(0);
    int port = mine.port();
    CountDownLatch waiting = new CountDownLatch(1);
    try (Registry schemas = Registry.connect(mine.url(), Map.of());
        TopicReader own =
            reader(StartPosition.END, schemas).onWaiting(error -> waiting.countDown());
        TopicReader callers = reader(StartPosition.END, schemas)) {
      own.open();
      callers.open();
      mine.close();
      own.start("test-reader");
      publish(1, 3);
      assertThat(waiting.await(60, TimeUnit.SECONDS)).isTrue();
      assertThatThrownBy(callers::readToEnd).isInstanceOf(RegistryUnavailableException.class);
      assertThat(received).isEmpty();

      mine = SharedCluster.anotherRegistry(port);
      await().atMost(PATIENCE).until(() -> received.size() == 3);
      callers.readToEnd();
      assertThat(received).containsExactly(1, 2, 3, 1, 2, 3);
      assertThat(undecodable).isEmpty();
    } finally {
      mine.close();
    }
  }

  /** Without a wake-up, these polls last minutes. */
  @Test
  void close_ends_a_wait_on_either_thread() throws Exception {
    TopicReader own = reader(StartPosition.END);
    CompletableFuture<RuntimeException> failed = new CompletableFuture<>();
    own.onFailure(failed::complete);
    own.open();
    own.start("test-reader");
    own.close();
    assertThat(failed).isNotDone();

    publish(1, 1);
    CountDownLatch reads = new CountDownLatch(1);
    TopicReader callers =
        new TopicReader(
                Map.of(
                    CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG,
                    kafka.bootstrapServers(),
                    CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG,
                    600_000),
                client.registry())
            .handle(topic, StartPosition.BEGINNING, (p, at, event) -> {})
            .afterEachRecord(reads::countDown);
    CompletableFuture<Void> waits =
        CompletableFuture.runAsync(
            () -> callers.readRange(new TopicPartition(topic.name(), 0), new OffsetRange(0, 2)));
    assertThat(reads.await(60, TimeUnit.SECONDS)).isTrue();
    callers.close();
    assertThatThrownBy(() -> waits.get(60, TimeUnit.SECONDS))
        .hasRootCauseInstanceOf(WakeupException.class);
    assertThatThrownBy(callers::readToEnd).hasMessage("The reader is closed");
  }

  @Test
  void a_handler_that_throws_ends_the_thread_and_is_reported() throws Exception {
    CompletableFuture<RuntimeException> failed = new CompletableFuture<>();
    try (TopicReader reader =
        new TopicReader(settings(), client.registry())
            .handle(
                topic,
                StartPosition.END,
                (position, writtenAt, event) -> {
                  throw new IllegalStateException("no room for offset " + position.offset());
                })
            .onFailure(failed::complete)) {
      reader.open();
      reader.start("test-reader");
      publish(1, 1);
      assertThat(failed.get(60, TimeUnit.SECONDS)).hasMessage("no room for offset 0");
    }
  }

  @Test
  void names_the_topic_or_the_cluster_that_is_missing() {
    Map<String, Object> nowhere =
        Map.of(
            CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG,
            "127.0.0.1:1",
            CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG,
            500);
    try (TopicReader reader =
        new TopicReader(nowhere, client.registry())
            .handle(topic, StartPosition.END, (p, at, event) -> {})) {
      assertThatThrownBy(reader::open)
          .isInstanceOf(ClusterUnavailableException.class)
          .hasMessageStartingWith("The Kafka cluster at 127.0.0.1:1 did not answer: ");
    }
    try (TopicReader reader =
        new TopicReader(settings(), client.registry())
            .handle(client.topics().of(COST_MODELS), StartPosition.END, (p, at, model) -> {})) {
      assertThatThrownBy(reader::open)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("There is no topic " + client.topics().of(COST_MODELS).name())
          .hasMessageContaining(kafka.bootstrapServers());
    }
  }
}
