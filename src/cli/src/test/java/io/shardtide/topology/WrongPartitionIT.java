package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Events of a client with another partitioner, between those of one with Kafka's. */
class WrongPartitionIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final int PARTITIONS = 3;
  private static final String WORKLOAD = "own-1";

  /** With so many, the workload belongs to another partition. */
  private static final int OTHER_PARTITIONS = 7;

  @TempDir private Path data;
  private KafkaProducer<String, byte[]> producer;
  private LogClient client;

  /** Publishes as Kafka's client does, or so many partitions farther; returns where it lies. */
  private RecordMetadata publish(WorkloadChange event, Optional<Integer> partition)
      throws Exception {
    String topic = client.topics().of(WORKLOAD_CHANGES).name();
    byte[] value =
        client
            .registry()
            .serde(client.topics().of(WORKLOAD_CHANGES))
            .serializer()
            .serialize(topic, event);
    return producer
        .send(new ProducerRecord<>(topic, partition.orElse(null), WORKLOAD, value))
        .get(60, TimeUnit.SECONDS);
  }

  private void awaitPlan(long generation) {
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                client.plansOf(WORKLOAD).stream()
                    .anyMatch(plan -> plan.generation() == generation));
  }

  @Test
  void they_are_rejected_and_make_no_second_workload() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    String prefix = SharedCluster.freshPrefix();
    ServiceSettings settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, data.resolve("state"))
            .partitions(PARTITIONS)
            .build();
    client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
    producer =
        new KafkaProducer<>(
            Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, (Object) kafka.bootstrapServers()),
            new StringSerializer(),
            new ByteArraySerializer());
    try (PlannerService service =
        PlannerService.start(
            new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new))) {
      assertThat(service).isNotNull();
      int right =
          publish(
                  Fixtures.eventOf(
                      WORKLOAD,
                      set(2, 8 * Fixtures.GIB),
                      upsert("a", 100_000, 64, 5),
                      upsert("b", 100_000, 64, 5)),
                  Optional.empty())
              .partition();
      awaitPlan(1);
      int wrong = (right + 1) % PARTITIONS;
      // Without a cluster, it was lost; with one, it was a second workload.
      publish(Fixtures.eventOf(WORKLOAD, drop("a")), Optional.of(wrong));
      publish(
          Fixtures.eventOf(WORKLOAD, set(2, 8 * Fixtures.GIB), upsert("b", 5_000_000, 64, 5)),
          Optional.of(wrong));
      List<RejectedEvent> rejections = client.rejected(2);
      assertThat(rejections)
          .allMatch(r -> r.reason() == RejectionReason.WRONG_PARTITION)
          .allMatch(r -> r.source().partition() == wrong)
          .allMatch(
              r ->
                  r.message()
                      .startsWith("The record must be on partition %d of 3".formatted(right)));
      publish(
          new WorkloadChange(
              UUID.randomUUID(),
              WORKLOAD,
              Fixtures.TIME,
              "test",
              OptionalLong.of(1),
              List.of(upsert("d", 100_000, 64, 5))),
          Optional.empty());
      awaitPlan(2);
      assertThat(client.plansOf(WORKLOAD))
          .extracting(ShardingPlan::generation)
          .containsExactly(1L, 2L);
      assertThat(client.committed(client.topics().of(REJECTED_EVENTS))).hasSize(2);
    } finally {
      client.close();
      producer.close();
    }
    String classPath = System.getProperty("java.class.path");
    Path made = data.resolve("replayed.jsonl");
    assertThat(
            RunningService.replay(
                data, classPath, kafka.bootstrapServers(), registry.url(), prefix, made))
        .isZero();
    assertThat(made).content().hasLineCount(2);
    assertThat(data.resolve("replay.out"))
        .content()
        .contains(
            "workload-changes: 2 records that cannot be decoded, or were rejected for their partition");
    // The remedy for it begins with an export: records are where the topic had them before.
    try (Admin admin =
        Admin.create(
            Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers()))) {
      admin
          .createPartitions(
              Map.of(prefix + "workload-changes", NewPartitions.increaseTo(OTHER_PARTITIONS)))
          .all()
          .get();
    }
    Path exported = Files.createDirectory(data.resolve("exported"));
    assertThat(
            RunningService.run(
                data,
                classPath,
                "export",
                "--bootstrap",
                kafka.bootstrapServers(),
                "--registry",
                registry.url(),
                "--prefix",
                prefix,
                "--out",
                exported.toString()))
        .isZero();
    assertThat(
            RunningService.run(
                data,
                classPath,
                "replay",
                "--events",
                exported.resolve("events.jsonl").toString(),
                "--out",
                made + "2"))
        .isZero();
    assertThat(Path.of(made + "2")).hasSameTextualContentAs(made);
    assertThat(exported.resolve("events.jsonl")).content().hasLineCount(2);
  }
}
