package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.option.TablePart;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StepCostTest {
  private static final int BATCH = 65_536;
  private static final List<TableSpec> TABLES =
      List.of(
          Fixtures.table("a", 1_000_000, 64, 10),
          Fixtures.table("b", 10_000, 32, 3),
          Fixtures.table("c", 100, 4, 50));

  private static final ClusterSpec CLUSTER = Fixtures.cluster(2, Fixtures.GIB);

  private final CostModel model = TestModels.model();
  private final CostEvaluator evaluator = model.evaluator();
  private final List<TablePrediction> predictions =
      new PlainTowers(TestModels.bundle()).predict(TABLES, BATCH);

  private ShapeLoad load(int table, int columns) {
    TablePrediction prediction = predictions.get(table);
    TablePart part = new TablePart(ShardScope.DEVICE, columns);
    return ShapeLoad.of(evaluator, prediction.tower(columns), part, prediction.table(), CLUSTER);
  }

  @Test
  void a_load_is_the_sum_of_its_shards_in_any_order() {
    List<ShapeLoad> shards = List.of(load(0, 64), load(1, 8), load(1, 24), load(2, 4));
    DeviceLoad load = new DeviceLoad(model.sumSize(), 0);
    shards.forEach(load::add);
    assertThat(load.bytes()).isEqualTo(256_000_000 + 320_000 + 960_000 + 1_600);
    assertThat(load.elements(ShardScope.DEVICE)).isEqualTo(100.0 * BATCH);
    assertThat(load.elements(ShardScope.NODE)).isZero();
    assertThat(load.shards()).isEqualTo(4);
    for (int seed = 0; seed < 20; seed++) {
      List<ShapeLoad> shuffled = new ArrayList<>(shards);
      Collections.shuffle(shuffled, new Random(seed));
      DeviceLoad other = new DeviceLoad(model.sumSize(), 0);
      shuffled.forEach(other::add);
      assertThat(other.towerSum()).isEqualTo(load.towerSum());
    }
  }

  /** From shards, from loads, and from computations and all-to-alls: one cost. */
  @Test
  void a_step_costs_the_same_however_it_is_predicted() {
    List<DeviceLoad> loads =
        List.of(new DeviceLoad(model.sumSize(), 0), new DeviceLoad(model.sumSize(), 0));
    loads.get(0).add(load(0, 64));
    loads.get(1).add(load(1, 32));
    loads.get(1).add(load(2, 4));
    StepCost cost = StepCosts.of(evaluator, CLUSTER, loads);
    double[] computeMs = {
      evaluator.computeMs(loads.get(0).towerSum()), evaluator.computeMs(loads.get(1).towerSum())
    };
    CommunicationCost allToAll =
        StepCollectives.of(CLUSTER).allToAll(evaluator, new double[] {64.0 * BATCH, 36.0 * BATCH});
    assertThat(cost).usingRecursiveComparison().isEqualTo(StepCost.of(computeMs, allToAll));
    assertThat(cost.predictedMs())
        .isEqualTo(
            Math.max(
                    computeMs[0] + allToAll.backwardMs()[0],
                    computeMs[1] + allToAll.backwardMs()[1])
                + Math.max(allToAll.forwardMs()[0], allToAll.forwardMs()[1]));
    List<Shard> shards =
        List.of(
            Fixtures.shard(TABLES.get(0), 0, 64, 0),
            Fixtures.shard(TABLES.get(1), 0, 32, 1),
            Fixtures.shard(TABLES.get(2), 0, 4, 1),
            // What is gone is left out: a device, columns, a table.
            Fixtures.shard(TABLES.get(2), 0, 4, 2),
            Fixtures.shard(TABLES.get(2).withColumns(8), 0, 8, 0),
            Fixtures.shard(Fixtures.table("gone", 10, 4, 1), 0, 4, 0));
    assertThat(StepCosts.of(predictions, shards, CLUSTER, model))
        .usingRecursiveComparison()
        .isEqualTo(cost);
    assertThat(cost.deviceCosts(loads))
        .containsExactly(
            new DeviceCost(
                computeMs[0], cost.forwardCommMs()[0], cost.backwardCommMs()[0], 256_000_000, 0),
            new DeviceCost(
                computeMs[1], cost.forwardCommMs()[1], cost.backwardCommMs()[1], 1_281_600, 0));
  }

  @Test
  void a_device_without_shards_computes_nothing() {
    DeviceLoad one = new DeviceLoad(model.sumSize(), 0);
    one.add(load(0, 64));
    StepCost cost =
        StepCosts.of(evaluator, CLUSTER, List.of(one, new DeviceLoad(model.sumSize(), 0)));
    assertThat(cost.computeMs()[0]).isPositive();
    assertThat(cost.computeMs()[1]).isZero();
    assertThat(evaluator.evaluations()).isEqualTo(1);
  }

  @Test
  void there_is_a_load_for_each_device() {
    assertThatThrownBy(
            () ->
                StepCosts.of(
                    evaluator, Fixtures.cluster(3, 1), List.of(new DeviceLoad(model.sumSize(), 0))))
        .hasMessage("loads must be one for each of 3 devices, got 1");
  }

  @Test
  void shards_of_kinds_that_are_not_predicted_are_left_out() {
    for (Sharding sharding :
        List.of(
            new Sharding.TableRowWise(0),
            new Sharding.GridShard(List.of(new Sharding.NodePart(64, 0))),
            new Sharding.RowWise(),
            new Sharding.DataParallel())) {
      List<Shard> shards = sharding.shards(TABLES.get(0), CLUSTER);
      assertThat(StepCosts.of(predictions, shards, CLUSTER, model).predictedMs()).isZero();
    }
  }

  /** Devices are ready at 4 and 6 ms; the first one idles for 2 ms. */
  @Test
  void a_device_idles_until_the_last_one_is_ready() {
    StepCost cost =
        StepCost.of(
            new double[] {1, 4}, new CommunicationCost(new double[] {10, 20}, new double[] {3, 2}));
    assertThat(cost.forwardCommMs()).containsExactly(12, 20);
    assertThat(cost.backwardCommMs()).containsExactly(3, 2);
    assertThat(cost.predictedMs()).isEqualTo(26);
  }
}
