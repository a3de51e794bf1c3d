package io.shardtide.step;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.plan.Effort;
import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.step.PlanningOutcome.Infeasible;
import io.shardtide.step.PlanningOutcome.Planned;
import io.shardtide.step.PlanningStep.SearchTask;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Samples;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** What is planned first, what a background search has to gain, and what a plan says of itself. */
class PlanningDecisionsTest {
  private static final long MEMORY = 8 * Fixtures.GIB;
  private static final PlanningSettings SETTINGS =
      new PlanningSettings(
          Duration.ZERO,
          Duration.ZERO,
          Fixtures.settings(1, 0, 10, 0.1, 0, 1_000),
          Optional.of(Fixtures.settings(1, 100, 10, 0.1, 0, 1_000)),
          Duration.ZERO,
          0.125,
          0);

  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables plans = PlanningTables.inMemory();
  private final PlainPredictors models = new PlainPredictors();
  private final WorkloadStep first = new WorkloadStep(models);
  private final AtomicLong nanos = new AtomicLong();
  private final PlanningStep second =
      new PlanningStep(
          models,
          SETTINGS,
          new Planner(InstantSource.fixed(Fixtures.TIME), () -> nanos.addAndGet(2_500_000)));

  private PlanningOutcome apply(Change... changes) {
    for (CostPredictions part : first.apply(workloads, Fixtures.at(nanos.get()), event(changes))) {
      assertThat(second.onPredictions(plans, part)).isEqualTo(plans.header(Fixtures.WORKLOAD));
    }
    return second.plan(plans, Fixtures.WORKLOAD).orElseThrow();
  }

  private ShardingPlan plan(Change... changes) {
    return ((Planned) apply(changes)).plan();
  }

  private void adopt(ShardingPlan plan) {
    second.report(plans, Fixtures.adopted(plan));
  }

  /** Tables of one shape, each on a device of a cluster. */
  private record Placed(List<TablePrediction> tables, List<Shard> shards, ClusterSpec cluster) {
    static Placed on(int devices, int... deviceOfTable) {
      List<TableSpec> tables =
          IntStream.range(0, deviceOfTable.length)
              .mapToObj(t -> Fixtures.table("t" + t, 100_000, 64, 5))
              .toList();
      ClusterSpec cluster = Fixtures.cluster(devices, MEMORY);
      try (PlainTowers towers = new PlainTowers(TestModels.bundle())) {
        return new Placed(
            towers.predict(tables, cluster.batchSize()),
            IntStream.range(0, tables.size())
                .mapToObj(t -> Fixtures.shard(tables.get(t), 0, 64, deviceOfTable[t]))
                .toList(),
            cluster);
      }
    }

    double imbalanceMs() {
      ShardingPlan any = Samples.plan();
      ShardingPlan plan =
          new ShardingPlan(
              "",
              any.origin(),
              "",
              shards,
              Replication.NONE,
              List.of(),
              List.of(),
              any.prediction(),
              any.transition(),
              any.run());
      Planner.Request request =
          new Planner.Request(
              Fixtures.WORKLOAD,
              1,
              new PredictedGeneration(1, any.origin().source(), "model", cluster),
              tables.stream().map(table -> new VersionedPrediction(table, 1)).toList(),
              Optional.of(plan),
              Effort.QUICK,
              SearchSettings.QUICK,
              TestModels.model(),
              List.of());
      return Imbalance.ms(request, plan);
    }

    StepCost cost() {
      return StepCosts.of(tables, shards, cluster, TestModels.model());
    }
  }

  @Test
  void the_imbalance_is_the_idle_time_of_an_average_device() {
    Offset<Double> rounding = Offset.offset(1e-9);
    assertThat(Placed.on(1, 0, 0).imbalanceMs()).isCloseTo(0, rounding);
    assertThat(Placed.on(2, 0, 1).imbalanceMs()).isCloseTo(0, rounding);
    Placed onOne = Placed.on(2, 0, 0, 0, 0);
    assertThat(onOne.imbalanceMs())
        .as("one of two devices idles while the other computes")
        .isBetween(0.5 * onOne.cost().computeMs()[0], 0.5 * onOne.cost().predictedMs());
    assertThat(Placed.on(2, 0, 0, 0, 1).imbalanceMs()).isPositive().isLessThan(onOne.imbalanceMs());
  }

  @Test
  void a_workload_without_a_plan_promises_the_most() {
    first
        .apply(workloads, Fixtures.at(0), event(set(2, MEMORY), upsert("a", 100_000, 64, 5)))
        .forEach(part -> second.onPredictions(plans, part));
    assertThat(second.imbalanceMs(plans, Fixtures.WORKLOAD)).isInfinite().isPositive();
    second.plan(plans, Fixtures.WORKLOAD);
    assertThat(second.imbalanceMs(plans, Fixtures.WORKLOAD)).isFinite();
  }

