package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures what shardings cost on this machine, each with a trainer of its own. Those that are
 * measured together take turns: a machine that is shared is fast and slow in phases, and each
 * sharding should see some of both.
 */
public final class Measurements {
  /** Plans that are not counted, so that code is compiled when the first one is. */
  private static final int WARM_UP_PLANS = 8;

  /** Times that each sharding has its turn. */
  private static final int ROUNDS = 4;

  private static final String NONE = "measured";

  private final int batchSize;
  private final int steps;
  private final int cores;
  private final long seed;

  /**
   * What is measured.
   *
   * @param devices number of devices
   * @param tables the tables
   * @param shards where they lie
   */
  public record Sharding(int devices, List<TableSpec> tables, List<Shard> shards) {
    /** Copies what may change. */
    public Sharding {
      tables = List.copyOf(tables);
      shards = List.copyOf(shards);
    }

    /** Returns the bytes of all weights. */
    private long bytes() {
      return tables.stream().mapToLong(table -> table.rows() * table.columns() * Float.BYTES).sum();
    }
  }

  /**
   * A measurement.
   *
   * @param costs what a step costs that nobody disturbs
   * @param noise how far a step's computation is above that, as a fraction: the median over steps,
   *     mean over devices
   */
  public record MeasuredSharding(StepCosts costs, double noise) {}

  /**
   * @param batchSize samples in a batch, over all devices
   * @param steps steps in each of four turns, of which the first is not counted: caches are of
   *     another sharding; at least 2
   * @param cores how many devices may compute at a time
   * @param seed seed of what is looked up
   */
  public Measurements(int batchSize, int steps, int cores, long seed) {
    this.batchSize = batchSize;
    this.steps = steps;
    this.cores = cores;
    this.seed = seed;
  }

  /** Measures some shardings for nothing. */
  public void warmUp(RandomPlans plans, int devices) {
    List<Sharding> shardings = new ArrayList<>();
    for (int p = 0; p < WARM_UP_PLANS; p++) {
      shardings.add(plans.next(devices));
    }
    of(shardings);
  }

  /** Measures shardings, in turns: as many together as half of the memory holds. */
  public List<MeasuredSharding> of(List<Sharding> shardings) {
    return of(shardings, Slowdown.NONE);
  }

  /** Measures shardings as {@link #of(List)} does, on a machine that is slower. */
  public List<MeasuredSharding> of(List<Sharding> shardings, Slowdown slowdown) {
    List<MeasuredSharding> measured = new ArrayList<>();
    long room = Runtime.getRuntime().maxMemory() / 2;
    for (int from = 0; from < shardings.size(); ) {
      int until = from + 1;
      long bytes = shardings.get(from).bytes();
      while (until < shardings.size() && bytes + shardings.get(until).bytes() <= room) {
        bytes += shardings.get(until).bytes();
        until++;
      }
      measured.addAll(together(shardings.subList(from, until), slowdown));
      from = until;
    }
    return measured;
  }

  private List<MeasuredSharding> together(List<Sharding> shardings, Slowdown slowdown) {
    List<Trainer> trainers = new ArrayList<>();
    try {
      List<List<StepCosts>> costs = new ArrayList<>();
      for (Sharding sharding : shardings) {
        Trainer trainer = new Trainer(seed, 0.01f, cores);
        trainers.add(trainer);
        trainer.setSlowdown(slowdown);
        costs.add(new ArrayList<>());
        trainer.reshard(
            new ClusterSpec(
                sharding.devices(),
                ClusterSpec.MAX_MEMORY_BYTES,
                batchSize,
                sharding.devices(),
                NONE),
            TableSpec.byName(sharding.tables()),
            sharding.shards());
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
      return costs.stream().map(Measurements::measured).toList();
    } finally {
      trainers.forEach(Trainer::close);
    }
  }

  private static MeasuredSharding measured(List<StepCosts> steps) {
    StepCosts undisturbed = StepCosts.undisturbed(steps);
    double sum = 0;
    int devices = 0;
    for (int d = 0; d < undisturbed.devices().size(); d++) {
      int device = d;
      double ms = undisturbed.devices().get(d).computeMs();
      if (ms > 0) {
        double[] sorted =
            steps.stream().mapToDouble(s -> s.devices().get(device).computeMs()).sorted().toArray();
        sum += sorted[sorted.length / 2] / ms - 1;
        devices++;
      }
    }
    return new MeasuredSharding(undisturbed, devices == 0 ? 0 : sum / devices);
  }
}
