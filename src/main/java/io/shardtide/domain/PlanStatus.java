package io.shardtide.domain;

import java.time.Instant;
import java.util.Objects;
import java.util.Optional;

/**
 * A trainer's report about a plan.
 *
 * @param workloadId the workload
 * @param planId the plan
 * @param kind what the trainer does with the plan
 * @param step the training step, from 0
 * @param reason why the plan was rejected
 * @param source name of the trainer
 * @param run the trainer's run; steps count within a run, because a trainer that restarts from a
 *     checkpoint goes back
 * @param occurredAt when it happened; informative, no plan depends on it
 */
public record PlanStatus(
    String workloadId,
    String planId,
    StatusKind kind,
    long step,
    Optional<String> reason,
    String source,
    String run,
    Instant occurredAt) {

  /** What a trainer does with a plan. */
  public enum StatusKind {
    /** The trainer runs the plan from this step on, or is moving shards for it. */
    ADOPTED,
    /** The trainer does not run the plan. */
    REJECTED,
    /** All shards are in their places; implies that the plan was adopted. */
    FINISHED_MOVING
  }

  /**
   * @throws RejectedException if the workload id or the step is invalid
   */
  public PlanStatus {
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    Objects.requireNonNull(planId, "planId");
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(run, "run");
    Objects.requireNonNull(occurredAt, "occurredAt");
    if (step < 0) {
      throw new RejectedException(
          RejectionReason.INVALID_STATUS, "step of a status must be at least 0, got " + step);
    }
  }
}
