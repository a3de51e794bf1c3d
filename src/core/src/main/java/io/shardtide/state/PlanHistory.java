package io.shardtide.state;

import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The stored plans of a workload, about which its trainer can report, and what it reported last.
 *
 * @param ids the plans, the oldest first
 * @param adopted the plan that the trainer adopted last
 * @param previous the plan that was adopted before it, if that is not the one that {@code adopted}
 *     was searched from: a plan may be searched before the trainer's last report is read
 * @param reportedStep the largest step that the trainer reported in its latest run; empty while it
 *     never reported
 * @param reportedRun the trainer's latest run
 */
@RecordBuilder
public record PlanHistory(
    List<String> ids,
    Optional<String> adopted,
    Optional<String> previous,
    OptionalLong reportedStep,
    String reportedRun) {
  /** Half a minute of plans at one a second. */
  public static final int MOST = 32;

  /** How many a reader of plans keeps, which may read what the trainer reported much later. */
  public static final int MOST_FOLLOWED = 2 * MOST;

  /** Before the first plan. */
  public static final PlanHistory NONE =
      new PlanHistory(List.of(), Optional.empty(), Optional.empty(), OptionalLong.empty(), "");

  /** Copies what may change. */
  public PlanHistory {
    ids = List.copyOf(ids);
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
   * Returns the plan that runs again if the adopted one is rejected: its shards may still be where
   * that plan has them, as long as the trainer moves them.
   */
  private Optional<String> before(Function<String, Optional<String>> previousOf) {
    return previous.or(() -> adopted.flatMap(previousOf));
  }

  /**
   * Returns this with another plan as the latest. The oldest plans are removed, but neither the
   * running plan nor the one that runs again if it is rejected.
   *
   * @param planId the plan
   * @param previousOf returns the plan that a plan was searched from
   * @param forget receives the id of each plan that is removed
   */
  public PlanHistory with(
      String planId, Function<String, Optional<String>> previousOf, Consumer<String> forget) {
    Optional<String> before = before(previousOf);
    return keep(planId, MOST, Stream.of(adopted, before), forget);
  }

  /**
   * Returns this with another plan as the latest, for a reader of plans and accepted statuses: it
   * keeps all that planning keeps, and more, because it may read one topic far behind the other. Of
   * plans alone it knows the plan that ran when the latest was planned.
   *
   * @param plan the plan
   * @param previousOf returns the plan that a plan was searched from
   * @param forget receives the id of each plan that is removed
   */
  public PlanHistory follow(
      ShardingPlan plan, Function<String, Optional<String>> previousOf, Consumer<String> forget) {
    Optional<String> ran = plan.origin().previousPlanId();
    return keep(
        plan.planId(),
        MOST_FOLLOWED,
        Stream.of(ran, ran.flatMap(previousOf), adopted, before(previousOf)),
        forget);
  }

  private PlanHistory keep(
      String planId, int most, Stream<Optional<String>> needed, Consumer<String> forget) {
    Set<String> kept = needed.flatMap(Optional::stream).collect(Collectors.toSet());
    List<String> next = new ArrayList<>(ids);
    next.remove(planId);
    next.add(planId);
    for (int i = 0; next.size() > most; ) {
      if (kept.contains(next.get(i))) {
        i++;
      } else {
        forget.accept(next.remove(i));
      }
    }
    return with().ids(next).build();
  }

  /** Returns this without some of the plans. */
  public PlanHistory without(Collection<String> others) {
    return with().ids(ids.stream().filter(id -> !others.contains(id)).toList()).build();
  }

  /** Returns this with the judgement of planning about what the trainer reported. */
  public PlanHistory with(AcceptedStatus accepted) {
    return new PlanHistory(
        ids,
        accepted.runningPlanId(),
        accepted.movedFromPlanId(),
        accepted.reportedStep(),
        accepted.reportedRun());
  }

  /**
   * Checks that a status can be applied.
   *
   * @throws RejectedException if its plan is not stored, or its step is before the one that the
   *     same run reported last
   */
  public void check(PlanStatus status) {
    if (!ids.contains(status.planId())) {
      throw RejectionReason.UNKNOWN_PLAN.failure(
          "plan of a status must be one of the %s that are stored of workload \"%s\" (the %s latest, the running one and the one before it), got %s"
              .formatted(
                  ids.size(), status.workloadId(), MOST, CanonicalHash.shown(status.planId())));
    }
    if (reportedRun.equals(status.run()) && status.step() < reportedStep.orElse(0)) {
      throw RejectionReason.STALE_STATUS.failure(
          "step of a status of workload \"%s\" must be at least %s, which was reported before, got %s. Maybe the trainer restarted from a checkpoint and its run needs another name"
              .formatted(status.workloadId(), reportedStep.orElse(0), status.step()));
    }
  }

  /**
   * Returns this after a status that {@link #check} passes. When the running plan is rejected, the
   * plan that was adopted before it runs again or, if none was, the one that it was searched from,
   * if it is stored.
   *
   * @param previousOf returns the plan that a plan was searched from
   */
  public PlanHistory reported(PlanStatus status, Function<String, Optional<String>> previousOf) {
    Optional<String> plan = Optional.of(status.planId());
    Optional<String> now = running();
    Optional<String> from = previous;
    if (status.kind() != PlanStatus.StatusKind.REJECTED) {
      if (!plan.equals(adopted)) {
        from = adopted.filter(last -> !plan.flatMap(previousOf).equals(adopted));
      }
      now = plan;
    } else if (plan.equals(now)) {
      now = from.or(() -> plan.flatMap(previousOf)).filter(ids::contains);
      from = Optional.empty();
    }
    return new PlanHistory(ids, now, from, OptionalLong.of(status.step()), status.run());
  }

  /** Returns a builder of a copy. */
  public PlanHistoryBuilder with() {
    return PlanHistoryBuilder.builder(this);
  }
}
