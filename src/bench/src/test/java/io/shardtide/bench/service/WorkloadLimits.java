package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Several planners with many workloads: latency under load, what a workload takes of memory and
 * disk, a takeover with standby replicas, and restarts.
 */
public final class WorkloadLimits {
  private static final int PARTITIONS = 6;
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;
  private static final double KIB = 1 << 10;

  /** Changes without an answer while the log is filled; more would delay each other. */
  private static final int MAX_OPEN = 50;

  private static final Pattern RESTORED = Pattern.compile("Restored (\\d+) records of ");
  private static final Pattern HEAP =
      Pattern.compile("(?:generation|heap)\\s+total \\d+K, used (\\d+)K");
  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

  private final WorkloadOptions options;
  private final StepReporter steps;
  private final List<TableSpec> tables;
  private final AnsweredChanges answers = new AnsweredChanges();
  private final List<List<String>> rows = new ArrayList<>();
  private final Random random = new Random(1);

  /**
   * What to measure.
   *
   * @param workloads number of workloads
   * @param tables tables of each workload
   * @param planners number of planners, at least 2
   * @param heapMiB largest heap of each
   * @param perSecond changes a second
   * @param seconds seconds of load, and again from when a planner is killed
   */
  public record WorkloadOptions(
      int workloads, int tables, int planners, int heapMiB, double perSecond, int seconds) {}

  private WorkloadLimits(WorkloadOptions options, StepReporter steps) {
    this.options = options;
    this.steps = steps;
    tables = SyntheticTables.of(options.tables(), COLUMNS, 1);
  }

  /**
   * Measures.
   *
   * @param steps receives the progress
   */
  public static ResultTable run(WorkloadOptions options, StepReporter steps) throws Exception {
    WorkloadLimits limits = new WorkloadLimits(options, steps);
    limits.measure();
    return new ResultTable(
        List.of(
            "%,d workloads of %,d tables, %d planners"
                .formatted(options.workloads(), options.tables(), options.planners()),
            "value",
            "unit"),
        limits.rows);
  }

  private void measure() throws Exception {
    List<JavaProcess> planners = new ArrayList<>();
    try (BenchmarkCluster cluster = BenchmarkCluster.open(PARTITIONS)) {
      try {
        for (int p = 0; p < options.planners(); p++) {
          JavaProcess planner = ServiceProcess.prepare(cluster, "planner-" + p, options.heapMiB());
          planners.add(planner);
          planner.start();
          // The first one creates the topics.
          planner.awaitReady();
        }
        try (LoadPublisher publisher = new LoadPublisher(cluster, 0);
            BenchmarkListener listener =
                new BenchmarkListener(
                    cluster,
                    List.of(
                        BenchmarkCluster.TOPICS.of(SHARDING_PLANS),
                        BenchmarkCluster.TOPICS.of(INFEASIBLE_WORKLOADS),
                        BenchmarkCluster.TOPICS.of(REJECTED_EVENTS)),
                    answers::onRecord)) {
          fill(publisher, listener);
          load(publisher, listener, planners);
          size(cluster, planners);
          takeover(publisher, listener, planners);
          restart(publisher, listener, planners, cluster);
        }
      } finally {
        planners.forEach(JavaProcess::close);
      }
    }
  }

  private void fill(LoadPublisher publisher, BenchmarkListener listener) throws Exception {
    long began = System.nanoTime();
    for (int w = 0; w < options.workloads(); w++) {
      List<TableSpec> own =
          tables.stream().map(table -> SyntheticTables.changed(table, random)).toList();
      publish(publisher, w, LoadPublisher.workload(own, DEVICES));
      while (answers.open() >= MAX_OPEN) {
        listener.check();
        Thread.sleep(10);
      }
      steps.at("first plans", w, options.workloads());
    }
    answers.await(listener, "first plans", steps);
    row("first plans of all", "%,.0f", (System.nanoTime() - began) / 1e9, "s");
  }

  private void load(LoadPublisher publisher, BenchmarkListener listener, List<JavaProcess> planners)
      throws Exception {
    LatencySample millis = new LatencySample();
    answers.measure(millis);
    double before = processorSeconds(planners);
    change(publisher, options.seconds(), "load");
    answers.await(listener, "load", steps);
    row("changes", "%,d", millis.count(), "");
    row("change to plan, median", "%,.0f", millis.quantile(0.5), "ms");
    row("change to plan, p99", "%,.0f", millis.quantile(0.99), "ms");
    row("change to plan, maximum", "%,.0f", millis.quantile(1), "ms");
    row(
        "processor time of the planners, a change",
        "%,.1f",
        1e3 * (processorSeconds(planners) - before) / millis.count(),
        "ms");
  }

  private void change(LoadPublisher publisher, int seconds, String phase)
      throws InterruptedException {
    long count = Math.round(options.perSecond() * seconds);
    long began = System.nanoTime();
    for (long i = 0; i < count; i++) {
      TimeUnit.NANOSECONDS.sleep(
          began + (long) (i * 1e9 / options.perSecond()) - System.nanoTime());
      changeOne(publisher);
      steps.at(phase, i, count);
    }
  }

