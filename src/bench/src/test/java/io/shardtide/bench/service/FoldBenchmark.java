package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.service.ProcessorTime.ThreadKind;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Throughput of folding changes into workloads, on one partition, exactly once. Starts the planner
 * on a filled log and polls its committed offset.
 */
public final class FoldBenchmark {
  private static final long POLL_MS = 20;
  private static final String GROUP = Topics.DEFAULT_PREFIX + "workload";
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;

  /** Fewer changes would be one batch of the clients. */
  private static final int MIN_CHANGES = 1_000;

  private final int changes;
  private final int workloads;
  private final List<TableSpec> tables;
  private final StepReporter steps;

  /**
   * Measured throughput.
   *
   * @param seconds duration
   * @param perSecond changes per second
   * @param perSecondAfter changes per second in the second half, after the JVM's warm-up
   * @param threadMicros processor time per change of the planner's thread in the second half, in
   *     microseconds
   * @param processMicros processor time per change of all threads, including the broker and the
   *     JVM, in microseconds
   */
  private record Folded(
      double seconds,
      double perSecond,
      double perSecondAfter,
      double threadMicros,
      double processMicros) {}

  private FoldBenchmark(int changes, int workloads, int tables, StepReporter steps) {
    this.changes = changes;
    this.workloads = workloads;
    this.tables = SyntheticTables.of(tables, COLUMNS, 1);
    this.steps = steps;
  }

  /**
   * Measures throughput without and with predictions.
   *
   * @param changes number of changes without predictions, at least 10,000; a tenth of it with
   * @param workloads number of workloads
   * @param tables tables per workload
   * @param steps receives the progress
   */
  public static ResultTable run(int changes, int workloads, int tables, StepReporter steps)
      throws Exception {
    if (changes < 10 * MIN_CHANGES) {
      throw new IllegalArgumentException(
          "changes must be at least %d, got %d".formatted(10 * MIN_CHANGES, changes));
    }
    List<List<String>> rows = new ArrayList<>();
    rows.add(
        row(
            "folding only (no workload has a cluster)",
            changes,
            new FoldBenchmark(changes, workloads, tables, steps).raw()));
    rows.add(
        row(
            "with predictions (planning postponed)",
            changes / 10,
            new FoldBenchmark(changes / 10, workloads, tables, steps).predicted()));
    return new ResultTable(
        List.of(
            "one partition",
            "changes",
            "seconds",
            "changes/s",
            "changes/s, second half",
            "planner thread us/change",
            "all threads us/change"),
        rows);
  }

  private static List<String> row(String what, int changes, Folded folded) {
    return List.of(
        what,
        "%,d".formatted(changes),
        "%.1f".formatted(folded.seconds),
        "%,.0f".formatted(folded.perSecond),
        "%,.0f".formatted(folded.perSecondAfter),
        "%,.1f".formatted(folded.threadMicros),
        "%,.1f".formatted(folded.processMicros));
  }

  private Folded raw() throws Exception {
    try (BenchmarkCluster cluster = BenchmarkCluster.open()) {
      start(cluster).close();
      try (LoadPublisher publisher = new LoadPublisher(cluster, 5)) {
        fill(publisher, 0);
        PlannerService service = start(cluster);
        try {
          Folded folded = awaitOffset(cluster, 0, changes, "folding");
          check(cluster, publisher);
          return folded;
        } finally {
          service.close();
        }
      }
    }
  }

  private Folded predicted() throws Exception {
    try (BenchmarkCluster cluster = BenchmarkCluster.open()) {
      try (LoadPublisher publisher = new LoadPublisher(cluster, 5)) {
        start(cluster).close();
        for (int w = 0; w < workloads; w++) {
          publisher.publish(workload(w), List.of(LoadPublisher.clusterSet(DEVICES)));
        }
        publisher.flush();
        fill(publisher, workloads);
        PlannerService service = start(cluster);
        try {
          awaitOffset(cluster, 0, workloads, "clusters");
          return awaitOffset(cluster, workloads, changes, "folding and predicting");
        } finally {
          service.close();
        }
      }
    }
  }

