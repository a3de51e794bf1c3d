package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.DatedTable;
import io.shardtide.domain.Direction;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;

/**
 * A measured plan whose measurement is comparable with its predictions.
 *
 * @param plan the plan that ran
 * @param cluster the workload's cluster
 * @param shards shards by device number, without devices that have none
 * @param comparison measured and predicted costs
 */
record MeasuredPlan(
    ShardingPlan plan,
    ClusterSpec cluster,
    SortedMap<Integer, List<TableSpec>> shards,
    CostComparison comparison) {

  /**
   * Combines a measurement with its plan.
   *
   * @throws RejectedException if they cannot be compared: another number of devices, tables, batch
   *     size or hardware that changed since the plan, a collective that the plan does not need, or
   *     implausible costs
   */
  static MeasuredPlan of(
      FeedbackStore store, FeedbackHeader header, ShardingPlan plan, MeasuredCosts measured) {
    int devices = plan.deviceCosts().size();
    if (measured.devices().size() != devices) {
      throw incomparable(
          "A measurement must have one entry for each of the plan's %d devices, got %d"
              .formatted(devices, measured.devices().size()));
    }
    if (header.cluster().isEmpty() || header.batchSince() > plan.generation()) {
      throw incomparable(
          "A measured plan must not be older than the last change of batch size, hardware or bytes on the wire, in generation %d; got generation %d"
              .formatted(header.batchSince(), plan.generation()));
    }
    SortedMap<Integer, List<TableSpec>> shards = new TreeMap<>();
    for (Shard shard : plan.shards()) {
      TableSpec columns = table(store, plan, shard.table()).withColumns(shard.columns());
      shard
          .holders(devices)
          .forEach(d -> shards.computeIfAbsent(d, i -> new ArrayList<>()).add(columns));
    }
    for (int d = 0; d < devices; d++) {
      double computeMs = measured.devices().get(d).computeMs();
      if (shards.containsKey(d) != (computeMs > 0)) {
        throw incomparable(
            "The computation of device %d must be %s, got %s ms"
                .formatted(
                    d,
                    shards.containsKey(d)
                        ? "above 0 ms, since the plan has shards on it"
                        : "0 ms, since the plan has no shards on it",
                    computeMs));
      }
    }
    CostComparison comparison =
        new CostComparison(
            plan.deviceCosts().stream()
                .map(c -> new MeasuredDevice(c.computeMs(), c.forwardCommMs(), c.backwardCommMs()))
                .toList(),
            measured.devices());
    comparison.check();
    MeasuredPlan comparable = new MeasuredPlan(plan, header.cluster().get(), shards, comparison);
    comparable.check(measured.collectives());
    return comparable;
  }

  private void check(List<MeasuredCollective> collectives) {
    Set<ShardScope> scopes = EnumSet.noneOf(ShardScope.class);
    plan.shards().forEach(shard -> scopes.add(shard.kind().scope()));
    for (MeasuredCollective collective : collectives) {
      if (!shards.isEmpty() && !scopes.contains(collective.scope())) {
        throw incomparable(
            "The plan needs no %s for scope %s; the collectives must be for scope %s"
                .formatted(
                    collective.collective().fileName(),
                    collective.scope().fileName(),
                    scopes.stream().map(ShardScope::fileName).collect(Collectors.joining(" or "))));
      }
      if (collective.scope() == ShardScope.DEVICE && hasAllToAll()) {
        checkAllToAll(collective);
      }
    }
  }

  private static void checkAllToAll(MeasuredCollective allToAll) {
    for (int d = 0; d < allToAll.ms().size(); d++) {
      if (!(allToAll.ms().get(d) > 0)) {
        throw incomparable(
            "The %s on device %d must be above 0 ms, since the plan has shards, got %s ms"
                .formatted(allToAll.shown(), d, allToAll.ms().get(d)));
      }
    }
  }

  private static TableSpec table(FeedbackStore store, ShardingPlan plan, String name) {
    DatedTable table = store.table(plan.workloadId(), name).orElse(null);
    if (table == null || table.since() > plan.generation()) {
      throw incomparable(
          "Table %s %s since the plan's generation %d; a measured plan must have the current tables"
              .formatted(name, table == null ? "was dropped" : "has changed", plan.generation()));
    }
    return table.table();
  }

  private static RejectedException incomparable(String message) {
    return new RejectedException(RejectionReason.INCOMPARABLE_MEASUREMENT, message);
  }

  /**
   * Returns training samples: the computation of each device, and the all-to-all if there is one.
   *
   * @param useComputation whether to include the computation of a device
   * @param useAllToAll whether to include the all-to-all
   */
  List<CostSample> samples(
      MeasuredCosts measured, IntPredicate useComputation, boolean useAllToAll) {
    List<CostSample> samples = new ArrayList<>();
    shards.forEach(
        (device, specs) -> {
          if (useComputation.test(device)) {
            samples.add(
                sample(
                    measured,
                    new CostSample.Computation(
                        device,
                        specs,
                        measured.devices().get(device).computeMs(),
                        measured.devices().get(device).forwardComputeMs(),
                        plan.deviceCosts().get(device).computeMs())));
          }
        });
    if (useAllToAll && hasAllToAll()) {
      samples.add(
          sample(
              measured,
              new CostSample.AllToAll(
                  columns(),
                  cluster.devicesPerNode(),
                  cluster.forwardBytesPerElement(),
                  cluster.backwardBytesPerElement(),
                  measured.devices(),
                  comparison.predicted(),
                  allToAllMs(measured, Direction.FORWARD),
                  allToAllMs(measured, Direction.BACKWARD))));
    }
    return samples;
  }

  /** Returns whether a step has an all-to-all: more than one device, at least one shard. */
  boolean hasAllToAll() {
    return plan.deviceCosts().size() > 1 && !shards.isEmpty();
  }

  private static List<Double> allToAllMs(MeasuredCosts measured, Direction direction) {
    return measured
        .collectiveMs(ShardScope.DEVICE, Collective.ALL_TO_ALL, direction)
        .orElse(List.of());
  }

  private List<Integer> columns() {
    List<Integer> columns = new ArrayList<>();
    for (int d = 0; d < plan.deviceCosts().size(); d++) {
      columns.add(shards.getOrDefault(d, List.of()).stream().mapToInt(TableSpec::columns).sum());
    }
    return columns;
  }

  private CostSample sample(MeasuredCosts measured, CostSample.Cost cost) {
    return CostSampleBuilder.builder()
        .measurementId(measured.measurementId())
        .hardware(cluster.hardware())
        .workloadId(plan.workloadId())
        .planId(plan.planId())
        .modelId(plan.modelId())
        .source(measured.source())
        .batchSize(cluster.batchSize())
        .steps(measured.steps())
        .measuredAt(measured.measuredAt())
        .cost(cost)
        .build();
  }
}
