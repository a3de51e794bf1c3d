package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredCostsBuilder;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.trainer.Measurements;
import io.shardtide.trainer.RandomPlans;
import io.shardtide.trainer.StepCosts;
import io.shardtide.wire.ModelFiles;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The reference trainer trains row-wise, copied and table-wise tables; a model learns from it. */
class LearnedKindsTest {
  private static final int DEVICES = 4;
  private static final int PLANS = 8;
  private static final int TABLES = 6;

  /** The machine costs this much more than measured, so that a model of it has to learn. */
  private static final double SLOWER = 3;

  private static final int ATTEMPTS = 5;

  private final ModelBundle champion =
      ModelBundleBuilder.builder(ModelFiles.shippedForCpu())
          .modelId("")
          .collectives(Fixtures.allCollectives().collectives())
          .build()
          .identified();
  private final ClusterSpec cluster =
      new ClusterSpec(
          DEVICES,
          8 * Fixtures.GIB,
          champion.largestBatch(),
          DEVICES,
          Fixtures.bundle().hardware());
  private final SimulatedTrainer trainer = new SimulatedTrainer();

  private List<Shard> shards(List<TableSpec> tables, int plan) {
    List<Shard> shards = new ArrayList<>();
    for (int t = 0; t < tables.size(); t++) {
      Sharding sharding =
          switch (t % 3) {
            case 0 -> new Sharding.RowWise();
            case 1 -> new Sharding.DataParallel();
            default -> new Sharding.TableWise((plan + t) % DEVICES);
          };
      shards.addAll(sharding.shards(tables.get(t), cluster));
    }
    return shards;
  }

  private static StepCosts slower(StepCosts costs) {
    return new StepCosts(
        costs.devices().stream()
            .map(d -> new StepCosts.DeviceStepCosts(SLOWER * d.computeMs(), SLOWER * d.poolMs()))
            .toList(),
        costs.collectives());
  }

  /** Returns the plan with what a model predicts for the computation. */
  private ShardingPlan plan(List<TableSpec> tables, List<Shard> shards, TowerPredictor towers) {
    StepCost cost =
        StepCost.of(towers.predict(tables, cluster), shards, cluster, new CostModel(champion));
    return trainer.plan(cluster, tables, shards, cost);
  }

  private List<CostSample> samples(TowerPredictor towers) {
    RandomPlans pool = new RandomPlans(PLANS * TABLES, 1);
    List<CostSample> samples = new ArrayList<>();
    for (int p = 0; p < PLANS; p++) {
      List<TableSpec> tables =
          pool.tables().subList(p * TABLES, (p + 1) * TABLES).stream()
              .map(table -> table.withColumns(16))
              .toList();
      samples.addAll(
          samples(new Measurements.ShardedWorkload(DEVICES, tables, shards(tables, p)), towers));
    }
    return samples;
  }

  private List<CostSample> samples(Measurements.ShardedWorkload workload, TowerPredictor towers) {
    ShardingPlan plan = plan(workload.tables(), workload.shards(), towers);
    for (int attempt = 1; ; attempt++) {
      StepCosts costs =
          slower(
              new Measurements(cluster.batchSize(), 15, 2, 1)
                  .measure(List.of(workload))
                  .get(0)
                  .costs());
      MeasuredCosts report =
          MeasuredCostsBuilder.builder(trainer.measured(plan, costs.measured()))
              .collectives(costs.measuredCollectives())
              .build();
      try {
        return trainer.step.measure(trainer.store, report).samples();
      } catch (RejectedException e) {
        // A thread that waits for a processor may take a hundred times as long as predicted.
        if (attempt == ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  @Test
  void a_retrained_model_is_nearer_to_the_trainer() {
    TowerPredictor towers = new PlainTowers(champion);
    List<CostSample> samples = samples(towers);
    samples.forEach(SampleCheck::check);
    SampleSet recent = SampleSets.of(samples);
    assertThat(recent.compute()).hasSize(PLANS * DEVICES);
    assertThat(recent.compute().get(0).shards()).anyMatch(shard -> shard.rowShare() < 1);
    assertThat(recent.compute().get(0).shards()).anyMatch(shard -> shard.replicated());
    assertThat(recent.collectives())
        .as("two all-to-alls, a reduce-scatter, an all-gather and an all-reduce")
        .hasSize(PLANS * 5);
    SampleSet none = new SampleSet(List.of(), cluster.batchSize(), List.of(), List.of());
    Map<String, Double> errors =
        Retraining.retrain(champion, towers, recent, none, List.of("trainer"), 1).card().errors();
    assertThat(errors.get("learned.compute.mape")).isLessThan(errors.get("champion.compute.mape"));
    // Durations of collectives between threads are too noisy here to fall for certain.
    assertThat(errors)
        .containsKeys(
            "learned.all_to_all.forward.mape",
            "learned.reduce_scatter.forward.mape",
            "learned.all_gather.backward.mape",
            "learned.all_reduce.backward.mape");
  }
}