  /** Starts the planner with the longest debounce interval, to exclude planning. */
  private static PlannerService start(BenchmarkCluster cluster) throws Exception {
    Duration minute = Duration.ofMinutes(1);
    PlanningSettings defaults = PlanningSettings.DEFAULTS;
    return cluster.start(
        new PlanningSettings(
            minute, minute, defaults.quick(), Optional.empty(), minute, defaults.deepGain(), 0),
        TensorFlowTowers::new);
  }

  private void fill(LoadPublisher publisher, int before) {
    Random random = new Random(1);
    for (int i = 0; i < changes; i++) {
      TableSpec table = tables.get(random.nextInt(tables.size()));
      publisher.publish(
          workload(random.nextInt(workloads)),
          List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
      if (i % 1_000 == 0) {
        steps.at("filling the log", i + before, changes + before);
      }
    }
    publisher.flush();
  }

  private static String workload(int w) {
    return "workload_%04d".formatted(w);
  }

  /**
   * Polls the planner's committed offset until it has processed a number of changes.
   *
   * @param before number of records before the changes
   */
  private Folded awaitOffset(BenchmarkCluster cluster, int before, int count, String what)
      throws Exception {
    TopicPartition partition =
        new TopicPartition(BenchmarkCluster.TOPICS.of(WORKLOAD_CHANGES).name(), 0);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", cluster.bootstrapServers()))) {
      long began = System.nanoTime();
      long half = 0;
      long halfAt = 0;
      ProcessorTime halfTime = null;
      long position = 0;
      while (true) {
        long last = position;
        OffsetAndMetadata committed =
            admin
                .listConsumerGroupOffsets(GROUP)
                .partitionsToOffsetAndMetadata()
                .get()
                .get(partition);
        long now = System.nanoTime();
        position = committed == null ? 0 : Math.max(0, committed.offset() - before);
        if (last == 0 && position == 0) {
          // Excludes the start of the planner.
          began = now;
        }
        if (half == 0 && position >= count / 2) {
          half = position;
          halfAt = now;
          halfTime = ProcessorTime.now();
        }
        steps.at(what, position, count);
        if (position >= count) {
          double seconds = (now - began) / 1e9;
          ProcessorTime time = ProcessorTime.now();
          int after = Math.max(1, (int) (count - half));
          return new Folded(
              seconds,
              count / seconds,
              after / ((now - halfAt) / 1e9),
              time.microsSince(halfTime, ThreadKind.WORKLOAD) / after,
              time.microsSince(halfTime, ThreadKind.ALL) / after);
        }
        Thread.sleep(POLL_MS);
      }
    }
  }

  /** Checks by the generation of each workload's first prediction that no change was lost. */
  private void check(BenchmarkCluster cluster, LoadPublisher publisher) throws Exception {
    Map<String, Long> generations = new ConcurrentHashMap<>();
    AtomicReference<String> failure = new AtomicReference<>();
    try (BenchmarkListener listener =
        new BenchmarkListener(
            cluster,
            List.of(
                BenchmarkCluster.TOPICS.of(COST_PREDICTIONS),
                BenchmarkCluster.TOPICS.of(REJECTED_EVENTS)),
            (value, nanos) -> {
              if (value instanceof CostPredictions part && part.isLast()) {
                generations.put(part.workloadId(), part.generation());
              } else if (value instanceof RejectedEvent rejected) {
                failure.set(rejected.message());
              }
            })) {
      for (int w = 0; w < workloads; w++) {
        publisher.publish(workload(w), List.of(LoadPublisher.clusterSet(DEVICES)));
      }
      while (generations.size() < workloads && failure.get() == null) {
        listener.check();
        steps.at("counting", generations.size(), workloads);
        Thread.sleep(POLL_MS);
      }
    }
    long folded = generations.values().stream().mapToLong(generation -> generation - 1).sum();
    if (failure.get() != null) {
      throw new IllegalStateException("A change was rejected: " + failure.get());
    }
    if (folded != changes) {
      throw new IllegalStateException("%d of %d changes were folded".formatted(folded, changes));
    }
  }
}
