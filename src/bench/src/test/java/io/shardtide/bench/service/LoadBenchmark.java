package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.service.ProcessorTime.ThreadKind;
import io.shardtide.search.GroupSearch;
import io.shardtide.topology.PlannerService;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;

/** Latency, lost changes and memory under a constant load of many workloads. */
public final class LoadBenchmark {
  private static final int SMALLEST = 26;
  private static final int LARGEST = 300;
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;
  private static final double MIB = 1 << 20;
  private static final int POISON_TIMEOUT_SECONDS = 120;

  /** Number of memory measurements, start and end included. */
  private static final int MEMORY_SAMPLES = 7;

  /** Before the changes that are measured, for this part of their time there are others. */
  private static final double WARM_UP_SHARE = 3;

  private final List<List<TableSpec>> workloads = new ArrayList<>();
  private final List<double[]> memory = new ArrayList<>();
  private final AnsweredChanges answers = new AnsweredChanges();
  private final LatencySample millis = new LatencySample();
  private final double perSecond;
  private final int seconds;
  private final int planners;
  private final Optional<PoisonedWorkloads> poison;
  private final StepReporter steps;
  private ProcessorTime before;
  private ProcessorTime after;
  private double compilationMillis;

  private LoadBenchmark(
      int workloads,
      double perSecond,
      int seconds,
      int planners,
      Optional<PoisonedWorkloads> poison,
      StepReporter steps) {
    for (int w = 0; w < workloads; w++) {
      int tables = SMALLEST + (LARGEST - SMALLEST) * w / Math.max(1, workloads - 1);
      this.workloads.add(SyntheticTables.of(tables, COLUMNS, w));
    }
    this.perSecond = perSecond;
    this.seconds = seconds;
    this.planners = planners;
    this.poison = poison;
    this.steps = steps;
  }

  /**
   * Runs the load.
   *
   * @param workloads number of workloads, with 26 to 300 tables, at least 1
   * @param perSecond changes per second of all workloads
   * @param seconds duration
   * @param planners number of planners, and of partitions, at least 1
   * @param poisoned whether there are also workloads that harm a planner, one of each kind
   * @param steps receives the progress
   */
  public static ResultTable run(
      int workloads,
      double perSecond,
      int seconds,
      int planners,
      boolean poisoned,
      StepReporter steps)
      throws Exception {
    LoadBenchmark benchmark =
        new LoadBenchmark(
            workloads,
            perSecond,
            seconds,
            planners,
            poisoned ? Optional.of(new PoisonedWorkloads()) : Optional.empty(),
            steps);
    benchmark.measure();
    return new ResultTable(List.of("load", "value", "unit"), benchmark.rows());
  }

  private void measure() throws Exception {
    try (BenchmarkCluster cluster = BenchmarkCluster.open(planners);
        Planners services = new Planners(cluster);
        LoadPublisher publisher = new LoadPublisher(cluster, 0);
        BenchmarkListener listener =
            new BenchmarkListener(
                cluster,
                List.of(
                    BenchmarkCluster.TOPICS.of(SHARDING_PLANS),
                    BenchmarkCluster.TOPICS.of(INFEASIBLE_WORKLOADS),
                    BenchmarkCluster.TOPICS.of(REJECTED_EVENTS),
                    BenchmarkCluster.TOPICS.of(QUARANTINE)),
                this::onRecord)) {
      services.awaitRunning();
      for (int w = 0; w < workloads.size(); w++) {
        publish(publisher, w, LoadPublisher.workload(workloads.get(w), DEVICES));
      }
      answers.await(listener, "first plans", steps);
      // Until the JVM has compiled the planners, its compiler competes with them.
      change(publisher, new Random(0), "changes before", seconds / WARM_UP_SHARE, i -> {});
      answers.await(listener, "the last of them", steps);
      answers.measure(millis);
      poison.ifPresent(poisoned -> poisoned.publish(publisher, planners));
      before = ProcessorTime.now();
      long compilationBefore = compilationMillis();
      change(publisher, new Random(1), "changes", seconds, during(publisher));
      answers.await(listener, "the last changes", steps);
      after = ProcessorTime.now();
      compilationMillis = compilationMillis() - compilationBefore;
      measureMemory(seconds);
      if (poison.isPresent()) {
        poison.get().endSlowSearch();
        awaitPoisoned(poison.get(), publisher);
      }
    }
  }

  private void onRecord(Object value, long nanos) {
    if (poison.isEmpty() || !poison.get().onRecord(value)) {
      answers.onRecord(value, nanos);
    }
  }

  private void awaitPoisoned(PoisonedWorkloads poisoned, LoadPublisher publisher)
      throws InterruptedException, TimeoutException {
    long began = System.nanoTime();
    while (!poisoned.areDecided()) {
      if (System.nanoTime() - began > TimeUnit.SECONDS.toNanos(POISON_TIMEOUT_SECONDS)) {
        throw new TimeoutException("no end of the poisoned workloads: " + poisoned.outcomes());
      }
      poisoned.takeOver(publisher);
      steps.at("the poisoned workloads", 0, 1);
      Thread.sleep(10);
    }
  }

  /** The planners, which close together. */
  private final class Planners implements AutoCloseable {
    private final List<PlannerService> all = new ArrayList<>();

