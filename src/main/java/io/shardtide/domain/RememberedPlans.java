package io.shardtide.domain;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The stored plans of a workload, about which its trainer can report, and what it reported last.
 *
 * @param ids the plans, the oldest first
 * @param adopted the plan that the trainer adopted last
 * @param reportedStep the largest step that the trainer reported in its latest run; empty while it
 *     never reported
 * @param reportedRun the trainer's latest run
 */
public record RememberedPlans(
    List<String> ids, Optional<String> adopted, OptionalLong reportedStep, String reportedRun) {
  /** Half a minute of plans at one a second. */
  public static final int MOST = 32;

  /** Before the first plan. */
  public static final RememberedPlans NONE =
      new RememberedPlans(List.of(), Optional.empty(), OptionalLong.empty(), "");

  /** Copies what may change. */
  public RememberedPlans {
    ids = List.copyOf(ids);
    Objects.requireNonNull(adopted, "adopted");
    Objects.requireNonNull(reportedStep, "reportedStep");
    Objects.requireNonNull(reportedRun, "reportedRun");
  }

  /** Returns the latest plan. */
  public Optional<String> latest() {
    return ids.isEmpty() ? Optional.empty() : Optional.of(ids.get(ids.size() - 1));
  }

  /**
   * Returns the running plan: the one that was adopted last or, if the trainer never reported, the
   * latest.
   */
  public Optional<String> running() {
    return reportedStep.isPresent() ? adopted : latest();
  }

  /**
   * Returns this with another plan as the latest. The oldest plans that do not run are removed.
   *
   * @param planId the plan
   * @param forget receives the id of each plan that is removed
   */
  public RememberedPlans with(String planId, Consumer<String> forget) {
    List<String> next = new ArrayList<>(ids);
    next.remove(planId);
    next.add(planId);
    for (int i = 0; next.size() > MOST; ) {
      if (adopted.equals(Optional.of(next.get(i)))) {
        i++;
      } else {
        forget.accept(next.remove(i));
      }
    }
    return new RememberedPlans(next, adopted, reportedStep, reportedRun);
  }

  /**
   * Checks that a status can be applied.
   *
   * @throws RejectedException if its plan is not stored, or its step is before the one that the
   *     same run reported last
   */
  public void check(PlanStatus status) {
    if (!ids.contains(status.planId())) {
      throw new RejectedException(
          RejectionReason.UNKNOWN_PLAN,
          "plan of a status must be one of the %d that are stored of workload \"%s\" (the %d latest and the running one), got %s"
              .formatted(
                  ids.size(), status.workloadId(), MOST, CanonicalHash.shown(status.planId())));
    }
    if (isStale(status)) {
      throw new RejectedException(
          RejectionReason.STALE_STATUS,
          "step of a status of workload \"%s\" must be at least %d, which was reported before, got %d. Maybe the trainer restarted from a checkpoint and its run needs another name"
              .formatted(status.workloadId(), reportedStep.orElse(0), status.step()));
    }
  }

  /** Returns whether {@link #check} passes a status. */
  public boolean accepts(PlanStatus status) {
    return ids.contains(status.planId()) && !isStale(status);
  }

  private boolean isStale(PlanStatus status) {
    return reportedRun.equals(status.run()) && status.step() < reportedStep.orElse(0);
  }

  /**
   * Returns this after a status that {@link #check} passes. When the running plan is rejected, the
   * plan that it was searched from runs, if it is stored.
   *
   * @param previousOf returns the plan that a plan was searched from
   */
  public RememberedPlans reported(
      PlanStatus status, Function<String, Optional<String>> previousOf) {
    Optional<String> now =
        switch (status.kind()) {
          case ADOPTED, FINISHED_MOVING -> Optional.of(status.planId());
          case REJECTED ->
              running().equals(Optional.of(status.planId()))
                  ? previousOf.apply(status.planId()).filter(ids::contains)
                  : running();
        };
    return new RememberedPlans(ids, now, OptionalLong.of(status.step()), status.run());
  }
}
