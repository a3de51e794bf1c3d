package io.shardtide.cli;

import static io.shardtide.testing.PoolSamples.claim;
import static io.shardtide.testing.PoolSamples.event;
import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.ModelBundle;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.pool.PoolUpdate.PoolNodeLost;
import io.shardtide.pool.PoolUpdate.PoolSet;
import io.shardtide.replay.LogRecords;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.SharedCluster;
import io.shardtide.topology.PoolLog;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands export, replay and why on a cluster, without topics of pools and with them. */
class PoolExportIT {
  private static final String PREFIX = SharedCluster.freshPrefix();

  @TempDir private Path folder;
  private String brokers;
  private String registryUrl;
  private StringWriter out;

  private int run(String command, String... options) {
    List<String> args =
        new ArrayList<>(
            List.of(
                command, "--bootstrap", brokers, "--registry", registryUrl, "--prefix", PREFIX));
    args.addAll(List.of(options));
    out = new StringWriter();
    PrintWriter writer = new PrintWriter(out);
    return Shardtide.run(writer, writer, args.toArray(new String[0]));
  }

  private void create(List<? extends Topic<?>> topics) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
      admin
          .createTopics(topics.stream().map(t -> new NewTopic(t.name(), 2, (short) 1)).toList())
          .all()
          .get();
    }
  }

  private static <V> void publish(LogClient client, MemoryRecords records, TopicType<V> kind)
      throws Exception {
    for (V value : records.all(kind)) {
      client.publishValue(client.topics().of(kind), kind.keyOf(value), value);
    }
  }

  @Test
  void a_cluster_is_exported_and_replayed_without_pools_and_with_them() throws Exception {
    MemoryRecords records;
    try (PoolLog log = new PoolLog(Files.createDirectory(folder.resolve("state")))) {
      log.workload("ads", 4);
      log.workload("search", 2);
      log.publish(
          event(new PoolSet(PoolLog.NODES), claim("ads", 2, 8, 1), claim("search", 2, 8, 1)));
      log.publish(event(new PoolNodeLost("n1")));
      records = log.records();
    }
    assertThat(records.all(TopicType.ALLOCATIONS)).hasSizeGreaterThan(1);
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX)) {
      brokers = kafka.bootstrapServers();
      registryUrl = registry.url();
      List<Topic<?>> ofPools =
          new ArrayList<>(
              List.of(
                  client.topics().of(POOL_CHANGES),
                  client.topics().of(CURVE_REQUESTS),
                  client.topics().of(THROUGHPUT_CURVES),
                  client.topics().of(ALLOCATIONS),
                  client.topics().of(CURRENT_ALLOCATIONS)));
      create(client.topics().all().stream().filter(t -> !ofPools.contains(t)).toList());
      for (ModelBundle bundle : records.models().values()) {
        client.publishValue(client.topics().of(COST_MODELS), bundle.hardware(), bundle);
      }
      for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
        if (kind.extension().isEmpty()) {
          publish(client, records, kind);
        }
      }
      Path export = folder.resolve("export");
      assertThat(run("export", "--out", export.toString())).as("%s", out).isZero();
      assertThat(out.toString()).doesNotContain("allocations");
      checkFiles(export, false);
      assertThat(run("replay", "--out", folder.resolve("made.jsonl").toString())).isZero();
      assertThat(out.toString()).contains(" 0 differ").doesNotContain("allocations");
      assertThat(run("why", "--pool", "gpus")).isEqualTo(1);
      assertThat(out.toString()).contains("No allocation of pool \"gpus\" is recorded");

      create(ofPools);
      assertThat(run("export", "--out", export.toString())).as("%s", out).isZero();
      checkFiles(export, false);
      for (TopicType<?> kind :
          LogRecords.NAMES.keySet().stream().filter(LogRecords::isOfPools).toList()) {
        publish(client, records, kind);
      }
      assertThat(run("export", "--out", export.toString())).as("%s", out).isZero();
      assertThat(out.toString())
          .contains("%d allocations".formatted(records.all(TopicType.ALLOCATIONS).size()));
      checkFiles(export, true);
      assertThat(run("replay", "--out", folder.resolve("made.jsonl").toString()))
          .as("%s", out)
          .isZero();
      assertThat(out.toString())
          .contains(
              "%d allocations equal, 0 differ, 0 not"
                  .formatted(records.all(TopicType.ALLOCATIONS).size()));
      assertThat(run("why", "--pool", "gpus", "--generation", "2")).as("%s", out).isZero();
      assertThat(out.toString()).contains("node n1 is lost");
      assertThat(run("export", "--workload", "ads", "--out", export.toString())).isZero();
      checkFiles(export, false);
    }
  }

  private static void checkFiles(Path export, boolean hasPools) {
    for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
      assertThat(Files.exists(export.resolve(LogRecords.file(kind))))
          .as(LogRecords.file(kind))
          .isEqualTo(
              kind.extension().map(part -> part == Extension.POOLS && hasPools).orElse(true));
    }
  }
}
