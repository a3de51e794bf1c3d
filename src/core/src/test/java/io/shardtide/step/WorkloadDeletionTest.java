package io.shardtide.step;

import static io.shardtide.testing.Fixtures.delete;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.PlanningState;
import io.shardtide.step.PlanningOutcome.Planned;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What both steps keep of a deleted workload, and how it is created again. */
class WorkloadDeletionTest {
  private static final String W = Fixtures.WORKLOAD;

  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables plans = PlanningTables.inMemory();
  private final PlainPredictors models = new PlainPredictors();
  private final WorkloadStep first = new WorkloadStep(models);
  private final PlanningStep second =
      new PlanningStep(
          models,
          PlanningSettings.DEFAULTS,
          new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
  private long offset;

  private List<CostPredictions> apply(WorkloadChange event) {
    List<CostPredictions> parts = first.apply(workloads, Fixtures.at(offset++), event);
    parts.forEach(part -> second.onPredictions(plans, part));
    return parts;
  }

  private List<CostPredictions> apply(Change... changes) {
    return apply(event(changes));
  }

  private ShardingPlan plan() {
    return ((Planned) second.plan(plans, W).orElseThrow()).plan();
  }

  @Test
  void the_deletion_follows_the_removal_of_each_table() {
    apply(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5), upsert("b", 1_000, 64, 5));
    List<CostPredictions> parts = apply(delete());
    assertThat(parts)
        .extracting(CostPredictions::update)
        .containsExactly(
            Optional.of(new Update.Dropped("a")),
            Optional.of(new Update.Dropped("b")),
            Optional.of(new Update.Deleted("retired")));
    assertThat(parts).extracting(CostPredictions::generation).containsOnly(2L);
    assertThat(parts)
        .extracting(CostPredictions::cluster)
        .as("its last one")
        .containsOnly(Fixtures.cluster(2, Fixtures.GIB));
    assertThat(workloads.tables().range(W)).isEmpty();
    assertThat(workloads.header(W).generation()).isEqualTo(2);
    assertThat(workloads.header(W).cluster()).isEmpty();
    assertThat(workloads.header(W).modelId()).isEmpty();
    assertThatThrownBy(() -> apply(delete()))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_WORKLOAD));
  }

  @Test
  void planning_keeps_the_generation_only() {
    apply(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5));
    plan();
    apply(upsert("b", 1_000, 64, 5));
    plan();
    assertThat(plans.header(W).state()).isEqualTo(PendingWork.BACKGROUND_SEARCH_DUE);
    PlanningStep.SearchTask search = second.backgroundSearch(plans, W).orElseThrow();
    apply(upsert("c", 1_000, 64, 5));
    apply(delete());
    assertThat(plans.header(W)).isEqualTo(PlanningState.deleted(4));
    assertThat(plans.tables().range(W)).isEmpty();
    assertThat(plans.plans().range(W)).isEmpty();
    assertThat(second.plan(plans, W)).as("the third generation is not planned").isEmpty();
    assertThat(second.finish(plans, search, second.search(search))).isEmpty();
    assertThat(plans.header(W)).isEqualTo(PlanningState.deleted(4));
  }

  @Test
  void a_workload_that_is_created_again_begins_with_nothing_but_its_generation() {
    apply(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5));
    plan();
    WorkloadChange deletion = event(delete());
    apply(deletion);
    assertThat(apply(upsert("b", 1_000, 64, 5))).as("it has no cluster").isEmpty();
    apply(set(3, Fixtures.GIB));
    ShardingPlan plan = plan();
    assertThat(plan.origin().firstGeneration()).isEqualTo(3);
    assertThat(plan.generation()).isEqualTo(4);
    assertThat(plan.origin().previousPlanId()).isEmpty();
    assertThat(plan.transition().moves()).isEmpty();
    assertThat(plan.shards()).extracting(shard -> shard.table()).containsOnly("b");
    assertThat(plan.reason()).isEqualTo("first plan: 1 tables on 3 devices");
    assertThatThrownBy(() -> apply(deletion))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.DUPLICATE_EVENT));
  }

  @Test
  void tables_without_a_cluster_are_deleted_without_predictions() {
    apply(upsert("a", 1_000, 64, 5));
    assertThat(apply(delete())).isEmpty();
    assertThat(workloads.tables().range(W)).isEmpty();
  }
}
