package io.shardtide.step;

import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.Effort;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.PlanningState;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The second step: collects the predictions of generations, answers them with plans, and receives
 * trainers' reports about which plan runs.
 *
 * <p>The caller decides when a plan is made, and has no influence on its content: a plan is a
 * function of what is in the log (see {@link Planner}), and names the generations that it answers,
 * the budget of its search, and the plan that was running.
 *
 * @param models the models that predictions name
 * @param settings settings of planning
 * @param planner makes the plans
 */
public record PlanningStep(CostModels models, PlanningSettings settings, Planner planner) {

  /**
   * A background search, ready to run in any thread: it reads no store.
   *
   * @param request the input of the search
   * @param beats the plan that it has to beat
   */
  public record SearchTask(Planner.Request request, ShardingPlan beats) {
    private Optional<String> running() {
      return request.running().map(ShardingPlan::planId);
    }
  }

  /**
   * A search that answers a change, ready to run in any thread: it reads no store.
   *
   * @param request the input of the search
   */
  public record QuickSearch(Planner.Request request) {
    private boolean isOf(PlanningState header) {
      return header.predicted().equals(Optional.of(request.predicted()))
          && header.slow().equals(request.slow());
    }
  }

  /**
   * Stores one part of a generation's predictions. The deletion of the workload removes its plans,
   * as the parts before it removed its tables.
   *
   * @return the workload's new header; {@link PlanningState#isDue} if a plan is due
   */
  public PlanningState onPredictions(PlanningTables store, CostPredictions part) {
    String id = part.workloadId();
    PlanningState before = store.header(id);
    PlanningState after = before.with().isPartial(true).build();
    if (part.isDeletion()) {
      after = PlanningState.deleted(part.generation());
      before.plans().ids().forEach(plan -> store.plans().delete(id, plan));
    } else if (part.isLast()) {
      after =
          before.complete(
              new PredictedGeneration(
                  part.generation(), part.source(), part.modelId(), part.cluster()));
    }
    store.apply(part);
    store.putHeader(id, after);
    return after;
  }

  /**
   * Makes a workload's plan if it is due.
   *
   * @return the outcome; empty if no plan is due
   */
  public Optional<PlanningOutcome> plan(PlanningTables store, String workloadId) {
    return quickSearch(store, workloadId).flatMap(search -> finish(store, search, search(search)));
  }

  /** Returns the search for a workload's plan; empty if no plan is due. */
  public Optional<QuickSearch> quickSearch(PlanningTables store, String workloadId) {
    PlanningState header = store.header(workloadId);
    if (!header.isDue()) {
      return Optional.empty();
    }
    boolean isSpeedChanged =
        store
            .running(workloadId)
            .filter(plan -> !plan.origin().slow().equals(header.slow()))
            .isPresent();
    return Optional.of(
        new QuickSearch(
            request(
                store,
                workloadId,
                header.firstGeneration(),
                Effort.QUICK,
                isSpeedChanged ? settings.slowDeviceSearch() : settings.quick())));
  }

  /** Runs a search that answers a change. */
  public PlanningOutcome search(QuickSearch search) {
    return planner.plan(search.request());
  }

  /**
   * Stores the outcome of a search that answers a change. If the workload has changed meanwhile,
   * the outcome answers the generation that was searched, and the next plan stays due.
   *
   * @return the outcome; empty if it no longer answers anything: another plan runs meanwhile, the
   *     workload was deleted, or only its model or its devices' speeds had changed, and did again
   */
  public Optional<PlanningOutcome> finish(
      PlanningTables store, QuickSearch search, PlanningOutcome outcome) {
    String id = search.request().workloadId();
    PlanningState header = store.header(id);
    long generation = search.request().predicted().generation();
    boolean isLatest = search.isOf(header);
    if (!header.state().isPending()
        || !header.plans().running().equals(search.request().running().map(ShardingPlan::planId))
        || (!isLatest && header.answered() >= generation)) {
      return Optional.empty();
    }
    boolean isPlanned = outcome instanceof PlanningOutcome.Planned;
    PendingWork next =
        !isLatest
            ? header.state()
            : isPlanned && settings.deep().isPresent()
                ? PendingWork.BACKGROUND_SEARCH_DUE
                : PendingWork.IDLE;
    remember(store, id, header.answered(generation, next), Optional.of(outcome));
    return Optional.of(outcome);
  }

  /**
   * Returns what a pending workload could gain at most from a new plan under the latest model, in
   * milliseconds a step: the priority among many pending workloads.
   */
  public double imbalanceMs(PlanningTables store, String workloadId) {
    return store
        .running(workloadId)
        .map(
            plan ->
                Imbalance.ms(request(store, workloadId, 0, Effort.QUICK, settings.quick()), plan))
        .orElse(Double.POSITIVE_INFINITY);
  }

  /**
   * Returns the background search that is due for a workload's latest plan.
   *
   * @return the search; empty if none is due
   */
  public Optional<SearchTask> backgroundSearch(PlanningTables store, String workloadId) {
    PlanningState header = store.header(workloadId);
    if (header.state() != PendingWork.BACKGROUND_SEARCH_DUE
        || header.isPartial()
        || settings.deep().isEmpty()) {
      return Optional.empty();
    }
    ShardingPlan latest = store.latest(workloadId).orElseThrow();
    return Optional.of(
        new SearchTask(
            request(
                store,
                workloadId,
                latest.origin().firstGeneration(),
                Effort.DEEP,
                settings.deep().get()),
            latest));
  }

