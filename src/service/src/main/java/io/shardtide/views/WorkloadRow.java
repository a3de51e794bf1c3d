package io.shardtide.views;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A workload, as the list of workloads shows it.
 *
 * @param workloadId its id
 * @param generation its latest known generation
 * @param tables number of tables in its latest plan
 * @param devices number of devices in its latest plan
 * @param hardware its hardware; empty until its predictions are read
 * @param planId its latest plan; empty without one
 * @param plannedGeneration generation of its latest plan; 0 without one
 * @param predictedMs predicted cost of a step, in milliseconds
 * @param simulated whether the model that predicted it was trained on simulated costs; false if
 *     that model is not known
 * @param steps predicted costs of a step of its latest plans, in milliseconds, the oldest first, up
 *     to {@value #STEPS}
 * @param measuredMs latest measured cost of a step, in milliseconds: computation and all-to-alls of
 *     the slowest device
 * @param measuredPlanId the plan that was measured
 * @param imbalance see {@link PlanSummary#imbalance}
 * @param changedAt timestamp of its last change; if the dashboard did not read that change, when
 *     its latest plan was made
 * @param health its worst problem
 * @param problem description of that problem, for people; empty without one
 */
public record WorkloadRow(
    String workloadId,
    long generation,
    int tables,
    int devices,
    Optional<String> hardware,
    Optional<String> planId,
    long plannedGeneration,
    Optional<Double> predictedMs,
    boolean simulated,
    List<Double> steps,
    Optional<Double> measuredMs,
    Optional<String> measuredPlanId,
    Optional<Double> imbalance,
    Optional<Instant> changedAt,
    WorkloadHealth health,
    Optional<String> problem) {

  static final int STEPS = 30;

  /** Problems of a workload, the worst first. */
  public enum WorkloadHealth {
    /** Its latest generation does not fit into memory; the last plan stays current. */
    DOES_NOT_FIT,
    /** Its trainer rejected its latest plan. */
    REFUSED,
    /** A device is slower than its peers, whether or not the latest plan gives it less work. */
    SLOW_DEVICE,
    /** Measured costs drift from the predictions of its latest plan. */
    DRIFT,
    /** Its latest generation is not planned yet. */
    PLANNING,
    /** No problem. */
    GOOD
  }
}
