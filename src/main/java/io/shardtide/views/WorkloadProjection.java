package io.shardtide.views;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.SourcePosition;
import io.shardtide.views.WorkloadRow.WorkloadHealth;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;

/** What is remembered of a workload. */
final class WorkloadProjection {
  /** Plans of which a line is remembered: a day of one every five minutes. */
  static final int PLANS = 300;

  /** Measurements that are remembered. */
  static final int MEASUREMENTS = 300;

  private final String workloadId;
  private final Map<String, Held> plans = new HashMap<>();
  private final Map<String, PlanSummary.PlanState> fates = new HashMap<>();
  private final Deque<MeasuredStep> measured = new ArrayDeque<>();
  private final TreeMap<String, TableSummary> tables = new TreeMap<>();
  private Optional<ClusterSpec> cluster = Optional.empty();
  private Optional<Instant> changedAt = Optional.empty();
  private Optional<InfeasibleWorkload> infeasible = Optional.empty();
  private Optional<DriftAlarm> alarm = Optional.empty();
  private Optional<PlanSummary> latest = Optional.empty();
  private long generation;

  /**
   * A plan's line, and where the plan is.
   *
   * @param line the line
   * @param at position of the plan in the log
   */
  record Held(PlanSummary line, SourcePosition at) {}

  WorkloadProjection(String workloadId) {
    this.workloadId = workloadId;
  }

  /** Takes a plan, which may be one that is known, or older than those that are. */
  void take(PlanSummary line, SourcePosition at, boolean isCurrent) {
    Held known = plans.get(line.planId());
    // What is on current-plans is gone when a newer plan follows: the other place is the better.
    if (known == null || !isCurrent) {
      PlanSummary kept =
          known != null && known.line().answeredMs().isPresent() ? known.line() : line;
      plans.put(line.planId(), new Held(kept, at));
    }
    generation = Math.max(generation, line.generation());
    if (latest.isEmpty() || PlanSummary.ORDER.compare(latest.get(), line) < 0) {
      latest = Optional.of(line);
    }
    if (plans.size() > PLANS) {
      String oldest =
          plans.values().stream().map(Held::line).min(PlanSummary.ORDER).orElseThrow().planId();
      plans.remove(oldest);
      fates.remove(oldest);
    }
  }

  void take(PlanStatus status) {
    // Of a plan that is not remembered nothing is shown; of one that comes later it is.
    if (fates.size() < 2 * PLANS || plans.containsKey(status.planId())) {
      fates.put(status.planId(), PlanSummary.PlanState.of(status));
    }
  }

  void take(MeasuredStep measurement) {
    measured.addLast(measurement);
    if (measured.size() > MEASUREMENTS) {
      measured.removeFirst();
    }
  }

  void take(CostPredictions part) {
    generation = Math.max(generation, part.generation());
    cluster = Optional.of(part.cluster());
    Update update = part.update().orElse(null);
    if (update instanceof Update.Predicted predicted) {
      TableSummary table = TableSummary.of(predicted.prediction(), part.modelId());
      tables.put(predicted.prediction().table().name(), table);
    } else if (update instanceof Update.Forgotten forgotten) {
      tables.remove(forgotten.table());
    }
  }

  void take(InfeasibleWorkload none) {
    generation = Math.max(generation, none.generation());
    if (infeasible.isEmpty() || infeasible.get().generation() <= none.generation()) {
      infeasible = Optional.of(none);
    }
  }

  void take(DriftAlarm raised) {
    alarm = Optional.of(raised);
  }

  void changed(Instant writtenAt) {
    changedAt = Optional.of(writtenAt);
  }

  Optional<Held> plan(String planId) {
    return Optional.ofNullable(plans.get(planId));
  }

  Optional<ClusterSpec> cluster() {
    return cluster;
  }

  Optional<InfeasibleWorkload> infeasible() {
    return infeasible.filter(i -> i.generation() > plannedGeneration());
  }

  Map<String, TableSummary> tables() {
    return tables;
  }

  List<MeasuredStep> measured() {
    return List.copyOf(measured);
  }

