package io.shardtide.state;

import io.shardtide.plan.PlanStatus;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Which plan of a workload runs, by the judgement of planning.
 *
 * @param workloadId the workload
 * @param status the status that was accepted; empty if this only tells again what holds
 * @param runningPlanId the plan that runs; empty if none does, and while the trainer has not
 *     reported: then the latest plan counts as running
 * @param movedFromPlanId the plan that runs again if the running one is rejected, if that is not
 *     the one that it was searched from
 * @param reportedStep step of the status that was accepted last; empty while the trainer has not
 *     reported, or not since the workload was deleted
 * @param reportedRun run of the status that was accepted last
 */
public record AcceptedStatus(
    String workloadId,
    Optional<PlanStatus> status,
    Optional<String> runningPlanId,
    Optional<String> movedFromPlanId,
    OptionalLong reportedStep,
    String reportedRun) {

  /**
   * Returns what holds of a workload.
   *
   * @param status the status after which it holds; empty to tell it again
   * @param plans what the trainer reported
   */
  public static AcceptedStatus of(
      String workloadId, Optional<PlanStatus> status, PlanHistory plans) {
    return new AcceptedStatus(
        workloadId,
        status,
        plans.adopted(),
        plans.previous(),
        plans.reportedStep(),
        plans.reportedRun());
  }
}
