package io.shardtide.views;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.InfeasibleWorkload;
import java.util.List;
import java.util.Optional;

/**
 * A workload with its plans and measurements.
 *
 * @param row its row
 * @param cluster its devices; empty until its predictions are read
 * @param infeasible why its latest generation does not fit, if so
 * @param plans its latest plans, the oldest first
 * @param measured its latest measurements, the oldest first
 */
public record WorkloadView(
    WorkloadRow row,
    Optional<ClusterSpec> cluster,
    Optional<InfeasibleWorkload> infeasible,
    List<PlanSummary> plans,
    List<MeasuredStep> measured) {}
