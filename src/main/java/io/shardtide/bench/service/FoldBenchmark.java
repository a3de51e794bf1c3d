package io.shardtide.bench.service;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.service.ProcessorTime.Who;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.TableSpec;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Topics;
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
 * How many changes a second are folded into workloads, on one partition, exactly once: the planner
 * is started on a log that is full, and its committed position is watched.
 */
public final class FoldBenchmark {
  private static final long POLL_MS = 20;
  private static final String GROUP = Topics.DEFAULT_PREFIX + "workload";
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;

  /** Fewer would be one batch of the clients. */
  private static final int MIN_CHANGES = 1_000;

  private final int changes;
  private final int workloads;
  private final List<TableSpec> tables;
  private final StepReporter steps;

  /**
   * What was folded, and how fast.
   *
   * @param seconds how long all took
   * @param perSecond changes a second
   * @param perSecondAfter changes a second of the second half, when the JVM has compiled what runs
   * @param threadMicros processor time of the planner's thread for a change of the second half, in
   *     microseconds
   * @param processMicros the same of all threads, the broker's and the JVM's included
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
   * Measures.
   *
   * @param changes how many changes are folded without predictions, at least 1,000; a tenth of them
   *     with
   * @param workloads how many workloads they concern
   * @param tables how many tables a workload has
   * @param steps hears how far it is
   */
  public static ResultTable run(int changes, int workloads, int tables, StepReporter steps)
      throws Exception {
    if (changes < 10 * MIN_CHANGES) {
      throw new IllegalArgumentException(
          "%d changes; legal are %d and more".formatted(changes, 10 * MIN_CHANGES));
    }
    List<List<String>> rows = new ArrayList<>();
    rows.add(
        row(
            "folding alone: no workload has a cluster yet",
            changes,
            new FoldBenchmark(changes, workloads, tables, steps).raw()));
    rows.add(
        row(
            "with predictions; plans wait",
            changes / 10,
            new FoldBenchmark(changes / 10, workloads, tables, steps).predicted()));
    return new ResultTable(
        List.of(
            "one partition",
            "changes",
            "seconds",
            "changes/s",
            "changes/s, second half",
            "planner's thread us/change",
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
    try (BenchmarkCluster site = BenchmarkCluster.open()) {
      start(site).close();
      try (LoadPublisher publisher = new LoadPublisher(site, 5)) {
        fill(publisher, 0);
        PlannerService service = start(site);
        try {
          Folded folded = watch(site, 0, changes, "folding");
          check(site, publisher);
          return folded;
        } finally {
          service.close();
        }
      }
    }
  }

  private Folded predicted() throws Exception {
    try (BenchmarkCluster site = BenchmarkCluster.open()) {
      try (LoadPublisher publisher = new LoadPublisher(site, 5)) {
        start(site).close();
        for (int w = 0; w < workloads; w++) {
          publisher.publish(workload(w), List.of(LoadPublisher.cluster(DEVICES)));
        }
        publisher.flush();
        fill(publisher, workloads);
        PlannerService service = start(site);
        try {
          watch(site, 0, workloads, "clusters");
          return watch(site, workloads, changes, "folding and predicting");
        } finally {
          service.close();
        }
      }
    }
  }

  /** Plans would only take the processor from what is measured: they wait as long as is legal. */
  private static PlannerService start(BenchmarkCluster site) throws Exception {
    Duration minute = Duration.ofMinutes(1);
    PlanningSettings defaults = PlanningSettings.DEFAULTS;
    return site.start(
        new PlanningSettings(
            minute, minute, defaults.quick(), Optional.empty(), minute, defaults.deepGain()),
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

  /** Watches the planner's committed position until it has passed so many changes. */
  private Folded watch(BenchmarkCluster site, int before, int count, String what) throws Exception {
    TopicPartition partition =
        new TopicPartition(BenchmarkCluster.TOPICS.workloadChanges().name(), 0);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", site.bootstrapServers()))) {
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
          // Starting is no part of folding.
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
              time.microsSince(halfTime, Who.WORKLOAD) / after,
              time.microsSince(halfTime, Who.ALL) / after);
        }
        Thread.sleep(POLL_MS);
      }
    }
  }

  /** The first prediction of each workload says how many changes it has seen. */
  private void check(BenchmarkCluster site, LoadPublisher publisher) throws Exception {
    Map<String, Long> generations = new ConcurrentHashMap<>();
    AtomicReference<String> fault = new AtomicReference<>();
    try (BenchmarkListener listener =
        new BenchmarkListener(
            site,
            List.of(
                BenchmarkCluster.TOPICS.costPredictions(),
                BenchmarkCluster.TOPICS.rejectedEvents()),
            (value, nanos) -> {
              if (value instanceof CostPredictions part && part.isLast()) {
                generations.put(part.workloadId(), part.generation());
              } else if (value instanceof RejectedEvent rejected) {
                fault.set(rejected.message());
              }
            })) {
      for (int w = 0; w < workloads; w++) {
        publisher.publish(workload(w), List.of(LoadPublisher.cluster(DEVICES)));
      }
      while (generations.size() < workloads && fault.get() == null) {
        listener.check();
        steps.at("counting", generations.size(), workloads);
        Thread.sleep(POLL_MS);
      }
    }
    long folded = generations.values().stream().mapToLong(generation -> generation - 1).sum();
    if (fault.get() != null || folded != changes) {
      throw new IllegalStateException(
          "%d of %d changes were folded; %s".formatted(folded, changes, fault.get()));
    }
  }
}
