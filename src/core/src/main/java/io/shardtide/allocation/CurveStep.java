package io.shardtide.allocation;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.CurveState;
import io.shardtide.pool.Pool;
import io.shardtide.step.WorkloadTables;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Predicts the throughput of workloads that have a claim on a pool. A curve is searched again only
 * if tables, batch, devices or model changed; what is published is recorded, so that an allocation
 * and its replay need no cost model.
 *
 * @param predictors returns the current predictor of a cluster's hardware
 * @param models returns a cost model by its id
 * @param refinement settings of the searches from scratch; {@link SearchSettings#DEFAULTS} search
 *     as the command {@code plan} does
 */
public record CurveStep(
    Function<ClusterSpec, Optional<TowerPredictor>> predictors,
    Function<String, CostModel> models,
    SearchSettings refinement) {

  /**
   * Follows a workload.
   *
   * @return the report of its deletion, if it is deleted and a pool had its curve
   */
  public Optional<CurveReport> onPredictions(
      WorkloadTables<CurveState, TableSpec> store, CostPredictions part) {
    String id = part.workloadId();
    store.apply(part);
    if (!part.isLast()) {
      return Optional.empty();
    }
    CurveState header = store.header(id);
    if (!part.isDeletion()) {
      store.putHeader(id, header.with(part.generation(), Optional.of(part.cluster())));
      return Optional.empty();
    }
    CurveState deleted = header.with(part.generation(), Optional.empty());
    Optional<CurveReport> report =
        header
            .report()
            .filter(r -> r.curve().isPresent())
            .map(r -> new CurveReport(r.poolId(), id, Optional.empty()));
    store.putHeader(id, report.map(r -> deleted.with(r, "")).orElse(deleted));
    return report;
  }

  /**
   * Takes a pool's request.
   *
   * @throws RejectedException if the workload has a claim on another pool
   */
  public void onRequest(WorkloadTables<CurveState, TableSpec> store, CurveRequest request) {
    CurveState header = store.header(request.workloadId());
    Optional<CurveRequest> other =
        header.request().filter(r -> !r.poolId().equals(request.poolId()));
    if (other.isPresent()) {
      if (request.isWithdrawn()) {
        return;
      }
      throw RejectionReason.INVALID_CLAIM.failure(
          "workload %s must have a claim on one pool, got one on %s besides that on %s. Maybe withdraw one, then set the other again"
              .formatted(
                  Names.quote(request.workloadId()),
                  Names.quote(request.poolId()),
                  Names.quote(other.get().poolId())));
    }
    store.putHeader(request.workloadId(), header.with(request));
  }

  /**
   * Returns what to search next of a workload's curve: all that is requested and unknown, or one
   * point from scratch.
   *
   * @param store state
   * @param workloadId the workload
   * @param before its curve before, if it is known; otherwise that of the state is used
   * @param running its latest plan, if it is known
   * @return empty if no pool requests it, it has no cluster or no tables, there is no model of the
   *     pool's hardware, or the curve that was published is current, all of it was searched from
   *     scratch, and it is not worse than the plan
   */
  public Optional<CurveTask> next(
      WorkloadTables<CurveState, TableSpec> store,
      String workloadId,
      Optional<Curve> before,
      Optional<RunningPlan> running) {
    CurveState header = store.header(workloadId);
    List<TableSpec> tables = List.copyOf(store.tables().range(workloadId).values());
    if (header.request().isEmpty() || header.cluster().isEmpty() || tables.isEmpty()) {
      return Optional.empty();
    }
    CurveRequest request = header.request().get();
    ClusterSpec cluster = header.cluster().get();
    Pool pool = request.type();
    return predictors
        .apply(pool.clusterOf(cluster, pool.devicesPerNode()).orElse(cluster))
        .flatMap(
            predictor -> {
              String modelId = predictor.modelId();
              Curve unknown =
                  new Curve(
                      request, header.generation(), cluster, tables, modelId, new TreeMap<>());
              Optional<Curve> published =
                  header
                      .report()
                      .flatMap(CurveReport::curve)
                      .filter(curve -> header.inputId().equals(unknown.inputId()))
                      .map(unknown::published)
                      .filter(Curve::isFromFirst);
              boolean refines =
                  published.filter(p -> p.isKnown() && p.cluster().equals(cluster)).isPresent();
              Curve known =
                  refines
                      ? refinable(unknown, before, published.get(), running)
                      : before.or(() -> published).map(unknown::after).orElse(unknown);
              return refines
                      && (unknown.node().isEmpty()
                          || (known.isRefined() && isPublished(header, known)))
                  ? Optional.empty()
                  : Optional.of(
                      new CurveTask(
                          known,
                          new CurveSearch(predictor, models.apply(modelId), refinement),
                          refines));
            });
  }

  private static Curve refinable(
      Curve unknown, Optional<Curve> before, Curve published, Optional<RunningPlan> running) {
    Curve known =
        unknown.with(
            before
                .filter(b -> b.hasInputOf(unknown))
                .map(b -> unknown.with(b.points()))
                .filter(b -> b.isKnown() && b.isFromFirst())
                .orElse(published)
                .points());
    return running.map(known::after).orElse(known);
  }

  /**
   * Takes the result of a search.
   *
   * @return the report to publish; empty if the request was replaced or the workload deleted
   *     meanwhile, or if a refinement is not complete yet, is of a generation before or has found
   *     nothing better
   */
  public Optional<CurveReport> finish(
      WorkloadTables<CurveState, TableSpec> store, CurveTask task, Curve searched) {
    CurveRequest request = searched.request();
    CurveState header = store.header(request.workloadId());
    if (!header.request().equals(Optional.of(request))
        || header.cluster().isEmpty()
        || (task.refines()
            && (header.generation() != searched.generation()
                || !searched.isRefined()
                || isPublished(header, searched)))) {
      return Optional.empty();
    }
    CurveReport report =
        new CurveReport(request.poolId(), request.workloadId(), Optional.of(searched.throughput()));
    store.putHeader(request.workloadId(), header.with(report, searched.inputId()));
    return Optional.of(report);
  }

  private static boolean isPublished(CurveState header, Curve searched) {
    return header
        .report()
        .flatMap(CurveReport::curve)
        .filter(curve -> curve.points().equals(searched.throughput().points()))
        .isPresent();
  }
}
