package io.shardtide.bench.service;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.trainer.RandomPlans;
import io.shardtide.trainer.Trainer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Reference for the speed of the machine: a small constant training workload, measured repeatedly.
 * On a shared machine, costs also change for reasons outside of a benchmark.
 */
final class MachineSpeed implements AutoCloseable {
  private static final int TABLES = 6;
  private static final int COLUMNS = 32;
  private static final int STEPS = 12;
  private static final long SEED = 1;

  private final Trainer trainer;

  /**
   * @param devices number of devices
   * @param batchSize samples in a batch, over all devices
   * @param cores maximum number of devices that compute at a time
   */
  MachineSpeed(int devices, int batchSize, int cores) {
    List<TableSpec> tables =
        new RandomPlans(TABLES, SEED).tables().stream().map(t -> t.withColumns(COLUMNS)).toList();
    trainer = new Trainer(SEED, 0.01f, cores);
    trainer.reshard(
        new ClusterSpec(devices, ClusterSpec.MAX_MEMORY_BYTES, batchSize, devices, "reference"),
        TableSpec.byName(tables),
        IntStream.range(0, TABLES)
            .mapToObj(t -> Shard.ofColumns(tables.get(t), 0, COLUMNS, t % devices))
            .toList());
  }

  /** Returns the lower quartile of the cost of a step, in milliseconds. */
  double stepMs() {
    return trainer.train(STEPS).stepMs();
  }

  @Override
  public void close() {
    trainer.close();
  }
}
