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
 */
public final class CurveSearch {
  private final TowerPredictor predictor;
  private final CostModel model;

  /**
   * A curve, and what the next one begins with.
   *
   * @param curve the curve
   * @param cluster the workload's cluster that it was searched for
   * @param tables the tables that it was searched for, sorted by name
   * @param found the best plan's step at each number of devices, all of which it uses
   * @param plans the plan found at each number of devices
   * @param refined numbers of devices that were searched from scratch
   */
  public record SearchedCurve(
      ThroughputCurve curve,
      ClusterSpec cluster,
      List<TableSpec> tables,
      SortedMap<Integer, CurvePoint> found,
      SortedMap<Integer, PlanShards> plans,
      SortedSet<Integer> refined) {

    /** Returns a curve that was published, whose plans are not known. */
    static SearchedCurve published(
        ThroughputCurve curve, ClusterSpec cluster, List<TableSpec> tables) {
      SortedMap<Integer, CurvePoint> points = new TreeMap<>();
      curve.points().forEach(point -> points.put(point.devices(), point));
      return new SearchedCurve(curve, cluster, tables, points, new TreeMap<>(), new TreeSet<>());
    }

    /** Returns whether all that a pool requests was searched from scratch. */
    boolean isRefined(CurveRequest request) {
      return refined.containsAll(request.devices());
    }

    /** Returns whether a plan of the same input is better. */
    boolean isWorseThan(RunningPlan plan) {
      OptionalDouble samples = curve.samplesPerSecond(plan.devices());
      return samples.isEmpty() || curve.batchSize() * 1e3 / plan.stepMs() > samples.getAsDouble();
    }

    /** Returns whether it was searched for the same input. */
    boolean isOf(String modelId, ClusterSpec otherCluster, List<TableSpec> otherTables) {
      return curve.modelId().equals(modelId)
          && cluster.equals(otherCluster)
          && tables.equals(otherTables);
    }
  }

