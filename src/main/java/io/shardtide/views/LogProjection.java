package io.shardtide.views;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.Change;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.views.LogEvent.EventKind;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/** What is remembered of the log. Every method may be called from any thread. */
final class LogProjection {
  /** Entries that are remembered. */
  static final int ENTRIES = 500;

  /** Models, the latest, that say what a table costs. */
  private static final int MODELS = 64;

  private final DetectorKind detector;
  private final Map<String, WorkloadProjection> workloads = new TreeMap<>();
  private final Map<String, HardwareProjection> hardware = new TreeMap<>();
  private final Map<String, CostEvaluator> evaluators =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, CostEvaluator> eldest) {
          return size() > MODELS;
        }
      };
  private final Deque<LogEvent> entries = new ArrayDeque<>();
  private final Latencies latencies = new Latencies();
  private final Set<String> dirty = new LinkedHashSet<>();
  private final List<LogEvent> fresh = new ArrayList<>();
  private long numbered;

  LogProjection(DetectorKind detector) {
    this.detector = detector;
  }

  private WorkloadProjection of(String workloadId) {
    dirty.add(workloadId);
    return workloads.computeIfAbsent(workloadId, WorkloadProjection::new);
  }

  private HardwareProjection ofHardware(String name) {
    return hardware.computeIfAbsent(name, n -> new HardwareProjection(n, detector));
  }

  synchronized void takeCurrent(SourcePosition at, Instant writtenAt, ShardingPlan plan) {
    of(plan.workloadId()).take(PlanSummary.of(plan, OptionalDouble.empty()), at, true);
  }

  synchronized void take(SourcePosition at, Instant writtenAt, ShardingPlan plan) {
    OptionalDouble answered = latencies.answered(plan.source(), writtenAt);
    of(plan.workloadId()).take(PlanSummary.of(plan, answered), at, false);
    enter(
        EventKind.PLAN,
        writtenAt,
        Optional.of(plan.workloadId()),
        "generation %d: %.3f ms a step, %,d moves of %s; %s"
            .formatted(
                plan.generation(),
                plan.predictedMs(),
                plan.moves().size(),
                ByteSizes.describe(plan.movedBytes()),
                plan.reason()),
        plan.effort().name(),
        Optional.of(plan.planId()),
        answered.isPresent() ? Optional.of(answered.getAsDouble()) : Optional.empty());
  }

  synchronized void take(SourcePosition at, Instant writtenAt, WorkloadChange event) {
    latencies.changed(at, writtenAt);
    of(event.workloadId()).changed(writtenAt);
    enter(EventKind.CHANGE, writtenAt, event.workloadId(), describe(event), event.source());
  }

  private static String describe(WorkloadChange event) {
    Change first = event.changes().get(0);
    String text =
        first instanceof Change.TableUpserted upserted
            ? "table %s: %,d rows, %d columns, %s lookups"
                .formatted(
                    upserted.table().name(),
                    upserted.table().rows(),
                    upserted.table().columns(),
                    upserted.table().poolingFactor())
            : first instanceof Change.TableDropped dropped
                ? "table %s dropped".formatted(dropped.name())
                : "%d devices".formatted(((Change.ClusterSet) first).cluster().devices());
    int more = event.changes().size() - 1;
    return more == 0 ? text : "%s, and %,d more changes".formatted(text, more);
  }

  synchronized void take(SourcePosition at, Instant writtenAt, RejectedEvent event) {
    enter(
        EventKind.REJECTED, writtenAt, event.workloadId(), event.message(), event.reason().name());
  }

  synchronized void take(SourcePosition at, Instant writtenAt, InfeasibleWorkload none) {
    of(none.workloadId()).take(none);
    enter(
        EventKind.INFEASIBLE,
        writtenAt,
        none.workloadId(),
        "generation %d is %s short: %s"
            .formatted(
                none.generation(),
                ByteSizes.describe(none.shortfall().bytesShort()),
                none.shortfall().message()),
        none.shortfall().proven() ? "PROVEN" : "NOT_FOUND");
  }

  synchronized void take(SourcePosition at, Instant writtenAt, PlanStatus status) {
    of(status.workloadId()).take(status);
    enter(
        EventKind.STATUS,
        writtenAt,
        Optional.of(status.workloadId()),
        "%s by %s at step %,d%s"
            .formatted(
                status.kind().name().toLowerCase(Locale.ROOT).replace('_', ' '),
                status.source(),
                status.step(),
                status.reason().map(reason -> ": " + reason).orElse("")),
        status.kind().name(),
        Optional.of(status.planId()),
        Optional.empty());
  }

  synchronized void take(SourcePosition at, Instant writtenAt, MeasuredCosts costs) {
    of(costs.workloadId()).take(MeasuredStep.of(costs));
  }

  synchronized void take(SourcePosition at, Instant writtenAt, CostSample sample) {
    ofHardware(sample.hardware()).take(sample);
  }

  synchronized void take(SourcePosition at, Instant writtenAt, DriftAlarm alarm) {
    ofHardware(alarm.hardware()).take(alarm);
    of(alarm.workloadId()).take(alarm);
    enter(
        EventKind.ALARM,
        writtenAt,
        alarm.workloadId(),
        WorkloadProjection.describe(alarm),
        alarm.kind().name());
  }

  synchronized void take(SourcePosition at, Instant writtenAt, ModelDecision decision) {
    ofHardware(decision.hardware()).take(decision);
    enter(
        EventKind.MODEL,
        writtenAt,
        decision.hardware(),
        decision.reason(),
        decision.published() ? "TOOK_OVER" : "KEPT");
  }

  synchronized void take(SourcePosition at, Instant writtenAt, ModelBundle bundle) {
    ofHardware(bundle.hardware()).take(bundle, writtenAt);
    evaluators.computeIfAbsent(bundle.modelId(), id -> new CostModel(bundle).evaluator());
  }

  synchronized void take(SourcePosition at, Instant writtenAt, CostPredictions part) {
    of(part.workloadId()).take(part);
  }

  private void enter(EventKind kind, Instant at, String about, String text, String code) {
    enter(kind, at, Optional.of(about), text, code);
  }

  private void enter(EventKind kind, Instant at, Optional<String> about, String text, String code) {
    enter(kind, at, about, text, code, Optional.empty(), Optional.empty());
  }

  private void enter(
      EventKind kind,
      Instant at,
      Optional<String> about,
      String text,
      String code,
      Optional<String> planId,
      Optional<Double> answeredMs) {
    LogEvent entry = new LogEvent(++numbered, kind, at, about, text, code, planId, answeredMs);
    entries.addLast(entry);
    fresh.add(entry);
    if (entries.size() > ENTRIES) {
      entries.removeFirst();
    }
    if (fresh.size() > ENTRIES) {
      fresh.remove(0);
    }
  }

  /** Returns what changed since the last call. */
  synchronized List<ViewUpdate> news() {
    hardware.values().forEach(HardwareProjection::settle);
    List<ViewUpdate> news = new ArrayList<>();
    fresh.forEach(entry -> news.add(new ViewUpdate.EventLogged(entry)));
    dirty.stream()
        .map(workloads::get)
        .filter(WorkloadProjection::isKnown)
        .forEach(workload -> news.add(new ViewUpdate.WorkloadChanged(workload.row())));
    fresh.clear();
    dirty.clear();
    return news;
  }

  synchronized PlannerStatistics pulse(OptionalLong lag, boolean tablesAreRead) {
    return new PlannerStatistics(
        lag,
        (int) workloads.values().stream().filter(WorkloadProjection::isPlanning).count(),
        latencies.count(),
        latencies.quantile(0.5),
        latencies.quantile(0.99),
        tablesAreRead);
  }

  synchronized List<WorkloadRow> rows() {
    return workloads.values().stream()
        .filter(WorkloadProjection::isKnown)
        .map(WorkloadProjection::row)
        .toList();
  }

  synchronized List<LogEvent> entries() {
    return List.copyOf(entries);
  }

  synchronized Optional<WorkloadView> workload(String id) {
    return Optional.ofNullable(workloads.get(id))
        .filter(WorkloadProjection::isKnown)
        .map(w -> new WorkloadView(w.row(), w.cluster(), w.infeasible(), w.lines(), w.measured()));
  }

  synchronized Optional<WorkloadProjection.Held> plan(String planId) {
    return workloads.values().stream().flatMap(w -> w.plan(planId).stream()).findFirst();
  }

  synchronized Optional<PlanSummary> line(String planId) {
    return plan(planId)
        .flatMap(
            held ->
                workloads.get(held.line().workloadId()).lines().stream()
                    .filter(line -> line.planId().equals(planId))
                    .findFirst());
  }

  synchronized Optional<List<TableRow>> tables(String workloadId) {
    WorkloadProjection workload = workloads.get(workloadId);
    if (workload == null || !workload.isKnown()) {
      return Optional.empty();
    }
    Map<String, OptionalDouble> alone = new HashMap<>();
    double sum = 0;
    for (Map.Entry<String, TableSummary> table : workload.tables().entrySet()) {
      OptionalDouble ms = aloneMs(table.getValue());
      alone.put(table.getKey(), ms);
      sum += ms.orElse(0);
    }
    double all = sum;
    List<TableRow> lines = new ArrayList<>();
    workload
        .tables()
        .forEach(
            (name, table) -> {
              OptionalDouble ms = alone.get(name);
              lines.add(
                  new TableRow(
                      name,
                      table.rows(),
                      table.columns(),
                      table.poolingFactor(),
                      table.bytesPerElement(),
                      table.bytes(table.rows(), table.columns()),
                      ms,
                      ms.isPresent() && all > 0
                          ? OptionalDouble.of(ms.getAsDouble() / all)
                          : OptionalDouble.empty()));
            });
    return Optional.of(lines);
  }

  private OptionalDouble aloneMs(TableSummary table) {
    CostEvaluator evaluator = evaluators.get(table.modelId());
    if (evaluator == null) {
      return OptionalDouble.empty();
    }
    return OptionalDouble.of(evaluator.computeMs(table.sum()));
  }

  synchronized OptionalLong bytes(String workloadId, String table, long rows, int columns) {
    WorkloadProjection workload = workloads.get(workloadId);
    TableSummary known = workload == null ? null : workload.tables().get(table);
    return known == null ? OptionalLong.empty() : OptionalLong.of(known.bytes(rows, columns));
  }

  synchronized List<LearningView> learning() {
    return hardware.entrySet().stream().map(e -> e.getValue().view(on(e.getKey()))).toList();
  }

  private Collection<WorkloadProjection> on(String name) {
    return workloads.values().stream()
        .filter(w -> w.cluster().filter(c -> c.hardware().equals(name)).isPresent())
        .toList();
  }
}