    Planners(BenchmarkCluster cluster) throws Exception {
      for (int number = 0; number < planners; number++) {
        all.add(
            poison.isEmpty()
                ? cluster.start(number, List.of(), GroupSearch::search)
                : cluster.start(number, List.of(PoisonedWorkloads.model()), poison.get()::search));
      }
    }

    void awaitRunning() throws InterruptedException {
      for (PlannerService service : all) {
        BenchmarkCluster.awaitRunning(service, steps);
      }
    }

    @Override
    public void close() {
      all.forEach(PlannerService::close);
    }
  }

  /** Returns how long the JVM has compiled bytecode, the more the shorter it runs. */
  private static long compilationMillis() {
    return ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
  }

  /** Returns what is done before each of the changes that are measured. */
  private LongConsumer during(LoadPublisher publisher) {
    long count = Math.round(perSecond * seconds);
    long began = System.nanoTime();
    return i -> {
      if (i >= count / 4) {
        poison.ifPresent(poisoned -> poisoned.takeOver(publisher));
      }
      if (i % Math.max(1, count / (MEMORY_SAMPLES - 1)) == 0
          && memory.size() < MEMORY_SAMPLES - 1) {
        measureMemory((System.nanoTime() - began) / 1e9);
      }
    };
  }

  private void change(
      LoadPublisher publisher, Random random, String what, double duration, LongConsumer before)
      throws InterruptedException {
    long count = Math.round(perSecond * duration);
    long began = System.nanoTime();
    for (long i = 0; i < count; i++) {
      before.accept(i);
      // Scheduled by the clock, so that a slow service does not reduce the load.
      TimeUnit.NANOSECONDS.sleep(began + (long) (i * 1e9 / perSecond) - System.nanoTime());
      int w = random.nextInt(workloads.size());
      TableSpec table = workloads.get(w).get(random.nextInt(workloads.get(w).size()));
      publish(
          publisher, w, List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
      steps.at(what, i, count);
    }
  }

  private void publish(LoadPublisher publisher, int w, List<Change> changes) {
    String id = "workload_%04d".formatted(w);
    answers.published(id, System.nanoTime());
    publisher.publish(id, changes);
  }

  /** Measures the heap after a garbage collection, whose pause adds to the latency. */
  private void measureMemory(double atSeconds) {
    System.gc();
    memory.add(
        new double[] {
          atSeconds, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / MIB
        });
  }

  /** Returns the least-squares slope of the heap over time. */
  private double mibPerMinute() {
    double meanX = memory.stream().mapToDouble(sample -> sample[0]).average().orElseThrow();
    double meanY = memory.stream().mapToDouble(sample -> sample[1]).average().orElseThrow();
    double xy = 0;
    double xx = 0;
    for (double[] sample : memory) {
      xy += (sample[0] - meanX) * (sample[1] - meanY);
      xx += (sample[0] - meanX) * (sample[0] - meanX);
    }
    return 60 * xy / xx;
  }

  private List<List<String>> rows() {
    List<List<String>> rows = new ArrayList<>();
    rows.add(
        row(
            "workloads of %d to %d tables".formatted(SMALLEST, LARGEST),
            "%,d",
            workloads.size(),
            ""));
    rows.add(row("changes", "%,d", millis.count(), ""));
    rows.add(row("lost", "%,d", answers.open(), ""));
    rows.add(row("plans, including the first", "%,d", answers.plans(), ""));
    rows.add(row("infeasible workloads", "%,d", answers.infeasible(), ""));
    rows.add(row("change to plan, median", "%,.1f", millis.quantile(0.5), "ms"));
    rows.add(row("change to plan, p99", "%,.1f", millis.quantile(0.99), "ms"));
    rows.add(row("change to plan, maximum", "%,.1f", millis.quantile(1), "ms"));
    rows.add(row("heap after collection, start", "%,.0f", memory.get(0)[1], "MiB"));
    rows.add(
        row("heap after collection, middle", "%,.0f", memory.get(memory.size() / 2)[1], "MiB"));
    rows.add(row("heap after collection, end", "%,.0f", memory.get(memory.size() - 1)[1], "MiB"));
    rows.add(row("heap after collection, slope", "%,.2f", mibPerMinute(), "MiB/min"));
    poison.ifPresent(
        poisoned ->
            poisoned.outcomes().forEach((id, outcome) -> rows.add(List.of(id, outcome, ""))));
    rows.add(time("folding and predicting", ThreadKind.WORKLOAD));
    rows.add(time("planning", ThreadKind.PLANNING));
    rows.add(time("background search", ThreadKind.BACKGROUND_SEARCH));
    rows.add(time("all threads, including the broker", ThreadKind.ALL));
    rows.add(
        row(
            "compilation by the warming JVM per change, of all threads' time",
            "%,.1f",
            compilationMillis / millis.count(),
            "ms"));
    return rows;
  }

  private List<String> time(String name, ThreadKind threads) {
    return row(
        "processor time per change, " + name,
        "%,.1f",
        after.microsSince(before, threads) / 1e3 / millis.count(),
        "ms");
  }

  private static List<String> row(String what, String format, Object value, String unit) {
    return List.of(what, format.formatted(value), unit);
  }
}
