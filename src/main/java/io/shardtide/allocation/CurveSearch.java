package io.shardtide.allocation;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.Claim;
import io.shardtide.domain.pool.CurvePoint;
import io.shardtide.domain.pool.CurveRequest;
import io.shardtide.domain.pool.Pool;
import io.shardtide.domain.pool.ThroughputCurve;
import io.shardtide.search.SearchResult;
import io.shardtide.search.groups.GroupSearch;
import io.shardtide.search.groups.GroupedProblem;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Predicts a workload's throughput by number of devices: a quick search at powers of two nodes, and
 * at one and a half times each, which begins with the plan that was found there for the generation
 * before.
 */
public final class CurveSearch {
  private final TowerPredictor predictor;
  private final CostModel model;
  private final SearchSettings settings;

  /**
   * A curve, and what the next one begins with.
   *
   * @param curve the curve
   * @param cluster the workload's cluster that it was searched for
   * @param tables the tables that it was searched for, sorted by name
   * @param plans the plan found at each number of devices
   */
  public record SearchedCurve(
      ThroughputCurve curve,
      ClusterSpec cluster,
      List<TableSpec> tables,
      SortedMap<Integer, PlanShards> plans) {}

  /**
   * @param predictor predicts the tables' costs
   * @param model the same model
   * @param settings settings of each search
   */
  public CurveSearch(TowerPredictor predictor, CostModel model, SearchSettings settings) {
    this.predictor = predictor;
    this.model = model;
    this.settings = settings;
  }

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
          devices.add(devices(pool, claim, of));
        }
      }
    }
    devices.add(devices(pool, claim, least));
    devices.add(devices(pool, claim, Math.max(least, most)));
    return devices;
  }

  private static int devices(Pool pool, Claim claim, int nodes) {
    return Math.min(nodes * pool.devicesPerNode(), claim.mostDevices());
  }

  /**
   * Searches a curve.
   *
   * @param pool the pool
   * @param claim the workload's claim
   * @param generation the workload's generation
   * @param workload the workload's own cluster: batch, reserved memory, bytes on the wire
   * @param tables the tables, in any order
   * @param before the workload's curve before; nothing is searched again where tables, cluster and
   *     model are the same
   * @throws io.shardtide.domain.RejectedException if the workload reserves all memory of a device
   */
  public SearchedCurve search(
      Pool pool,
      Claim claim,
      long generation,
      ClusterSpec workload,
      List<TableSpec> tables,
      Optional<SearchedCurve> before) {
    CurveRequest request =
        CurveRequest.of("", claim.workloadId(), pool, List.copyOf(devices(pool, claim)));
    return search(request, generation, workload, tables, before);
  }

  /**
   * Searches the curve that a pool requests.
   *
   * @param request the request
   * @param generation the workload's generation
   * @param workload the workload's own cluster
   * @param tables the tables, in any order
   * @param before the workload's curve before
   * @throws io.shardtide.domain.RejectedException if the workload reserves all memory of a device
   */
  public SearchedCurve search(
      CurveRequest request,
      long generation,
      ClusterSpec workload,
      List<TableSpec> tables,
      Optional<SearchedCurve> before) {
    Pool pool = request.type();
    List<TableSpec> sorted = tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
    ClusterSpec whole = pool.cluster(workload, pool.devicesPerNode());
    Map<Integer, CurvePoint> known = known(before, whole, sorted);
    SortedMap<Integer, PlanShards> plans = new TreeMap<>();
    List<CurvePoint> points = new ArrayList<>();
    for (int devices : request.devices()) {
      PlanShards running =
          before.flatMap(b -> Optional.ofNullable(b.plans().get(devices))).orElse(PlanShards.NONE);
      CurvePoint point = known.get(devices);
      if (point == null) {
        SearchResult result = search(pool.cluster(workload, devices), sorted, running);
        if (result instanceof SearchResult.Found found) {
          running = found.placed();
          point = new CurvePoint(devices, OptionalDouble.of(found.predictedMs()));
        } else {
          running = PlanShards.NONE;
          point = new CurvePoint(devices, OptionalDouble.empty());
        }
      }
      points.add(point);
      if (!running.isEmpty()) {
        plans.put(devices, running);
      }
    }
    return new SearchedCurve(
        new ThroughputCurve(
            request.workloadId(), generation, predictor.modelId(), workload.batchSize(), points),
        whole,
        sorted,
        plans);
  }

  /** Returns points of a curve before that are still right. */
  private Map<Integer, CurvePoint> known(
      Optional<SearchedCurve> before, ClusterSpec cluster, List<TableSpec> tables) {
    Map<Integer, CurvePoint> known = new TreeMap<>();
    before
        .filter(b -> b.curve().modelId().equals(predictor.modelId()))
        .filter(b -> b.cluster().equals(cluster) && b.tables().equals(tables))
        .ifPresent(b -> b.curve().points().forEach(p -> known.put(p.devices(), p)));
    return known;
  }

  private SearchResult search(ClusterSpec cluster, List<TableSpec> tables, PlanShards running) {
    return GroupSearch.search(
        new GroupedProblem(
            predictor.predict(tables, cluster),
            cluster,
            model,
            running,
            settings.columnCuts(),
            true,
            List.of()),
        settings);
  }
}
