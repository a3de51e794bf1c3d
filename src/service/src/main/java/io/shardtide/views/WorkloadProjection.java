package io.shardtide.views;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.PlanStatus;
import io.shardtide.state.DriftAlarm;
import io.shardtide.views.WorkloadRow.WorkloadHealth;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Plans, tables, measurements and problems of one workload. */
final class WorkloadProjection {
  /**
   * How many of the latest plans, and of the latest measurements, are kept at most: a day with one
   * every five minutes.
   */
  static final int MOST_KEPT = 300;

  /** Slow devices that a problem describes; further ones are counted. */
  private static final int DESCRIBED = 3;

  private final String workloadId;
  private final Map<String, LocatedPlan> plans = new HashMap<>();
  private final Map<String, PlanStatus> states = new HashMap<>();
  private final Deque<MeasuredStep> measured = new ArrayDeque<>();
  final TreeMap<String, TableSummary> tables = new TreeMap<>();
  Optional<ClusterSpec> cluster = Optional.empty();
  Optional<Instant> changedAt = Optional.empty();
  private Optional<InfeasibleWorkload> infeasible = Optional.empty();
  Optional<DriftAlarm> alarm = Optional.empty();
  Optional<WorkloadForecasts> forecasts = Optional.empty();
  private Optional<PlanSummary> latest = Optional.empty();
  private long generation;
  private long clusterGeneration;

  /** Whether current-plans has a plan of the workload. */
  private boolean hasPlan;

  /** Whether current-predictions has the workload's own record, beside those of its tables. */
  private boolean hasOwnRecord;

  /**
   * A plan and where it lies on the log.
   *
   * @param summary the plan
   * @param at position of its record
   */
  record LocatedPlan(PlanSummary summary, SourcePosition at) {}

  WorkloadProjection(String workloadId) {
    this.workloadId = workloadId;
  }

  /**
   * Adds a plan, which may be known already, or older than the known ones.
   *
   * @param isCurrent whether its record is on current-plans
   * @param kept how many of the latest plans are kept, at least 1
   */
  void apply(PlanSummary plan, SourcePosition at, boolean isCurrent, int kept) {
    LocatedPlan known = plans.get(plan.planId());
    // Compaction removes a record of current-plans: the record on sharding-plans is preferred.
    if (known == null || !isCurrent) {
      PlanSummary summary =
          known != null && known.summary().answeredMs().isPresent() ? known.summary() : plan;
      plans.put(plan.planId(), new LocatedPlan(summary, at));
    }
    generation = Math.max(generation, plan.generation());
    if (isCurrent) {
      hasPlan = true;
      if (latest.isEmpty() || PlanSummary.ORDER.compare(latest.get(), plan) < 0) {
        latest = Optional.of(plan);
      }
    }
    while (plans.size() > kept) {
      String oldest =
          plans.values().stream()
              .map(LocatedPlan::summary)
              .min(PlanSummary.ORDER)
              .orElseThrow()
              .planId();
      plans.remove(oldest);
      states.remove(oldest);
    }
  }

  void apply(PlanStatus status) {
    // The plan may be read after its status; states of unknown plans are bounded.
    if (states.size() < 2 * MOST_KEPT || plans.containsKey(status.planId())) {
      states.put(status.planId(), status);
    }
  }

  /**
   * Adds a measurement.
   *
   * @param kept how many of the latest measurements are kept, at least 1
   */
  void apply(MeasuredStep measurement, int kept) {
    Recent.add(measured, measurement, kept);
  }

