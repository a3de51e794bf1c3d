package io.shardtide.planning;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Optional;

/** State of the planning step. */
public interface PlanningStore {
  /** Returns the workload's header, {@link PlanningHeader#NONE} before its first prediction. */
  PlanningHeader header(String workloadId);

  /** Stores the workload's header. */
  void putHeader(String workloadId, PlanningHeader header);

  /** Returns the workload's tables, in any order. */
  List<DatedPrediction> tables(String workloadId);

  /** Returns a table. */
  Optional<DatedPrediction> table(String workloadId, String name);

  /** Stores a table under its name. */
  void putTable(String workloadId, DatedPrediction table);

  /** Removes a table. */
  void removeTable(String workloadId, String name);

  /** Returns a plan. */
  Optional<ShardingPlan> plan(String workloadId, String planId);

  /** Stores a plan under its id. */
  void putPlan(ShardingPlan plan);

  /** Removes a plan. */
  void removePlan(String workloadId, String planId);
}
