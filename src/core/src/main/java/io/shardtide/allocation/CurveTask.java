package io.shardtide.allocation;

import io.shardtide.allocation.CurveSearch.SearchedCurve;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.CurveRequest;
import java.util.List;
import java.util.Optional;

/**
 * A curve to search. It reads no store, so that it may run on another thread.
 *
 * @param request what a pool requests
 * @param generation the workload's generation
 * @param cluster the workload's cluster
 * @param tables its tables
 * @param predictor predicts the tables' costs
 * @param model the same model
 * @param before the curve before
 * @param inputId SHA-256 of tables, cluster and model
 * @param refines whether one more point of {@code before}, which is there then, is searched from
 *     scratch
 * @param running the workload's plan, if it is of this generation and the pool's devices
 */
public record CurveTask(
    CurveRequest request,
    long generation,
    ClusterSpec cluster,
    List<TableSpec> tables,
    TowerPredictor predictor,
    CostModel model,
    Optional<SearchedCurve> before,
    String inputId,
    boolean refines,
    Optional<RunningPlan> running) {}
