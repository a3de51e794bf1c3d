package io.shardtide.bench.service;

import io.shardtide.bench.Figures;
import io.shardtide.bench.SyntheticTables;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Planners in processes of their own with many workloads that change: latency, processor time,
 * memory and disk; then a planner is killed; then all end, and one starts with its state, and
 * without.
 *
 * @param workloads number of workloads
 * @param leastTables tables of the first workload
 * @param mostTables tables of the last one
 * @param planners number of planners; with several, one is killed
 * @param perSecond changes a second
 * @param seconds seconds of load, and again from when a planner is killed; a third before
 * @param heapMiB largest heap of each planner
 * @param classPath of the planners' version
 */
public record PlannersRun(
    int workloads,
    int leastTables,
    int mostTables,
    int planners,
    double perSecond,
    int seconds,
    int heapMiB,
    String classPath) {
  /** Threads whose processor time is measured, as patterns, by what they do. */
  private static final Map<String, String> THREADS =
      new TreeMap<>(
          Map.of(
              "folding and predicting", "shardtide\\.workload-[^\"]*StreamThread-\\d+",
              "planning", "(?:shardtide\\.planning-[^\"]*StreamThread-|live-search)[^\"]*",
              "background search", "background-search[^\"]*"));

  private static final double KIB = 1 << 10;

  /** Changes without an answer while the log is filled; more would delay each other. */
  private static final int MOST_OPEN = 50;

  private static final int PARTITIONS = 6;
  private static final int DEVICES = 16;

  /** Measures. */
  public Figures run() throws Exception {
    try (BenchmarkCluster cluster = new BenchmarkCluster(planners == 1 ? 1 : PARTITIONS)) {
      List<PlannerProcess> processes = new ArrayList<>();
      try {
        for (int p = 0; p < planners; p++) {
          PlannerProcess planner =
              new PlannerProcess(
                  cluster, "planner-" + p, planners == 1 ? 1 : PARTITIONS, classPath, heapMiB);
          processes.add(planner);
          planner.start();
          // The first one creates the topics.
          planner.awaitServing();
        }
        // The load is of this version: its schemas may follow those of an older planner, not
        // precede.
        cluster.registry().register(cluster.endpoint().topics());
        try (Measured measured = new Measured(cluster, processes)) {
          measured.run();
          return measured.figures;
        }
      } finally {
        processes.forEach(PlannerProcess::close);
      }
    }
  }

  /** The planners while they are measured. */
  private final class Measured implements AutoCloseable {
    private final BenchmarkCluster cluster;
    private final List<PlannerProcess> processes;
    private final AnsweredChanges answers;
    private final List<List<TableSpec>> tables = new ArrayList<>();
    private final Random random = new Random(1);
    private final Figures figures = new Figures("many workloads", "value");

    Measured(BenchmarkCluster cluster, List<PlannerProcess> processes) {
      this.cluster = cluster;
      this.processes = processes;
      answers =
          new AnsweredChanges(
              cluster.endpoint(), cluster.registry(), List.of(), (value, nanos) -> {});
      for (int w = 0; w < workloads; w++) {
        int count = leastTables + (mostTables - leastTables) * w / Math.max(1, workloads - 1);
        tables.add(SyntheticTables.of(count, 64, w));
      }
    }

    void run() throws Exception {
      figures.add("workloads", "%,d of %d to %d tables", workloads, leastTables, mostTables);
      long began = System.nanoTime();
      for (int w = 0; w < workloads; w++) {
        answers.publish(id(w), BenchmarkCluster.workload(tables.get(w), DEVICES));
        answers.await(MOST_OPEN);
      }
      answers.await(0);
      seconds("first plans of all", began);
      // Until the JVMs have compiled the planners, their compilers compete with them.
      change(seconds / 3.0);
      load();
      size();
      if (planners > 1) {
        takeOver();
      }
      restart();
    }

    private void load() throws Exception {
      answers.takeMillis();
      Map<String, Double> before = new HashMap<>();
      THREADS.forEach((what, threads) -> before.put(what, sum(p -> p.cpuMillis(threads))));
      double all = sum(PlannerProcess::cpuMillis);
      double start = sum(PlannerProcess::heap);
      change(seconds / 2.0);
      double middle = sum(PlannerProcess::heap);
      change(seconds / 2.0);
      LatencySample millis = answers.takeMillis();
      figures.add("changes", "%,d", millis.count());
      figures.add("change to plan, median", "%,.1f ms", millis.quantile(0.5));
      figures.add("change to plan, p99", "%,.1f ms", millis.quantile(0.99));
      figures.add("change to plan, maximum", "%,.1f ms", millis.quantile(1));
      figures.add("plans, including the first", "%,d", answers.plans());
      THREADS.forEach(
          (what, threads) ->
              figures.add(
                  "processor time of a change, " + what,
                  "%,.2f ms",
                  (sum(p -> p.cpuMillis(threads)) - before.get(what)) / millis.count()));
      figures.add(
          "processor time of a change, planners with their compilers",
          "%,.1f ms",
          (sum(PlannerProcess::cpuMillis) - all) / millis.count());
      figures.add("heap after collection, start", "%,.0f MiB", start / KIB);
      figures.add("heap after collection, middle", "%,.0f MiB", middle / KIB);
      figures.add("heap after collection, end", "%,.0f MiB", sum(PlannerProcess::heap) / KIB);
    }

    private void size() {
      double state = sum(planner -> PlannerProcess.bytes(planner.state())) / KIB;
      double log = PlannerProcess.bytes(cluster.directory().resolve("kafka")) / KIB;
      double resident = sum(PlannerProcess::resident) / KIB;
      figures.add("resident memory, all planners", "%,.0f MiB", resident);
      figures.add("heap a workload", "%,.1f KiB", sum(PlannerProcess::heap) / workloads);
      figures.add("state of all planners, a workload", "%,.0f KiB", state / workloads);
      figures.add("disk of the broker, one copy, a workload", "%,.0f KiB", log / workloads);
    }

    /** Kills a planner under load. */
    private void takeOver() throws Exception {
      double restored = sum(PlannerProcess::restored);
      PlannerProcess killed = processes.get(0);
      double own = killed.restored();
      killed.kill();
      change(seconds);
      figures.add(
          "a planner is killed: longest wait for a plan",
          "%,.1f s",
          answers.takeMillis().quantile(1) / 1e3);
      figures.add(
          "a planner is killed: records restored",
          "%,.0f",
          sum(PlannerProcess::restored) - killed.restored() - restored + own);
      long began = System.nanoTime();
      killed.start();
      killed.awaitServing();
      seconds("it starts again, beside the others", began);
    }

    /** Stops all planners, and starts one with its state, then without. */
    private void restart() throws Exception {
      for (PlannerProcess planner : processes) {
        planner.stop();
      }
      PlannerProcess last = processes.get(planners - 1);
      if (planners > 1) {
        // One with all state: the others' tasks are restored first.
        start(last);
        last.stop();
      }
      seconds("one planner restarts, state kept", start(last));
      last.stop();
      try (Stream<Path> files = Files.walk(last.state())) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
      seconds("one planner restarts, state lost", start(last));
      figures.add("the same, records restored", "%,.0f", last.restored());
    }

    /** Starts a planner, which answers a change; returns when it was started. */
    private long start(PlannerProcess planner) throws Exception {
      long began = System.nanoTime();
      planner.start();
      changeOne();
      answers.await(0);
      return began;
    }

    private void seconds(String what, long began) {
      figures.add(what, "%,.1f s", (System.nanoTime() - began) / 1e9);
    }

    private double sum(ToDoubleFunction<PlannerProcess> of) {
      return processes.stream().mapToDouble(of).sum();
    }

    /** Publishes changes by the clock, so that slow planners do not reduce the load. */
    private void change(double duration) throws Exception {
      long began = System.nanoTime();
      for (long i = 0; i < Math.round(perSecond * duration); i++) {
        TimeUnit.NANOSECONDS.sleep(began + (long) (i * 1e9 / perSecond) - System.nanoTime());
        changeOne();
      }
      answers.await(0);
    }

    private void changeOne() {
      int w = random.nextInt(workloads);
      TableSpec table = tables.get(w).get(random.nextInt(tables.get(w).size()));
      answers.publish(
          id(w), List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
    }

    private static String id(int w) {
      return "workload_%05d".formatted(w);
    }

    @Override
    public void close() {
      answers.close();
    }
  }
}