  void apply(CostPredictions part) {
    generation = Math.max(generation, part.generation());
    // Tables that did not change since are on the topic with the cluster of their own generation.
    if (part.generation() >= clusterGeneration) {
      clusterGeneration = part.generation();
      cluster = Optional.of(part.cluster());
    }
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      tables.put(
          predicted.prediction().table().name(),
          TableSummary.of(predicted.prediction(), part.modelId()));
    } else if (part.update().isEmpty()) {
      hasOwnRecord = true;
    }
  }

  /** The tombstone of the workload's own record; those of its tables are on other partitions. */
  void predictionsDeleted() {
    hasOwnRecord = false;
  }

  /** The tombstone of the workload on current-plans. */
  void planDeleted() {
    hasPlan = false;
    latest = Optional.empty();
  }

  void apply(InfeasibleWorkload newest) {
    generation = Math.max(generation, newest.generation());
    if (infeasible.isEmpty() || infeasible.get().generation() <= newest.generation()) {
      infeasible = Optional.of(newest);
    }
  }

  /** The tombstone of the workload on current-forecasts. */
  void forecastsDeleted() {
    forecasts = Optional.empty();
  }

  Optional<LocatedPlan> plan(String planId) {
    return Optional.ofNullable(plans.get(planId));
  }

  Optional<InfeasibleWorkload> infeasible() {
    return infeasible.filter(i -> i.generation() > plannedGeneration());
  }

  List<MeasuredStep> measured() {
    return List.copyOf(measured);
  }

  /**
   * Returns whether one of the compacted topics has a record of the workload, whatever the order in
   * which their partitions are read. All others may name a workload that was deleted, or never
   * existed.
   */
  boolean exists() {
    return hasPlan || hasOwnRecord || !tables.isEmpty();
  }

  boolean isPlanning() {
    return generation > plannedGeneration() && infeasible().isEmpty();
  }

  /** Returns the latest plans, the oldest first. */
  List<PlanSummary> plans() {
    return oldestFirst().map(this::complete).toList();
  }

  private Stream<PlanSummary> oldestFirst() {
    return plans.values().stream().map(LocatedPlan::summary).sorted(PlanSummary.ORDER);
  }

  private PlanSummary complete(PlanSummary plan) {
    Optional<LocatedPlan> before = plan.previousPlanId().map(plans::get);
    return PlanSummaryBuilder.builder(plan)
        .beforeMs(before.map(p -> p.summary().predictedMs()))
        .fate(Optional.ofNullable(states.get(plan.planId())))
        .build();
  }

  private long plannedGeneration() {
    return latest.map(PlanSummary::generation).orElse(0L);
  }

  /**
   * Returns its row.
   *
   * @param isSimulated whether the model with an id was trained on simulated costs
   */
  WorkloadRow row(Predicate<String> isSimulated) {
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
        latest.map(PlanSummary::predictedMs),
        latest.map(PlanSummary::modelId).filter(isSimulated).isPresent(),
        steps(),
        last.map(MeasuredStep::stepMs),
        last.map(MeasuredStep::planId),
        latest.map(PlanSummary::imbalance),
        changedAt.or(() -> latest.map(PlanSummary::createdAt)),
        problem.health(),
        problem.text());
  }

  private List<Double> steps() {
    return oldestFirst()
        .skip(Math.max(0, plans.size() - WorkloadRow.STEPS))
        .map(PlanSummary::predictedMs)
        .toList();
  }

  private record Problem(WorkloadHealth health, Optional<String> text) {
    Problem(WorkloadHealth health, String text) {
      this(health, Optional.of(text));
    }
  }

  private Problem problem() {
    if (infeasible().isPresent()) {
      InfeasibleWorkload unplanned = infeasible().get();
      return new Problem(
          WorkloadHealth.DOES_NOT_FIT,
          "Generation %d %s".formatted(unplanned.generation(), unplanned.shortfall().describe()));
    }
    Optional<PlanStatus> state = latest.map(plan -> states.get(plan.planId()));
    if (state.isPresent() && state.get().kind() == PlanStatus.StatusKind.REJECTED) {
      return new Problem(
          WorkloadHealth.REFUSED,
          "%s rejected the plan: %s"
              .formatted(state.get().source(), state.get().reason().orElse("no reason given")));
    }
    Optional<DriftAlarm> current =
        alarm.filter(a -> latest.map(PlanSummary::planId).equals(Optional.of(a.planId())));
    List<DeviceSpeed> slow = latest.map(PlanSummary::slow).orElse(List.of());
    if (current.isPresent() && (current.get().device().isPresent() || slow.isEmpty())) {
      return new Problem(
          current.get().device().isPresent() ? WorkloadHealth.SLOW_DEVICE : WorkloadHealth.DRIFT,
          describe(current.get()));
    }
    if (!slow.isEmpty()) {
      return new Problem(WorkloadHealth.SLOW_DEVICE, describe(slow));
    }
    return isPlanning()
        ? new Problem(
            WorkloadHealth.PLANNING,
            "Generation %d is not planned yet; the latest plan is of generation %d"
                .formatted(generation, plannedGeneration()))
        : new Problem(WorkloadHealth.GOOD, Optional.empty());
  }

  private static String describe(List<DeviceSpeed> slow) {
    return slow.stream()
        .limit(DESCRIBED)
        .map(DeviceSpeed::describe)
        .collect(
            Collectors.joining(
                "; ",
                "The latest plan gives slow devices less work: ",
                slow.size() > DESCRIBED ? "; %d more".formatted(slow.size() - DESCRIBED) : ""));
  }

  /** Returns the description of an alarm, for people. */
  static String describe(DriftAlarm alarm) {
    return "%s: the ratio of measured to predicted %s costs went from %.2f to %.2f (%s, %,d measurements)"
        .formatted(
            alarm.device().isPresent()
                ? "Device %d is slow".formatted(alarm.device().getAsInt())
                : "Measured costs drift from the model",
            alarm.quantity().name().toLowerCase(Locale.ROOT),
            alarm.usualRatio(),
            alarm.recentRatio(),
            alarm.detector(),
            alarm.samples());
  }
}
