package io.shardtide.plan;

import io.shardtide.workload.Limits;
import io.shardtide.workload.SourcePosition;
import java.util.List;
import java.util.Optional;

/**
 * What a plan is made from: equal origins, with equal predictions, give equal plans.
 *
 * @param workloadId the workload
 * @param generation generation of the workload that the plan is for
 * @param firstGeneration the first generation that the plan answers; it answers all from there to
 *     {@code generation}
 * @param effort how long the search took
 * @param source where the last change that the plan answers lies in the log
 * @param modelId the cost model whose predictions were used
 * @param settings every setting of the search that shapes the result
 * @param previousPlanId the running plan, from which moves are counted
 * @param slow the slow devices, in {@link DeviceSpeed#ORDER}; predicted costs include them
 */
public record PlanOrigin(
    String workloadId,
    long generation,
    long firstGeneration,
    Effort effort,
    SourcePosition source,
    String modelId,
    SearchSettings settings,
    Optional<String> previousPlanId,
    List<DeviceSpeed> slow) {

  /** Checks that nothing is missing, and the generations. */
  public PlanOrigin {
    slow = List.copyOf(slow);
    Limits.ARGUMENTS.whole("first generation of a plan", firstGeneration, 1, generation);
  }
}
