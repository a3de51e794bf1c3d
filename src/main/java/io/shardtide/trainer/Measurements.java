package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Measures what shardings cost on this machine, each with a trainer of its own. */
public final class Measurements {
  /** Plans that are not counted, so that code is compiled when the first one is. */
  private static final int WARM_UP_PLANS = 6;

  /** Steps that are not counted: memory is touched for the first time, code is compiled. */
  private static final int WARM_UP = 2;

  private static final String NONE = "measured";

  private final int batchSize;
  private final int steps;
  private final int cores;
  private final long seed;

  /**
   * A measurement.
   *
   * @param costs median of each cost over the steps
   * @param noise how far a single step's cost is from the median, as a fraction of it: the median
   *     over steps, mean over devices, of the computation
   */
  public record Measured(StepCosts costs, double noise) {}

  /**
   * @param batchSize samples in a batch, over all devices
   * @param steps steps that a cost is the median of, at least 1
   * @param cores how many devices may compute at a time
   * @param seed seed of what is looked up
   */
  public Measurements(int batchSize, int steps, int cores, long seed) {
    this.batchSize = batchSize;
    this.steps = steps;
    this.cores = cores;
    this.seed = seed;
  }

  /** Runs some plans for nothing. */
  public void warmUp(RandomPlans plans, int devices) {
    for (int p = 0; p < WARM_UP_PLANS; p++) {
      RandomPlans.RandomPlan plan = plans.next(devices);
      of(devices, TableSpec.byName(plan.tables()), plan.shards());
    }
  }

  /**
   * Measures a sharding.
   *
   * @param devices number of devices
   * @param tables the tables by name
   * @param shards where they lie
   */
  public Measured of(int devices, Map<String, TableSpec> tables, List<Shard> shards) {
    try (Trainer trainer = new Trainer(seed, 0.01f, cores)) {
      trainer.reshard(
          new ClusterSpec(devices, ClusterSpec.MAX_MEMORY_BYTES, batchSize, devices, NONE),
          tables,
          shards);
      trainer.train(WARM_UP);
      List<StepCosts> costs = new ArrayList<>();
      for (int s = 0; s < steps; s++) {
        costs.add(trainer.train());
      }
      StepCosts median = StepCosts.median(costs);
      return new Measured(median, noise(costs, median));
    }
  }

  private static double noise(List<StepCosts> steps, StepCosts median) {
    double sum = 0;
    int devices = 0;
    for (int d = 0; d < median.devices().size(); d++) {
      int device = d;
      double centre = median.devices().get(d).computeMs();
      if (centre > 0) {
        double[] away =
            steps.stream()
                .mapToDouble(s -> Math.abs(s.devices().get(device).computeMs() - centre))
                .sorted()
                .toArray();
        sum += away[away.length / 2] / centre;
        devices++;
      }
    }
    return devices == 0 ? 0 : sum / devices;
  }
}
