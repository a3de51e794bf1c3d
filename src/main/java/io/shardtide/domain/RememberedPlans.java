package io.shardtide.domain;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Which plans of a workload are remembered, so that a trainer can report on them, and what it said.
 *
 * @param ids the plans, the oldest first
 * @param adopted the plan that the trainer adopted last
 * @param reportedStep the largest step that the trainer reported in its latest run; empty while it
 *     never reported
 * @param reportedRun the trainer's latest run
 */
public record RememberedPlans(
    List<String> ids, Optional<String> adopted, OptionalLong reportedStep, String reportedRun) {
  /** At one plan a second, what half a minute brings. */
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
   * Returns the plan that runs: the one that was adopted last or, while the trainer never reported,
   * the latest.
   */
  public Optional<String> running() {
    return reportedStep.isPresent() ? adopted : latest();
  }

  /**
   * Returns this with a plan as the latest. What is too old and does not run is forgotten.
   *
   * @param planId the plan
   * @param forget hears the id of each plan that is forgotten
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
   * Checks that a status can be taken.
   *
   * @throws RejectedException if it is of a plan that is not remembered, or of a step before the
   *     one reported last in the same run
   */
  public void check(PlanStatus status) {
    if (!ids.contains(status.planId())) {
      throw new RejectedException(
          RejectionReason.UNKNOWN_PLAN,
          "The status is of plan %s; legal are the plans of workload \"%s\" that are remembered: the %d latest and the one that runs, now %s"
              .formatted(
                  CanonicalHash.shown(status.planId()), status.workloadId(), MOST, ids.size()));
    }
    if (isStale(status)) {
      throw new RejectedException(
          RejectionReason.STALE_STATUS,
          "The status is of step %d of workload \"%s\"; legal are %d, which was reported before, and more. Maybe the trainer went back to a checkpoint and its run needs another name"
              .formatted(status.step(), status.workloadId(), reportedStep.orElse(0)));
    }
  }

  /** Returns whether a status can be taken, as {@link #check} says. */
  public boolean accepts(PlanStatus status) {
    return ids.contains(status.planId()) && !isStale(status);
  }

  private boolean isStale(PlanStatus status) {
    return reportedRun.equals(status.run()) && status.step() < reportedStep.orElse(0);
  }

  /**
   * Returns this after a status that {@link #check} lets pass. When the plan that runs is rejected,
   * the one that it was made from runs, if it is remembered.
   *
   * @param previousOf gives the plan that a plan was made from
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