  @Test
  void a_workload_that_lost_its_balance_promises_the_imbalance() {
    ShardingPlan plan = plan(set(2, MEMORY), upsert("t0", 100_000, 4, 5));
    assertThat(second.imbalanceMs(plans, Fixtures.WORKLOAD))
        .isPositive()
        .isLessThan(plan.predictedMs());
  }

  @Test
  void an_answered_workload_is_not_planned_again() {
    plan(set(2, 1_000_000), upsert("a", 1_000, 4, 5));
    assertThat(apply(upsert("b", 1_000_000, 4, 5))).isInstanceOf(Infeasible.class);
    assertThat(second.plan(plans, Fixtures.WORKLOAD)).isEmpty();
    assertThat(second.settings()).isEqualTo(SETTINGS);
  }

  /** {@code found} with another cost. */
  private static PlanningOutcome costing(PlanningOutcome found, double ms) {
    ShardingPlan plan = ((Planned) found).plan();
    PlanPrediction before = plan.prediction();
    return new Planned(
        new ShardingPlan(
                "",
                plan.origin(),
                plan.reason(),
                plan.shards(),
                Replication.NONE,
                List.of(),
                List.of(),
                new PlanPrediction(
                    before.deviceCosts(),
                    ms,
                    before.insight(),
                    before.outOfRange(),
                    before.outOfRangeCount(),
                    List.of(),
                    List.of()),
                plan.transition(),
                plan.run())
            .identified());
  }

  /** With a gain of an eighth: the running plan's cost, less an eighth, less the moves. */
  @Test
  void a_background_search_has_to_beat_the_running_plan_and_pay_for_its_moves() {
    for (boolean isCheapEnough : new boolean[] {true, false}) {
      ShardingPlan quick = lostDevices();
      SearchTask search = second.backgroundSearch(plans, Fixtures.WORKLOAD).orElseThrow();
      PlanningOutcome found = second.search(search);
      ShardingPlan deep = ((Planned) found).plan();
      double limit =
          0.875 * quick.predictedMs() - deep.origin().settings().moveMs(deep.transition().moves());
      double ms = limit * (isCheapEnough ? 1 - 1e-9 : 1 + 1e-9);
      assertThat(second.finish(plans, search, costing(found, ms)).isPresent())
          .isEqualTo(isCheapEnough);
      assertThat(second.backgroundSearch(plans, Fixtures.WORKLOAD)).as("once").isEmpty();
    }
  }

  /** The moves of a plan that no trainer adopted would have to be made as well. */
  @Test
  void a_background_search_has_to_beat_a_plan_that_does_not_run_with_its_moves() {
    for (boolean isCheapEnough : new boolean[] {true, false}) {
      adopt(plan(manyTables()));
      ShardingPlan quick = plan(set(5, MEMORY));
      SearchTask search = second.backgroundSearch(plans, Fixtures.WORKLOAD).orElseThrow();
      PlanningOutcome found = second.search(search);
      ShardingPlan deep = ((Planned) found).plan();
      assertThat(quick.transition().moves()).isNotEmpty();
      SearchSettings prices = deep.origin().settings();
      double limit =
          0.875 * quick.predictedMs()
              + prices.moveMs(quick.transition().moves())
              - prices.moveMs(deep.transition().moves());
      double ms = limit * (isCheapEnough ? 1 - 1e-9 : 1 + 1e-9);
      assertThat(second.finish(plans, search, costing(found, ms)).isPresent())
          .isEqualTo(isCheapEnough);
    }
  }

  private static Change[] manyTables() {
    Change[] many = new Change[13];
    for (int i = 0; i < 12; i++) {
      many[i] = upsert("t" + i, 50_000L * (i + 1), 64, 1 + 7 * i % 40);
    }
    many[12] = set(8, MEMORY);
    return many;
  }

  /** Returns the quick plan of a workload that lost three of eight devices. */
  private ShardingPlan lostDevices() {
    plan(manyTables());
    return plan(set(5, MEMORY));
  }

  @Test
  void a_plan_says_how_long_its_search_took() {
    assertThat(plan(set(2, MEMORY), upsert("a", 1_000, 4, 5)).run().searchMillis()).isEqualTo(2.5);
  }

  @Test
  void a_plan_names_what_is_outside_the_training_range_the_farthest_first() {
    ShardingPlan plan =
        plan(
            set(300, MEMORY),
            upsert("tall", 60_000_000, 4, 5),
            upsert("wide", 1_000, 4096, 5),
            upsert("usual", 100_000, 64, 5));
    assertThat(plan.prediction().outOfRange())
        .isSortedAccordingTo(OutOfRange.ORDER)
        .hasSize(plan.prediction().outOfRangeCount())
        .extracting(OutOfRange::subject)
        .contains("tall", "wide", "cluster")
        .doesNotContain("usual");
  }

