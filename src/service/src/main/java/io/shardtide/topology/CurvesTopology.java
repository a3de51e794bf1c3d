package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;

import io.shardtide.allocation.Curve;
import io.shardtide.allocation.CurveStep;
import io.shardtide.allocation.CurveTask;
import io.shardtide.allocation.RunningPlan;
import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.CurveState;
import io.shardtide.step.WorkloadTables;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.stream.DoubleStream;

/**
 * cost-predictions, curve-requests and sharding-plans to throughput-curves: follows the tables of
 * all workloads, and predicts the throughput of those that have a claim on a pool, one at a time,
 * on another thread. Curves that are there are refined while no other is due.
 */
final class CurvesTopology extends KeyedProcessor {
  private final CurveStep step;
  private final ArrivingModels models;
  private final Executor searches;

  /**
   * Workloads whose curve may have changed, the longest waiting one first, with the time of the
   * change, in milliseconds since 1970.
   */
  private final Map<String, Long> due = new LinkedHashMap<>();

  /** Curves of this instance, whose plans the next searches begin with. */
  private final Map<String, Curve> searched = new HashMap<>();

  /** Workloads whose current curve may become better, the longest waiting one first. */
  private final Set<String> refinable = new LinkedHashSet<>();

  /** The latest plan of each workload that this instance has read. */
  private final Map<String, RunningPlan> runningPlans = new HashMap<>();

  private Optional<RunningCurve> running = Optional.empty();
  private WorkloadTables<CurveState, TableSpec> store;

  private record RunningCurve(CurveTask task, long changedAtMs, CompletableFuture<Curve> result) {
    String workloadId() {
      return task.curve().request().workloadId();
    }
  }

  /**
   * @param step predicts curves
   * @param models a change of models triggers new curves
   * @param searches runs searches
   */
  CurvesTopology(Skeleton skeleton, CurveStep step, ArrivingModels models, Executor searches) {
    super(skeleton);
    this.step = step;
    this.models = models;
    this.searches = searches;
    on(COST_PREDICTIONS, this::onPredictions).gapless().deletedBy(CostPredictions::isDeletion);
    on(CURVE_REQUESTS, this::onRequest);
    on(SHARDING_PLANS, this::onPlan);
  }

  @Override
  void open(KeyedStore.Opener stores) {
    store =
        new WorkloadTables<>(
            stores.open(StoreName.CURVE_HEADERS),
            CurveState.NONE,
            stores.open(StoreName.CURVE_TABLES),
            (before, predicted, generation) -> predicted.table());
    show(
        Metric.CURVES_PENDING,
        () ->
            DoubleStream.of(
                due.size() + (running.filter(r -> !r.task().refines()).isPresent() ? 1 : 0)));
  }

  @Override
  void resume(String workloadId) {
    if (store.header(workloadId).request().isPresent()) {
      due.putIfAbsent(workloadId, nowMs());
    }
  }

  private void onRequest(CurveRequest request, SourcePosition source, long timestamp) {
    step.onRequest(store, request);
    if (request.isWithdrawn()) {
      searched.remove(request.workloadId());
      due.remove(request.workloadId());
      refinable.remove(request.workloadId());
    } else {
      due.putIfAbsent(request.workloadId(), timestamp);
    }
  }

  private void onPlan(ShardingPlan plan, SourcePosition source, long timestamp) {
    // One that was chosen to learn from has costs that are optimistic.
    if (!plan.isExploratory()) {
      runningPlans.put(plan.workloadId(), RunningPlan.of(plan));
      refinable.add(plan.workloadId());
    }
  }

  private void onPredictions(CostPredictions part, SourcePosition source, long timestamp) {
    if (part.isDeletion()) {
      runningPlans.remove(part.workloadId());
    }
    step.onPredictions(store, part)
        .ifPresentOrElse(
            report -> forward(report, timestamp),
            () -> {
              if (part.isLast() && store.header(part.workloadId()).request().isPresent()) {
                due.putIfAbsent(part.workloadId(), timestamp);
              }
            });
  }

  @Override
  void work() {
    // All curves are looked at once after a start, and after a model took over.
    if (changed(models)) {
      store.workloads().forEach(this::resume);
    }
    if (running.filter(r -> r.result().isDone()).isPresent()) {
      RunningCurve finished = running.get();
      running = Optional.empty();
      isolate(finished.workloadId(), "curve of throughput", () -> finish(finished));
    }
    while (running.isEmpty() && !due.isEmpty()) {
      Map.Entry<String, Long> first = due.entrySet().iterator().next();
      due.remove(first.getKey());
      isolate(
          first.getKey(),
          "begin of a curve of throughput",
          () -> begin(first.getKey(), first.getValue()));
    }
    while (running.isEmpty() && !refinable.isEmpty()) {
      String first = refinable.iterator().next();
      refinable.remove(first);
      isolate(first, "begin of a curve's refinement", () -> refine(first));
    }
  }

  private void begin(String workloadId, long changedAtMs) {
    running =
        next(workloadId).filter(task -> !task.refines()).map(task -> search(task, changedAtMs));
    if (running.isEmpty()) {
      refinable.add(workloadId);
    }
  }

  /** Searches one point more: a change waits for no more than that. */
  private void refine(String workloadId) {
    running = next(workloadId).filter(CurveTask::refines).map(task -> search(task, nowMs()));
  }

  private Optional<CurveTask> next(String workloadId) {
    Optional<Curve> curve = Optional.ofNullable(searched.get(workloadId));
    return step.next(store, workloadId, curve, Optional.ofNullable(runningPlans.get(workloadId)));
  }

  private RunningCurve search(CurveTask task, long changedAtMs) {
    return new RunningCurve(task, changedAtMs, CompletableFuture.supplyAsync(task::run, searches));
  }

  private void finish(RunningCurve finished) {
    Curve curve = finished.result().join();
    boolean refines = finished.task().refines();
    Optional<CurveReport> report = step.finish(store, finished.task(), curve);
    if (report.isPresent() || refines) {
      searched.put(finished.workloadId(), curve);
      refinable.add(finished.workloadId());
    }
    report.ifPresent(found -> forward(found, nowMs()));
    if (report.isPresent() && !refines) {
      metrics.time(Metric.CURVE, (double) nowMs() - finished.changedAtMs());
    }
  }

  private void forward(CurveReport report, long timestamp) {
    forward(report.poolId(), report, timestamp, THROUGHPUT_CURVES);
    written();
  }
}