  private void changeOne(LoadPublisher publisher) {
    TableSpec table = tables.get(random.nextInt(tables.size()));
    publish(
        publisher,
        random.nextInt(options.workloads()),
        List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
  }

  private void publish(LoadPublisher publisher, int w, List<Change> changes) {
    String id = "workload_%05d".formatted(w);
    answers.published(id, System.nanoTime());
    publisher.publish(id, changes);
  }

  /** Reports memory and disk, a workload. */
  private void size(BenchmarkCluster cluster, List<JavaProcess> planners)
      throws IOException, InterruptedException {
    double heap = 0;
    double resident = 0;
    for (JavaProcess planner : planners) {
      jcmd(planner, "GC.run");
      heap += sum(HEAP, jcmd(planner, "GC.heap_info"));
      resident +=
          sum(RESIDENT, Files.readString(Path.of("/proc/%d/status".formatted(planner.pid()))));
    }
    double state = 0;
    for (int p = 0; p < planners.size(); p++) {
      state += bytes(cluster.directory().resolve("planner-" + p).resolve("state"));
    }
    double log = bytes(cluster.directory().resolve("kafka"));
    int workloads = options.workloads();
    row("heap after collection, all planners", "%,.0f", heap / KIB, "MiB");
    row("resident memory, all planners", "%,.0f", resident / KIB, "MiB");
    row("heap a workload", "%,.1f", heap / workloads, "KiB");
    row("state with its standby copy, a workload", "%,.0f", state / KIB / workloads, "KiB");
    row("disk of the broker, one copy, a workload", "%,.0f", log / KIB / workloads, "KiB");
  }

  /** Kills a planner under load. */
  private void takeover(
      LoadPublisher publisher, BenchmarkListener listener, List<JavaProcess> planners)
      throws Exception {
    LatencySample millis = new LatencySample();
    answers.measure(millis);
    List<JavaProcess> others = planners.subList(1, planners.size());
    double restored = restored(others);
    planners.get(0).kill();
    change(publisher, options.seconds(), "a planner is killed");
    answers.await(listener, "a planner is killed", steps);
    row("a planner is killed: longest wait for a plan", "%,.1f", millis.quantile(1) / 1e3, "s");
    row("a planner is killed: records restored", "%,.0f", restored(others) - restored, "");
    long began = System.nanoTime();
    planners.get(0).start();
    planners.get(0).awaitReady();
    row("it starts again, beside the others", "%,.1f", (System.nanoTime() - began) / 1e9, "s");
  }

  /** Stops all planners, and starts one with its state, then without. */
  private void restart(
      LoadPublisher publisher,
      BenchmarkListener listener,
      List<JavaProcess> planners,
      BenchmarkCluster cluster)
      throws Exception {
    planners.forEach(JavaProcess::stop);
    JavaProcess last = planners.get(planners.size() - 1);
    // One with all state: the others' tasks are restored first.
    start(last, publisher, listener);
    last.stop();
    row("one planner restarts, state kept", "%,.1f", start(last, publisher, listener), "s");
    last.stop();
    BenchmarkCluster.delete(
        cluster.directory().resolve("planner-" + (planners.size() - 1)).resolve("state"));
    row("one planner restarts, state lost", "%,.1f", start(last, publisher, listener), "s");
    row("the same, records restored", "%,.0f", restored(List.of(last)), "");
  }

  /** Starts a planner; returns the seconds until it has answered a change. */
  private double start(JavaProcess planner, LoadPublisher publisher, BenchmarkListener listener)
      throws Exception {
    long began = System.nanoTime();
    planner.start();
    changeOne(publisher);
    answers.await(listener, "restart", steps);
    return (System.nanoTime() - began) / 1e9;
  }

  private static double restored(List<JavaProcess> planners) throws IOException {
    double records = 0;
    for (JavaProcess planner : planners) {
      records += sum(RESTORED, planner.output());
    }
    return records;
  }

  private static double sum(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map((MatchResult found) -> found.group(1))
        .mapToDouble(Double::parseDouble)
        .sum();
  }

  private static String jcmd(JavaProcess planner, String command)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(planner.pid()),
                command)
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return output;
  }

  private static double processorSeconds(List<JavaProcess> planners) {
    return planners.stream()
        .mapToDouble(
            planner ->
                ProcessHandle.of(planner.pid())
                    .flatMap(handle -> handle.info().totalCpuDuration())
                    .map(duration -> duration.toNanos() / 1e9)
                    .orElse(Double.NaN))
        .sum();
  }

  private static double bytes(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .mapToLong(
              file -> {
                try {
                  return Files.isRegularFile(file) ? Files.size(file) : 0;
                } catch (IOException e) {
                  // RocksDB deletes files meanwhile.
                  return 0;
                }
              })
          .sum();
    } catch (java.io.UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private void row(String what, String format, Object value, String unit) {
    rows.add(List.of(what, format.formatted(value), unit));
  }
}
