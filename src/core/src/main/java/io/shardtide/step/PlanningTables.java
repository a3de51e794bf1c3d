package io.shardtide.step;

import io.shardtide.cost.VersionedPrediction;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningState;
import java.util.Optional;

/** State of the planning step: predicted tables and, by their ids, plans. */
public final class PlanningTables extends WorkloadTables<PlanningState, VersionedPrediction> {
  private final KeyValues<ShardingPlan> plans;

  /** A table that another model predicts again keeps its generation. */
  public PlanningTables(
      KeyValues<PlanningState> headers,
      KeyValues<VersionedPrediction> tables,
      KeyValues<ShardingPlan> plans) {
    super(
        headers,
        PlanningState.NONE,
        tables,
        (before, predicted, generation) ->
            new VersionedPrediction(
                predicted,
                before
                    .filter(known -> known.prediction().table().equals(predicted.table()))
                    .map(VersionedPrediction::since)
                    .orElse(generation)));
    this.plans = plans;
  }

  /** Returns an empty state in memory. */
  public static PlanningTables inMemory() {
    return new PlanningTables(
        new MemoryKeyValues<>(), new MemoryKeyValues<>(), new MemoryKeyValues<>());
  }

  /** Returns the plans by their ids. */
  public KeyValues<ShardingPlan> plans() {
    return plans;
  }

  /** Returns a workload's latest plan, if it has one. */
  public Optional<ShardingPlan> latest(String workloadId) {
    return header(workloadId).plans().latest().map(id -> plans.get(workloadId, id).orElseThrow());
  }

  /** Returns a workload's running plan, if one runs. */
  Optional<ShardingPlan> running(String workloadId) {
    return header(workloadId).plans().running().map(id -> plans.get(workloadId, id).orElseThrow());
  }
}
