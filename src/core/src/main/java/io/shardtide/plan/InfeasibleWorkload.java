package io.shardtide.plan;

import io.shardtide.workload.SourcePosition;
import java.util.Optional;

/**
 * A generation of a workload for which there is no plan; the last good plan stays current. Or a
 * workload for which there will be none, since its tables grow.
 *
 * @param workloadId the workload
 * @param generation the generation that does not fit; 0 if none does not fit yet
 * @param source where the latest change lies in the log; of what is expected, the report of fill
 * @param modelId the cost model that the search used; none, "", for what is expected
 * @param shortfall the memory that is missing
 * @param expected when the workload will not fit; empty if it does not fit now
 */
public record InfeasibleWorkload(
    String workloadId,
    long generation,
    SourcePosition source,
    String modelId,
    Shortfall shortfall,
    Optional<ExpectedTime> expected) {}
