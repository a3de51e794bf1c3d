package io.shardtide.planning;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Optional;

/** What the planning step remembers. */
public interface PlanningStore {
  /** Returns the workload's header, {@link PlanningHeader#NONE} before its first prediction. */
  PlanningHeader header(String workloadId);

  /** Remembers the workload's header. */
  void putHeader(String workloadId, PlanningHeader header);

  /** Returns the workload's tables, in any order. */
  List<DatedPrediction> tables(String workloadId);

  /** Returns a table. */
  Optional<DatedPrediction> table(String workloadId, String name);

  /** Remembers a table under its name. */
  void putTable(String workloadId, DatedPrediction table);

  /** Forgets a table. */
  void removeTable(String workloadId, String name);

  /** Returns a plan. */
  Optional<ShardingPlan> plan(String workloadId, String planId);

  /** Remembers a plan under its id. */
  void putPlan(ShardingPlan plan);

  /** Forgets a plan. */
  void removePlan(String workloadId, String planId);
}
