package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures the costs of sharded workloads on this machine, each with its own trainer. Trainers run
 * interleaved: the speed of a shared machine varies in phases, and all workloads should be measured
 * in the same ones.
 */
public final class Measurements {
  /** Plans measured for warm-up, so that the JVM has compiled the code. */
  private static final int WARM_UP_PLANS = 8;

  /** Turns of each workload. */
  private static final int ROUNDS = 4;

  private static final String HARDWARE = "measured";

  private final int batchSize;
  private final int steps;
  private final int cores;
  private final long seed;

  /**
   * Tables and their shards.
   *
   * @param devices number of devices
   * @param devicesPerNode devices that share a node, 1 to {@code devices}
   * @param tables the tables
   * @param shards the shards of all tables
   */
  public record ShardedWorkload(
      int devices, int devicesPerNode, List<TableSpec> tables, List<Shard> shards) {
    /** Copies mutable components. */
    public ShardedWorkload {
      tables = List.copyOf(tables);
      shards = List.copyOf(shards);
    }

    /** Tables and their shards on one node. */
    public ShardedWorkload(int devices, List<TableSpec> tables, List<Shard> shards) {
      this(devices, devices, tables, shards);
    }

    /** Returns the devices, with more memory than any shards need. */
    public ClusterSpec cluster(int batchSize) {
      return Measurements.cluster(devices, devicesPerNode, batchSize);
    }

    /** Returns the bytes of all weights, those of each copy included. */
    private long bytes() {
      return shards.stream()
          .mapToLong(s -> s.holders(devices).count() * s.rows() * s.columns() * Float.BYTES)
          .sum();
    }
  }

  /**
   * The measured costs of a sharded workload.
   *
   * @param costs lower quartiles of the steps' costs
   * @param noise relative excess of the median computation over the lower quartile, mean over
   *     devices
   */
  public record MeasuredSharding(StepCosts costs, double noise) {}

  /**
   * @param batchSize samples in a batch, over all devices
   * @param steps steps in each of four turns, at least 2; the first is not counted, since caches
   *     hold data of another workload
   * @param cores maximum number of devices that compute at a time
   * @param seed seed of the lookups
   */
  public Measurements(int batchSize, int steps, int cores, long seed) {
    this.batchSize = batchSize;
    this.steps = steps;
    this.cores = cores;
    this.seed = seed;
  }

  static ClusterSpec cluster(int devices, int devicesPerNode, int batchSize) {
    return new ClusterSpec(
        devices, ClusterSpec.MAX_MEMORY_BYTES, batchSize, devicesPerNode, HARDWARE);
  }

  /** Measures random plans and discards the results, to warm up the JVM. */
  public void warmUp(RandomPlans plans, int devices) {
    List<ShardedWorkload> workloads = new ArrayList<>();
    for (int p = 0; p < WARM_UP_PLANS; p++) {
      workloads.add(plans.next(devices));
    }
    measure(workloads);
  }

  /** Measures workloads, interleaving as many as half of the heap can hold. */
  public List<MeasuredSharding> measure(List<ShardedWorkload> workloads) {
    return measure(workloads, Slowdown.NONE);
  }

  /** Measures workloads as {@link #measure(List)} does, with a slowdown. */
  public List<MeasuredSharding> measure(List<ShardedWorkload> workloads, Slowdown slowdown) {
    List<MeasuredSharding> measured = new ArrayList<>();
    long capacity = Runtime.getRuntime().maxMemory() / 2;
    for (int from = 0; from < workloads.size(); ) {
      int until = from + 1;
      long bytes = workloads.get(from).bytes();
      while (until < workloads.size() && bytes + workloads.get(until).bytes() <= capacity) {
        bytes += workloads.get(until).bytes();
        until++;
      }
      measured.addAll(measureInterleaved(workloads.subList(from, until), slowdown));
      from = until;
    }
    return measured;
  }

  private List<MeasuredSharding> measureInterleaved(
      List<ShardedWorkload> workloads, Slowdown slowdown) {
    List<Trainer> trainers = new ArrayList<>();
    try {
      List<List<StepCosts>> costs = new ArrayList<>();
      for (ShardedWorkload workload : workloads) {
        Trainer trainer = new Trainer(seed, 0.01f, cores);
        trainers.add(trainer);
        trainer.setSlowdown(slowdown);
        costs.add(new ArrayList<>());
        trainer.reshard(
            workload.cluster(batchSize), TableSpec.byName(workload.tables()), workload.shards());
        trainer.train();
      }
      for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < trainers.size(); t++) {
          trainers.get(t).train();
          for (int s = 1; s < steps; s++) {
            costs.get(t).add(trainers.get(t).train());
          }
        }
      }
      return costs.stream().map(Measurements::summarize).toList();
    } finally {
      trainers.forEach(Trainer::close);
    }
  }

  private static MeasuredSharding summarize(List<StepCosts> steps) {
    StepCosts quartiles = StepCosts.lowerQuartiles(steps);
    double sum = 0;
    int devices = 0;
    for (int d = 0; d < quartiles.devices().size(); d++) {
      int device = d;
      double ms = quartiles.devices().get(d).computeMs();
      if (ms > 0) {
        double[] sorted =
            steps.stream().mapToDouble(s -> s.devices().get(device).computeMs()).sorted().toArray();
        sum += sorted[sorted.length / 2] / ms - 1;
        devices++;
      }
    }
    return new MeasuredSharding(quartiles, devices == 0 ? 0 : sum / devices);
  }
}
