package io.shardtide.step;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.hashed;
import static io.shardtide.testing.Fixtures.resize;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.ShuffledTables;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.TableSpec;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Both steps with hashed tables: what is predicted, planned and told. */
class ResizedTableTest {
  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables plans = ShuffledTables.planning(1);
  private final PlainPredictors models = new PlainPredictors();
  private final WorkloadStep predicting = new WorkloadStep(models);
  private final PlanningStep planning =
      new PlanningStep(
          models,
          PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
          new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
  private long offset;

  private List<CostPredictions> predict(Change... changes) {
    return predicting.apply(workloads, Fixtures.at(offset++), event(changes));
  }

  private PlanningOutcome outcome(Change... changes) {
    predict(changes).forEach(part -> planning.onPredictions(plans, part));
    return planning.plan(plans, Fixtures.WORKLOAD).orElseThrow();
  }

  private ShardingPlan plan(Change... changes) {
    return ((PlanningOutcome.Planned) outcome(changes)).plan();
  }

  private static Change upsertHashed(String name, long rows) {
    return new Change.TableUpserted(hashed(name, rows, 64, 5));
  }

  private static List<TableSpec> predicted(List<CostPredictions> parts) {
    List<TableSpec> tables = new ArrayList<>();
    for (CostPredictions part : parts) {
      part.update()
          .ifPresent(update -> tables.add(((Update.Predicted) update).prediction().table()));
    }
    return tables;
  }

  @Test
  void a_resize_predicts_its_table_only() {
    predict(Fixtures.set(4, Fixtures.GIB), upsertHashed("a", 1_000), upsert("b", 1_000, 64, 5));
    List<TableSpec> tables = predicted(predict(resize("a", 2_000, "full")));
    assertThat(tables).extracting(TableSpec::name).containsExactly("a");
    assertThat(tables.get(0).rows()).isEqualTo(2_000);
    assertThat(tables.get(0).storage().get().resizeReason()).contains("full");
    assertThat(predicted(predict(upsertHashed("a", 1_000)))).as("nothing changes").isEmpty();
    assertThat(workloads.tables().get(Fixtures.WORKLOAD, "a").get().rows()).isEqualTo(2_000);
  }

  @Test
  void a_resize_that_is_rejected_changes_nothing() {
    predict(Fixtures.set(4, Fixtures.GIB), upsertHashed("a", 1_000), upsert("b", 1_000, 64, 5));
    assertThatThrownBy(() -> predict(resize("a", 2_000, ""), resize("b", 2_000, "")))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_STORAGE));
    assertThat(workloads.tables().get(Fixtures.WORKLOAD, "a").get().rows()).isEqualTo(1_000);
  }

  @Test
  void a_plan_says_why_a_table_has_other_slots() {
    plan(
        Fixtures.set(4, Fixtures.GIB),
        upsertHashed("user_id", 1_000_000),
        upsertHashed("b", 1_000),
        upsertHashed("c", 1_000),
        upsertHashed("d", 1_000));
    ShardingPlan resized =
        plan(resize("user_id", 2_000_000, "it is full in 3.2 days (2.6 to 4.1)"));
    assertThat(resized.reason())
        .isEqualTo(
            "1 table changed (user_id), \"user_id\" has 2,000,000 slots instead of 1,000,000: it is"
                + " full in 3.2 days (2.6 to 4.1)");
    assertThat(
            resized.shards().stream()
                .filter(shard -> shard.table().equals("user_id"))
                .mapToLong(shard -> shard.region().rowEnd())
                .max())
        .hasValue(2_000_000);
    assertThat(plan(new Change.TableUpserted(hashed("user_id", 1_000_000, 32, 5))).reason())
        .as("a resize that a plan has is not told again")
        .isEqualTo("1 table changed (user_id)");
    assertThat(plan(resize("user_id", 1_500_000, "")).reason())
        .as("without a reason")
        .isEqualTo("1 table changed (user_id)");
    assertThat(
            plan(
                    resize("b", 2_000, "w"),
                    resize("c", 500, "x"),
                    resize("d", 2_000, "y"),
                    resize("user_id", 9, "z"))
                .reason())
        .isEqualTo(
            "4 tables changed (b, c, d, ...), \"b\" has 2,000 slots instead of 1,000: w, \"c\" has"
                + " 500 slots instead of 1,000: x, \"d\" has 2,000 slots instead of 1,000: y, 1"
                + " more resized");
  }

  /** Several groups would each store other ids. */
  @Test
  void a_workload_with_a_hashed_table_has_one_replica_group() {
    models.takeOver(TestModels.nodes());
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(
                new ClusterSpec(4, 8 * Fixtures.GIB, 65_536, 2, TestModels.nodes().hardware()))
            .replicaGroups(List.of(1, 4))
            .synchronizationSteps(1_000)
            .build();
    ShardingPlan fixed = plan(new Change.ClusterSet(cluster), upsert("a", 1_000_000, 64, 5));
    assertThat(fixed.groups().areSeveral()).isTrue();
    ShardingPlan hashed = plan(upsertHashed("a", 1_000_000));
    assertThat(hashed.groups().areSeveral()).isFalse();
    assertThat(hashed.shards()).noneMatch(Shard::isCopied);
    PlanningOutcome none =
        outcome(
            new Change.ClusterSet(
                ClusterSpecBuilder.builder(cluster).replicaGroups(List.of(2, 4)).build()));
    assertThat(none)
        .isInstanceOfSatisfying(
            PlanningOutcome.Infeasible.class,
            of -> {
              assertThat(of.workload().shortfall().message())
                  .isEqualTo(
                      "Replica groups of a workload with hashed tables must be 1, since each copy"
                          + " would store other ids; got [2, 4] and table a");
              assertThat(of.workload().shortfall().tablesToBlame())
                  .extracting(blamed -> blamed.table())
                  .containsExactly("a");
            });
  }
}
