package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.Effort;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningState;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.wire.ForUpgradeFrom;
import io.shardtide.workload.SourcePosition;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.stream.DoubleStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * cost-predictions, plan-status and device-speeds to sharding-plans, current-plans and
 * accepted-statuses: collects a generation's predictions and searches a plan, quickly at once, and
 * again in the background. Infeasible workloads are reported on infeasible-workloads, and their
 * last plan stays current. A deleted workload gets a tombstone on current-plans.
 */
final class PlanningTopology extends KeyedProcessor {
  /** Time for which the topology plans before it commits, far below a transaction's timeout. */
  private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /**
   * Time for which it waits for one search: most take some milliseconds, and others go on beside
   * it.
   */
  private static final long SEARCH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final Logger log = LoggerFactory.getLogger(PlanningTopology.class);

  private final PlanningStep step;
  private final ArrivingModels models;
  private final PlanningQueue queue;
  private final LiveSearches live;
  private final BackgroundSearch background;
  private final LongSupplier nanoTime;

  /** Publication time of the first pending change, by workload, in milliseconds since 1970. */
  private final Map<String, Long> changedAtMs = new HashMap<>();

  /** Workloads whose pending work waits for a model. */
  private final Set<String> resumeLater = new LinkedHashSet<>();

  private PlanningTables store;

  /**
   * @param step applies predictions and statuses
   * @param models predictions wait for those that they name
   * @param live runs searches that answer changes; has a thread for each
   * @param background runs background searches
   * @param nanoTime monotonic time, in nanoseconds from any origin
   */
  PlanningTopology(
      Skeleton skeleton,
      PlanningStep step,
      ArrivingModels models,
      Executor live,
      Executor background,
      LongSupplier nanoTime) {
    super(skeleton);
    this.step = step;
    this.models = models;
    queue = new PlanningQueue(step.settings());
    // Without a debounce interval each generation has a plan of its own, however long it takes.
    long turnNanos = step.settings().debounce().isZero() ? Long.MAX_VALUE : SEARCH_NANOS;
    this.live = new LiveSearches(step, live, nanoTime, turnNanos);
    this.background = new BackgroundSearch(step, background, nanoTime);
    atClose(this.live::close);
    atClose(this.background::close);
    this.nanoTime = nanoTime;
    on(COST_PREDICTIONS, this::onPredictions)
        .gapless()
        .deletedBy(CostPredictions::isDeletion)
        .when(part -> part.isDeletion() || models.isDecided(part.modelId()));
    on(PLAN_STATUS, (status, source, timestamp) -> tell(step.report(store, status)));
    on(
        DEVICE_SPEEDS,
        (slow, source, timestamp) ->
            planIfDue(slow.workloadId(), step.onSpeeds(store, slow), timestamp));
  }

  @Override
  void open(KeyedStore.Opener stores) {
    store =
        new PlanningTables(
            new PlanningHeaders(
                stores.open(StoreName.PLANNING_HEADERS), stores.open(StoreName.MOVED_FROM)),
            stores.open(StoreName.PREDICTED_TABLES),
            stores.open(StoreName.REMEMBERED_PLANS));
    show(Metric.WORKLOADS_PENDING, () -> DoubleStream.of(queue.size() + live.size()));
    show(Metric.BACKGROUND_SEARCHES, () -> DoubleStream.of(background.size()));
  }

  @Override
  void resume() {
    for (String id : store.workloads()) {
      isolate(
          id,
          "pending work",
          () -> {
            tellAgain(id);
            resume(id);
          });
    }
  }

  @Override
  void resume(String workloadId) {
    PlanningState header = store.header(workloadId);
    // Another instance may have stored predictions of a model that this one has not read yet.
    if (header.predicted().filter(p -> !models.isDecided(p.modelId())).isPresent()) {
      resumeLater.add(workloadId);
    } else if (header.isDue()) {
      enqueue(workloadId, header);
    } else if (header.state() == PendingWork.BACKGROUND_SEARCH_DUE) {
      background.planned(workloadId, nanoTime.getAsLong());
    }
  }

  private void enqueue(String workloadId, PlanningState header) {
    background.changed(workloadId);
    if (header.state() == PendingWork.MODEL_PENDING) {
      queue.repredicted(workloadId, step.imbalanceMs(store, workloadId));
    } else {
      queue.changed(workloadId, nanoTime.getAsLong());
    }
  }

  private void onPredictions(CostPredictions part, SourcePosition source, long timestamp) {
    PlanningState header = step.onPredictions(store, part);
    if (part.isDeletion()) {
      delete(part.workloadId(), timestamp);
    } else {
      planIfDue(part.workloadId(), header, timestamp);
    }
  }

  private void planIfDue(String workloadId, PlanningState header, long timestamp) {
    if (!header.isDue()) {
      return;
    }
    if (header.state() != PendingWork.MODEL_PENDING) {
      changedAtMs.putIfAbsent(workloadId, timestamp);
    }
    enqueue(workloadId, header);
    if (step.settings().debounce().isZero()) {
      planChanged();
    }
  }

  private void delete(String workloadId, long timestamp) {
    queue.deleted(workloadId);
    live.deleted(workloadId);
    background.changed(workloadId);
    changedAtMs.remove(workloadId);
    forward(workloadId, null, timestamp, CURRENT_PLANS);
    tell(AcceptedStatus.of(workloadId, Optional.empty(), PlanHistory.NONE));
  }

