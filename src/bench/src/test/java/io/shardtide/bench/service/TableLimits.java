package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.service.ProcessorTime.ThreadKind;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.topology.PlannerService;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;

/** One workload whose tables double until something gives: a plan from nothing, and a change. */
public final class TableLimits {
  private static final int COLUMNS = 64;
  private static final int DEVICES = 128;

  /** An answer that takes longer is counted as none: twice as long as a transaction may last. */
  private static final int PATIENCE_SECONDS = 120;

  private final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
  private final StepReporter steps;

  private TableLimits(StepReporter steps) {
    this.steps = steps;
  }

  /**
   * Measures workloads of the sizes, one after another, until one is not answered.
   *
   * @param sizes numbers of tables
   * @param steps receives the progress
   */
  public static ResultTable run(List<Integer> sizes, StepReporter steps) throws Exception {
    TableLimits limits = new TableLimits(steps);
    List<List<String>> rows = new ArrayList<>();
    try (BenchmarkCluster cluster = BenchmarkCluster.open();
        PlannerService service = cluster.start();
        LoadPublisher publisher = new LoadPublisher(cluster, 0);
        BenchmarkListener listener =
            new BenchmarkListener(
                cluster,
                List.of(
                    BenchmarkCluster.TOPICS.of(SHARDING_PLANS),
                    BenchmarkCluster.TOPICS.of(INFEASIBLE_WORKLOADS),
                    BenchmarkCluster.TOPICS.of(REJECTED_EVENTS)),
                (value, nanos) -> limits.answers.add(value))) {
      BenchmarkCluster.awaitRunning(service, steps);
      for (int size : sizes) {
        List<String> row = limits.measure(publisher, listener, size);
        rows.add(row);
        if (row.contains("none")) {
          break;
        }
      }
    }
    return new ResultTable(
        List.of(
            "tables of one workload, %d devices".formatted(DEVICES),
            "first plan, s",
            "its search, s",
            "processor time of planning, s",
            "plan after a change, s",
            "its search, s"),
        rows);
  }

  private List<String> measure(LoadPublisher publisher, BenchmarkListener listener, int size)
      throws Exception {
    String id = "workload_%06d".formatted(size);
    List<TableSpec> tables = SyntheticTables.of(size, COLUMNS, 1);
    ProcessorTime before = ProcessorTime.now();
    long began = System.nanoTime();
    // Several events: the cluster comes last, so that one plan answers all.
    for (int t = 0; t < size; t += WorkloadChange.MAX_CHANGES) {
      publisher.publish(
          id,
          LoadPublisher.workload(
              tables.subList(t, Math.min(size, t + WorkloadChange.MAX_CHANGES)), 0));
    }
    publisher.publish(id, List.of(LoadPublisher.clusterSet(DEVICES)));
    int events = (size - 1) / WorkloadChange.MAX_CHANGES + 2;
    PlannerAnswer first = await(listener, id, generation -> generation >= events);
    List<String> row = new ArrayList<>();
    row.add("%,d".formatted(size));
    row.addAll(cells(first, began));
    row.add("%,.1f".formatted(ProcessorTime.now().microsSince(before, ThreadKind.PLANNING) / 1e6));
    long changed = System.nanoTime();
    TableSpec table = tables.get(size / 2);
    publisher.publish(
        id, List.of(new Change.TableUpserted(SyntheticTables.changed(table, new Random(1)))));
    row.addAll(cells(await(listener, id, generation -> generation > events), changed));
    return row;
  }

  /**
   * What the planner answered.
   *
   * @param nanos when
   * @param value the plan, rejection or report; null for none
   */
  private record PlannerAnswer(long nanos, Object value) {}

  private PlannerAnswer await(BenchmarkListener listener, String id, LongPredicate generation)
      throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (System.nanoTime() < end) {
      listener.check();
      steps.at(id, 0, -1);
      Object value = answers.poll(10, TimeUnit.MILLISECONDS);
      if (value instanceof RejectedEvent
          || (value instanceof ShardingPlan plan
              && plan.workloadId().equals(id)
              && generation.test(plan.generation()))
          || (value instanceof InfeasibleWorkload report
              && report.workloadId().equals(id)
              && generation.test(report.generation()))) {
        return new PlannerAnswer(System.nanoTime(), value);
      }
    }
    return new PlannerAnswer(System.nanoTime(), null);
  }

  private static List<String> cells(PlannerAnswer answer, long began) {
    if (answer.value() == null) {
      return List.of("none", "none");
    }
    String seconds = "%,.1f".formatted((answer.nanos() - began) / 1e9);
    if (answer.value() instanceof ShardingPlan plan) {
      return List.of(seconds, "%,.1f".formatted(plan.run().searchMillis() / 1e3));
    }
    return List.of(
        seconds,
        answer.value() instanceof RejectedEvent rejected
            ? "rejected: " + rejected.reason()
            : "does not fit");
  }
}
