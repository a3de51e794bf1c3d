package io.shardtide.allocation;

import io.shardtide.allocation.CurveSearch.SearchedCurve;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Names;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.SpecHash;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.CurvePoint;
import io.shardtide.domain.pool.CurveReport;
import io.shardtide.domain.pool.CurveReport.PredictedCurve;
import io.shardtide.domain.pool.CurveRequest;
import io.shardtide.domain.pool.CurveState;
import io.shardtide.domain.pool.ThroughputCurve;
import io.shardtide.step.WorkloadTables;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * Predicts the throughput of workloads that have a claim on a pool. A curve is searched again only
 * if tables, batch, devices or model changed; what is published is recorded, so that an allocation
 * and its replay need no cost model.
 */
public final class CurveStep {
  private final Function<ClusterSpec, Optional<TowerPredictor>> predictors;
  private final Function<String, CostModel> models;
  private final SearchSettings refinement;

  /**
   * Searches from scratch as the command {@code plan} does.
   *
   * @param predictors returns the current predictor of a cluster's hardware
   * @param models returns a cost model by its id
   */
  public CurveStep(
      Function<ClusterSpec, Optional<TowerPredictor>> predictors,
      Function<String, CostModel> models) {
    this(predictors, models, SearchSettings.DEFAULTS);
  }

