package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.client.Endpoint;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.replay.LogRecords;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.wire.TopicType;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.junit.jupiter.api.Test;

/** How much of a cluster's log a command of one workload reads. */
class KafkaLogRecordsIT {
  private static final int PARTITIONS = 3;
  private static final int WORKLOADS = 30;
  private static final String ID = "w7";

  private Endpoint endpoint;
  private final List<String> handedOn = new ArrayList<>();

  private static int partition(String workload) {
    return BuiltInPartitioner.partitionForKey(
        workload.getBytes(StandardCharsets.UTF_8), PARTITIONS);
  }

  /** Returns how many records of events are read. */
  private int read() throws Exception {
    AtomicInteger read = new AtomicInteger();
    handedOn.clear();
    try (KafkaLogRecords log =
        KafkaLogRecords.open(endpoint, Optional.of(ID), read::incrementAndGet)) {
      assertThat(log.has(TopicType.POOL_CHANGES)).isFalse();
      log.read(TopicType.WORKLOAD_CHANGES, event -> handedOn.add(event.workloadId()));
      assertThat(log.size()).isEqualTo(read.get());
    }
    return read.get();
  }

  @Test
  void of_a_workload_only_its_partition_is_read() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    String prefix = SharedCluster.freshPrefix();
    endpoint = Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix(prefix);
    int onPartition =
        (int)
            IntStream.range(0, WORKLOADS).filter(w -> partition("w" + w) == partition(ID)).count();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        Admin admin =
            Admin.create(
                Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers()))) {
      admin
          .createTopics(
              Stream.concat(LogRecords.NAMES.keySet().stream(), Stream.of(COST_MODELS))
                  .filter(type -> type.extension().isEmpty())
                  .map(type -> new NewTopic(prefix + type.name(), PARTITIONS, (short) 1))
                  .toList())
          .all()
          .get();
      client.registry().register(client.topics());
      for (int w = 0; w < WORKLOADS; w++) {
        client.publish(Fixtures.eventOf("w" + w, Fixtures.upsert("t", 10, 16, 1)));
      }
      assertThat(read()).as("plan why").isEqualTo(onPartition).isLessThan(WORKLOADS);
      assertThat(handedOn).containsExactly(ID);

      AtomicInteger read = new AtomicInteger();
      handedOn.clear();
      try (TopicReader reader =
          endpoint
              .reader(client.registry())
              .onlyKey(Optional.of(ID))
              .afterEachRecord(read::incrementAndGet)
              .handle(
                  client.topics().of(WORKLOAD_CHANGES),
                  StartPosition.BEGINNING,
                  (position, writtenAt, event) -> handedOn.add(event.workloadId()))) {
        assertThat(reader.open()).as("plan get").hasSize(1);
        reader.readToEnd();
      }
      assertThat(read).hasValue(onPartition);
      assertThat(handedOn).containsExactly(ID);

      String events = client.topics().of(WORKLOAD_CHANGES).name();
      admin.createPartitions(Map.of(events, NewPartitions.increaseTo(PARTITIONS + 4))).all().get();
      assertThat(read()).as("its records may be on any partition").isEqualTo(WORKLOADS);
      assertThat(handedOn).containsExactly(ID);
    }
  }
}
