package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.PlanCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.TowerSums;
import io.shardtide.cost.tensorflow.Retraining;
import io.shardtide.cost.tensorflow.RetrainingSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.cost.tensorflow.TrainingProgress;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import io.shardtide.testing.Fixtures;
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
    List<TableSpec> tables =
        new RandomPlans(20, seed)
            .tables().stream().map(t -> t.withColumns(32 << random.nextInt(3))).toList();
    Contender model = new Contender(before, towers);
    for (int devices : new int[] {40, 80, 160}) {
      while (samples.stream().filter(s -> s.cost() instanceof CostSample.Computation).count()
          < devices) {
        measure(plan(model, changed(tables, random)), random);
      }
      model = train(model);
    }
    double error = 0;
    double step = 0;
    double withoutTraining = 0;
    for (int i = 0; i < 8; i++) {
      List<TableSpec> others = changed(tables, random);
      Planned planned = plan(model, others);
      double ms = step(planned);
      error += Math.abs(planned.found().predictedMs() / ms - 1) / 8;
      step += ms;
      withoutTraining += step(plan(new Contender(before, towers), others));
    }
    assertThat(error).as("predicted beside measured").isLessThan(0.05);
    assertThat(step).as("measured").isLessThan(1.03 * withoutTraining);
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

  /** As many lookups as before, half of them, or up to three times as many. */
  private static List<TableSpec> changed(List<TableSpec> tables, Random random) {
    return tables.stream()
        .map(
            t ->
                new TableSpec(
                    t.name(),
                    t.rows(),
                    t.columns(),
                    t.poolingFactor()
                        * (random.nextInt(5) > 0 ? 1 : 0.5 + 2.5 * random.nextDouble()),
                    t.reuseHistogram(),
                    t.bytesPerElement()))
        .toList();
  }

  private Planned plan(Contender model, List<TableSpec> tables) {
    List<TableSpec> sorted = tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
    return new Planned(
        TableSpec.byName(tables),
        (SearchResult.Found)
            LocalSearch.search(
                new SearchProblem(
                    model.towers().predict(sorted, cluster.batchSize()), cluster, model.model()),
                SearchSettings.QUICK));
  }

  private Contender train(Contender champion) {
    ModelBundle trained =
        new Training(
                (bundle, set, seed) ->
                    Retraining.retrain(
                        bundle,
                        set.recent().learned(),
                        set.old().learned(),
                        set.sources(),
                        RetrainingSettings.defaults(seed),
                        TrainingProgress.SILENT),
                TensorFlowTowers::new,
                TrainingPolicy.DEFAULTS,
                InstantSource.fixed(Fixtures.TIME))
            .run(ModelDecision.Trigger.DRIFT, champion.model().bundle(), samples, OptionalInt.of(0))
            .challenger()
            .orElse(champion.model().bundle());
    return new Contender(new CostModel(trained), opened(trained));
  }

  private void measure(Planned planned, Random random) {
    for (int m = 0; m < MEASUREMENTS; m++) {
      String id = "measurement " + samples.size();
      double[] ms = compute(planned);
      for (int d = 0; d < DEVICES; d++) {
        ms[d] *= 1 + NOISE * random.nextGaussian();
      }
      PlanCost cost = cost(ms, planned.columns());
      List<MeasuredDevice> measured = new ArrayList<>();
      for (int d = 0; d < DEVICES; d++) {
        measured.add(new MeasuredDevice(ms[d], cost.forwardCommMs()[d], cost.backwardCommMs()[d]));
        sample(id, planned, new CostSample.Computation(d, planned.shards(d), ms[d], ms[d]));
      }
      sample(
          id,
          planned,
          new CostSample.Exchange(
              IntStream.of(planned.columns()).boxed().toList(), measured, measured));
    }
  }

  private void sample(String measurement, Planned planned, CostSample.Cost cost) {
    samples.add(
        new CostSample(
            measurement,
            shipped.hardware(),
            Fixtures.WORKLOAD,
            "plan of " + planned.found().predictedMs(),
            shipped.modelId(),
            "trainer",
            cluster.batchSize(),
            25,
            Fixtures.TIME,
            cost));
  }

  private double step(Planned planned) {
    return cost(compute(planned), planned.columns()).predictedMs();
  }

  private PlanCost cost(double[] computeMs, int[] columns) {
    return before.evaluator().planCost(computeMs, columns, cluster.batchSize());
  }

  /** What the shipped model says of each device, twice for the part of its wide shards. */
  private double[] compute(Planned planned) {
    CostEvaluator evaluator = before.evaluator();
    return IntStream.range(0, DEVICES)
        .mapToDouble(
            d -> {
              double[] sum = new double[before.towerSize()];
              double alone = 0;
              double slower = 0;
              for (TableSpec shard : planned.shards(d)) {
                double[] tower = sums.computeIfAbsent(shard, this::tower);
                TowerSums.add(sum, tower);
                double ms = evaluator.computeMs(tower);
                alone += ms;
                slower += shard.columns() >= 32 ? 2 * ms : ms;
              }
              return alone == 0 ? 0 : evaluator.computeMs(sum) * slower / alone;
            })
        .toArray();
  }

  private double[] tower(TableSpec shard) {
    TablePrediction prediction = towers.predict(List.of(shard), cluster.batchSize()).get(0);
    return TowerSums.exact(prediction.tower(shard.columns()));
  }
}
