package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.slf4j.LoggerFactory;

/**
 * Two instances, and the disk of one is full. A small file system in memory is that disk; skipped
 * where this process may not mount one.
 */
@Tag("nightly")
class FullDiskIT {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final List<String> WORKLOADS =
      IntStream.range(0, 8).mapToObj(w -> "workload-" + w).toList();

  @TempDir private Path folder;
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final String prefix = SharedCluster.freshPrefix();

  /** Runs a command; returns whether it went well. */
  private static boolean run(String... command) throws IOException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getInputStream().readAllBytes();
    return process.onExit().join().exitValue() == 0;
  }

  @Test
  void an_instance_with_a_full_disk_loses_nothing_and_delays_no_other_instance() throws Exception {
    Path small = Files.createDirectory(folder.resolve("small"));
    assumeThat(run("mount", "-t", "tmpfs", "-o", "size=256m", "full-disk-test", small.toString()))
        .as("mount")
        .isTrue();
    try {
      live(small);
    } finally {
      run("umount", "-l", small.toString());
    }
  }

  /** Writes until nothing more fits. */
  private static void fill(Path file) {
    assertThatThrownBy(
            () -> {
              try (OutputStream out = Files.newOutputStream(file)) {
                while (true) {
                  out.write(new byte[4096]);
                }
              }
            })
        .hasMessageContaining("No space left");
  }

  private void live(Path small) throws Exception {
    Logger logger = (Logger) LoggerFactory.getLogger(PlannerService.class);
    logger.addAppender(logged);
    logged.start();
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        PlannerService roomy = planner(kafka, registry, folder.resolve("large"));
        PlannerService cramped = planner(kafka, registry, small)) {
      assertThat(roomy).isNotNull();
      await().atMost(PATIENCE).until(() -> roomy.isRunning() && cramped.isRunning());
      for (String workload : WORKLOADS) {
        client.publish(event(workload, set(8, 80 * Fixtures.GIB), upsert("a", 1_000, 8, 2)));
      }
      awaitPlans(client, WORKLOADS.size());
      Path filler = small.resolve("filler");
      fill(filler);
      for (String workload : WORKLOADS) {
        client.publish(event(workload, wide()));
      }
      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  List.copyOf(logged.list).stream()
                      .map(ILoggingEvent::getFormattedMessage)
                      .anyMatch(line -> line.contains("No space left on device")));
      long before = awaitPlans(client, WORKLOADS.size() + 1);
      for (String workload : WORKLOADS) {
        client.publish(event(workload, upsert("b", 1_000, 8, 2)));
      }
      awaitPlans(client, before + 1);
      Files.delete(filler);
      awaitPlans(client, 3L * WORKLOADS.size());
      List<ShardingPlan> plans = client.committed(client.topics().of(SHARDING_PLANS));
      for (String workload : WORKLOADS) {
        assertThat(plans)
            .filteredOn(plan -> plan.workloadId().equals(workload))
            .extracting(ShardingPlan::generation)
            .containsExactly(1L, 2L, 3L);
      }
      assertThat(client.rejected(0)).isEmpty();
    } finally {
      logger.detachAppender(logged);
    }
  }

  private PlannerService planner(EmbeddedKafka kafka, DevelopmentRegistry registry, Path state)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(
            TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, state)
                .partitions(4)
                .kafka(Map.of("rocksdb.config.setter", SmallBuffers.class.getName()))
                .build(),
            List.of(TestModels.bundle()),
            TensorFlowTowers::new));
  }

  private static long awaitPlans(LogClient client, long count) {
    return await()
        .atMost(PATIENCE)
        .until(
            () -> (long) client.committed(client.topics().of(SHARDING_PLANS)).size(),
            n -> n >= count);
  }

  private static WorkloadChange event(String workload, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), workload, Fixtures.TIME, "test", OptionalLong.empty(), List.of(changes));
  }

  /** Stores that write to the disk what they are given, soon. */
  public static final class SmallBuffers implements RocksDBConfigSetter {
    @Override
    public void setConfig(String store, Options options, Map<String, Object> configs) {
      options.setWriteBufferSize(256 * 1024);
    }

    @Override
    public void close(String store, Options options) {}
  }

  /** Tables whose predictions are 128 KiB each: more than a store keeps in memory. */
  private static Change[] wide() {
    List<Change> changes = new ArrayList<>();
    for (int t = 0; t < 40; t++) {
      changes.add(upsert("wide" + t, 100, 4096, 1));
    }
    return changes.toArray(new Change[0]);
  }
}
