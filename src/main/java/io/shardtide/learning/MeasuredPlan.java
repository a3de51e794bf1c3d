package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DatedTable;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/**
 * A measurement beside the plan that ran, found to be comparable.
 *
 * @param plan the plan
 * @param cluster the workload's cluster
 * @param shards the shards of each device that has some
 * @param comparison measured beside predicted costs
 */
record MeasuredPlan(
    ShardingPlan plan,
    ClusterSpec cluster,
    SortedMap<Integer, List<TableSpec>> shards,
    CostComparison comparison) {

  /**
   * Puts a measurement beside its plan.
   *
   * @throws RejectedException if they cannot be compared
   */
  static MeasuredPlan of(
      FeedbackStore store, FeedbackHeader header, ShardingPlan plan, MeasuredCosts measured) {
    int devices = plan.deviceCosts().size();
    if (measured.devices().size() != devices) {
      throw incomparable(
          "The measurement is of %d devices and the plan of %d; legal is one entry for each device of the plan"
              .formatted(measured.devices().size(), devices));
    }
    if (header.cluster().isEmpty() || header.batchSince() > plan.generation()) {
      throw incomparable(
          "The batch size or the hardware was set in generation %d and the plan is of generation %d; legal are plans since then"
              .formatted(header.batchSince(), plan.generation()));
    }
    SortedMap<Integer, List<TableSpec>> shards = new TreeMap<>();
    for (Shard shard : plan.shards()) {
      TableSpec table = table(store, plan, shard.table());
      shards
          .computeIfAbsent(shard.device(), d -> new ArrayList<>())
          .add(table.withColumns(shard.columns()));
    }
    for (int d = 0; d < devices; d++) {
      double computeMs = measured.devices().get(d).computeMs();
      if (shards.containsKey(d) != (computeMs > 0)) {
        throw incomparable(
            "Device %d measured a computation of %s ms; legal is %s"
                .formatted(
                    d,
                    computeMs,
                    shards.containsKey(d)
                        ? "more than 0: the plan has shards on it"
                        : "0: the plan has no shards on it"));
      }
    }
    CostComparison comparison =
        new CostComparison(
            plan.deviceCosts().stream()
                .map(c -> new MeasuredDevice(c.computeMs(), c.forwardCommMs(), c.backwardCommMs()))
                .toList(),
            measured.devices());
    comparison.check();
    return new MeasuredPlan(plan, header.cluster().get(), shards, comparison);
  }

  private static TableSpec table(FeedbackStore store, ShardingPlan plan, String name) {
    DatedTable table = store.table(plan.workloadId(), name).orElse(null);
    if (table == null || table.since() > plan.generation()) {
      throw incomparable(
          "Table %s %s since generation %d, which the plan is of; legal are measurements of plans whose tables are as they were"
              .formatted(name, table == null ? "was dropped" : "has changed", plan.generation()));
    }
    return table.table();
  }

  private static RejectedException incomparable(String message) {
    return new RejectedException(RejectionReason.INCOMPARABLE_MEASUREMENT, message);
  }

  /**
   * Returns what can be learned from: each device's computation, and the exchange if there is one.
   *
   * @param computes says whether a device's computation is worth learning from
   * @param exchanges whether the exchange is
   */
  List<CostSample> samples(MeasuredCosts measured, IntPredicate computes, boolean exchanges) {
    List<CostSample> samples = new ArrayList<>();
    shards.forEach(
        (device, specs) -> {
          if (computes.test(device)) {
            samples.add(
                sample(
                    measured,
                    new CostSample.Computation(
                        device,
                        specs,
                        measured.devices().get(device).computeMs(),
                        plan.deviceCosts().get(device).computeMs())));
          }
        });
    if (exchanges && hasExchange()) {
      samples.add(
          sample(
              measured,
              new CostSample.AllToAll(columns(), measured.devices(), comparison.predicted())));
    }
    return samples;
  }

  /** Returns whether devices exchange anything. */
  boolean hasExchange() {
    return plan.deviceCosts().size() > 1 && !shards.isEmpty();
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
