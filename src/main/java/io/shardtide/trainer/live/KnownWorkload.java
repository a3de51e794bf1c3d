package io.shardtide.trainer.live;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The latest state of a workload: the tables and the cluster of its latest generation, and its
 * latest plan. The table specs come from cost-predictions, which hold only changes that the planner
 * applied. Safe for use by several threads.
 */
final class KnownWorkload {
  private final Map<String, TableSpec> tables = new TreeMap<>();
  private ClusterSpec cluster;
  private long generation;
  private boolean complete;
  private boolean deleted;
  private ShardingPlan latest;
  private boolean closed;

  /**
   * A plan with what is needed to run it.
   *
   * @param plan the plan
   * @param cluster the cluster of the plan's generation
   * @param tables the tables of the plan's generation, by their names
   */
  record RunnablePlan(ShardingPlan plan, ClusterSpec cluster, Map<String, TableSpec> tables) {}

  synchronized void take(CostPredictions part) {
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      TableSpec table = predicted.prediction().table();
      tables.put(table.name(), table);
    } else if (part.update().orElse(null) instanceof Update.Dropped dropped) {
      tables.remove(dropped.name());
    }
    deleted = part.isDeletion();
    cluster = part.cluster();
    generation = part.generation();
    complete = part.isLast();
    notifyAll();
  }

  synchronized void take(ShardingPlan plan) {
    latest = plan;
    notifyAll();
  }

  /** Returns the last cluster of the workload if it is deleted. */
  synchronized Optional<ClusterSpec> deletedFrom() {
    return deleted ? Optional.of(cluster) : Optional.empty();
  }

  /** Ends a wait. */
  synchronized void close() {
    closed = true;
    notifyAll();
  }

  /**
   * Returns the latest plan, if the tables of its generation are known and complete. A plan of an
   * earlier generation is skipped: the next plan follows soon.
   *
   * @param exceptPlanIds plans that are not returned: the one that runs, and those that cannot
   */
  synchronized Optional<RunnablePlan> next(Set<String> exceptPlanIds) {
    if (latest == null
        || !complete
        || latest.generation() != generation
        || exceptPlanIds.contains(latest.planId())) {
      return Optional.empty();
    }
    return Optional.of(new RunnablePlan(latest, cluster, new TreeMap<>(tables)));
  }

  /** As {@link #next}; waits for one. Empty only after {@link #close}. */
  synchronized Optional<RunnablePlan> awaitNext(Set<String> exceptPlanIds)
      throws InterruptedException {
    Optional<RunnablePlan> next = next(exceptPlanIds);
    while (next.isEmpty() && !closed) {
      wait();
      next = next(exceptPlanIds);
    }
    return next;
  }
}
