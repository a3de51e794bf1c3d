package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Trains the embedding tables of a workload with one thread per device. It can be resharded between
 * steps, keeping all weights. Results do not depend on the sharding, to the last bit. Not
 * thread-safe.
 */
public final class Trainer implements AutoCloseable {
  private final long seed;
  private final float learningRate;
  private final Semaphore cores;
  private final List<ExecutorService> threads = new ArrayList<>();
  private final List<DeviceMemory> memories = new ArrayList<>();
  private List<Device> devices = List.of();
  private List<Shard> shards = List.of();
  private int batchSize;
  private Slowdown slowdown = Slowdown.NONE;
  private long step;

  /**
   * @param seed seed of the lookups
   * @param learningRate learning rate of the gradient descent, at least 0
   * @param cores maximum number of devices that compute at a time, at least 1; the others wait, at
   *     no cost
   */
  public Trainer(long seed, float learningRate, int cores) {
    this.seed = seed;
    this.learningRate = learningRate;
    this.cores = new Semaphore(cores);
  }

  /**
   * Reshards before the next step.
   *
   * @param cluster devices, memory per device and batch size
   * @param tables tables by name
   * @param newShards table-wise or column-wise shards that cover every column of every table
   *     exactly once
   * @return bytes moved between devices
   * @throws IllegalArgumentException if this trainer does not support the sharding, or it does not
   *     fit; the trainer is unchanged
   */
  public long reshard(ClusterSpec cluster, Map<String, TableSpec> tables, List<Shard> newShards) {
    ColumnIndex index = new ColumnIndex(cluster, tables, newShards);
    checkMemory(index);
    while (memories.size() < cluster.devices()) {
      memories.add(new DeviceMemory("device " + memories.size(), cluster.usableBytesPerDevice()));
      int number = threads.size();
      threads.add(
          Executors.newSingleThreadExecutor(
              task -> {
                Thread thread = new Thread(task, "device-" + number);
                thread.setDaemon(true);
                return thread;
              }));
    }
    // Frees the buffers of the old sharding before those of the new one are allocated.
    devices = List.of();
    long moved = new Resharding(shards, index, memories).run();
    while (memories.size() > cluster.devices()) {
      memories.remove(memories.size() - 1);
      threads.remove(threads.size() - 1).shutdown();
    }
    List<Device> next = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      Device device = new Device(d, index, memories.get(d), seed, learningRate);
      device.setSlowdown(slowdown);
      next.add(device);
    }
    devices = List.copyOf(next);
    shards = index.shards();
    batchSize = cluster.batchSize();
    return moved;
  }

  private static void checkMemory(ColumnIndex index) {
    double[] bytes = new double[index.cluster().devices()];
    for (Shard shard : index.shards()) {
      bytes[shard.device()] += index.tables().get(shard.table()).bytes(shard.columns());
    }
    for (int d = 0; d < bytes.length; d++) {
      if (bytes[d] > index.cluster().usableBytesPerDevice()) {
        throw new IllegalArgumentException(
            "The shards of device %d need %,.0f bytes, but it has %,d"
                .formatted(d, bytes[d], index.cluster().usableBytesPerDevice()));
      }
    }
  }

  /** Sets the slowdown from the next step on. */
  public void setSlowdown(Slowdown slowdown) {
    this.slowdown = slowdown;
    devices.forEach(device -> device.setSlowdown(slowdown));
  }

  /** Returns the number of the next step. */
  public long step() {
    return step;
  }

  /**
   * Trains one step.
   *
   * @return the step's costs by device
   */
  public StepCosts train() {
    runPhase(device -> device.draw(step));
    runPhase(Device::forward);
    runPhase(Device::pack);
    runPhase(device -> device.unpack(devices));
    runPhase(Device::dense);
    runPhase(device -> device.packBack(devices));
    runPhase(device -> device.unpackBack(devices));
    runPhase(Device::update);
    step++;
    return costs();
  }

  /**
   * Trains several steps.
   *
   * @return lower quartiles of the steps' costs
   */
  public StepCosts train(int steps) {
    return StepCosts.lowerQuartiles(Stream.generate(this::train).limit(steps).toList());
  }

  private StepCosts costs() {
    return new StepCosts(devices.stream().map(Device::costs).toList());
  }

  /** Returns the mean log loss of the last step. */
  public double loss() {
    return devices.stream().mapToDouble(Device::loss).sum() / batchSize;
  }

  /**
   * Returns a weight.
   *
   * @throws IllegalArgumentException if no device has the column
   */
  public float weight(String table, long row, int column) {
    for (DeviceMemory memory : memories) {
      for (ShardWeights shard : memory.shardsOf(table)) {
        if (shard.columnOffset() <= column && column < shard.columnEnd()) {
          return shard.weight(row, column);
        }
      }
    }
    throw new IllegalArgumentException(
        "No device has column %d of table %s".formatted(column, table));
  }

  /** Returns the maximum bytes of a device's shards since the last resharding started. */
  long peakBytes(int device) {
    return memories.get(device).peakBytes();
  }

  private void runPhase(Consumer<Device> phase) {
    List<Future<?>> running = new ArrayList<>();
    for (int d = 0; d < devices.size(); d++) {
      Device device = devices.get(d);
      running.add(threads.get(d).submit(() -> runOnCore(() -> phase.accept(device))));
    }
    for (Future<?> devicePhase : running) {
      await(devicePhase);
    }
  }

  private void runOnCore(Runnable phase) {
    cores.acquireUninterruptibly();
    try {
      phase.run();
    } finally {
      cores.release();
    }
  }

  private static void await(Future<?> phase) {
    try {
      phase.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("A device failed: " + e.getCause().getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Training was interrupted", e);
    }
  }

  @Override
  public void close() {
    threads.forEach(ExecutorService::shutdownNow);
  }
}
