package io.shardtide.planning;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Optional;

/** What the planning step remembers. */
public interface PlanningStore {
  /** Returns the workload's tables, in any order. */
  List<DatedPrediction> tables(String workloadId);

  /** Remembers a table under its name. */
  void putTable(String workloadId, DatedPrediction table);

  /** Forgets a table. */
  void removeTable(String workloadId, String table);

  /** Returns the workload's latest plan. */
  Optional<ShardingPlan> plan(String workloadId);

  /** Remembers the workload's latest plan. */
  void putPlan(ShardingPlan plan);
}
