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
 * What a model of this machine is worth: its predictions of plans that were never measured, and its
 * plans against others, both measured with the reference trainer.
 */
public final class TrainerBenchmark {
  private static final int STEPS = 5;

  /** Plans that are measured in turns. */
  private static final int TOGETHER = 10;

  private static final int TABLES = 20;
  private static final String PLANNED = "planned";

  private final CostModel model;
  private final TowerPredictor towers;
  private final ClusterSpec cluster;
  private final Measurements machine;
  private final Random random;
  private final Runnable step;

  /**
   * Predictions against measurements.
   *
   * @param plans number of plans
   * @param mape mean absolute error of a plan's predicted cost, as a fraction of the measured
   * @param kendall rank correlation, tau-b
   */
  public record Predictions(int plans, double mape, double kendall) {}

  /**
   * A way to shard against the planned one.
   *
   * @param name the way
   * @param workloads number of workloads
   * @param mean mean of the planned sharding's measured cost over this one's; below 1 is faster
   * @param least the least of them
   * @param most the most of them
   */
  public record Ratio(String name, int workloads, double mean, double least, double most) {}

  /**
   * @param model a model of this machine
   * @param towers its towers
   * @param devices number of devices
   * @param seed seed of workloads and plans
   * @param step called after each measurement
   */
  public TrainerBenchmark(
      CostModel model, TowerPredictor towers, int devices, long seed, Runnable step) {
    this.model = model;
    this.towers = towers;
    this.step = step;
    int batchSize = model.bundle().batchSize();
    cluster = new ClusterSpec(devices, 1L << 32, batchSize, devices, model.hardware());
    machine = new Measurements(batchSize, STEPS, Runtime.getRuntime().availableProcessors(), seed);
    random = new Random(seed);
    machine.warmUp(new RandomPlans(TABLES, seed), devices);
  }

  /** Returns how many shardings are measured for so many plans and workloads. */
  public static int work(int plans, int workloads) {
    return plans + 4 * workloads;
  }

  /** Measures random shardings of random tables, of which the model has seen none. */
  public Predictions predictions(int plans) {
    double[] predicted = new double[plans];
    double[] measured = new double[plans];
    double error = 0;
    for (int from = 0; from < plans; from += TOGETHER) {
      List<Measurements.ShardedWorkload> group = new ArrayList<>();
      for (int p = from; p < Math.min(plans, from + TOGETHER); p++) {
        List<TableSpec> tables = workload();
        group.add(new Measurements.ShardedWorkload(cluster.devices(), tables, randomly(tables)));
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
    return new Predictions(
        plans, error / plans, new KendallsCorrelation().correlation(predicted, measured));
  }

  /** Measures the planned sharding of workloads against random and greedy ones, in turns. */
  public List<Ratio> ratios(int workloads) {
    Map<String, List<Double>> ratios = new LinkedHashMap<>();
    for (int w = 0; w < workloads; w++) {
      List<TableSpec> tables = workload();
      Map<String, List<Shard>> ways = new LinkedHashMap<>();
      ways.put(PLANNED, plan(tables));
      ways.put("random", randomly(tables));
      ways.put("size-greedy", greedily(tables, TableSpec::bytes));
      ways.put("lookup-greedy", greedily(tables, t -> t.poolingFactor() * t.columns()));
      double[] ms =
          measure(
              ways.values().stream()
                  .map(
                      shards -> new Measurements.ShardedWorkload(cluster.devices(), tables, shards))
                  .toList());
      int way = 0;
      for (String name : ways.keySet()) {
        if (way > 0) {
          ratios.computeIfAbsent(name, n -> new ArrayList<>()).add(ms[0] / ms[way]);
        }
        way++;
      }
    }
    return ratios.entrySet().stream().map(e -> ratio(e.getKey(), e.getValue())).toList();
  }

  private static Ratio ratio(String name, List<Double> ratios) {
    double[] sorted = ratios.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return new Ratio(
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
            new SearchProblem(predict(sorted), cluster, model, List.of()), SearchSettings.DEFAULTS);
    return ((SearchResult.Found) result).shards();
  }

  private List<Shard> randomly(List<TableSpec> tables) {
    return tables.stream()
        .map(t -> Shard.ofColumns(t, 0, t.columns(), random.nextInt(cluster.devices())))
        .toList();
  }

  /** The largest first, each on the device that has least so far, as TorchRec and others begin. */
  private List<Shard> greedily(List<TableSpec> tables, ToDoubleFunction<TableSpec> size) {
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