  /** Runs a background search; takes a second or more. */
  public PlanningOutcome search(SearchTask search) {
    PlanningOutcome best = planner.plan(search.request());
    boolean mayTeach =
        settings.exploration() > 0
            && search.request().model().bundle().correction().isPresent()
            && !search.beats().isExploratory();
    return mayTeach ? teachingPlan(search, best) : best;
  }

  /**
   * Returns an exploratory plan that costs as much as the best one; the best one if there is none.
   */
  private PlanningOutcome teachingPlan(SearchTask search, PlanningOutcome best) {
    ShardingPlan cheapest =
        best instanceof PlanningOutcome.Planned planned && pays(planned.plan(), search)
            ? planned.plan()
            : search.beats();
    PlanningOutcome other = planner.plan(search.request().teaching());
    return other instanceof PlanningOutcome.Planned planned
            && planned.plan().predictedMs() <= cheapest.predictedMs() * (1 + settings.exploration())
            && planned.plan().prediction().insight().uncertaintyMs()
                > cheapest.prediction().insight().uncertaintyMs()
        ? other
        : best;
  }

  /**
   * Stores the plan of a background search.
   *
   * @return the plan, if the search's input is still current and the gain pays for the moves
   */
  public Optional<PlanningOutcome.Planned> finish(
      PlanningTables store, SearchTask search, PlanningOutcome outcome) {
    String id = search.request().workloadId();
    PlanningState header = store.header(id);
    if (header.state() != PendingWork.BACKGROUND_SEARCH_DUE
        || !header.predicted().equals(Optional.of(search.request().predicted()))
        || !header.plans().latest().equals(Optional.of(search.beats().planId()))
        || !header.plans().running().equals(search.running())) {
      return Optional.empty();
    }
    Optional<PlanningOutcome.Planned> better =
        Optional.of(outcome)
            .filter(PlanningOutcome.Planned.class::isInstance)
            .map(PlanningOutcome.Planned.class::cast)
            .filter(of -> of.plan().isExploratory() || pays(of.plan(), search));
    remember(store, id, header.with().state(PendingWork.IDLE).build(), better);
    return better;
  }

  private boolean pays(ShardingPlan plan, SearchTask search) {
    SearchSettings deep = search.request().settings();
    ShardingPlan beats = search.beats();
    boolean runs = search.running().equals(Optional.of(beats.planId()));
    return settings.pays(
        deep,
        beats.predictedMs(),
        runs ? 0 : deep.moveMs(beats.transition().moves()),
        plan.predictedMs(),
        plan.transition().moves());
  }

  /**
   * Stores a trainer's report.
   *
   * @return which plan runs now
   * @throws RejectedException if the plan is not stored, or the status is late
   */
  public AcceptedStatus report(PlanningTables store, PlanStatus status) {
    String id = status.workloadId();
    PlanningState header = store.header(id);
    header.plans().check(status);
    PlanHistory plans = header.plans().reported(status, previousOf(store, id));
    store.putHeader(id, header.with().plans(plans).build());
    return AcceptedStatus.of(id, Optional.of(status), plans);
  }

  /**
   * Stores the speeds of a workload's devices. They replan the latest generation, if it has a plan.
   *
   * @return the workload's new header; {@link PlanningState#isDue} if a plan is due
   * @throws RejectedException if the workload or a device is unknown
   */
  public PlanningState onSpeeds(PlanningTables store, DeviceSpeeds speeds) {
    String id = speeds.workloadId();
    PlanningState before = store.header(id);
    PredictedGeneration predicted =
        before
            .predicted()
            .orElseThrow(
                () ->
                    RejectionReason.UNKNOWN_WORKLOAD.failure(
                        "workload of device speeds must have predictions, got unknown or deleted workload \"%s\""
                            .formatted(id)));
    speeds.check(predicted.cluster().devices());
    boolean isPlanned =
        store.latest(id).filter(plan -> plan.generation() == predicted.generation()).isPresent();
    PlanningState after = before.with(speeds.slow(), isPlanned);
    store.putHeader(id, after);
    return after;
  }

  private Planner.Request request(
      PlanningTables store,
      String workloadId,
      long firstGeneration,
      Effort effort,
      SearchSettings search) {
    PlanningState header = store.header(workloadId);
    PredictedGeneration predicted = header.predicted().orElseThrow();
    return new Planner.Request(
        workloadId,
        firstGeneration,
        predicted,
        List.copyOf(store.tables().range(workloadId).values()),
        store.running(workloadId),
        effort,
        search,
        models.get(predicted.modelId()),
        header.slow());
  }

  private static Function<String, Optional<String>> previousOf(PlanningTables store, String id) {
    return plan -> store.plans().get(id, plan).flatMap(p -> p.origin().previousPlanId());
  }

  /**
   * Stores a header and, of an outcome with one, the plan as the latest; removes the oldest ones
   * that nothing runs or returns to.
   */
  private static void remember(
      PlanningTables store,
      String id,
      PlanningState header,
      Optional<? extends PlanningOutcome> outcome) {
    PlanningState after = header;
    if (outcome.orElse(null) instanceof PlanningOutcome.Planned planned) {
      String planId = planned.plan().planId();
      store.plans().put(id, planId, planned.plan());
      PlanHistory plans =
          header
              .plans()
              .with(planId, previousOf(store, id), other -> store.plans().delete(id, other));
      after = header.with().plans(plans).build();
    }
    store.putHeader(id, after);
  }
}
