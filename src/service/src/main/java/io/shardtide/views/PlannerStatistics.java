package io.shardtide.views;

import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Lag and latency of the planner.
 *
 * @param lag consumer lag on workload-changes, in offsets, transaction markers included; empty
 *     while it is unknown
 * @param planning number of workloads whose latest generation is not planned yet
 * @param answers number of plans that the latencies cover: the latest, up to {@value
 *     Latencies#KEPT}
 * @param medianMs median of their {@link PlanSummary#answeredMs}
 * @param p99Ms their 99th percentile
 * @param tablesAreRead whether the tables and clusters that were on the log at the start are read;
 *     until then, workloads may lack them
 */
public record PlannerStatistics(
    OptionalLong lag,
    int planning,
    int answers,
    OptionalDouble medianMs,
    OptionalDouble p99Ms,
    boolean tablesAreRead) {}
