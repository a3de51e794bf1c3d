package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
   * Predicts the cost of a step.
   *
   * @param evaluator predicts
   * @param cluster the devices
   * @param loads the load of each device
   */
  public static StepCost of(CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads) {
    double[] computeMs = new double[loads.size()];
    for (int d = 0; d < computeMs.length; d++) {
      computeMs[d] = evaluator.computeMs(loads.get(d));
    }
    return of(computeMs, evaluator.communication(cluster, loads));
  }

  /** Returns the cost and the bytes of each device. */
  public List<DeviceCost> deviceCosts(List<DeviceLoad> loads) {
    List<DeviceCost> costs = new ArrayList<>();
    for (int d = 0; d < loads.size(); d++) {
      costs.add(
          new DeviceCost(computeMs[d], forwardCommMs[d], backwardCommMs[d], loads.get(d).bytes()));
    }
    return costs;
  }

  /**
   * Predicts the cost of a step of a plan of columns. Shards of tables without a prediction, wider
   * shards than their table is now, and shards on devices that are gone are left out.
   *
   * @param tables predictions of the tables
   * @param shards the shards of a plan, each with all rows of its table
   * @param cluster the devices and the batch
   * @param model the model
   * @throws IllegalArgumentException if a shard is of a kind that the predictions do not cover
   */
  public static StepCost of(
      List<TablePrediction> tables, List<Shard> shards, ClusterSpec cluster, CostModel model) {
    Map<String, TablePrediction> byName = new HashMap<>();
    tables.forEach(table -> byName.put(table.table().name(), table));
    CostEvaluator evaluator = model.evaluator();
    List<DeviceLoad> loads = devices(cluster, evaluator);
    for (Shard shard : shards) {
      TablePrediction table = byName.get(shard.table());
      if (table != null
          && shard.device() < cluster.devices()
          && shard.columns() <= table.table().columns()) {
        if (shard.kind().scope() != ShardScope.DEVICE) {
          throw new IllegalArgumentException(
              "shards must have all rows of their table on one device, got a %s shard of table %s"
                  .formatted(shard.kind().torchRecName(), shard.table()));
        }
        loads.get(shard.device()).add(ShapeLoad.ofColumns(table, shard.columns(), cluster));
      }
    }
    return of(evaluator, cluster, loads);
  }

  /**
   * Predicts the cost of a step of a plan with shards of any kind.
   *
   * @param tables the tables of all shards
   * @param shards the shards of a plan, one for each device of a copied table
   * @param cluster the devices and the batch
   * @param model the model
   * @param towers runs the model's tower
   */
  public static StepCost of(
      List<TableSpec> tables,
      List<Shard> shards,
      ClusterSpec cluster,
      CostModel model,
      TowerPredictor towers) {
    Map<String, TableShapes> byName = new HashMap<>();
    tables.forEach(table -> byName.put(table.name(), new TableShapes(table, cluster.batchSize())));
    List<ShardShape> shapes =
        shards.stream().map(shard -> byName.get(shard.table()).of(shard, cluster)).toList();
    List<float[]> outputs = towers.towers(shapes);
    CostEvaluator evaluator = model.evaluator();
    List<DeviceLoad> loads = devices(cluster, evaluator);
    for (int i = 0; i < shards.size(); i++) {
      Shard shard = shards.get(i);
      loads
          .get(shard.device())
          .add(
              ShapeLoad.of(
                  outputs.get(i),
                  byName.get(shard.table()).table(),
                  shapes.get(i),
                  shard.kind().scope(),
                  cluster));
    }
    return of(evaluator, cluster, loads);
  }

  private static List<DeviceLoad> devices(ClusterSpec cluster, CostEvaluator evaluator) {
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      loads.add(new DeviceLoad(evaluator.towerSize()));
    }
    return loads;
  }
}
