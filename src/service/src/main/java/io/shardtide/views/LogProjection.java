package io.shardtide.views;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Shortfall;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.views.LogEvent.EventKind;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Projection of the log that the views show, bounded in size. Thread-safe. */
public final class LogProjection {
  /** How many of the latest events are kept. */
  static final int EVENTS = 500;

  /**
   * Plans, and measurements, that all workloads together keep, while each keeps at least {@link
   * #LEAST_KEPT}: some 100 MB.
   */
  static final int KEPT = 100_000;

  /** Plans and measurements that a workload keeps however many workloads there are. */
  static final int LEAST_KEPT = 10;

  /** How many of the latest models are kept to compute costs of tables. */
  private static final int MODELS = 64;

  final KnownWorkloads workloads = new KnownWorkloads();
  private final Map<String, HardwareProjection> hardware = new TreeMap<>();
  private final Map<String, CostEvaluator> evaluators = new LinkedHashMap<>();
  private final Deque<LogEvent> events = new ArrayDeque<>();
  private final Latencies latencies = new Latencies();
  private final Deque<LogEvent> newEvents = new ArrayDeque<>();
  private long eventCount;

  /** See {@link KnownWorkloads#forgetUnknown}. */
  synchronized void forgetUnknown() {
    workloads.forgetUnknown();
  }

  /** Returns how many plans, and measurements, a workload keeps: fewer the more workloads. */
  private int kept() {
    return Math.max(
        LEAST_KEPT,
        Math.min(WorkloadProjection.MOST_KEPT, KEPT / Math.max(1, workloads.all().size())));
  }

  private HardwareProjection hardware(String name) {
    return hardware.computeIfAbsent(name, HardwareProjection::new);
  }

  synchronized void applyCurrent(SourcePosition at, Instant writtenAt, ShardingPlan plan) {
    workloads.applyCurrent(
        plan.workloadId(),
        workload -> workload.apply(PlanSummary.of(plan, OptionalDouble.empty()), at, true, kept()));
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, ShardingPlan plan) {
    OptionalDouble answered = latencies.answered(plan.origin().source(), writtenAt);
    workloads.changed(plan.workloadId()).apply(PlanSummary.of(plan, answered), at, false, kept());
    logEvent(
        EventKind.PLAN,
        writtenAt,
        Optional.of(plan.workloadId()),
        "generation %d: %.3f ms a step; shards that move: %,d, %s; %s"
            .formatted(
                plan.generation(),
                plan.predictedMs(),
                plan.movedShards(),
                ByteSizes.describe(plan.movedBytes()),
                plan.reason()),
        plan.origin().effort().name(),
        Optional.of(plan.planId()),
        answered);
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, WorkloadChange event) {
    latencies.changed(at, writtenAt);
    workloads.changed(event.workloadId()).changedAt = Optional.of(writtenAt);
    logEvent(
        EventKind.CHANGE, writtenAt, event.workloadId(), LogEvent.describe(event), event.source());
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, RejectedEvent event) {
    logEvent(
        EventKind.REJECTED, writtenAt, event.workloadId(), event.message(), event.reason().name());
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, InfeasibleWorkload infeasible) {
    boolean expected = infeasible.expected().isPresent();
    if (!expected) {
      workloads.changed(infeasible.workloadId()).apply(infeasible);
    }
    Shortfall shortfall = infeasible.shortfall();
    logEvent(
        EventKind.INFEASIBLE,
        writtenAt,
        infeasible.workloadId(),
        expected
            ? shortfall.message()
            : "generation %d %s".formatted(infeasible.generation(), shortfall.describe()),
        expected ? "EXPECTED" : shortfall.proven() ? "PROVEN" : "NOT_FOUND");
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, PlanStatus status) {
    workloads.changed(status.workloadId()).apply(status);
    logEvent(
        EventKind.STATUS,
        writtenAt,
        Optional.of(status.workloadId()),
        "%s by %s at step %,d%s"
            .formatted(
                status.describeKind(),
                status.source(),
                status.step(),
                status.reason().map(reason -> ": " + reason).orElse("")),
        status.kind().name(),
        Optional.of(status.planId()),
        OptionalDouble.empty());
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, MeasuredCosts costs) {
    workloads.changed(costs.workloadId()).apply(MeasuredStep.of(costs), kept());
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, CostSample sample) {
    hardware(sample.hardware()).residuals.apply(sample);
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, DriftAlarm alarm) {
    Recent.add(hardware(alarm.hardware()).alarms, alarm, HardwareProjection.KEPT);
    workloads.changed(alarm.workloadId()).alarm = Optional.of(alarm);
    logEvent(
        EventKind.ALARM,
        writtenAt,
        alarm.workloadId(),
        WorkloadProjection.describe(alarm),
        alarm.kind().name());
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, ModelDecision decision) {
    Recent.add(hardware(decision.hardware()).decisions, decision, HardwareProjection.KEPT);
    logEvent(
        EventKind.MODEL,
        writtenAt,
        decision.hardware(),
        decision.reason(),
        decision.published() ? "TOOK_OVER" : "KEPT");
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, ModelBundle bundle) {
    hardware(bundle.hardware()).apply(bundle, writtenAt);
    if (!evaluators.containsKey(bundle.modelId())) {
      Recent.put(evaluators, bundle.modelId(), new CostModel(bundle).evaluator(), MODELS);
    }
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, CostPredictions part) {
    workloads.applyCurrent(part.workloadId(), workload -> workload.apply(part));
  }

