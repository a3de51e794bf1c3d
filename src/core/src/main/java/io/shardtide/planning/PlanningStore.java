package io.shardtide.planning;

import io.shardtide.cost.VersionedPrediction;
import io.shardtide.domain.PlanningState;
import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Optional;

/** State of the planning step. */
public interface PlanningStore {
  /** Returns the workload's header, {@link PlanningState#NONE} before its first prediction. */
  PlanningState header(String workloadId);

  /** Stores the workload's header. */
  void putHeader(String workloadId, PlanningState header);

  /** Returns the workload's tables, in any order. */
  List<VersionedPrediction> tables(String workloadId);

  /** Returns a table. */
  Optional<VersionedPrediction> table(String workloadId, String name);

  /** Stores a table under its name. */
  void putTable(String workloadId, VersionedPrediction table);

  /** Removes a table. */
  void removeTable(String workloadId, String name);

  /** Returns a plan. */
  Optional<ShardingPlan> plan(String workloadId, String planId);

  /** Stores a plan under its id. */
  void putPlan(ShardingPlan plan);

  /** Removes a plan. */
  void removePlan(String workloadId, String planId);
}