  /**
   * @param predictors returns the current predictor of a cluster's hardware
   * @param models returns a cost model by its id
   * @param refinement settings of the searches from scratch
   */
  public CurveStep(
      Function<ClusterSpec, Optional<TowerPredictor>> predictors,
      Function<String, CostModel> models,
      SearchSettings refinement) {
    this.predictors = predictors;
    this.models = models;
    this.refinement = refinement;
  }

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
            .filter(r -> r.predicted().isPresent())
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
      throw new RejectedException(
          RejectionReason.INVALID_CLAIM,
          "workload %s must have a claim on one pool, got one on %s besides that on %s. Maybe withdraw one, then set the other again"
              .formatted(
                  Names.quote(request.workloadId()),
                  Names.quote(request.poolId()),
                  Names.quote(other.get().poolId())));
    }
    store.putHeader(request.workloadId(), header.with(request));
  }

  /**
   * Returns the curve to search for a workload.
   *
   * @param store state
   * @param workloadId the workload
   * @param before its curve before, if it is known; otherwise that of the state is used
   * @return empty if no pool requests it, it has no cluster or no tables, there is no model of the
   *     pool's hardware, or the curve that was published is current
   */
  public Optional<CurveTask> task(
      WorkloadTables<CurveState, TableSpec> store,
      String workloadId,
      Optional<SearchedCurve> before) {
    return task(store, workloadId, before, false, Optional.empty());
  }

  /**
   * Returns the current curve of a workload to search another point of from scratch.
   *
   * @param store state
   * @param workloadId the workload
   * @param before its curve before, if it is known; otherwise that of the state is used
   * @param running its latest plan, if it is known
   * @return empty if no curve is published, it is not current, or all of it was searched from
   *     scratch, is not worse than the plan, and is published
   */
  public Optional<CurveTask> refinement(
      WorkloadTables<CurveState, TableSpec> store,
      String workloadId,
      Optional<SearchedCurve> before,
      Optional<RunningPlan> running) {
    return task(store, workloadId, before, true, running)
        .filter(
            task -> {
              SearchedCurve known = task.before().orElseThrow();
              return !known.isRefined(task.request())
                  || task.running().filter(known::isWorseThan).isPresent()
                  || !isPublished(store.header(workloadId), known);
            });
  }

  /** Returns whether a plan is of the same model and generation, and on devices of the pool. */
  private static boolean isOfPool(RunningPlan plan, CurveState header, String modelId) {
    CurveRequest request = header.request().orElseThrow();
    ClusterSpec cluster = header.cluster().orElseThrow();
    return plan.generation() == header.generation()
        && plan.modelId().equals(modelId)
        && plan.devices() >= request.devices().get(0)
        && cluster.equals(request.type().cluster(cluster, plan.devices()));
  }

  private Optional<CurveTask> task(
      WorkloadTables<CurveState, TableSpec> store,
      String workloadId,
      Optional<SearchedCurve> before,
      boolean refines,
      Optional<RunningPlan> running) {
    CurveState header = store.header(workloadId);
    if (header.request().isEmpty() || header.cluster().isEmpty()) {
      return Optional.empty();
    }
    CurveRequest request = header.request().get();
    ClusterSpec cluster = header.cluster().get();
    Optional<ClusterSpec> whole = cluster(request, cluster);
    Optional<TowerPredictor> predictor = predictors.apply(whole.orElse(cluster));
    List<TableSpec> tables = List.copyOf(store.tables().range(workloadId).values());
    if (predictor.isEmpty() || tables.isEmpty()) {
      return Optional.empty();
    }
    String modelId = predictor.get().modelId();
    String inputId = inputId(whole, cluster, tables, modelId);
    Optional<PredictedCurve> published =
        header
            .report()
            .flatMap(CurveReport::predicted)
            .filter(p -> inputId.equals(header.inputId()));
    boolean current = published.filter(p -> isCurrent(p, request, cluster)).isPresent();
    if (refines ? !current || whole.isEmpty() : current) {
      return Optional.empty();
    }
    // Points of a published curve may be those of fewer devices, which must still be requested.
    Optional<SearchedCurve> known =
        published
            .filter(p -> whole.isPresent())
            .filter(p -> isFirst(p.curve(), request.devices().get(0)))
            .map(p -> SearchedCurve.published(p.curve(), whole.get(), tables));
    Optional<SearchedCurve> begin =
        refines
            ? before
                .filter(b -> b.isOf(modelId, whole.get(), tables))
                .filter(b -> b.found().keySet().containsAll(request.devices()))
                .filter(b -> isFirst(b.curve(), request.devices().get(0)))
                .or(() -> known)
            : before.or(() -> known);
    return Optional.of(
        new CurveTask(
            request,
            header.generation(),
            cluster,
            tables,
            predictor.get(),
            models.apply(modelId),
            begin,
            inputId,
            refines,
            running.filter(plan -> whole.isPresent() && isOfPool(plan, header, modelId))));
  }

  private static boolean isFirst(ThroughputCurve curve, int devices) {
    return curve.points().get(0).devices() == devices;
  }

  /** Searches a curve; reads and writes no state. */
  public SearchedCurve search(CurveTask task) {
    Optional<ClusterSpec> whole = cluster(task.request(), task.cluster());
    if (whole.isPresent()) {
      CurveSearch search = new CurveSearch(task.predictor(), task.model());
      return task.refines()
          ? search.refine(
              task.request(),
              task.generation(),
              task.cluster(),
              task.tables(),
              task.before().orElseThrow(),
              task.running(),
              refinement)
          : search.search(
              task.request(), task.generation(), task.cluster(), task.tables(), task.before());
    }
    return SearchedCurve.published(
        new ThroughputCurve(
            task.request().workloadId(),
            task.generation(),
            task.predictor().modelId(),
            task.cluster().batchSize(),
            task.request().devices().stream()
                .map(devices -> new CurvePoint(devices, OptionalDouble.empty()))
                .toList()),
        task.cluster(),
        task.tables());
  }

  /**
   * Takes the result of a search.
   *
   * @return the report to publish; empty if the request was replaced or the workload deleted
   *     meanwhile, or if a refinement is not complete yet, is of a generation before or has found
   *     nothing better
   */
  public Optional<CurveReport> finish(
      WorkloadTables<CurveState, TableSpec> store, CurveTask task, SearchedCurve searched) {
    String id = task.request().workloadId();
    CurveState header = store.header(id);
    if (!header.request().equals(Optional.of(task.request())) || header.cluster().isEmpty()) {
      return Optional.empty();
    }
    if (task.refines()
        && (header.generation() != task.generation()
            || !searched.isRefined(task.request())
            || isPublished(header, searched))) {
      return Optional.empty();
    }
    CurveReport report =
        new CurveReport(
            task.request().poolId(),
            id,
            Optional.of(new PredictedCurve(task.cluster(), searched.curve())));
    store.putHeader(id, header.with(report, task.inputId()));
    return Optional.of(report);
  }

  private static boolean isPublished(CurveState header, SearchedCurve searched) {
    return header
        .report()
        .flatMap(CurveReport::curve)
        .filter(curve -> curve.points().equals(searched.curve().points()))
        .isPresent();
  }

  private static boolean isCurrent(
      PredictedCurve published, CurveRequest request, ClusterSpec cluster) {
    List<CurvePoint> points = published.curve().points();
    return published.cluster().equals(cluster)
        && isFirst(published.curve(), request.devices().get(0))
        && points.stream().map(CurvePoint::devices).toList().containsAll(request.devices());
  }

  /** Returns a node of the pool as a cluster; empty if the workload reserves all its memory. */
  private static Optional<ClusterSpec> cluster(CurveRequest request, ClusterSpec workload) {
    try {
      return Optional.of(request.type().cluster(workload, request.type().devicesPerNode()));
    } catch (RejectedException e) {
      return Optional.empty();
    }
  }

  /** Returns an id of what a curve is searched from; tables are sorted. */
  static String inputId(
      Optional<ClusterSpec> whole, ClusterSpec cluster, List<TableSpec> tables, String modelId) {
    CanonicalHash hash = new CanonicalHash("curve input 2").put(whole.isPresent() ? 1 : 0);
    SpecHash.put(hash, whole.orElse(cluster));
    return hash.putAll(tables, table -> SpecHash.put(hash, table)).put(modelId).hex();
  }
}
