package io.shardtide.views;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A workload in a row.
 *
 * @param workloadId its id
 * @param generation its latest generation that is known
 * @param tables number of tables in its latest plan
 * @param devices number of devices in it
 * @param hardware which cost models apply; empty until its predictions are read
 * @param planId its latest plan; empty if there is none
 * @param plannedGeneration the generation that this plan is for, 0 without one
 * @param predictedMs predicted cost of a step, in milliseconds
 * @param measuredMs measured cost of a step of the latest measurement, in milliseconds: the slowest
 *     device's computation and exchanges
 * @param measuredPlanId the plan that was measured
 * @param imbalance see {@link PlanSummary#imbalance}
 * @param changedAt when its last change was written to the log; when its plan was made, if that
 *     change was before the dashboard began to read
 * @param health how it is
 * @param problem what is wrong, for people; empty if nothing is
 */
public record WorkloadRow(
    String workloadId,
    long generation,
    int tables,
    int devices,
    Optional<String> hardware,
    Optional<String> planId,
    long plannedGeneration,
    OptionalDouble predictedMs,
    OptionalDouble measuredMs,
    Optional<String> measuredPlanId,
    OptionalDouble imbalance,
    Optional<Instant> changedAt,
    WorkloadHealth health,
    Optional<String> problem) {

  /** How a workload is; the worst first. */
  public enum WorkloadHealth {
    /** Its latest generation fits on no device; the last plan that fitted stays. */
    DOES_NOT_FIT,
    /** The trainer refused its latest plan. */
    REFUSED,
    /** A device is slower than its peers. */
    SLOW_DEVICE,
    /** Measured costs went away from what the model of its latest plan predicts. */
    DRIFT,
    /** A change is not planned yet. */
    PLANNING,
    /** Nothing is wrong. */
    GOOD
  }
}
