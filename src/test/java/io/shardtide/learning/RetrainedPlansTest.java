package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.TowerSums;
import io.shardtide.cost.tensorflow.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.trainer.RandomPlans;
import io.shardtide.wire.ModelFiles;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The search goes where a model is too hopeful. A machine is what the shipped model of a CPU says,
 * but for shards of 32 columns and more, which became twice as slow; the plans that are measured,
 * and those by which the retrained model is judged, are those that a search finds with the model.
 */
class RetrainedPlansTest {
  private static final int DEVICES = 3;
  private static final int MEASUREMENTS = 4;
  private static final double NOISE = 0.02;

  private final ModelBundle shipped = ModelFiles.shippedForCpu();
  private final CostModel before = new CostModel(shipped);
  private final ClusterSpec cluster =
      new ClusterSpec(DEVICES, 1L << 31, shipped.batchSize(), DEVICES, shipped.hardware());
  private final List<TowerPredictor> opened = new ArrayList<>();
  private final TowerPredictor towers = opened(shipped);
  private final Map<TableSpec, double[]> sums = new HashMap<>();
  private final List<CostSample> samples = new ArrayList<>();
  private int measured;
  private boolean slower;

  private TowerPredictor opened(ModelBundle bundle) {
    TowerPredictor predictor = new TensorFlowTowers(bundle);
    opened.add(predictor);
    return predictor;
  }

  @AfterEach
  void close() {
    opened.forEach(TowerPredictor::close);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void a_plan_of_the_retrained_model_costs_what_it_says(long seed) {
    Random random = new Random(seed);
    List<TableSpec> first =
        new RandomPlans(20, seed)
            .tables().stream().map(t -> t.withColumns(32 << random.nextInt(3))).toList();
    List<TableSpec> tables = new ArrayList<>(first);
    CandidateModel model = new CandidateModel(before, towers);
    Planned running = plan(model, tables, List.of());
    int drift = 15 * MEASUREMENTS;
    int alarm = drift + 3 * MEASUREMENTS;
    int alarmAt = 0;
    for (int measurements : new int[] {drift, alarm, alarm + 14, alarm + 27, alarm + 54}) {
      for (; measured < measurements; measured++) {
        if (measured % MEASUREMENTS == 0) {
          change(tables, first, random);
          running = plan(model, tables, running.found().shards());
        }
        measure(running, random);
      }
      slower = true;
      if (measured == alarm) {
        alarmAt = samples.size();
      } else if (measured > alarm) {
        model = train(model, alarmAt);
        running = plan(model, tables, running.found().shards());
      }
    }
    double error = 0;
    double step = 0;
    double untrained = 0;
    for (int i = 0; i < 8; i++) {
      change(tables, first, random);
      Planned planned = plan(model, tables, List.of());
      double ms = step(planned);
      error += Math.abs(planned.found().predictedMs() / ms - 1) / 8;
      step += ms;
      untrained += step(plan(new CandidateModel(before, towers), tables, List.of()));
    }
    assertThat(error).as("predicted beside measured").isLessThan(0.05);
    assertThat(step).as("measured").isLessThan(1.05 * untrained);
  }

  private record Planned(Map<String, TableSpec> tables, SearchResult.Found found) {
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

  /** Changes a table; always from what it was first. */
  private static void change(List<TableSpec> tables, List<TableSpec> first, Random random) {
    int t = random.nextInt(tables.size());
    tables.set(t, SyntheticTables.changed(first.get(t), random));
  }

  private Planned plan(CandidateModel model, List<TableSpec> tables, List<Shard> running) {
    List<TableSpec> sorted = tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
    return new Planned(
        TableSpec.byName(tables),
        (SearchResult.Found)
            LocalSearch.search(
                new SearchProblem(
                    model.towers().predict(sorted, cluster.batchSize()),
                    cluster,
                    model.model(),
                    running),
                SearchSettings.QUICK));
  }

  private CandidateModel train(CandidateModel champion, int alarmAt) {
    ModelBundle trained =
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
    return new CandidateModel(new CostModel(trained), opened(trained));
  }

  private void measure(Planned planned, Random random) {
    double[] ms = compute(planned);
    for (int d = 0; d < DEVICES; d++) {
      ms[d] *= 1 + NOISE * random.nextGaussian();
    }
    StepCost cost = cost(ms, planned.columns());
    List<MeasuredDevice> devices = new ArrayList<>();
    for (int d = 0; d < DEVICES; d++) {
      devices.add(new MeasuredDevice(ms[d], cost.forwardCommMs()[d], cost.backwardCommMs()[d]));
      sample(planned, new CostSample.Computation(d, planned.shards(d), ms[d], ms[d]));
    }
    sample(
        planned,
        new CostSample.AllToAll(
            IntStream.of(planned.columns()).boxed().toList(), devices, devices));
  }

  private void sample(Planned planned, CostSample.Cost cost) {
    samples.add(
        CostSampleBuilder.builder()
            .measurementId("measurement " + measured)
            .hardware(shipped.hardware())
            .workloadId(Fixtures.WORKLOAD)
            .planId("plan of " + planned.found().predictedMs())
            .modelId(shipped.modelId())
            .source("trainer")
            .batchSize(cluster.batchSize())
            .steps(25)
            .measuredAt(Fixtures.TIME)
            .cost(cost)
            .build());
  }

  private double step(Planned planned) {
    return cost(compute(planned), planned.columns()).predictedMs();
  }

  private StepCost cost(double[] computeMs, int[] columns) {
    return StepCost.of(
        computeMs, before.evaluator().allToAll(Plans.elements(columns, cluster.batchSize())));
  }

  /** What the shipped model says of each device, twice for the part of its wide shards. */
  private double[] compute(Planned planned) {
    CostEvaluator evaluator = before.evaluator();
    return IntStream.range(0, DEVICES)
        .mapToDouble(
            d -> {
              double[] sum = new double[before.towerSize()];
              double alone = 0;
              double withDrift = 0;
              for (TableSpec shard : planned.shards(d)) {
                double[] tower = sums.computeIfAbsent(shard, this::tower);
                TowerSums.add(sum, tower);
                double ms = evaluator.computeMs(tower);
                alone += ms;
                withDrift += slower && shard.columns() >= 32 ? 2 * ms : ms;
              }
              return alone == 0 ? 0 : evaluator.computeMs(sum) * withDrift / alone;
            })
        .toArray();
  }

  private double[] tower(TableSpec shard) {
    TablePrediction prediction = towers.predict(List.of(shard), cluster.batchSize()).get(0);
    return TowerSums.exact(prediction.tower(shard.columns()));
  }
}
