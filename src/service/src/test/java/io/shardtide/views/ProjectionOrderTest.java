package io.shardtide.views;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.TablePrediction;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Shortfall;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * The views read partitions and topics in any order. A table's record on current-predictions is on
 * another partition than its workload's.
 */
class ProjectionOrderTest {
  private static final List<String> WORKLOADS = List.of("v", "w");
  private static final List<String> TABLES = List.of("s", "t");
  private static final Instant T = Fixtures.TIME;
  private static final Optional<MemoryEnd> NO_END = Optional.empty();

  private final Map<String, List<Consumer<LogProjection>>> partitions = new TreeMap<>();
  private final List<Consumer<LogProjection>> inOrder = new ArrayList<>();
  private final Map<String, TreeSet<String>> tables = new TreeMap<>();
  private long generation;

  private void write(String partition, Consumer<LogProjection> record) {
    partitions.computeIfAbsent(partition, p -> new ArrayList<>()).add(record);
    inOrder.add(record);
  }

  private SourcePosition at(String topic) {
    return new SourcePosition(topic, 0, inOrder.size());
  }

  private CostPredictions part(String workload, CostPredictions.Update update) {
    return CostPredictionsBuilder.builder()
        .workloadId(workload)
        .generation(generation)
        .eventId(new UUID(0, generation))
        .source(at("workload-changes"))
        .modelId(TestModels.bundle().modelId())
        .part(0)
        .parts(1)
        .cluster(Fixtures.cluster((int) generation, 1000))
        .proxyHardware(Optional.empty())
        .update(Optional.of(update))
        .build();
  }

  /** An event that sets a table, with the plan that answers it and its reports. */
  private void change(String workload, String table, Random random) {
    generation++;
    tables.computeIfAbsent(workload, w -> new TreeSet<>()).add(table);
    CostPredictions part =
        part(
            workload,
            new CostPredictions.Update.Predicted(
                new TablePrediction(
                    Fixtures.table(table, 100 + generation, 4, 1),
                    List.of(new float[TestModels.bundle().towerSize()]),
                    List.of())));
    SourcePosition at = at("any");
    write("predictions " + workload + table, p -> p.apply(at, T, part));
    write("predictions " + workload, p -> p.apply(at, T, part.withoutTable()));
    if (random.nextInt(4) == 0) {
      InfeasibleWorkload infeasible =
          new InfeasibleWorkload(
              workload,
              generation,
              at,
              "m",
              new Shortfall(1, true, List.of(), "too large"),
              Optional.empty());
      write("infeasible", p -> p.apply(at, T, infeasible));
      return;
    }
    ShardingPlan plan = LogProjectionTest.planOf(workload, generation);
    write("sharding-plans", p -> p.apply(at, T, plan));
    write("current-plans", p -> p.applyCurrent(at, T, plan));
    PlanStatus status =
        new PlanStatus(
            workload,
            plan.planId(),
            random.nextBoolean() ? PlanStatus.StatusKind.ADOPTED : PlanStatus.StatusKind.REJECTED,
            generation,
            Optional.empty(),
            "trainer",
            "run",
            T,
            1,
            1);
    write("status", p -> p.apply(at, T, status));
    MeasuredCosts measured =
        new MeasuredCosts(
            "m" + generation,
            workload,
            plan.planId(),
            "run",
            generation,
            1,
            List.of(new MeasuredDevice(1, 1, 1)),
            List.of(),
            "trainer",
            T);
    write("measured", p -> p.apply(at, T, measured));
    TableForecasts forecasts =
        new TableForecasts(
            workload,
            "r",
            T.plusSeconds(generation),
            generation,
            List.of(),
            List.of(),
            NO_END,
            Optional.empty());
    write("current-forecasts", p -> p.apply(at, T, forecasts));
  }

