package io.shardtide.bench;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import io.shardtide.trainer.Measurements;
import io.shardtide.trainer.RandomPlans;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import org.hipparchus.stat.correlation.KendallsCorrelation;

/**
 * Evaluates a cost model of this machine with the reference trainer: its predictions of plans that
 * were not measured before, and its plans against random and greedy ones.
 */
public final class TrainerBenchmark {
  private static final int STEPS = 5;

  /** Number of plans that are measured interleaved. */
  private static final int GROUP = 10;

  private static final int TABLES = 20;
  private static final String PLANNED = "planned";

  private final CostModel model;
  private final TowerPredictor towers;
  private final ClusterSpec cluster;
  private final Measurements machine;
  private final Random random;
  private final Runnable step;

  /**
   * Accuracy of predicted step costs.
   *
   * @param plans number of plans
   * @param mape mean absolute relative error of predicted against measured costs, as a fraction
   * @param kendall rank correlation, tau-b
   */
  public record PlanAccuracy(int plans, double mape, double kendall) {}

  /**
   * The planned sharding against another strategy: ratios of their measured costs; below 1, the
   * planned sharding is faster.
   *
   * @param name the other strategy
   * @param workloads number of workloads
   * @param mean mean ratio
   * @param min minimum ratio
   * @param max maximum ratio
   */
  public record StrategyRatio(String name, int workloads, double mean, double min, double max) {}

  /**
   * @param model a model of this machine
   * @param towers runs the model's table tower
   * @param devices number of devices
   * @param seed seed of workloads and plans
   * @param step called after each measured sharding
   */
  public TrainerBenchmark(
      CostModel model, TowerPredictor towers, int devices, long seed, Runnable step) {
    this.model = model;
    this.towers = towers;
    this.step = step;
    int batchSize = model.bundle().largestBatch();
    cluster = new ClusterSpec(devices, 1L << 32, batchSize, devices, model.hardware());
    machine = new Measurements(batchSize, STEPS, Runtime.getRuntime().availableProcessors(), seed);
    random = new Random(seed);
    machine.warmUp(new RandomPlans(TABLES, seed), devices);
  }

  /** Returns the number of shardings to measure. */
  public static int measurements(int plans, int workloads) {
    return plans + 4 * workloads;
  }

  /** Measures random shardings of random tables, which are not in the model's training samples. */
  public PlanAccuracy predictions(int plans) {
    double[] predicted = new double[plans];
    double[] measured = new double[plans];
    double error = 0;
    for (int from = 0; from < plans; from += GROUP) {
      List<Measurements.ShardedWorkload> group = new ArrayList<>();
      for (int p = from; p < Math.min(plans, from + GROUP); p++) {
        List<TableSpec> tables = workload();
        group.add(
            new Measurements.ShardedWorkload(cluster.devices(), tables, randomShards(tables)));
        predicted[p] =
            StepCost.of(predict(tables), group.get(p - from).shards(), cluster, model)
                .predictedMs();
      }
      double[] ms = measure(group);
      for (int p = 0; p < ms.length; p++) {
        measured[from + p] = ms[p];
        error += Math.abs(predicted[from + p] - ms[p]) / ms[p];
      }
    }
    return new PlanAccuracy(
        plans, error / plans, new KendallsCorrelation().correlation(predicted, measured));
  }

  /** Measures the planned shardings of workloads, interleaved with random and greedy ones. */
  public List<StrategyRatio> ratios(int workloads) {
    Map<String, List<Double>> ratios = new LinkedHashMap<>();
    for (int w = 0; w < workloads; w++) {
      List<TableSpec> tables = workload();
      Map<String, List<Shard>> strategies = new LinkedHashMap<>();
      strategies.put(PLANNED, plan(tables));
      strategies.put("random", randomShards(tables));
      strategies.put("size-greedy", greedyShards(tables, TableSpec::bytes));
      strategies.put("lookup-greedy", greedyShards(tables, t -> t.poolingFactor() * t.columns()));
      double[] ms =
          measure(
              strategies.values().stream()
                  .map(
                      shards -> new Measurements.ShardedWorkload(cluster.devices(), tables, shards))
                  .toList());
      int strategy = 0;
      for (String name : strategies.keySet()) {
        if (strategy > 0) {
          ratios.computeIfAbsent(name, n -> new ArrayList<>()).add(ms[0] / ms[strategy]);
        }
        strategy++;
      }
    }
    return ratios.entrySet().stream().map(e -> ratio(e.getKey(), e.getValue())).toList();
  }

  private static StrategyRatio ratio(String name, List<Double> ratios) {
    double[] sorted = ratios.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return new StrategyRatio(
        name,
        sorted.length,
        Arrays.stream(sorted).average().orElseThrow(),
        sorted[0],
        sorted[sorted.length - 1]);
  }

  private double[] measure(List<Measurements.ShardedWorkload> group) {
    double[] ms =
        machine.measure(group).stream()
            .mapToDouble(measured -> measured.costs().stepMs())
            .toArray();
    group.forEach(sharding -> step.run());
    return ms;
  }

  private List<TableSpec> workload() {
    return new RandomPlans(TABLES, random.nextLong())
        .tables().stream().map(t -> t.withColumns(16 << random.nextInt(4))).toList();
  }

  private List<TablePrediction> predict(List<TableSpec> tables) {
    return towers.predict(tables, cluster.batchSize());
  }

  private List<Shard> plan(List<TableSpec> tables) {
    List<TableSpec> sorted = tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
    SearchResult result =
        LocalSearch.search(
            new SearchProblem(predict(sorted), cluster, model), SearchSettings.DEFAULTS);
    return ((SearchResult.Found) result).shards();
  }

  private List<Shard> randomShards(List<TableSpec> tables) {
    return tables.stream()
        .map(t -> Shard.ofColumns(t, 0, t.columns(), random.nextInt(cluster.devices())))
        .toList();
  }

  /** Places whole tables, the largest first, each on the device with the lowest load. */
  private List<Shard> greedyShards(List<TableSpec> tables, ToDoubleFunction<TableSpec> size) {
    double[] load = new double[cluster.devices()];
    List<Shard> shards = new ArrayList<>();
    for (TableSpec table :
        tables.stream().sorted(Comparator.comparingDouble(size).reversed()).toList()) {
      int least = 0;
      for (int d = 1; d < load.length; d++) {
        least = load[d] < load[least] ? d : least;
      }
      load[least] += size.applyAsDouble(table);
      shards.add(Shard.ofColumns(table, 0, table.columns(), least));
    }
    return shards;
  }
}