  private void tell(AcceptedStatus accepted) {
    forward(accepted.workloadId(), accepted, nowMs(), ACCEPTED_STATUSES);
    written();
  }

  /** Tells again which plan runs: a version that did not tell it may have had this partition. */
  @ForUpgradeFrom("0.2.0")
  private void tellAgain(String workloadId) {
    PlanHistory plans = store.header(workloadId).plans();
    if (!plans.ids().isEmpty()) {
      tell(AcceptedStatus.of(workloadId, Optional.empty(), plans));
    }
  }

  @Override
  void work() {
    if (!resumeLater.isEmpty()) {
      List<String> again = List.copyOf(resumeLater);
      resumeLater.clear();
      again.forEach(id -> isolate(id, "pending work", () -> resume(id)));
    }
    background.finished(nanoTime.getAsLong()).ifPresent(this::finishBackground);
    live.finished().forEach(this::finish);
    live.nextWaiting().ifPresent(this::plan);
    if (!planChanged()) {
      queue.greatestGain().ifPresent(this::plan);
    }
    background.begin(nanoTime.getAsLong(), this::backgroundSearch);
  }

  private Optional<PlanningStep.SearchTask> backgroundSearch(String workloadId) {
    AtomicReference<Optional<PlanningStep.SearchTask>> task =
        new AtomicReference<>(Optional.empty());
    isolate(
        workloadId, "background search", () -> task.set(step.backgroundSearch(store, workloadId)));
    return task.get();
  }

  /** Plans changed workloads, for a while; returns whether there were any. */
  private boolean planChanged() {
    long start = nanoTime.getAsLong();
    Optional<String> next = queue.nextChanged(start);
    boolean any = next.isPresent();
    while (next.isPresent()) {
      plan(next.get());
      long now = nanoTime.getAsLong();
      next = now - start < TURN_NANOS ? queue.nextChanged(now) : Optional.empty();
    }
    return any;
  }

  private void plan(String workloadId) {
    isolate(
        workloadId,
        "planning",
        () -> live.begin(workloadId, id -> step.quickSearch(store, id)).ifPresent(this::finishNow));
  }

  private void finish(RunningSearch<PlanningStep.QuickSearch> finished) {
    isolate(
        finished.search().request().workloadId(), "result of a search", () -> finishNow(finished));
  }

  private void finishNow(RunningSearch<PlanningStep.QuickSearch> finished) {
    String workloadId = finished.search().request().workloadId();
    step.finish(store, finished.search(), finished.outcome())
        .ifPresent(outcome -> publish(workloadId, outcome));
    // It may have changed during the search; then the next plan is due.
    PlanningState header = store.header(workloadId);
    if (header.isDue()) {
      enqueue(workloadId, header);
    }
  }

  private void finishBackground(RunningSearch<PlanningStep.SearchTask> finished) {
    String workloadId = finished.search().request().workloadId();
    isolate(
        workloadId,
        "result of a background search",
        () -> {
          PlanningOutcome outcome = finished.outcome();
          Optional<PlanningOutcome.Planned> planned =
              step.finish(store, finished.search(), outcome);
          if (outcome instanceof PlanningOutcome.Failed failed) {
            report(workloadId, failed, Effort.DEEP);
            written();
          } else {
            planned.ifPresentOrElse(
                plan -> publish(workloadId, plan), () -> metrics.count(Metric.SEARCHES_DISCARDED));
          }
          // A trainer may have adopted another plan meanwhile; then a search from it is due.
          resume(workloadId);
        });
  }

  private void publish(String workloadId, PlanningOutcome outcome) {
    long now = nowMs();
    Long since = changedAtMs.remove(workloadId);
    if (since != null) {
      metrics.time(Metric.ANSWER, (double) now - since);
    }
    if (outcome instanceof PlanningOutcome.Planned planned) {
      ShardingPlan plan = planned.plan();
      metrics.time(Metric.SEARCH, plan.run().searchMillis(), plan.origin().effort());
      metrics.count(Metric.PLANS_PUBLISHED, plan.origin().effort());
      forward(workloadId, plan, now, SHARDING_PLANS);
      forward(workloadId, plan, now, CURRENT_PLANS);
      if (store.header(workloadId).state() == PendingWork.BACKGROUND_SEARCH_DUE) {
        background.planned(workloadId, nanoTime.getAsLong());
      }
    } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
      metrics.count(Metric.WORKLOADS_INFEASIBLE);
      forward(workloadId, infeasible.workload(), now, INFEASIBLE_WORKLOADS);
    } else if (outcome instanceof PlanningOutcome.Failed failed) {
      report(workloadId, failed, Effort.QUICK);
    }
    written();
  }

  private void report(String workloadId, PlanningOutcome.Failed failed, Effort effort) {
    log.error(
        "The {} search for workload {} failed; its last plan stays current",
        effort == Effort.QUICK ? "quick" : "background",
        workloadId,
        failed.error());
    metrics.count(Metric.SEARCHES_FAILED, effort);
    failed(
        workloadId,
        failed.source(),
        "The change was applied, but planning failed: %s. The last plan stays current; please report this"
            .formatted(failed.error()),
        nowMs());
  }
}
