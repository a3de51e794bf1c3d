package io.shardtide.testing;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;

/** Costs of steps without codecs on devices that are well. */
public final class StepCosts {
  private StepCosts() {}

  /** By recorded predictions. */
  public static StepCost of(
      List<TablePrediction> tables, List<Shard> shards, ClusterSpec cluster, CostModel model) {
    Slowdowns well = Slowdowns.none(cluster.devices());
    return StepCost.of(tables, shards, StepCollectives.of(cluster), model, well);
  }

  /** By the towers of a model. */
  public static StepCost of(
      List<TableSpec> tables,
      List<Shard> shards,
      ClusterSpec cluster,
      CostModel model,
      TowerPredictor towers) {
    CostEvaluator evaluator = model.evaluator();
    return of(evaluator, cluster, StepCost.loads(tables, shards, cluster, evaluator, towers));
  }

  /** By the loads of devices. */
  public static StepCost of(CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads) {
    Slowdowns well = Slowdowns.none(loads.size());
    return StepCost.of(evaluator, StepCollectives.of(cluster), loads, well);
  }
}
