package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Restart time of a planner with many workloads: from the start of its process until a change
 * published at that moment is answered.
 */
public final class RestartBenchmark {
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;
  private static final double MIB = 1 << 20;

  /** Maximum number of unanswered changes while the log is filled. */
  private static final int MAX_OPEN = 50;

  private final int workloads;
  private final List<TableSpec> tables;
  private final StepReporter steps;
  private final AnsweredChanges answers = new AnsweredChanges();
  private final Random random = new Random(1);

  private RestartBenchmark(int workloads, int tables, StepReporter steps) {
    this.workloads = workloads;
    this.tables = SyntheticTables.of(tables, COLUMNS, 1);
    this.steps = steps;
  }

  /**
   * Measures restarts with and without local state.
   *
   * @param workloads number of workloads
   * @param tables tables per workload
   * @param steps receives the progress
   */
  public static ResultTable run(int workloads, int tables, StepReporter steps) throws Exception {
    return new ResultTable(
        List.of("restart", "seconds to the first new plan", "state MiB"),
        new RestartBenchmark(workloads, tables, steps).measure());
  }

  private List<List<String>> measure() throws Exception {
    String size = "%,d workloads of %,d tables".formatted(workloads, tables.size());
    List<List<String>> rows = new ArrayList<>();
    try (BenchmarkCluster cluster = BenchmarkCluster.open()) {
      // Creates the topics.
      cluster.start().close();
      try (LoadPublisher publisher = new LoadPublisher(cluster, 0);
          BenchmarkListener listener =
              new BenchmarkListener(
                  cluster,
                  List.of(
                      BenchmarkCluster.TOPICS.of(SHARDING_PLANS),
                      BenchmarkCluster.TOPICS.of(INFEASIBLE_WORKLOADS),
                      BenchmarkCluster.TOPICS.of(REJECTED_EVENTS)),
                  answers::onRecord)) {
        try (ServiceProcess service = ServiceProcess.start(cluster)) {
          fill(publisher, listener, service);
        }
        double mib = bytes(cluster.stateDirectory()) / MIB;
        rows.add(row(size + ", state kept", restart(cluster, publisher, listener), mib));
        BenchmarkCluster.delete(cluster.stateDirectory());
        rows.add(
            row(size + ", state from the changelog", restart(cluster, publisher, listener), mib));
      }
    }
    return rows;
  }

  private static List<String> row(String what, double seconds, double mib) {
    return List.of(what, "%.1f".formatted(seconds), "%,.0f".formatted(mib));
  }

  private void fill(LoadPublisher publisher, BenchmarkListener listener, ServiceProcess service)
      throws Exception {
    for (int w = 0; w < workloads; w++) {
      List<TableSpec> own =
          tables.stream().map(table -> SyntheticTables.changed(table, random)).toList();
      publish(publisher, w, LoadPublisher.workload(own, DEVICES));
      while (answers.open() >= MAX_OPEN) {
        listener.check();
        service.check();
        Thread.sleep(10);
      }
      steps.at("filling the log", w, workloads);
    }
    answers.await(listener, "filling the log", steps);
  }

  private void publish(LoadPublisher publisher, int w, List<Change> changes) {
    String id = "workload_%04d".formatted(w);
    answers.published(id, System.nanoTime());
    publisher.publish(id, changes);
  }

  private double restart(
      BenchmarkCluster cluster, LoadPublisher publisher, BenchmarkListener listener)
      throws Exception {
    long began = System.nanoTime();
    try (ServiceProcess service = ServiceProcess.start(cluster)) {
      TableSpec table = tables.get(random.nextInt(tables.size()));
      publish(
          publisher,
          random.nextInt(workloads),
          List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
      while (answers.open() > 0) {
        listener.check();
        service.check();
        steps.at("restarting", 0, 1);
        Thread.sleep(10);
      }
      return (System.nanoTime() - began) / 1e9;
    }
  }

  private static long bytes(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      long sum = 0;
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        sum += Files.size(file);
      }
      return sum;
    }
  }
}