  private void drop(String workload, String table) {
    generation++;
    tables.get(workload).remove(table);
    write("predictions " + workload + table, p -> p.delete(workload, w -> w.tables.remove(table)));
    CostPredictions own = part(workload, new CostPredictions.Update.Dropped(table)).withoutTable();
    SourcePosition at = at("any");
    write("predictions " + workload, p -> p.apply(at, T, own));
  }

  private void delete(String workload) {
    generation++;
    for (String table : tables.remove(workload)) {
      write(
          "predictions " + workload + table, p -> p.delete(workload, w -> w.tables.remove(table)));
    }
    write(
        "predictions " + workload, p -> p.delete(workload, WorkloadProjection::predictionsDeleted));
    write("current-plans", p -> p.delete(workload, WorkloadProjection::planDeleted));
    write("current-forecasts", p -> p.delete(workload, WorkloadProjection::forecastsDeleted));
  }

  private static LogProjection read(List<Consumer<LogProjection>> records) {
    LogProjection projection = new LogProjection();
    records.forEach(record -> record.accept(projection));
    return projection;
  }

  /** Returns the records in another order that keeps that of each partition. */
  private List<Consumer<LogProjection>> interleaved(Random random) {
    List<List<Consumer<LogProjection>>> left = new ArrayList<>();
    partitions.values().forEach(records -> left.add(new ArrayList<>(records)));
    List<Consumer<LogProjection>> all = new ArrayList<>();
    while (!left.isEmpty()) {
      List<Consumer<LogProjection>> from = left.get(random.nextInt(left.size()));
      // Often a partition is far behind the others.
      for (int n = 1 + random.nextInt(8); n > 0 && !from.isEmpty(); n--) {
        all.add(from.remove(0));
      }
      left.removeIf(List::isEmpty);
    }
    return all;
  }

  private static String shown(LogProjection projection) {
    StringBuilder text = new StringBuilder(projection.rows().toString());
    for (String workload : WORKLOADS) {
      text.append('\n').append(projection.workload(workload, Optional.empty()));
      text.append('\n').append(projection.tables(workload));
    }
    return text.toString();
  }

  @Property(tries = 300)
  void any_order_of_partitions_ends_in_the_same_views(@ForAll long seed) {
    partitions.clear();
    inOrder.clear();
    tables.clear();
    generation = 0;
    Random random = new Random(seed);
    for (int events = 1 + random.nextInt(12); events > 0; events--) {
      String workload = WORKLOADS.get(random.nextInt(2));
      String table = TABLES.get(random.nextInt(2));
      int kind = random.nextInt(5);
      if (kind == 0 && tables.containsKey(workload)) {
        delete(workload);
      } else if (kind == 1 && tables.getOrDefault(workload, new TreeSet<>()).contains(table)) {
        drop(workload, table);
      } else {
        change(workload, table, random);
      }
    }
    String expected = shown(read(inOrder));
    for (int order = 0; order < 5; order++) {
      LogProjection projection = read(interleaved(random));
      assertThat(shown(projection)).isEqualTo(expected);
      assertThat(projection.rows())
          .extracting(WorkloadRow::workloadId)
          .containsExactlyElementsOf(tables.keySet());
      projection.forgetUnknown();
      projection.forgetUnknown();
      assertThat(projection.workloads.unknown).as("kept of deleted workloads").isEmpty();
      WORKLOADS.stream()
          .filter(w -> !tables.containsKey(w))
          .forEach(w -> lateTombstones(projection, w));
      assertThat(projection.workloads.unknown).as("left by late tombstones").isEmpty();
      assertThat(shown(projection)).isEqualTo(expected);
    }
  }

  private static void lateTombstones(LogProjection projection, String workload) {
    projection.delete(workload, w -> w.tables.remove("t"));
    projection.delete(workload, WorkloadProjection::predictionsDeleted);
    projection.delete(workload, WorkloadProjection::planDeleted);
    projection.delete(workload, WorkloadProjection::forecastsDeleted);
  }
}
