package io.shardtide.pool;

import java.util.Optional;

/**
 * The answer to a {@link CurveRequest}. It replaces the workload's report before it.
 *
 * @param poolId the pool
 * @param workloadId the workload
 * @param curve the curve; empty if the workload is deleted
 */
public record CurveReport(String poolId, String workloadId, Optional<ThroughputCurve> curve) {}
