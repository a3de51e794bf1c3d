package io.shardtide.domain;

import java.util.Objects;

/**
 * A generation of a workload for which there is no plan. The last good plan stays current.
 *
 * @param workloadId the workload
 * @param generation the generation that does not fit
 * @param source where the latest change lies in the log
 * @param modelId the cost model that the search used
 * @param shortfall the memory that is missing
 */
public record InfeasibleWorkload(
    String workloadId,
    long generation,
    SourcePosition source,
    String modelId,
    Shortfall shortfall) {

  /** Checks that nothing is missing. */
  public InfeasibleWorkload {
    Objects.requireNonNull(workloadId, "workloadId");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(modelId, "modelId");
    Objects.requireNonNull(shortfall, "shortfall");
  }
}
