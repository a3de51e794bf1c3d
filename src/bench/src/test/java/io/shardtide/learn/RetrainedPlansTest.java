package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.cost.AddedMs;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.TowerSums;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A search exploits shards that a model underestimates. The machine costs what the shipped model
 * predicts, except that shards of at least 32 columns became twice as slow. The model is retrained
 * on, and evaluated by, the plans that a search makes with it.
 */
class RetrainedPlansTest {
  private static final int DEVICES = 3;
  private static final int MEASUREMENTS = 4;
  private static final long SEED = 1;
  private static final double NOISE = 0.02;

  private final ModelBundle shipped = ModelFiles.shipped();
  private final CostModel before = new CostModel(shipped);
  private final ClusterSpec cluster =
      new ClusterSpec(
          DEVICES, 1L << 36, TestModels.largestBatch(shipped), DEVICES, shipped.hardware());
  private final List<TowerPredictor> opened = new ArrayList<>();
  private final TowerPredictor towers = open(shipped);
  private final Map<TableSpec, double[]> sums = new HashMap<>();
  private final List<CostSample> samples = new ArrayList<>();
  private int measured;
  private boolean slower;

  private TowerPredictor open(ModelBundle bundle) {
    TowerPredictor predictor = new TensorFlowTowers(bundle);
    opened.add(predictor);
    return predictor;
  }

  @AfterEach
  void close() {
    opened.forEach(TowerPredictor::close);
  }

  @Test
  void a_plan_of_the_retrained_model_costs_what_it_predicts() {
    Random random = new Random(SEED);
    List<TableSpec> original =
        SyntheticTables.of(20, 32, SEED).stream()
            .map(table -> table.withColumns(32 << random.nextInt(3)))
            .toList();
    List<TableSpec> tables = new ArrayList<>(original);
    CandidateModel model = new CandidateModel(before, towers);
    SearchedPlan current = plan(model, tables, List.of());
    int drift = 15 * MEASUREMENTS;
    int alarm = drift + 3 * MEASUREMENTS;
    int alarmAt = 0;
    for (int measurements : new int[] {drift, alarm, alarm + 14, alarm + 27, alarm + 54}) {
      for (; measured < measurements; measured++) {
        if (measured % MEASUREMENTS == 0) {
          change(tables, original, random);
          current = plan(model, tables, current.found().shards());
        }
        measure(current, random);
      }
      slower = true;
      if (measured == alarm) {
        alarmAt = samples.size();
      } else if (measured > alarm) {
        model = retrain(model, alarmAt);
        current = plan(model, tables, current.found().shards());
      }
    }
    double error = 0;
    double stepMs = 0;
    double shippedStepMs = 0;
    for (int i = 0; i < 8; i++) {
      change(tables, original, random);
      SearchedPlan plan = plan(model, tables, List.of());
      double ms = stepMs(plan);
      error += Math.abs(plan.found().predictedMs() / ms - 1) / 8;
      stepMs += ms;
      shippedStepMs += stepMs(plan(new CandidateModel(before, towers), tables, List.of()));
    }
    assertThat(error).as("error of predicted step times").isLessThan(0.05);
    assertThat(stepMs).as("measured step times").isLessThan(1.05 * shippedStepMs);
  }

  private record SearchedPlan(Map<String, TableSpec> tables, SearchResult.Found found) {
    List<TableSpec> shards(int device) {
      return found.shards().stream()
          .filter(shard -> shard.device() == device)
          .map(shard -> tables.get(shard.table()).withColumns(shard.columns()))
          .toList();
    }

    int[] columns() {
      return IntStream.range(0, DEVICES)
          .map(d -> shards(d).stream().mapToInt(TableSpec::columns).sum())
          .toArray();
    }
  }

  /** Replaces a table by a change of the original one, so that tables do not grow for ever. */
  private static void change(List<TableSpec> tables, List<TableSpec> original, Random random) {
    int t = random.nextInt(tables.size());
    tables.set(t, SyntheticTables.changed(original.get(t), random));
  }

