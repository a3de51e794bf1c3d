package io.shardtide.testing;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.PlanningStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** What the planning step remembers, in memory. It gives tables back in an order of its own. */
public final class MemoryPlanningStore implements PlanningStore {
  private final Map<String, Map<String, DatedPrediction>> tables = new HashMap<>();
  private final Map<String, ShardingPlan> plans = new HashMap<>();
  private final Random order;

  /**
   * @param seed of the order in which tables are given back, which no plan may depend on
   */
  public MemoryPlanningStore(long seed) {
    order = new Random(seed);
  }

  @Override
  public List<DatedPrediction> tables(String workloadId) {
    List<DatedPrediction> all =
        new ArrayList<>(tables.getOrDefault(workloadId, new HashMap<>()).values());
    Collections.shuffle(all, order);
    return all;
  }

  @Override
  public void putTable(String workloadId, DatedPrediction table) {
    tables
        .computeIfAbsent(workloadId, id -> new HashMap<>())
        .put(table.prediction().table().name(), table);
  }

  @Override
  public void removeTable(String workloadId, String table) {
    tables.get(workloadId).remove(table);
  }

  @Override
  public Optional<ShardingPlan> plan(String workloadId) {
    return Optional.ofNullable(plans.get(workloadId));
  }

  @Override
  public void putPlan(ShardingPlan plan) {
    plans.put(plan.workloadId(), plan);
  }
}
