package io.shardtide.allocation;

import io.shardtide.plan.ShardingPlan;

/**
 * What a workload's plan says of its throughput: the background search may have found a better one
 * than a curve's.
 *
 * @param generation the workload's generation
 * @param modelId the cost model
 * @param devices devices that the plan uses
 * @param stepMs its predicted step, in milliseconds
 */
public record RunningPlan(long generation, String modelId, int devices, double stepMs) {
  /** Returns that of a plan. */
  public static RunningPlan of(ShardingPlan plan) {
    return new RunningPlan(
        plan.generation(), plan.origin().modelId(), plan.ranks(), plan.predictedMs());
  }
}
