package io.shardtide.planning;

import io.shardtide.cost.VersionedPrediction;
import io.shardtide.domain.PlanningState;
import io.shardtide.domain.ShardingPlan;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** State of the planning step, in memory. */
public class MemoryPlanningStore implements PlanningStore {
  private final Map<String, Map<String, VersionedPrediction>> tables = new HashMap<>();
  private final Map<String, Map<String, ShardingPlan>> plans = new HashMap<>();
  private final Map<String, PlanningState> headers = new HashMap<>();

  @Override
  public List<VersionedPrediction> tables(String workloadId) {
    return List.copyOf(tables.getOrDefault(workloadId, Map.of()).values());
  }

  @Override
  public PlanningState header(String workloadId) {
    return headers.getOrDefault(workloadId, PlanningState.NONE);
  }

  @Override
  public void putHeader(String workloadId, PlanningState header) {
    headers.put(workloadId, header);
  }

  @Override
  public Optional<VersionedPrediction> table(String workloadId, String name) {
    return Optional.ofNullable(tables.getOrDefault(workloadId, Map.of()).get(name));
  }

  @Override
  public void putTable(String workloadId, VersionedPrediction table) {
    tables
        .computeIfAbsent(workloadId, id -> new TreeMap<>())
        .put(table.prediction().table().name(), table);
  }

  @Override
  public void removeTable(String workloadId, String table) {
    tables.getOrDefault(workloadId, Map.of()).remove(table);
  }

  @Override
  public Optional<ShardingPlan> plan(String workloadId, String planId) {
    return Optional.ofNullable(plans.getOrDefault(workloadId, Map.of()).get(planId));
  }

  /** Returns the workload's latest plan. */
  public Optional<ShardingPlan> latest(String workloadId) {
    return header(workloadId).plans().latest().flatMap(id -> plan(workloadId, id));
  }

  /** Returns how many plans of a workload are stored. */
  public int plans(String workloadId) {
    return plans.getOrDefault(workloadId, Map.of()).size();
  }

  @Override
  public void putPlan(ShardingPlan plan) {
    plans.computeIfAbsent(plan.workloadId(), id -> new HashMap<>()).put(plan.planId(), plan);
  }

  @Override
  public void removePlan(String workloadId, String planId) {
    plans.get(workloadId).remove(planId);
  }
}