  /**
   * @param predictor predicts the tables' costs
   * @param model the same model
   */
  public CurveSearch(TowerPredictor predictor, CostModel model) {
    this.predictor = predictor;
    this.model = model;
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
   * Searches the curve that a pool requests.
   *
   * @param request the request
   * @param generation the workload's generation
   * @param workload the workload's own cluster: batch, reserved memory, bytes on the wire
   * @param tables the tables, in any order
   * @param before the workload's curve before; nothing is searched again where tables, cluster and
   *     model are the same
   * @throws io.shardtide.domain.RejectedException if the workload reserves all memory of a device
   */
  public SearchedCurve search(
      CurveRequest request,
      long generation,
      ClusterSpec workload,
      List<TableSpec> tables,
      Optional<SearchedCurve> before) {
    Pool pool = request.type();
    List<TableSpec> sorted = sorted(tables);
    ClusterSpec whole = pool.cluster(workload, pool.devicesPerNode());
    Optional<SearchedCurve> same = before.filter(b -> b.isOf(predictor.modelId(), whole, sorted));
    SortedMap<Integer, CurvePoint> found = new TreeMap<>();
    SortedMap<Integer, PlanShards> plans = new TreeMap<>();
    SortedSet<Integer> refined = new TreeSet<>();
    for (int devices : request.devices()) {
      same.filter(s -> s.refined().contains(devices)).ifPresent(s -> refined.add(devices));
      PlanShards running =
          before.flatMap(b -> Optional.ofNullable(b.plans().get(devices))).orElse(PlanShards.NONE);
      CurvePoint known = same.map(s -> s.found().get(devices)).orElse(null);
      if (known == null) {
        search(pool.cluster(workload, devices), sorted, running, SearchSettings.QUICK)
            .ifPresentOrElse(
                plan -> {
                  found.put(devices, point(devices, plan));
                  plans.put(devices, plan.placed());
                },
                () -> found.put(devices, new CurvePoint(devices, OptionalDouble.empty())));
      } else {
        found.put(devices, known);
        if (!running.isEmpty()) {
          plans.put(devices, running);
        }
      }
    }
    return searched(request, generation, workload, whole, sorted, found, plans, refined);
  }

  /**
   * Searches the first number of devices from scratch where that was not done yet.
   *
   * @param request the request, at whose numbers of devices the curve before was searched
   * @param generation the workload's generation
   * @param workload the workload's own cluster
   * @param tables the tables, in any order
   * @param before the curve of the same input
   * @param running the running plan of the same input, if there is one
   * @param settings settings of the search
   * @return a curve that is nowhere worse
   * @throws io.shardtide.domain.RejectedException if the workload reserves all memory of a device
   */
  public SearchedCurve refine(
      CurveRequest request,
      long generation,
      ClusterSpec workload,
      List<TableSpec> tables,
      SearchedCurve before,
      Optional<RunningPlan> running,
      SearchSettings settings) {
    Pool pool = request.type();
    List<TableSpec> sorted = sorted(tables);
    SortedMap<Integer, CurvePoint> found = new TreeMap<>(before.found());
    SortedMap<Integer, PlanShards> plans = new TreeMap<>(before.plans());
    SortedSet<Integer> refined = new TreeSet<>(before.refined());
    running
        .filter(before::isWorseThan)
        .ifPresent(
            plan ->
                found.put(
                    plan.devices(),
                    new CurvePoint(plan.devices(), OptionalDouble.of(plan.stepMs()))));
    Optional<Integer> next =
        request.devices().stream().filter(devices -> !refined.contains(devices)).findFirst();
    if (next.isPresent()) {
      int devices = next.get();
      refined.add(devices);
      search(pool.cluster(workload, devices), sorted, PlanShards.NONE, settings)
          .filter(plan -> isBetter(plan, found.get(devices)))
          .ifPresent(
              plan -> {
                found.put(devices, point(devices, plan));
                plans.put(devices, plan.placed());
              });
    }
    ClusterSpec whole = pool.cluster(workload, pool.devicesPerNode());
    return searched(request, generation, workload, whole, sorted, found, plans, refined);
  }

  private static boolean isBetter(SearchResult.Found plan, CurvePoint than) {
    return than.stepMs().isEmpty() || plan.predictedMs() < than.stepMs().getAsDouble();
  }

  private static CurvePoint point(int devices, SearchResult.Found plan) {
    return new CurvePoint(devices, OptionalDouble.of(plan.predictedMs()));
  }

  private static List<TableSpec> sorted(List<TableSpec> tables) {
    return tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
  }

  private SearchedCurve searched(
      CurveRequest request,
      long generation,
      ClusterSpec workload,
      ClusterSpec whole,
      List<TableSpec> tables,
      SortedMap<Integer, CurvePoint> found,
      SortedMap<Integer, PlanShards> plans,
      SortedSet<Integer> refined) {
    List<CurvePoint> points = new ArrayList<>();
    OptionalDouble best = OptionalDouble.empty();
    for (CurvePoint point : found.values()) {
      if (best.isEmpty()
          || (point.stepMs().isPresent() && point.stepMs().getAsDouble() < best.getAsDouble())) {
        best = point.stepMs();
      }
      points.add(new CurvePoint(point.devices(), best));
    }
    return new SearchedCurve(
        new ThroughputCurve(
            request.workloadId(), generation, predictor.modelId(), workload.batchSize(), points),
        whole,
        tables,
        found,
        plans,
        refined);
  }

  private Optional<SearchResult.Found> search(
      ClusterSpec cluster, List<TableSpec> tables, PlanShards running, SearchSettings settings) {
    SearchResult result =
        GroupSearch.search(
            new GroupedProblem(
                predictor.predict(tables, cluster), cluster, model, running, true, List.of()),
            settings);
    return Optional.of(result)
        .filter(SearchResult.Found.class::isInstance)
        .map(SearchResult.Found.class::cast);
  }
}