  /**
   * Returns whether the planner said anything of it: a change, a status or a measurement alone may
   * be of a workload that there is not.
   */
  boolean isKnown() {
    return generation > 0;
  }

  boolean isPlanning() {
    return generation > plannedGeneration() && infeasible().isEmpty();
  }

  /** Returns the lines of the plans that are remembered, the oldest first. */
  List<PlanSummary> lines() {
    return plans.values().stream()
        .map(held -> complete(held.line()))
        .sorted(PlanSummary.ORDER)
        .toList();
  }

  private PlanSummary complete(PlanSummary line) {
    Held before = line.previousPlanId().map(plans::get).orElse(null);
    return line.with(
        before == null ? OptionalDouble.empty() : OptionalDouble.of(before.line().predictedMs()),
        Optional.ofNullable(fates.get(line.planId())));
  }

  private long plannedGeneration() {
    return latest.map(PlanSummary::generation).orElse(0L);
  }

  WorkloadRow row() {
    Optional<MeasuredStep> last = Optional.ofNullable(measured.peekLast());
    Problem problem = problem();
    return new WorkloadRow(
        workloadId,
        generation,
        latest.map(PlanSummary::tables).orElse(tables.size()),
        latest.map(PlanSummary::devices).orElse(cluster.map(ClusterSpec::devices).orElse(0)),
        cluster.map(ClusterSpec::hardware),
        latest.map(PlanSummary::planId),
        plannedGeneration(),
        number(latest.map(PlanSummary::predictedMs)),
        number(last.map(MeasuredStep::stepMs)),
        last.map(MeasuredStep::planId),
        number(latest.map(PlanSummary::imbalance)),
        changedAt.or(() -> latest.map(PlanSummary::createdAt)),
        problem.health(),
        problem.text());
  }

  private static OptionalDouble number(Optional<Double> value) {
    return value.map(OptionalDouble::of).orElse(OptionalDouble.empty());
  }

  private record Problem(WorkloadHealth health, Optional<String> text) {}

  private Problem problem() {
    if (infeasible().isPresent()) {
      InfeasibleWorkload none = infeasible().get();
      return new Problem(
          WorkloadHealth.DOES_NOT_FIT,
          Optional.of(
              "Generation %d is %s short: %s"
                  .formatted(
                      none.generation(),
                      ByteSizes.describe(none.shortfall().bytesShort()),
                      none.shortfall().message())));
    }
    Optional<PlanSummary.PlanState> fate = latest.map(line -> fates.get(line.planId()));
    if (fate.isPresent() && fate.get().kind() == PlanStatus.StatusKind.REJECTED) {
      return new Problem(
          WorkloadHealth.REFUSED,
          Optional.of(
              "%s refused the plan: %s"
                  .formatted(fate.get().source(), fate.get().reason().orElse("no reason given"))));
    }
    Optional<DriftAlarm> current =
        alarm.filter(a -> latest.map(PlanSummary::planId).equals(Optional.of(a.planId())));
    if (current.isPresent()) {
      boolean isDevice = current.get().device().isPresent();
      return new Problem(
          isDevice ? WorkloadHealth.SLOW_DEVICE : WorkloadHealth.DRIFT,
          Optional.of(describe(current.get())));
    }
    return isPlanning()
        ? new Problem(
            WorkloadHealth.PLANNING,
            Optional.of(
                "Generation %d is not planned yet; the latest plan is for generation %d"
                    .formatted(generation, plannedGeneration())))
        : new Problem(WorkloadHealth.GOOD, Optional.empty());
  }

  /** Says an alarm for people. */
  static String describe(DriftAlarm alarm) {
    return "%s: %s measured over predicted went from %.2f to %.2f (%s, %,d measurements)"
        .formatted(
            alarm.device().isPresent()
                ? "Device %d is slow".formatted(alarm.device().getAsInt())
                : "The model is wrong",
            alarm.quantity().name().toLowerCase(java.util.Locale.ROOT),
            alarm.usualRatio(),
            alarm.recentRatio(),
            alarm.detector(),
            alarm.samples());
  }
}
