package io.shardtide.bench.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.Figures;
import io.shardtide.bench.SyntheticTables;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One workload with more and more tables: a plan from nothing, and one after a change. It fails
 * where there is no answer within two minutes, twice as long as a transaction may last; {@code
 * -Dbench.tables} is the largest number.
 */
@Tag("nightly")
class TablesIT {
  private static final int MOST = Integer.getInteger("bench.tables", 1_000);
  private static final String HEADING =
      "first plan, s | its search, s | planning threads, s | plan after a change, s | its search, s";

  @Test
  void a_workload_is_planned_with_more_and_more_tables() throws Exception {
    Figures figures = new Figures("tables of one workload, 128 devices", HEADING);
    AtomicReference<ShardingPlan> plan = new AtomicReference<>();
    try (BenchmarkCluster cluster = new BenchmarkCluster(1);
        PlannerService service = cluster.start("state", PlanningSettings.DEFAULTS, parts -> parts);
        AnsweredChanges answers =
            new AnsweredChanges(
                cluster.endpoint(),
                cluster.registry(),
                List.of(),
                (value, nanos) -> {
                  if (value instanceof ShardingPlan planned) {
                    plan.set(planned);
                  }
                })) {
      BenchmarkCluster.awaitRunning(service);
      for (int size = MOST / 10; size <= MOST; size *= 10) {
        String id = "workload_" + size;
        List<TableSpec> tables = SyntheticTables.of(size, 64, 1);
        double threads = planningMillis();
        long began = System.nanoTime();
        // The cluster comes last, so that one plan answers all.
        for (int t = 0; t < size; t += WorkloadChange.MAX_CHANGES) {
          answers.publish(
              id,
              BenchmarkCluster.workload(
                      tables.subList(t, Math.min(size, t + WorkloadChange.MAX_CHANGES)), 128)
                  .subList(1, Math.min(size - t, WorkloadChange.MAX_CHANGES) + 1));
        }
        answers.publish(id, List.of(BenchmarkCluster.clusterSet(128)));
        answers.await(0);
        double first = (System.nanoTime() - began) / 1e9;
        double firstSearch = plan.get().run().searchMillis() / 1e3;
        double planning = (planningMillis() - threads) / 1e3;
        began = System.nanoTime();
        TableSpec changed = SyntheticTables.changed(tables.get(size / 2), new Random(1));
        answers.publish(id, List.of(new Change.TableUpserted(changed)));
        answers.await(0);
        double next = (System.nanoTime() - began) / 1e9;
        double nextSearch = plan.get().run().searchMillis() / 1e3;
        figures.add(
            "%,d".formatted(size),
            "%,.1f | %,.1f | %,.1f | %,.1f | %,.1f",
            first,
            firstSearch,
            planning,
            next,
            nextSearch);
        assertThat(plan.get().workloadId()).isEqualTo(id);
        assertThat(first).as("a plan comes after its search").isGreaterThan(firstSearch);
        assertThat(next).as("a plan comes after its search").isGreaterThan(nextSearch);
      }
    }
    System.out.println(figures);
  }

  private static double planningMillis() {
    return PlannerProcess.cpuMillis(
        ProcessHandle.current().pid(),
        "(?:shardtide\\.planning-[^\"]*StreamThread-|live-search)[^\"]*");
  }
}
