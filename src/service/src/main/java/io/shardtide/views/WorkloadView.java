package io.shardtide.views;

import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.views.PoolView.PoolShare;
import io.shardtide.workload.ClusterSpec;
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
 * @param forecasts the latest forecasts of its hashed tables; empty before the first report of how
 *     full they are
 * @param pool what it asks of a pool and has of it; empty without a claim
 */
public record WorkloadView(
    WorkloadRow row,
    Optional<ClusterSpec> cluster,
    Optional<InfeasibleWorkload> infeasible,
    List<PlanSummary> plans,
    List<MeasuredStep> measured,
    Optional<WorkloadForecasts> forecasts,
    Optional<PoolShare> pool) {}
