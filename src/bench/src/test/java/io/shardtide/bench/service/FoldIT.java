package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.Figures;
import io.shardtide.bench.SyntheticTables;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Throughput of folding changes into workloads, on one partition, exactly once: a planner starts on
 * a filled log, and its committed offset is polled. Planning is postponed.
 */
@Tag("nightly")
class FoldIT {
  private static final int CHANGES = Integer.getInteger("bench.changes", 10_000);
  private static final int WORKLOADS = Integer.getInteger("bench.workloads", 100);
  private static final int TABLES = Integer.getInteger("bench.tables", 100);
  private static final String THREAD = "shardtide\\.workload-[^\"]*StreamThread-\\d+";

  private final Random random = new Random(1);

  /** Without predictions, no workload has a cluster. */
  @ParameterizedTest(name = "with predictions: {0}")
  @ValueSource(booleans = {false, true})
  void all_changes_are_folded(boolean predicts) throws Exception {
    int changes = predicts ? CHANGES / 10 : CHANGES;
    int before = predicts ? WORKLOADS : 0;
    List<TableSpec> tables = SyntheticTables.of(TABLES, 64, 1);
    try (BenchmarkCluster cluster = new BenchmarkCluster(1)) {
      // Creates the topics.
      start(cluster).close();
      try (WorkloadPublisher publisher = WorkloadPublisher.connect(cluster.endpoint(), "bench")) {
        setClusters(publisher, before);
        for (int i = 0; i < changes; i++) {
          TableSpec table = tables.get(random.nextInt(TABLES));
          publish(
              publisher,
              random.nextInt(WORKLOADS),
              new Change.TableUpserted(SyntheticTables.changed(table, random)));
        }
        try (PlannerService service = start(cluster)) {
          BenchmarkCluster.awaitRunning(service);
          awaitOffset(cluster, before);
          long began = System.nanoTime();
          awaitOffset(cluster, before + changes / 2);
          long half = System.nanoTime();
          double halfMillis = PlannerProcess.cpuMillis(ProcessHandle.current().pid(), THREAD);
          awaitOffset(cluster, before + changes);
          long end = System.nanoTime();
          double millis = PlannerProcess.cpuMillis(ProcessHandle.current().pid(), THREAD);
          Figures figures =
              new Figures(
                  "one partition",
                  "changes | changes/s | changes/s, second half | planner thread us/change");
          figures.add(
              predicts ? "with predictions" : "folding only",
              "%,d | %,.0f | %,.0f | %,.1f",
              changes,
              1e9 * changes / (end - began),
              1e9 * (changes / 2.0) / (end - half),
              1e3 * (millis - halfMillis) / (changes / 2.0));
          System.out.println(figures);
          setClusters(publisher, WORKLOADS - before);
          awaitOffset(cluster, WORKLOADS + changes);
          assertThat(generations(cluster)).isEqualTo(WORKLOADS + changes);
        }
      }
    }
  }

  /** Starts a planner with the longest debounce interval. */
  private static PlannerService start(BenchmarkCluster cluster) throws Exception {
    Duration minute = Duration.ofMinutes(1);
    PlanningSettings defaults = PlanningSettings.DEFAULTS;
    return cluster.start(
        "state",
        new PlanningSettings(
            minute, minute, defaults.quick(), Optional.empty(), minute, defaults.deepGain(), 0),
        parts -> parts);
  }

  private static void setClusters(WorkloadPublisher publisher, int count) {
    for (int w = 0; w < count; w++) {
      publish(publisher, w, BenchmarkCluster.clusterSet(16));
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // A change that is lost is not counted.
  private static void publish(WorkloadPublisher publisher, int w, Change change) {
    publisher.publish(
        new WorkloadChange(
            UUID.randomUUID(),
            "workload_%04d".formatted(w),
            Instant.now(),
            "bench",
            OptionalLong.empty(),
            List.of(change)));
  }

  /** Waits until the planner has folded so many events. */
  private static void awaitOffset(BenchmarkCluster cluster, int count) throws Exception {
    TopicPartition partition =
        new TopicPartition(cluster.endpoint().topics().of(WORKLOAD_CHANGES).name(), 0);
    try (Admin admin = Admin.create(cluster.endpoint().clients(Map.of(), Map.of()))) {
      OffsetAndMetadata committed = null;
      while (committed == null || committed.offset() < count) {
        Thread.sleep(20);
        committed =
            admin
                .listConsumerGroupOffsets(Topics.DEFAULT_PREFIX + "workload")
                .partitionsToOffsetAndMetadata()
                .get()
                .get(partition);
      }
    }
  }

  /** Returns the sum of the workloads' generations. */
  private static long generations(BenchmarkCluster cluster) {
    Map<String, Long> latest = new HashMap<>();
    try (TopicReader reader =
        cluster
            .endpoint()
            .reader(cluster.registry())
            .handle(
                cluster.endpoint().topics().of(COST_PREDICTIONS),
                StartPosition.BEGINNING,
                (position, writtenAt, part) ->
                    latest.merge(part.workloadId(), part.generation(), Math::max))) {
      reader.open();
      reader.readToEnd();
    }
    return latest.values().stream().mapToLong(generation -> generation).sum();
  }
}
