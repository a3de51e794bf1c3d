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
 * Trains the embedding tables of a workload: a thread for each device, steps in lockstep. Between
 * two steps it may go over to other shards, with all weights. What it computes is the same to the
 * last bit however the tables are sharded. Called by one thread.
 */
public final class Trainer implements AutoCloseable {
  private final long seed;
  private final float rate;
  private final Semaphore cores;
  private final List<ExecutorService> threads = new ArrayList<>();
  private final List<DeviceMemory> memories = new ArrayList<>();
  private List<Device> devices = List.of();
  private List<Shard> shards = List.of();
  private int batchSize;
  private Slowdown slowdown = Slowdown.NONE;
  private long step;

  /**
   * @param seed seed of what is looked up
   * @param rate learning rate of the gradient descent, 0 and more
   * @param cores how many devices may compute at a time, at least 1; the others wait, and do not
   *     count it
   */
  public Trainer(long seed, float rate, int cores) {
    this.seed = seed;
    this.rate = rate;
    this.cores = new Semaphore(cores);
  }

  /**
   * Goes over to other shards before the next step.
   *
   * @param cluster devices, their memory, and the batch
   * @param tables the tables by name
   * @param newShards every column of every table exactly once, by table or by column
   * @return bytes that changed their device
   * @throws IllegalArgumentException if this trainer cannot run it; nothing has changed
   */
  public long reshard(ClusterSpec cluster, Map<String, TableSpec> tables, List<Shard> newShards) {
    ColumnIndex layout = new ColumnIndex(cluster, tables, newShards);
    checkMemory(layout);
    while (memories.size() < cluster.devices()) {
      memories.add(new DeviceMemory("device " + memories.size(), cluster.memoryBytesPerDevice()));
      int number = threads.size();
      threads.add(
          Executors.newSingleThreadExecutor(
              task -> {
                Thread thread = new Thread(task, "device-" + number);
                thread.setDaemon(true);
                return thread;
              }));
    }
    // Buffers of the old layout make room for the new one's.
    devices = List.of();
    long moved = new Resharding(shards, layout, memories).run();
    while (memories.size() > cluster.devices()) {
      memories.remove(memories.size() - 1);
      threads.remove(threads.size() - 1).shutdown();
    }
    List<Device> next = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      Device device = new Device(d, layout, memories.get(d), seed, rate);
      device.setSlowdown(slowdown);
      next.add(device);
    }
    devices = List.copyOf(next);
    shards = layout.shards();
    batchSize = cluster.batchSize();
    return moved;
  }

  private static void checkMemory(ColumnIndex layout) {
    double[] bytes = new double[layout.cluster().devices()];
    for (Shard shard : layout.shards()) {
      bytes[shard.device()] += layout.tables().get(shard.table()).bytes(shard.columns());
    }
    for (int d = 0; d < bytes.length; d++) {
      if (bytes[d] > layout.cluster().memoryBytesPerDevice()) {
        throw new IllegalArgumentException(
            "The shards of device %d need %,.0f bytes; legal are %,d"
                .formatted(d, bytes[d], layout.cluster().memoryBytesPerDevice()));
      }
    }
  }

  /** Makes the machine slower from the next step on. */
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
   * @return what it cost each device
   */
  public StepCosts train() {
    all(device -> device.draw(step));
    all(Device::forward);
    all(Device::pack);
    all(device -> device.unpack(devices));
    all(Device::dense);
    all(device -> device.packBack(devices));
    all(device -> device.unpackBack(devices));
    all(Device::update);
    step++;
    return costs();
  }

  /**
   * Trains several steps.
   *
   * @return what a step costs that nobody disturbs
   */
  public StepCosts train(int steps) {
    return StepCosts.undisturbed(Stream.generate(this::train).limit(steps).toList());
  }

  private StepCosts costs() {
    return new StepCosts(devices.stream().map(Device::costs).toList());
  }

  /** Returns the mean log loss of the last step's samples. */
  public double loss() {
    return devices.stream().mapToDouble(Device::loss).sum() / batchSize;
  }

  /** Returns a weight of a table that is trained here. */
  public float weight(String table, long row, int column) {
    for (DeviceMemory memory : memories) {
      for (ShardWeights shard : memory.of(table)) {
        if (shard.columnOffset() <= column && column < shard.columnEnd()) {
          return shard.weight(row, column);
        }
      }
    }
    throw new IllegalArgumentException(
        "No device holds column %d of table %s".formatted(column, table));
  }

  /** Returns the most bytes that a device's shards filled since the last resharding began. */
  double peakBytes(int device) {
    return memories.get(device).peakBytes();
  }

  private void all(Consumer<Device> phase) {
    List<Future<?>> running = new ArrayList<>();
    for (int d = 0; d < devices.size(); d++) {
      Device device = devices.get(d);
      running.add(threads.get(d).submit(() -> withCore(() -> phase.accept(device))));
    }
    for (Future<?> phaseOfDevice : running) {
      await(phaseOfDevice);
    }
  }

  private void withCore(Runnable work) {
    cores.acquireUninterruptibly();
    try {
      work.run();
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
      throw new IllegalStateException("The trainer was interrupted", e);
    }
  }

  @Override
  public void close() {
    threads.forEach(ExecutorService::shutdownNow);
  }
}
