package io.shardtide.plan;

import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.time.Instant;
import java.util.Locale;
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
 * @param wave the wave of moves that is finished, from 1; 1 of other statuses
 * @param waves in how many waves the trainer moves the shards of the plan, at least {@code wave}
 */
public record PlanStatus(
    String workloadId,
    String planId,
    StatusKind kind,
    long step,
    Optional<String> reason,
    String source,
    String run,
    Instant occurredAt,
    int wave,
    int waves) {

  /** What a trainer does with a plan. */
  public enum StatusKind {
    /** The trainer runs the plan from this step on, or is moving shards for it. */
    ADOPTED,
    /** The trainer does not run the plan. */
    REJECTED,
    /**
     * The shards of a wave of moves are in their places, and all shards if it is the last wave;
     * implies that the plan was adopted.
     */
    FINISHED_MOVING
  }

  /**
   * @throws RejectedException if the workload id, the step or the wave is invalid
   */
  public PlanStatus {
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    Limits limits = Limits.of(RejectionReason.INVALID_STATUS, "a status");
    limits.atLeast("step", step, 0);
    if (wave < 1 || wave > waves) {
      throw limits.failure(
          "wave", "between 1 and its waves", "wave %s of %s".formatted(wave, waves));
    }
  }

  /** Returns what the trainer does as text: "adopted" or "finished moving (wave 2 of 3)", say. */
  public String describeKind() {
    String text = kind.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    return waves == 1 ? text : "%s (wave %s of %s)".formatted(text, wave, waves);
  }
}
