package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.trainer.StepCosts.CollectiveStepCosts;
import io.shardtide.trainer.StepCosts.DeviceStepCosts;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
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
 * steps, keeping all weights. Results depend on the sharding only by the order of float additions,
 * and never on the timing of threads. Not thread-safe.
 *
 * <p>Each phase runs on the threads of all devices and is measured in their processor time, so that
 * costs do not include other devices or other processes when cores are shared.
 */
public final class Trainer implements AutoCloseable {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final double NANOS_PER_MS = 1e6;

  private final long seed;
  private final float learningRate;
  private final Semaphore cores;
  private final List<ExecutorService> threads = new ArrayList<>();
  private final List<DeviceMemory> memories = new ArrayList<>();
  private List<Device> devices = List.of();
  private List<ScopeLayout> layouts = List.of();
  private PlanShards running = PlanShards.NONE;
  private int batchSize = 1;
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
   * @param newShards shards of all tables
   * @return bytes moved between devices
   * @throws IllegalArgumentException if the shards of a table are not those of a sharding, or do
   *     not fit; the trainer is unchanged
   */
  public long reshard(ClusterSpec cluster, Map<String, TableSpec> tables, List<Shard> newShards) {
    ColumnIndex index = ColumnIndex.of(cluster, tables, newShards);
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
    long moved = new Resharding(running, index, memories).run();
    while (memories.size() > cluster.devices()) {
      memories.remove(memories.size() - 1);
      threads.remove(threads.size() - 1).shutdown();
    }
    layouts = ScopeLayout.of(index);
    List<Device> next = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      Device device = new Device(d, index, layouts, memories.get(d), seed);
      device.setSlowdown(slowdown);
      next.add(device);
    }
    devices = List.copyOf(next);
    running = index.placed();
    batchSize = cluster.batchSize();
    return moved;
  }

  private static void checkMemory(ColumnIndex index) {
    double[] bytes = new double[index.cluster().devices()];
    for (Shard shard : index.shards()) {
      long ofShard = shard.region().bytes(index.tables().get(shard.table()));
      shard.holders(bytes.length).forEach(device -> bytes[device] += ofShard);
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
    List<CollectiveStepCosts> collectives = new ArrayList<>();
    run(device -> device.draw(step));
    List<Double> pool = run(Device::forward);
    for (int i = 0; i < layouts.size(); i++) {
      collectives.addAll(forward(layouts.get(i), i));
    }
    run(Device::dense);
    for (int i = 0; i < layouts.size(); i++) {
      collectives.addAll(backward(layouts.get(i), i));
    }
    List<Double> sums = run(Device::sumGradients);
    collectives.addAll(reduceCopies());
    List<Double> update = run(device -> device.update(learningRate));
    step++;
    List<DeviceStepCosts> costs = new ArrayList<>();
    for (int d = 0; d < devices.size(); d++) {
      boolean any = devices.get(d).hasShards();
      costs.add(
          new DeviceStepCosts(
              any ? pool.get(d) + sums.get(d) + update.get(d) : 0, any ? pool.get(d) : 0));
    }
    return new StepCosts(costs, collectives);
  }

  private List<CollectiveStepCosts> forward(ScopeLayout layout, int i) {
    List<ScopeOutputs> outputs = devices.stream().map(device -> device.outputs(i)).toList();
    List<CollectiveStepCosts> costs = new ArrayList<>();
    if (layout.reduces()) {
      costs.add(
          new CollectiveStepCosts(
              layout.scope(),
              Collective.REDUCE_SCATTER,
              Direction.FORWARD,
              layout.groupSize(),
              transfer(device -> device.outputs(i).sendPartial()),
              transfer(device -> device.outputs(i).reduce(outputs))));
    }
    List<Double> send = transfer(device -> device.outputs(i).sendOutputs());
    List<Double> receive =
        transfer(device -> device.outputs(i).receiveOutputs(outputs, device.features()));
    if (layout.sends()) {
      costs.add(allToAll(layout, Direction.FORWARD, send, receive));
    }
    return costs;
  }

  private List<CollectiveStepCosts> backward(ScopeLayout layout, int i) {
    List<ScopeOutputs> outputs = devices.stream().map(device -> device.outputs(i)).toList();
    List<CollectiveStepCosts> costs = new ArrayList<>();
    List<Double> send = transfer(device -> device.outputs(i).sendGradients(device.features()));
    List<Double> receive =
        transfer(device -> device.outputs(i).receiveGradients(outputs, device.features()));
    if (layout.sends()) {
      costs.add(allToAll(layout, Direction.BACKWARD, send, receive));
    }
    if (layout.reduces()) {
      costs.add(
          new CollectiveStepCosts(
              layout.scope(),
              Collective.ALL_GATHER,
              Direction.BACKWARD,
              layout.groupSize(),
              transfer(device -> device.outputs(i).sendReduced()),
              transfer(device -> device.outputs(i).gather(outputs))));
    }
    return costs;
  }

  private static CollectiveStepCosts allToAll(
      ScopeLayout layout, Direction direction, List<Double> send, List<Double> receive) {
    return new CollectiveStepCosts(
        layout.scope(), Collective.ALL_TO_ALL, direction, layout.devices(), send, receive);
  }

  private List<CollectiveStepCosts> reduceCopies() {
    if (devices.size() == 1 || !devices.get(0).hasCopies()) {
      return List.of();
    }
    List<DenseGradients> all = devices.stream().map(Device::denseGradients).toList();
    return List.of(
        new CollectiveStepCosts(
            ShardScope.COPIES,
            Collective.ALL_REDUCE,
            Direction.BACKWARD,
            devices.size(),
            transfer(device -> device.denseGradients().reduce(all)),
            transfer(device -> device.denseGradients().gather(all))));
  }

  /**
   * Trains several steps.
   *
   * @return lower quartiles of the steps' costs
   */
  public StepCosts train(int steps) {
    return StepCosts.lowerQuartiles(Stream.generate(this::train).limit(steps).toList());
  }

  /** Returns the mean log loss of the last step. */
  public double loss() {
    return devices.stream().mapToDouble(Device::loss).sum() / batchSize;
  }

  /**
   * Returns a weight.
   *
   * @throws IllegalArgumentException if no device has it
   */
  public float weight(String table, long row, int column) {
    return shards(table, row, column)
        .map(shard -> shard.weight(row, column))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "No device has row %,d of column %d of table %s"
                        .formatted(row, column, table)));
  }

  /** Returns the shards that have an element: one, or as many as there are copies. */
  Stream<ShardWeights> shards(String table, long row, int column) {
    Region element = new Region(column, 1, row, 1);
    return memories.stream()
        .flatMap(memory -> memory.shardsOf(table).stream())
        .filter(shard -> shard.region().intersection(element).isPresent());
  }

  /** Returns the maximum bytes of a device's shards since the last resharding started. */
  long peakBytes(int device) {
    return memories.get(device).peakBytes();
  }

  /** Runs a part of a collective on all devices; returns its costs by device number. */
  private List<Double> transfer(Consumer<Device> part) {
    return run(device -> device.transfer(() -> part.accept(device)));
  }

  /** Runs a phase on all devices; returns its costs by device number. */
  private List<Double> run(Consumer<Device> phase) {
    List<Future<Double>> started = new ArrayList<>();
    for (int d = 0; d < devices.size(); d++) {
      Device device = devices.get(d);
      started.add(threads.get(d).submit(() -> runOnCore(() -> phase.accept(device))));
    }
    return started.stream().map(Trainer::await).toList();
  }

  private double runOnCore(Runnable phase) {
    cores.acquireUninterruptibly();
    try {
      long before = THREADS.getCurrentThreadCpuTime();
      phase.run();
      return (THREADS.getCurrentThreadCpuTime() - before) / NANOS_PER_MS;
    } finally {
      cores.release();
    }
  }

  private static double await(Future<Double> phase) {
    try {
      return phase.get();
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
