package io.shardtide.bench.service;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.service.ProcessorTime.Who;
import io.shardtide.domain.Change;
import io.shardtide.domain.TableSpec;
import io.shardtide.topology.PlannerService;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Many workloads, changing all the time: what becomes of the changes, and of the memory. */
public final class LoadBenchmark {
  private static final int SMALLEST = 26;
  private static final int LARGEST = 300;
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;
  private static final double MIB = 1 << 20;

  /** How often memory is looked at, the start and the end included. */
  private static final int LOOKS = 7;

  private final List<List<TableSpec>> workloads = new ArrayList<>();
  private final List<double[]> memory = new ArrayList<>();
  private final AnsweredChanges answers = new AnsweredChanges();
  private final LatencySample millis = new LatencySample();
  private final double perSecond;
  private final int seconds;
  private final StepReporter steps;
  private ProcessorTime before;
  private ProcessorTime after;

  private LoadBenchmark(int workloads, double perSecond, int seconds, StepReporter steps) {
    for (int w = 0; w < workloads; w++) {
      int tables = SMALLEST + (LARGEST - SMALLEST) * w / Math.max(1, workloads - 1);
      this.workloads.add(SyntheticTables.of(tables, COLUMNS, w));
    }
    this.perSecond = perSecond;
    this.seconds = seconds;
    this.steps = steps;
  }

  /**
   * Measures.
   *
   * @param workloads how many workloads, of 26 to 300 tables, at least 1
   * @param perSecond changes a second, altogether
   * @param seconds for how long
   * @param steps hears how far it is
   */
  public static ResultTable run(int workloads, double perSecond, int seconds, StepReporter steps)
      throws Exception {
    LoadBenchmark benchmark = new LoadBenchmark(workloads, perSecond, seconds, steps);
    benchmark.measure();
    return new ResultTable(List.of("load", "value", "unit"), benchmark.rows());
  }

  private void measure() throws Exception {
    try (BenchmarkCluster site = BenchmarkCluster.open();
        PlannerService service = site.start();
        LoadPublisher publisher = new LoadPublisher(site, 0);
        BenchmarkListener listener =
            new BenchmarkListener(
                site,
                List.of(
                    BenchmarkCluster.TOPICS.shardingPlans(),
                    BenchmarkCluster.TOPICS.infeasibleWorkloads(),
                    BenchmarkCluster.TOPICS.rejectedEvents()),
                answers::take)) {
      BenchmarkCluster.awaitRunning(service, steps);
      for (int w = 0; w < workloads.size(); w++) {
        publish(publisher, w, LoadPublisher.workload(workloads.get(w), DEVICES));
      }
      answers.await(listener, "first plans", steps);
      answers.measure(millis);
      before = ProcessorTime.now();
      change(publisher);
      answers.await(listener, "the last changes", steps);
      after = ProcessorTime.now();
      look(seconds);
    }
  }

  private void change(LoadPublisher publisher) throws InterruptedException {
    Random random = new Random(1);
    long count = Math.round(perSecond * seconds);
    long began = System.nanoTime();
    for (long i = 0; i < count; i++) {
      if (i % Math.max(1, count / (LOOKS - 1)) == 0 && memory.size() < LOOKS - 1) {
        look((System.nanoTime() - began) / 1e9);
      }
      // By the clock, not after one another: a service that is slow does not get fewer changes.
      TimeUnit.NANOSECONDS.sleep(began + (long) (i * 1e9 / perSecond) - System.nanoTime());
      int w = random.nextInt(workloads.size());
      TableSpec table = workloads.get(w).get(random.nextInt(workloads.get(w).size()));
      publish(
          publisher, w, List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
      steps.at("changes", i, count);
    }
  }

  private void publish(LoadPublisher publisher, int w, List<Change> changes) {
    String id = "workload_%04d".formatted(w);
    answers.published(id, System.nanoTime());
    publisher.publish(id, changes);
  }

  /** Collects what is garbage, and notes what is left. Changes wait meanwhile, and it shows. */
  private void look(double atSeconds) {
    System.gc();
    memory.add(
        new double[] {
          atSeconds, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / MIB
        });
  }

  /** Returns the slope of the line of least squares through what was seen of memory. */
  private double mibPerMinute() {
    double meanX = memory.stream().mapToDouble(look -> look[0]).average().orElseThrow();
    double meanY = memory.stream().mapToDouble(look -> look[1]).average().orElseThrow();
    double xy = 0;
    double xx = 0;
    for (double[] look : memory) {
      xy += (look[0] - meanX) * (look[1] - meanY);
      xx += (look[0] - meanX) * (look[0] - meanX);
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
    rows.add(row("plans, the first ones included", "%,d", answers.plans(), ""));
    rows.add(row("reports that a workload does not fit", "%,d", answers.infeasible(), ""));
    rows.add(row("change to plan, median", "%,.1f", millis.quantile(0.5), "ms"));
    rows.add(row("change to plan, p99", "%,.1f", millis.quantile(0.99), "ms"));
    rows.add(row("change to plan, longest", "%,.1f", millis.quantile(1), "ms"));
    rows.add(row("heap after collection, start", "%,.0f", memory.get(0)[1], "MiB"));
    rows.add(
        row("heap after collection, middle", "%,.0f", memory.get(memory.size() / 2)[1], "MiB"));
    rows.add(row("heap after collection, end", "%,.0f", memory.get(memory.size() - 1)[1], "MiB"));
    rows.add(row("heap after collection, slope", "%,.2f", mibPerMinute(), "MiB/min"));
    rows.add(time("folding and predicting", Who.WORKLOAD));
    rows.add(time("planning", Who.PLANNING));
    rows.add(time("deeper searches", Who.DEEPER));
    rows.add(time("all, the broker included", Who.ALL));
    return rows;
  }

  private List<String> time(String what, Who who) {
    return row(
        "processor time a change, " + what,
        "%,.1f",
        after.microsSince(before, who) / 1e3 / millis.count(),
        "ms");
  }

  private static List<String> row(String what, String format, Object value, String unit) {
    return List.of(what, format.formatted(value), unit);
  }
}
