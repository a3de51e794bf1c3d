package io.shardtide.bench.service;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.trainer.RandomPlans;
import io.shardtide.trainer.Trainer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A small training that never changes, measured again and again: how fast the machine itself is. On
 * one that is shared, costs change without any change that a benchmark makes.
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
   * @param cores how many devices may compute at a time
   */
  MachineSpeed(int devices, int batchSize, int cores) {
    List<TableSpec> tables =
        new RandomPlans(TABLES, SEED).tables().stream().map(t -> t.withColumns(COLUMNS)).toList();
    trainer = new Trainer(SEED, 0.01f, cores);
    trainer.reshard(
        new ClusterSpec(devices, ClusterSpec.MAX_MEMORY_BYTES, batchSize, devices, "yardstick"),
        TableSpec.byName(tables),
        IntStream.range(0, TABLES)
            .mapToObj(t -> Shard.ofColumns(tables.get(t), 0, COLUMNS, t % devices))
            .toList());
  }

  /** Returns what a step costs that nobody disturbs, in milliseconds. */
  double ms() {
    return trainer.train(STEPS).stepMs();
  }

  @Override
  public void close() {
    trainer.close();
  }
}
