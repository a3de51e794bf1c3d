package io.shardtide.allocation;

import io.shardtide.plan.PlanShards;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SpecHash;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A workload's throughput on devices of a pool, as far as it is known.
 *
 * @param request what the pool requests
 * @param generation the workload's generation
 * @param cluster the workload's own cluster: batch, reserved memory, bytes on the wire
 * @param tables its tables, sorted by name
 * @param modelId the cost model
 * @param points what is known by number of devices: of all that are requested, and of plans that
 *     ran on others
 */
public record Curve(
    CurveRequest request,
    long generation,
    ClusterSpec cluster,
    List<TableSpec> tables,
    String modelId,
    SortedMap<Integer, SearchedPoint> points) {

  /** How a number of devices was searched. */
  public enum Effort {
    /** Not yet. */
    UNKNOWN,
    /** From a plan before, or the result is known from elsewhere. */
    QUICK,
    /** From scratch, as the command {@code plan} does. */
    REFINED
  }

  /**
   * What is known of a number of devices.
   *
   * @param effort how it was searched
   * @param stepMs step of the best plan that uses all devices, in milliseconds; empty if it is
   *     unknown or tables do not fit
   * @param plan the plan that was found last, for these tables or those before
   */
  public record SearchedPoint(Effort effort, OptionalDouble stepMs, PlanShards plan) {
    private static final SearchedPoint NONE =
        new SearchedPoint(Effort.UNKNOWN, OptionalDouble.empty(), PlanShards.NONE);
  }

  /** Sorts the tables; what is requested and not among the points is unknown. */
  public Curve {
    tables = tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
    SortedMap<Integer, SearchedPoint> all = new TreeMap<>(points);
    request.devices().forEach(devices -> all.putIfAbsent(devices, SearchedPoint.NONE));
    points = Collections.unmodifiableSortedMap(all);
  }

  Curve with(SortedMap<Integer, SearchedPoint> others) {
    return new Curve(request, generation, cluster, tables, modelId, others);
  }

  /** Returns the curve that was published of this input. */
  Curve published(ThroughputCurve curve) {
    SortedMap<Integer, SearchedPoint> known = new TreeMap<>();
    for (CurvePoint point : curve.points()) {
      known.put(point.devices(), new SearchedPoint(Effort.QUICK, point.stepMs(), PlanShards.NONE));
    }
    return new Curve(request, curve.generation(), curve.cluster(), tables, modelId, known);
  }

  /**
   * Returns this with what the curve before knows of the numbers of devices that are requested: if
   * tables, cluster and model changed, plans to begin with.
   */
  public Curve after(Curve before) {
    SortedMap<Integer, SearchedPoint> known = new TreeMap<>(before.points);
    known.keySet().retainAll(request.devices());
    if (!hasInputOf(before)) {
      known.replaceAll(
          (devices, point) ->
              new SearchedPoint(Effort.UNKNOWN, OptionalDouble.empty(), point.plan()));
    }
    return with(known);
  }

  /**
   * Returns this with the step of the workload's plan, if it is of this input and better: the
   * background search may have found it.
   */
  Curve after(RunningPlan plan) {
    if (plan.generation() != generation
        || !plan.modelId().equals(modelId)
        || plan.devices() < request.devices().get(0)
        || !request.type().clusterOf(cluster, plan.devices()).equals(Optional.of(cluster))) {
      return this;
    }
    ThroughputCurve curve = throughput();
    OptionalDouble samples = curve.samplesPerSecond(plan.devices());
    if (samples.isPresent()
        && curve.samplesPerSecond(OptionalDouble.of(plan.stepMs())).getAsDouble()
            <= samples.getAsDouble()) {
      return this;
    }
    SortedMap<Integer, SearchedPoint> better = new TreeMap<>(points);
    better.merge(
        plan.devices(),
        new SearchedPoint(Effort.QUICK, OptionalDouble.of(plan.stepMs()), PlanShards.NONE),
        (known, of) -> new SearchedPoint(known.effort(), of.stepMs(), known.plan()));
    return with(better);
  }

  /** Returns whether another curve is of the same tables, devices and model. */
  boolean hasInputOf(Curve other) {
    return modelId.equals(other.modelId)
        && node().equals(other.node())
        && tables.equals(other.tables);
  }

  /**
   * Returns whether the points begin where the request does. Those of a published curve may be of
   * fewer devices, which must still be requested.
   */
  boolean isFromFirst() {
    return points.firstKey().equals(request.devices().get(0));
  }

  /** Returns whether all that is requested was searched. */
  boolean isKnown() {
    return next(Effort.UNKNOWN).isEmpty();
  }

  /** Returns whether all that is requested was searched from scratch. */
  boolean isRefined() {
    return isKnown() && next(Effort.QUICK).isEmpty();
  }

  /** Returns the first requested number of devices that was searched so. */
  Optional<Integer> next(Effort effort) {
    return request.devices().stream()
        .filter(devices -> points.get(devices).effort() == effort)
        .findFirst();
  }

  /** Returns a node of the pool as a cluster; empty if the workload reserves all its memory. */
  Optional<ClusterSpec> node() {
    return request.type().clusterOf(cluster, request.type().devicesPerNode());
  }

  /**
   * Returns what is published. A step of fewer devices counts where it is better: a workload need
   * not use all devices that it has.
   */
  public ThroughputCurve throughput() {
    List<CurvePoint> best = new ArrayList<>();
    OptionalDouble least = OptionalDouble.empty();
    for (Map.Entry<Integer, SearchedPoint> point : points.entrySet()) {
      OptionalDouble stepMs = point.getValue().stepMs();
      if (least.isEmpty() || (stepMs.isPresent() && stepMs.getAsDouble() < least.getAsDouble())) {
        least = stepMs;
      }
      best.add(new CurvePoint(point.getKey(), least));
    }
    return new ThroughputCurve(request.workloadId(), generation, modelId, cluster, best);
  }

  /** Returns the SHA-256 of what the steps depend on. */
  String inputId() {
    CanonicalHash hash = new CanonicalHash("curve input 2").put(node().isPresent());
    SpecHash.put(hash, node().orElse(cluster));
    return hash.putAll(tables, table -> SpecHash.put(hash, table)).put(modelId).hex();
  }
}