  synchronized void apply(SourcePosition at, Instant writtenAt, TableForecasts forecasts) {
    workloads.changed(forecasts.workloadId()).forecasts =
        Optional.of(WorkloadForecasts.of(forecasts));
  }

  /** Applies a tombstone of a compacted topic. */
  synchronized void delete(String workloadId, Consumer<WorkloadProjection> tombstone) {
    workloads.applyTombstone(workloadId, tombstone);
  }

  private void logEvent(EventKind kind, Instant at, String about, String text, String code) {
    logEvent(kind, at, Optional.of(about), text, code);
  }

  private void logEvent(
      EventKind kind, Instant at, Optional<String> about, String text, String code) {
    logEvent(kind, at, about, text, code, Optional.empty(), OptionalDouble.empty());
  }

  private void logEvent(
      EventKind kind,
      Instant at,
      Optional<String> about,
      String text,
      String code,
      Optional<String> planId,
      OptionalDouble answeredMs) {
    LogEvent event = new LogEvent(++eventCount, kind, at, about, text, code, planId, answeredMs);
    Recent.add(events, event, EVENTS);
    Recent.add(newEvents, event, EVENTS);
  }

  /** Returns the updates since the last call. */
  synchronized List<ViewUpdate> drainUpdates() {
    hardware.values().forEach(known -> known.residuals.closeMeasurements());
    List<ViewUpdate> updates = new ArrayList<>();
    newEvents.forEach(event -> updates.add(new ViewUpdate("event", Optional.empty(), event)));
    for (String id : workloads.drainChanged()) {
      Optional<WorkloadRow> row = workloads.get(id).map(this::row);
      Object data = row.isPresent() ? row.get() : Map.of("workloadId", id);
      updates.add(ViewUpdate.ofRow(row.isPresent() ? "workload" : "deleted", "workload", id, data));
    }
    newEvents.clear();
    return updates;
  }

  synchronized PlannerStatistics statistics(OptionalLong lag, boolean tablesAreRead) {
    return new PlannerStatistics(
        lag,
        (int) workloads.all().stream().filter(WorkloadProjection::isPlanning).count(),
        latencies.count(),
        latencies.quantile(0.5),
        latencies.quantile(0.99),
        tablesAreRead);
  }

  private WorkloadRow row(WorkloadProjection workload) {
    return workload.row(this::isSimulated);
  }

  /** Returns whether a model was trained on simulated costs; false if it is not known. */
  synchronized boolean isSimulated(String modelId) {
    return hardware.values().stream().anyMatch(known -> known.isSimulated(modelId));
  }

  /** Returns all workloads, by id. */
  public synchronized List<WorkloadRow> rows() {
    return workloads.all().stream().map(this::row).toList();
  }

  /** Returns the latest events, the oldest first. */
  public synchronized List<LogEvent> events() {
    return List.copyOf(events);
  }

  /**
   * Returns a workload; empty if it does not exist.
   *
   * @param pool what it asks of a pool and has of it
   */
  synchronized Optional<WorkloadView> workload(String id, Optional<PoolShare> pool) {
    return workloads
        .get(id)
        .map(
            w ->
                new WorkloadView(
                    row(w), w.cluster, w.infeasible(), w.plans(), w.measured(), w.forecasts, pool));
  }

  /** Returns the workload of a plan; empty if it is not one of the latest. */
  public Optional<String> workloadOf(String planId) {
    return plan(planId).map(plan -> plan.summary().workloadId());
  }

  synchronized Optional<WorkloadProjection.LocatedPlan> plan(String planId) {
    return workloads.all().stream().flatMap(w -> w.plan(planId).stream()).findFirst();
  }

  /** Returns a workload's tables as they are now, by name; empty if it does not exist. */
  public synchronized Optional<List<TableRow>> tables(String workloadId) {
    return workloads
        .get(workloadId)
        .map(
            workload ->
                workload.tables.values().stream()
                    .map(table -> TableRow.of(table.table(), aloneMs(table)))
                    .toList());
  }

  private OptionalDouble aloneMs(TableSummary table) {
    CostEvaluator evaluator = evaluators.get(table.modelId());
    return evaluator == null
        ? OptionalDouble.empty()
        : OptionalDouble.of(evaluator.aloneMs(table.table(), table.tower()));
  }

  /**
   * Returns the bytes that a part has on the devices that get it, if the table is known.
   *
   * @param groupSize devices of a replica group of the later plan
   * @param ranks devices of all its groups
   */
  synchronized Optional<Long> bytes(String workloadId, Overlap part, int groupSize, int ranks) {
    return workloads
        .get(workloadId)
        .map(workload -> workload.tables.get(part.table()))
        .map(known -> part.region().bytes(known.table()) * part.receivers(groupSize, ranks));
  }

  /** Returns models, decisions, alarms and residuals, by hardware. */
  public synchronized List<LearningView> learning() {
    return hardware.entrySet().stream()
        .map(e -> e.getValue().view(workloadsOn(e.getKey())))
        .toList();
  }

  private Collection<WorkloadProjection> workloadsOn(String name) {
    return workloads.all().stream()
        .filter(w -> w.cluster.filter(c -> c.hardware().equals(name)).isPresent())
        .toList();
  }
}