  @Test
  void a_plan_names_devices_outside_the_training_range() {
    Change[] tables = new Change[81];
    for (int t = 0; t < 80; t++) {
      tables[t] = upsert("t" + t, 1_000, 128, 1);
    }
    tables[80] = set(2, MEMORY);
    ShardingPlan plan = plan(tables);
    assertThat(plan.prediction().outOfRange())
        .filteredOn(place -> place.subject().startsWith("device "))
        .isNotEmpty()
        .allSatisfy(
            place -> {
              int device = Integer.parseInt(place.subject().substring("device ".length()));
              assertThat(place.value()).isEqualTo(on(plan, device, place.quantity()));
            })
        .extracting(OutOfRange::quantity)
        .contains("all_to_all_bytes_per_peer", "shards_per_device");
  }

  private static double on(ShardingPlan plan, int device, String quantity) {
    List<Shard> shards = plan.shards().stream().filter(s -> s.device() == device).toList();
    // On two devices, each sends half of its outputs, of 4 bytes, to the other one.
    return quantity.equals("all_to_all_bytes_per_peer")
        ? shards.stream().mapToInt(Shard::columns).sum() * (65_536 / 2) * 4.0
        : shards.size();
  }

  @Test
  void the_reason_names_three_tables_and_counts_the_others() {
    plan(set(2, MEMORY), upsert("a", 1_000, 4, 5));
    assertThat(plan(upsert("b", 9, 4, 1), upsert("c", 9, 4, 1), upsert("d", 9, 4, 1)).reason())
        .isEqualTo("3 tables added (b, c, d)");
    assertThat(plan(drop("a"), drop("b"), drop("c"), drop("d"), upsert("e", 9, 4, 1)).reason())
        .isEqualTo("1 table added (e), 4 tables dropped (a, b, c, ...)");
  }

  private static Change constrained(String name, TableConstraints constraints) {
    return new Change.TableUpserted(
        Fixtures.table(name, 1_000, 64, 5).withConstraints(constraints));
  }

  private static TableConstraints sameAs(String name) {
    return new TableConstraints(Set.of(), 0, Optional.of(name));
  }

  @Test
  void the_reason_names_tables_that_run_against_new_constraints() {
    plan(set(4, MEMORY), upsert("a", 1_000, 64, 5), upsert("b", 1_000, 64, 5));
    TableConstraints whole = TableConstraints.NONE.withKinds(Set.of(ShardKind.TABLE_WISE));
    assertThat(plan(constrained("a", whole)).shards().get(0).kind())
        .isEqualTo(ShardKind.TABLE_WISE);
    assertThat(plan(constrained("a", whole.withLeastColumns(32))).reason())
        .as("kept by the plan that runs")
        .isEqualTo("1 table changed (a)");
    TableConstraints cut = TableConstraints.NONE.withKinds(Set.of(ShardKind.COLUMN_WISE));
    assertThat(plan(constrained("a", cut)).reason())
        .isEqualTo("1 table changed (a), 1 table running against new constraints (a)");
    assertThat(plan(constrained("a", cut.withLeastColumns(32))).shards().get(0).columns())
        .isEqualTo(32);
    assertThat(plan(constrained("a", whole)).reason())
        .isEqualTo("1 table changed (a), 1 table running against new constraints (a)");
  }

  @Test
  void the_reason_names_tables_that_run_on_other_devices_than_new_constraints_say() {
    TableConstraints cut = TableConstraints.NONE.withKinds(Set.of(ShardKind.COLUMN_WISE));
    TableConstraints whole = TableConstraints.NONE.withKinds(Set.of(ShardKind.TABLE_WISE));
    plan(set(4, MEMORY), constrained("a", cut), constrained("b", whole), constrained("c", whole));
    assertThat(plan(constrained("b", sameAs("a")), drop("c")).reason())
        .isEqualTo(
            "1 table changed (b), 1 table running against new constraints (b), 1 table dropped"
                + " (c)");
    assertThat(plan(upsert("d", 1_000, 64, 5), constrained("b", sameAs("d"))).reason())
        .as("d runs nowhere")
        .isEqualTo("1 table added (d), 1 table changed (b)");
  }

  @Test
  void a_table_that_is_dropped_with_the_batch_size_is_not_predicted() {
    plan(set(2, MEMORY), upsert("a", 1_000, 4, 5), upsert("b", 1_000, 4, 5));
    ClusterSpec batch = new ClusterSpec(2, MEMORY, 1_024, 8, TestModels.bundle().hardware());
    List<CostPredictions> parts =
        first.apply(workloads, Fixtures.at(9), event(drop("a"), new Change.ClusterSet(batch)));
    assertThat(parts)
        .extracting(part -> part.update().orElseThrow())
        .hasSize(2)
        .first()
        .isEqualTo(new Update.Dropped("a"));
    assertThat(((Update.Predicted) parts.get(1).update().orElseThrow()).prediction().table().name())
        .isEqualTo("b");
  }
}
