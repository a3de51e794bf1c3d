package io.shardtide.cost;

import io.shardtide.option.Option;
import io.shardtide.option.PlannedPart;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Predicted cost of one training step: a function of the devices' loads and the cluster. Holds its
 * arrays without a copy.
 *
 * <p>The cost is NeuroShard's (Zha et al., section 3.2): the slowest device's computation, backward
 * and forward communication. A device is ready for the forward communication after its computation
 * and its backward communication; a collective ends on no device before the last one has begun, so
 * that each device first waits for the last one. On the reference samples the idle time is exactly
 * the difference of the start times (residual 4e-6).
 *
 * @param computeMs computation of each device in milliseconds
 * @param forwardCommMs forward communication of each device in milliseconds, idle time included
 * @param backwardCommMs backward communication of each device in milliseconds
 * @param predictedMs the largest sum of the three of any device, in milliseconds
 */
@SuppressWarnings("ArrayRecordComponent") // The search creates thousands and compares none.
public record StepCost(
    double[] computeMs, double[] forwardCommMs, double[] backwardCommMs, double predictedMs) {
  /**
   * Returns the cost of a step.
   *
   * @param computeMs computation of each device in milliseconds, 0 for one without shards
   * @param communication communication of each device when all begin together
   */
  public static StepCost of(double[] computeMs, CommunicationCost communication) {
    double[] backwardMs = communication.backwardMs().clone();
    double[] forwardMs = communication.forwardMs().clone();
    double lastStartMs = 0;
    double longestForwardMs = 0;
    for (int d = 0; d < computeMs.length; d++) {
      lastStartMs = Math.max(lastStartMs, computeMs[d] + backwardMs[d]);
      longestForwardMs = Math.max(longestForwardMs, forwardMs[d]);
    }
    for (int d = 0; d < computeMs.length; d++) {
      forwardMs[d] += lastStartMs - (computeMs[d] + backwardMs[d]);
    }
    return new StepCost(computeMs.clone(), forwardMs, backwardMs, lastStartMs + longestForwardMs);
  }

  /**
   * Predicts the cost of a step with given collectives.
   *
   * @param evaluator predicts
   * @param collectives the devices and their collectives
   * @param loads the load of each device
   * @param slowdowns how slow the devices are
   */
  public static StepCost of(
      CostEvaluator evaluator,
      StepCollectives collectives,
      List<DeviceLoad> loads,
      Slowdowns slowdowns) {
    return of(
        computeMs(evaluator, loads, slowdowns),
        slowdowns.communication(collectives.ms(evaluator, loads)));
  }

  /** Predicts the computation of each device, in milliseconds. */
  static double[] computeMs(CostEvaluator evaluator, List<DeviceLoad> loads, Slowdowns slowdowns) {
    double[] computeMs = new double[loads.size()];
    for (int d = 0; d < computeMs.length; d++) {
      computeMs[d] = slowdowns.computeMs(d, evaluator.computeMs(loads.get(d)));
    }
    return computeMs;
  }

  /** Returns the cost and the bytes of each device. */
  public List<DeviceCost> deviceCosts(List<DeviceLoad> loads) {
    List<DeviceCost> costs = new ArrayList<>();
    for (int d = 0; d < loads.size(); d++) {
      costs.add(
          new DeviceCost(
              computeMs[d],
              forwardCommMs[d],
              backwardCommMs[d],
              loads.get(d).bytes(),
              loads.get(d).bytes(Tiers.HOST)));
    }
    return costs;
  }

  /**
   * Predicts the cost of a step of a plan by recorded predictions. Shards without a prediction are
   * left out: of tables that are gone or narrower now, on devices that are gone, split over other
   * devices than the cluster has now.
   *
   * @param tables predictions of the tables
   * @param shards the shards of a plan
   * @param collectives the devices, the batch and the collectives
   * @param model the model
   * @param slowdowns how slow the devices are
   */
  public static StepCost of(
      List<TablePrediction> tables,
      List<Shard> shards,
      StepCollectives collectives,
      CostModel model,
      Slowdowns slowdowns) {
    ClusterSpec cluster = collectives.cluster();
    Map<String, TablePrediction> byName = new HashMap<>();
    tables.forEach(table -> byName.put(table.table().name(), table));
    CostEvaluator evaluator = model.evaluator();
    List<DeviceLoad> loads =
        devices(tables.stream().map(TablePrediction::table).toList(), shards, cluster, evaluator);
    List<Option> options = Option.of(shards);
    for (int i = 0; i < options.size(); i++) {
      Shard shard = shards.get(i);
      Option option = options.get(i);
      TablePrediction table = byName.get(shard.table());
      if (table != null && shard.device() < cluster.devices()) {
        table
            .load(option, evaluator, cluster)
            .ifPresent(
                load -> holders(shard, option, cluster).forEach(d -> loads.get(d).add(load)));
      }
    }
    return of(evaluator, collectives, loads, slowdowns);
  }

  /**
   * Returns the devices that have the load of a shard. Of a part that is split over devices, all
   * have the load of the first block, although the last ones may have fewer rows or none.
   */
  private static IntStream holders(Shard shard, Option option, ClusterSpec cluster) {
    int size = option.part().scope().devices(cluster);
    if (size == 1) {
      return shard.holders(cluster.devices());
    }
    int first = shard.device() / size * size;
    return shard.rowOffset() > option.firstRow()
        ? IntStream.empty()
        : IntStream.range(first, Math.min(cluster.devices(), first + size));
  }

  /**
   * Returns the load of each device for a plan with shards of any kind.
   *
   * @param tables the tables of all shards
   * @param shards the shards of a plan
   * @param cluster the devices and the batch
   * @param evaluator an evaluator of the model
   * @param towers runs the model's tower
   */
  public static List<DeviceLoad> loads(
      List<TableSpec> tables,
      List<Shard> shards,
      ClusterSpec cluster,
      CostEvaluator evaluator,
      TowerPredictor towers) {
    List<PlannedPart> parts = PlannedPart.of(tables, shards, cluster);
    Map<TableSpec, TableShapes> byTable = new HashMap<>();
    List<ShardShape> shapes = new ArrayList<>();
    for (PlannedPart of : parts) {
      TableShapes table =
          byTable.computeIfAbsent(of.table(), t -> new TableShapes(t, cluster.batchSize()));
      shapes.add(table.of(of.part(), of.shard().device(), cluster));
    }
    List<float[]> outputs = towers.towers(shapes);
    List<DeviceLoad> loads = devices(tables, shards, cluster, evaluator);
    for (int i = 0; i < parts.size(); i++) {
      PlannedPart of = parts.get(i);
      ShapeLoad load =
          ShapeLoad.of(
              evaluator, outputs.get(i), of.table(), shapes.get(i), of.part().scope(), cluster);
      of.shard().holders(cluster.devices()).forEach(d -> loads.get(d).add(load));
    }
    return loads;
  }

  /** Returns what each device does whatever shards it has. */
  private static List<DeviceLoad> devices(
      Collection<TableSpec> tables,
      List<Shard> shards,
      ClusterSpec cluster,
      CostEvaluator evaluator) {
    long stepBytes = StepMemory.ofDevice(tables, cluster);
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      loads.add(new DeviceLoad(evaluator.sumSize(), stepBytes));
    }
    Set<String> deduplicated =
        shards.stream().filter(Shard::deduplicated).map(Shard::table).collect(Collectors.toSet());
    tables.stream()
        .filter(table -> deduplicated.contains(table.name()))
        .map(table -> DeduplicationCost.load(evaluator, table, cluster))
        .forEach(load -> loads.forEach(device -> device.add(load)));
    return loads;
  }
}
