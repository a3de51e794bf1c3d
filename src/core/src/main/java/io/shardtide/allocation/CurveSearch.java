package io.shardtide.allocation;

import io.shardtide.allocation.Curve.Effort;
import io.shardtide.allocation.Curve.SearchedPoint;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Predicts a workload's throughput by number of devices, at powers of two nodes and at one and a
 * half times each: first by a quick search that begins with the plan that was found there for the
 * generation before, and later, point by point, by the search of {@code plan}, from scratch. Of
 * several results, that of the running plan among them, the best counts, and one of fewer devices
 * where it is better: a workload need not use all devices that it has.
 *
 * @param predictor predicts the tables' costs
 * @param model the same model
 * @param refinement settings of searches from scratch
 */
public record CurveSearch(TowerPredictor predictor, CostModel model, SearchSettings refinement) {

  /**
   * Returns numbers of devices at which a claim's curve is searched, ascending: its least and most,
   * and powers of two nodes and one and a half times each between them.
   */
  public static SortedSet<Integer> devices(Pool pool, Claim claim) {
    int least = pool.nodesFor(claim.leastDevices());
    int most = Math.min(pool.nodesFor(claim.mostDevices()), Math.max(1, pool.nodes().size()));
    SortedSet<Integer> devices = new TreeSet<>();
    for (int nodes = 1; nodes <= most; nodes *= 2) {
      for (int of : new int[] {nodes, nodes + nodes / 2}) {
        if (of >= least && of <= most) {
          devices.add(pool.devices(claim, of));
        }
      }
    }
    devices.add(pool.devices(claim, least));
    devices.add(pool.devices(claim, Math.max(least, most)));
    return devices;
  }

  /** Returns a curve with what was requested and unknown, by quick searches. */
  public Curve complete(Curve curve) {
    SortedMap<Integer, SearchedPoint> points = new TreeMap<>(curve.points());
    points.replaceAll(
        (devices, point) ->
            point.effort() == Effort.UNKNOWN
                ? search(curve, devices, point.plan(), SearchSettings.QUICK)
                    .map(plan -> point(Effort.QUICK, plan))
                    .orElse(
                        new SearchedPoint(Effort.QUICK, OptionalDouble.empty(), PlanShards.NONE))
                : point);
    return curve.with(points);
  }

  /**
   * Returns a curve of which all is known, after the first number of devices where that was not
   * done yet was searched from scratch. It is nowhere worse.
   */
  public Curve refine(Curve curve) {
    SortedMap<Integer, SearchedPoint> points = new TreeMap<>(curve.points());
    curve
        .next(Effort.QUICK)
        .ifPresent(
            devices -> points.computeIfPresent(devices, (d, quick) -> refine(curve, d, quick)));
    return curve.with(points);
  }

  private SearchedPoint refine(Curve curve, int devices, SearchedPoint quick) {
    return search(curve, devices, PlanShards.NONE, refinement)
        .filter(plan -> plan.predictedMs() < quick.stepMs().orElse(Double.POSITIVE_INFINITY))
        .map(plan -> point(Effort.REFINED, plan))
        .orElse(new SearchedPoint(Effort.REFINED, quick.stepMs(), quick.plan()));
  }

  private static SearchedPoint point(Effort effort, SearchResult.Found plan) {
    return new SearchedPoint(effort, OptionalDouble.of(plan.predictedMs()), plan.placed());
  }

  private Optional<SearchResult.Found> search(
      Curve curve, int devices, PlanShards running, SearchSettings settings) {
    return curve
        .request()
        .type()
        .clusterOf(curve.cluster(), devices)
        .map(
            cluster ->
                GroupSearch.search(
                    new GroupedProblem(
                        predictor.predict(curve.tables(), cluster),
                        cluster,
                        model,
                        running,
                        true,
                        List.of()),
                    settings))
        .filter(SearchResult.Found.class::isInstance)
        .map(SearchResult.Found.class::cast);
  }
}
