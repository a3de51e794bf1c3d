package io.shardtide.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.log.EndOffsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers in processes of their own, of which one may be away, and not two. */
@Tag("nightly")
class KafkaClusterIT {
  private static final String TOPIC = "numbers";
  private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);

  @TempDir private Path folder;
  private KafkaCluster cluster;
  private Admin admin;
  private KafkaProducer<String, String> producer;
  private EndOffsets offsets;
  private final List<String> sent = new ArrayList<>();

  @BeforeEach
  void start() throws Exception {
    cluster = KafkaCluster.of(folder, 3).start();
    admin = Admin.create(clients());
    offsets = new EndOffsets(clients());
    producer = producer(120_000);
    admin.createTopics(List.of(new NewTopic(TOPIC, 1, (short) 3))).all().get();
  }

  @AfterEach
  void stop() {
    producer.close(Duration.ZERO);
    offsets.close();
    admin.close(Duration.ZERO);
    cluster.close();
  }

  private Map<String, Object> clients() {
    return Map.of("bootstrap.servers", cluster.bootstrapServers());
  }

  private KafkaProducer<String, String> producer(int timeoutMs) {
    return new KafkaProducer<>(
        Map.of(
            "bootstrap.servers",
            cluster.bootstrapServers(),
            "delivery.timeout.ms",
            timeoutMs,
            "request.timeout.ms",
            Math.min(2_000, timeoutMs),
            "linger.ms",
            0),
        new StringSerializer(),
        new StringSerializer());
  }

  private void send(int count) throws Exception {
    for (int i = 0; i < count; i++) {
      String value = Integer.toString(sent.size());
      producer.send(new ProducerRecord<>(TOPIC, 0, "", value)).get(60, TimeUnit.SECONDS);
      sent.add(value);
    }
  }

  private List<String> read() {
    List<String> values = new ArrayList<>();
    try (KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(clients(), new StringDeserializer(), new StringDeserializer())) {
      consumer.assign(List.of(PARTITION));
      consumer.seekToBeginning(List.of(PARTITION));
      long end = consumer.endOffsets(List.of(PARTITION)).get(PARTITION);
      while (consumer.position(PARTITION) < end) {
        consumer.poll(Duration.ofMillis(500)).forEach(record -> values.add(record.value()));
      }
    }
    return values;
  }

  private long end() {
    return offsets
        .list(Map.of(PARTITION, OffsetSpec.latest()), new ListOffsetsOptions())
        .get(PARTITION)
        .offset();
  }

  /** Asks with another client until one does not wait for a paused broker. */
  private int leader() throws Exception {
    Map<String, Object> impatient = new HashMap<>(clients());
    impatient.put("request.timeout.ms", 2_000);
    impatient.put("default.api.timeout.ms", 5_000);
    for (int attempt = 1; ; attempt++) {
      Admin asked = Admin.create(impatient);
      try {
        TopicDescription description =
            asked.describeTopics(List.of(TOPIC)).allTopicNames().get().get(TOPIC);
        return description.partitions().get(0).leader().id();
      } catch (ExecutionException e) {
        if (attempt == 12 || !(e.getCause() instanceof TimeoutException)) {
          throw e;
        }
      } finally {
        asked.close(Duration.ZERO);
      }
    }
  }

  @Test
  void one_of_three_brokers_may_be_killed_at_a_time() throws Exception {
    for (int kills = 0; kills < 3; kills++) {
      send(20);
      assertThat(end()).isEqualTo(sent.size());
      JavaProcess broker = cluster.brokers().get(leader() - 1);
      broker.kill();
      assertThat(end()).as("while the leader that it knows is away").isEqualTo(sent.size());
      send(20);
      broker.start();
      broker.awaitReady();
      awaitInSync();
    }
    assertThat(read()).isEqualTo(sent);
  }

  private void awaitInSync() throws Exception {
    while (admin
            .describeTopics(List.of(TOPIC))
            .allTopicNames()
            .get()
            .get(TOPIC)
            .partitions()
            .get(0)
            .isr()
            .size()
        < 3) {
      Thread.sleep(50);
    }
  }

  @Test
  void with_two_of_three_brokers_away_nothing_is_acknowledged_and_nothing_lost() throws Exception {
    send(10);
    List<JavaProcess> away = cluster.brokers().subList(1, 3);
    try (KafkaProducer<String, String> impatient = producer(5_000)) {
      // Before it has its producer id, which needs the controllers, Kafka's client times nothing
      // out.
      impatient.send(new ProducerRecord<>(TOPIC, 0, "", "10")).get(60, TimeUnit.SECONDS);
      sent.add("10");
      away.forEach(JavaProcess::kill);
      assertThatThrownBy(
              () ->
                  impatient
                      .send(new ProducerRecord<>(TOPIC, 0, "", "not acknowledged"))
                      .get(60, TimeUnit.SECONDS))
          .isInstanceOf(ExecutionException.class)
          .hasCauseInstanceOf(TimeoutException.class);
    }
    for (JavaProcess broker : away) {
      broker.start();
    }
    for (JavaProcess broker : away) {
      broker.awaitReady();
    }
    send(10);
    // A leader without followers may keep a record that it does not acknowledge.
    assertThat(read()).containsSubsequence(sent);
  }

  @Test
  void a_paused_broker_loses_its_partitions_and_comes_back() throws Exception {
    send(10);
    int paused = leader();
    JavaProcess broker = cluster.brokers().get(paused - 1);
    broker.pause();
    send(10);
    assertThat(leader()).isNotEqualTo(paused);
    broker.resume();
    awaitInSync();
    send(10);
    assertThat(read()).isEqualTo(sent);
  }
}
