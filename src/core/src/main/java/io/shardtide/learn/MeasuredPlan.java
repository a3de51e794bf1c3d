package io.shardtide.learn;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.MeasuredCollectives;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.option.PlannedPart;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.FeedbackState;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.VersionedTable;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A measured plan whose measurement is comparable with its predictions.
 *
 * @param plan the plan that ran
 * @param cluster the workload's cluster with as many devices as the plan
 * @param shards shards by device number, without devices that have none
 * @param scopes whose collectives the shards take part in
 * @param comparison measured and predicted costs
 */
record MeasuredPlan(
    ShardingPlan plan,
    ClusterSpec cluster,
    SortedMap<Integer, List<DeviceShard>> shards,
    Set<ShardScope> scopes,
    CostComparison comparison) {

  /**
   * Combines a measurement with its plan.
   *
   * @throws RejectedException if they cannot be compared: another number of devices, tables, batch
   *     size or hardware that changed since the plan, a collective that the plan does not need, or
   *     implausible costs
   */
  static MeasuredPlan of(
      FeedbackTables store, FeedbackState header, ShardingPlan plan, MeasuredCosts measured) {
    int devices = plan.prediction().deviceCosts().size();
    if (measured.devices().size() != devices) {
      throw incomparable(
          "A measurement must have one entry for each of the plan's %s devices, got %s"
              .formatted(devices, measured.devices().size()));
    }
    if (header.cluster().isEmpty() || header.batchSince() > plan.generation()) {
      throw outdated(
          "A measured plan must not be older than the last change of batch size, hardware, devices per node or bytes on the wire, in generation %s; got generation %s"
              .formatted(header.batchSince(), plan.generation()));
    }
    ClusterSpec cluster = plan.placed().group(header.cluster().get());
    List<TableSpec> tables =
        plan.shards().stream()
            .map(Shard::table)
            .distinct()
            .map(name -> table(store, plan, name))
            .toList();
    SortedMap<Integer, List<DeviceShard>> shards = new TreeMap<>();
    Set<ShardScope> scopes = EnumSet.noneOf(ShardScope.class);
    for (PlannedPart of : PlannedPart.of(tables, plan.shards(), cluster)) {
      DeviceShard onDevice = DeviceShard.of(of.table(), of.part(), of.shard().device(), cluster);
      scopes.add(of.part().collectives(of.table()));
      of.shard()
          .holders(devices)
          .forEach(d -> shards.computeIfAbsent(d, device -> new ArrayList<>()).add(onDevice));
    }
    for (int d = 0; d < devices; d++) {
      double computeMs = measured.devices().get(d).computeMs();
      // A device without rows of a table that has too few of them for all still pools its outputs.
      boolean mayCompute = plan.prediction().deviceCosts().get(d).computeMs() > 0;
      if (shards.containsKey(d) ? !(computeMs > 0) : computeMs > 0 && !mayCompute) {
        throw incomparable(
            "The computation of device %s must be %s, got %s ms"
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
            Slowdowns.of(plan.origin().slow(), plan.placed())
                .healthy(plan.prediction().deviceCosts())
                .stream()
                .map(c -> new MeasuredDevice(c.computeMs(), c.forwardCommMs(), c.backwardCommMs()))
                .toList(),
            measured.devices());
    MeasuredPlan comparable = new MeasuredPlan(plan, cluster, shards, scopes, comparison);
    comparable.check(measured.collectives());
    return comparable;
  }

  private void check(List<MeasuredCollective> collectives) {
    for (MeasuredCollective collective : collectives) {
      if (!shards.isEmpty() && !scopes.contains(collective.scope())) {
        throw incomparable(
            "The plan needs no %s for scope %s; the collectives must be for scope %s"
                .formatted(
                    collective.collective().label(),
                    collective.scope().label(),
                    scopes.stream().map(ShardScope::label).collect(Collectors.joining(" or "))));
      }
      boolean isAllToAll = collective.scope() == ShardScope.DEVICE && communicates();
      for (int d = 0; isAllToAll && d < collective.ms().size(); d++) {
        if (!(collective.ms().get(d) > 0)) {
          throw incomparable(
              "The %s on device %s must be above 0 ms, since the plan has shards, got %s ms"
                  .formatted(collective.shown(), d, collective.ms().get(d)));
        }
      }
    }
  }

  private static TableSpec table(FeedbackTables store, ShardingPlan plan, String name) {
    VersionedTable table = store.tables().get(plan.workloadId(), name).orElse(null);
    if (table == null || table.since() > plan.generation()) {
      throw outdated(
          "Table %s %s since the plan's generation %s; a measured plan must have the current tables"
              .formatted(name, table == null ? "was dropped" : "has changed", plan.generation()));
    }
    return table.table();
  }

  private static RejectedException incomparable(String message) {
    return RejectionReason.INCOMPARABLE_MEASUREMENT.failure(message);
  }

  private static RejectedException outdated(String message) {
    return RejectionReason.OUTDATED_MEASUREMENT.failure(message);
  }

  /** Returns training samples: the computation of each device, and what they communicate. */
  List<CostSample> samples(MeasuredCosts measured) {
    List<CostSample> samples = new ArrayList<>();
    shards.forEach(
        (device, held) ->
            samples.add(
                sample(
                    measured,
                    new CostSample.Computation(
                        device,
                        held,
                        measured.devices().get(device).computeMs(),
                        measured.devices().get(device).forwardComputeMs(),
                        comparison.predicted().get(device).computeMs()))));
    communication(measured).ifPresent(cost -> samples.add(sample(measured, cost)));
    return samples;
  }

  /** Returns the communication as a training sample, if there is any. */
  private Optional<CostSample.StepCommunication> communication(MeasuredCosts measured) {
    StepCollectives collectives = StepCollectives.of(cluster, plan);
    // Samples tell what is sent by columns, which says nothing of other outputs, nor of coding.
    if (!communicates() || !haveOneOutputPerSample() || collectives.takeCodingTime()) {
      return Optional.empty();
    }
    MeasuredCollectives measurable = new MeasuredCollectives(plan.shards(), collectives);
    return Optional.of(
        new CostSample.StepCommunication(
            measurable.columns(),
            cluster.devicesPerNode(),
            collectives.get(ShardScope.DEVICE, Direction.FORWARD).bytesPerElement(),
            collectives.get(ShardScope.DEVICE, Direction.BACKWARD).bytesPerElement(),
            measured.devices(),
            comparison.predicted(),
            allToAllMs(measured, Direction.FORWARD),
            allToAllMs(measured, Direction.BACKWARD),
            measurable.of(measured.collectives()),
            scopes.equals(EnumSet.of(ShardScope.DEVICE))));
  }

  /** Returns whether a step communicates: more than one device, at least one shard. */
  private boolean communicates() {
    return plan.prediction().deviceCosts().size() > 1 && !shards.isEmpty();
  }

  private boolean haveOneOutputPerSample() {
    return shards.values().stream()
        .flatMap(List::stream)
        .allMatch(shard -> shard.table().hasOneOutputPerSample());
  }

  private static List<Double> allToAllMs(MeasuredCosts measured, Direction direction) {
    return measured
        .collectiveMs(ShardScope.DEVICE, Collective.ALL_TO_ALL, direction)
        .orElse(List.of());
  }

  private CostSample sample(MeasuredCosts measured, CostSample.Cost cost) {
    return CostSampleBuilder.builder()
        .measurementId(measured.measurementId())
        .hardware(cluster.hardware())
        .workloadId(plan.workloadId())
        .planId(plan.planId())
        .modelId(plan.origin().modelId())
        .source(measured.source())
        .batchSize(cluster.batchSize())
        .steps(measured.steps())
        .measuredAt(measured.measuredAt())
        .cost(cost)
        .build();
  }
}
