package io.shardtide.views;

import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * How the planner does.
 *
 * @param lag records of workload-changes that the planner has not committed yet, markers of
 *     transactions included; empty while the cluster does not say
 * @param planning workloads with a generation that is not planned yet
 * @param answers how many of the latest plans the times are of, up to {@value Latencies#KEPT}
 * @param medianMs median of {@link PlanSummary#answeredMs} over them
 * @param p99Ms their 99th percentile
 * @param tablesAreRead whether all predictions on the log were read: before, workloads may lack
 *     tables and clusters
 */
public record PlannerStatistics(
    OptionalLong lag,
    int planning,
    int answers,
    OptionalDouble medianMs,
    OptionalDouble p99Ms,
    boolean tablesAreRead) {}