  private SearchedPlan plan(CandidateModel model, List<TableSpec> tables, List<Shard> current) {
    List<TableSpec> sorted = tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
    return new SearchedPlan(
        TableSpec.byName(tables),
        (SearchResult.Found)
            LocalSearch.search(
                new SearchProblem(
                    model.towers().predict(sorted, cluster.batchSize()),
                    cluster,
                    model.model(),
                    new PlanShards(current, cluster.devices())),
                SearchSettings.QUICK));
  }

  private CandidateModel retrain(CandidateModel champion, int alarmAt) {
    ModelBundle retrained =
        new RetrainingRun(
                Retraining::retrain,
                TensorFlowTowers::new,
                TrainingPolicy.DEFAULTS,
                InstantSource.fixed(Fixtures.TIME))
            .run(
                ModelDecision.Trigger.DRIFT,
                champion.model().bundle(),
                samples,
                OptionalInt.of(alarmAt))
            .challenger()
            .orElse(champion.model().bundle());
    return new CandidateModel(new CostModel(retrained), open(retrained));
  }

  private void measure(SearchedPlan plan, Random random) {
    double[] ms = compute(plan);
    for (int d = 0; d < DEVICES; d++) {
      ms[d] *= 1 + NOISE * random.nextGaussian();
    }
    StepCost cost = cost(ms, plan.columns());
    List<MeasuredDevice> devices = new ArrayList<>();
    for (int d = 0; d < DEVICES; d++) {
      devices.add(new MeasuredDevice(ms[d], cost.forwardCommMs()[d], cost.backwardCommMs()[d]));
      sample(
          plan,
          new CostSample.Computation(
              d,
              plan.shards(d).stream()
                  .map(shard -> DeviceShard.ofColumns(shard, cluster.batchSize()))
                  .toList(),
              ms[d],
              OptionalDouble.empty(),
              ms[d]));
    }
    sample(
        plan,
        new CostSample.StepCommunication(
            IntStream.of(plan.columns()).boxed().toList(),
            DEVICES,
            4,
            4,
            devices,
            devices,
            List.of(),
            List.of(),
            List.of(),
            true));
  }

  private void sample(SearchedPlan plan, CostSample.Cost cost) {
    samples.add(
        CostSampleBuilder.builder()
            .measurementId("measurement " + measured)
            .hardware(shipped.hardware())
            .workloadId(Fixtures.WORKLOAD)
            .planId("plan of " + plan.found().predictedMs())
            .modelId(shipped.modelId())
            .source("trainer")
            .batchSize(cluster.batchSize())
            .steps(25)
            .measuredAt(Fixtures.TIME)
            .cost(cost)
            .build());
  }

  private double stepMs(SearchedPlan plan) {
    return cost(compute(plan), plan.columns()).predictedMs();
  }

  private StepCost cost(double[] computeMs, int[] columns) {
    return StepCost.of(
        computeMs,
        StepCollectives.of(cluster)
            .allToAll(before.evaluator(), Plans.elements(columns, cluster.batchSize())));
  }

  /** Returns the shipped model's prediction by device, with the part of wide shards doubled. */
  private double[] compute(SearchedPlan plan) {
    CostEvaluator evaluator = before.evaluator();
    return IntStream.range(0, DEVICES)
        .mapToDouble(
            d -> {
              double[] sum = new double[before.sumSize()];
              double unchangedMs = 0;
              double driftedMs = 0;
              for (TableSpec shard : plan.shards(d)) {
                double[] tower = sums.computeIfAbsent(shard, this::tower);
                TowerSums.add(sum, tower);
                double ms = evaluator.computeMs(tower);
                unchangedMs += ms;
                driftedMs += slower && shard.columns() >= 32 ? 2 * ms : ms;
              }
              return unchangedMs == 0 ? 0 : evaluator.computeMs(sum) * driftedMs / unchangedMs;
            })
        .toArray();
  }

  private double[] tower(TableSpec shard) {
    TablePrediction prediction = towers.predict(List.of(shard), cluster.batchSize()).get(0);
    return before
        .evaluator()
        .addend(prediction.tower(shard.columns()), false, shard.bytesPerElement(), AddedMs.NONE);
  }
}
