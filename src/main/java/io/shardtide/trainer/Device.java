package io.shardtide.trainer;

import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;

/**
 * One device of the trainer. The phases of a step run on the device's own thread and are measured
 * in its processor time, so that costs do not include other devices or other processes when cores
 * are shared.
 */
final class Device {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final double NANOS_PER_MS = 1e6;

  private final int number;
  private final ColumnIndex index;
  private final float learningRate;

  /** Position in a row of {@link #features} of each shard's first column. */
  private final int[] positions;

  private final ShardWeights[] shards;
  private final LookupSource[] sources;
  private final Lookups[] lookups;
  private final LookupSource labelSource;
  private final Lookups labels;
  private final LogisticLoss logisticLoss;
  private final int columns;
  private final int batch;

  /** Length of a row of {@link #features}: the columns of all devices. */
  private final int stride;

  private final int firstSample;

  /** Number of this device's samples. */
  private final int samples;

  /** Offset in {@link #backwardBuffer} of the gradients of each owner's columns. */
  private final int[] sendOffsets;

  /** Pooled outputs of this device's shards for the whole batch, later their gradients. */
  private final float[] outputs;

  /** Pooled outputs of all devices for this device's samples, later their gradients. */
  private final float[] features;

  /** Send buffer of the forward all-to-all: outputs for the other devices' samples. */
  private final float[] forwardBuffer;

  /** Send buffer of the backward all-to-all: gradients of the other devices' columns. */
  private final float[] backwardBuffer;

  private Slowdown slowdown = Slowdown.NONE;
  private double loss;
  private double forwardMs;
  private double packMs;
  private double unpackMs;
  private double packBackMs;
  private double unpackBackMs;
  private double updateMs;

  /**
   * @param number the device's number
   * @param index positions of the columns
   * @param memory memory that holds this device's shards
   * @param seed seed of the lookups
   * @param learningRate learning rate
   */
  Device(int number, ColumnIndex index, DeviceMemory memory, long seed, float learningRate) {
    this.number = number;
    this.index = index;
    this.learningRate = learningRate;
    batch = index.cluster().batchSize();
    int[] own = index.shardsOf(number);
    int[] allPositions = index.positions();
    positions = new int[own.length];
    shards = new ShardWeights[own.length];
    sources = new LookupSource[own.length];
    lookups = new Lookups[own.length];
    int width = 0;
    for (int i = 0; i < own.length; i++) {
      Shard shard = index.shards().get(own[i]);
      positions[i] = allPositions[own[i]];
      shards[i] = memory.shard(shard.table(), shard.columnOffset());
      // Shards of one table look up the same rows, so they share its lookups.
      boolean sameTable = i > 0 && index.shards().get(own[i - 1]).table().equals(shard.table());
      TableSpec table = index.tables().get(shard.table());
      sources[i] = sameTable ? null : new LookupSource(table, batch, seed);
      lookups[i] = sameTable ? lookups[i - 1] : new Lookups(batch);
      width += shard.columns();
    }
    columns = width;
    TableSpec first =
        index.shards().isEmpty() ? null : index.tables().get(index.shards().get(0).table());
    labelSource = first == null ? null : new LookupSource(first, batch, seed);
    labels = new Lookups(batch);
    logisticLoss = new LogisticLoss(index, seed);
    stride = index.columns();
    firstSample = index.firstSample(number);
    samples = index.firstSample(number + 1) - firstSample;
    sendOffsets = sendOffsets();
    outputs = new float[batch * columns];
    features = new float[samples * stride];
    forwardBuffer = new float[batch * columns];
    backwardBuffer = new float[samples * stride];
  }

  private int[] sendOffsets() {
    int[] offsets = new int[index.cluster().devices()];
    int next = 0;
    for (int owner = 0; owner < offsets.length; owner++) {
      offsets[owner] = next;
      if (owner != number) {
        for (int shard : index.shardsOf(owner)) {
          next += samples * index.shards().get(shard).columns();
        }
      }
    }
    return offsets;
  }

  void setSlowdown(Slowdown slowdown) {
    this.slowdown = slowdown;
  }

  int columns() {
    return columns;
  }

  /** Returns the sum of the log losses of this device's samples in the last step. */
  double loss() {
    return loss;
  }

  /** Draws the lookups of a step. Not measured: in production, batches come from data loaders. */
  void draw(long step) {
    for (int i = 0; i < sources.length; i++) {
      if (sources[i] != null) {
        sources[i].draw(step, lookups[i]);
      }
    }
    if (labelSource != null) {
      labelSource.draw(step, labels);
    }
  }

  /** Pools this device's shards for the whole batch. */
  void forward() {
    forwardMs =
        measure(
            () -> {
              int offset = 0;
              for (int i = 0; i < shards.length; i++) {
                for (int r = slowdown.computeRepeats(number, shards[i].columns()); r > 0; r--) {
                  shards[i].forward(lookups[i], outputs, columns, offset);
                }
                offset += shards[i].columns();
              }
            });
  }

  /** Forward all-to-all, sender's part: copies outputs for the other devices to a buffer. */
  void pack() {
    packMs =
        measure(
            () -> {
              for (int r = slowdown.copyRepeats(number); r > 0; r--) {
                for (int peer = 0; peer < index.cluster().devices(); peer++) {
                  if (peer != number) {
                    int first = index.firstSample(peer) * columns;
                    int end = index.firstSample(peer + 1) * columns;
                    System.arraycopy(outputs, first, forwardBuffer, first, end - first);
                  }
                }
              }
            });
  }

  /** Forward all-to-all, receiver's part: copies all columns of this device's samples. */
  void unpack(List<Device> devices) {
    unpackMs =
        measure(
            () -> {
              for (int r = slowdown.copyRepeats(number); r > 0; r--) {
                for (Device peer : devices) {
                  float[] source = peer == this ? outputs : peer.forwardBuffer;
                  gather(peer, source);
                }
              }
            });
  }

  private void gather(Device peer, float[] source) {
    for (int s = 0; s < samples; s++) {
      int from = (firstSample + s) * peer.columns;
      for (int i = 0; i < peer.shards.length; i++) {
        int width = peer.shards[i].columns();
        System.arraycopy(source, from, features, s * stride + peer.positions[i], width);
        from += width;
      }
    }
  }

  /** Computes the gradients of this device's samples. Not measured: not a cost of embeddings. */
  void dense() {
    loss = logisticLoss.gradients(features, firstSample, samples, labels);
  }

  /** Backward all-to-all, sender's part: copies gradients for the other devices to a buffer. */
  void packBack(List<Device> devices) {
    packBackMs =
        measure(
            () -> {
              for (int r = slowdown.copyRepeats(number); r > 0; r--) {
                for (Device peer : devices) {
                  if (peer != this) {
                    scatter(peer, backwardBuffer, sendOffsets[peer.number]);
                  }
                }
              }
            });
  }

  private void scatter(Device owner, float[] target, int offset) {
    int to = offset;
    for (int s = 0; s < samples; s++) {
      for (int i = 0; i < owner.shards.length; i++) {
        int width = owner.shards[i].columns();
        System.arraycopy(features, s * stride + owner.positions[i], target, to, width);
        to += width;
      }
    }
  }

  /** Backward all-to-all, receiver's part: copies the gradients of this device's columns. */
  void unpackBack(List<Device> devices) {
    unpackBackMs =
        measure(
            () -> {
              for (int r = slowdown.copyRepeats(number); r > 0; r--) {
                for (Device peer : devices) {
                  int first = peer.firstSample * columns;
                  if (peer == this) {
                    scatter(this, outputs, first);
                  } else {
                    int length = peer.samples * columns;
                    System.arraycopy(
                        peer.backwardBuffer, peer.sendOffsets[number], outputs, first, length);
                  }
                }
              }
            });
  }

  /** Updates the looked-up rows by stochastic gradient descent. */
  void update() {
    updateMs =
        measure(
            () -> {
              int offset = 0;
              for (int i = 0; i < shards.length; i++) {
                shards[i].update(lookups[i], outputs, columns, offset, learningRate);
                for (int r = slowdown.computeRepeats(number, shards[i].columns()); r > 1; r--) {
                  shards[i].update(lookups[i], outputs, columns, offset, 0);
                }
                offset += shards[i].columns();
              }
            });
  }

  private static double measure(Runnable phase) {
    long before = THREADS.getCurrentThreadCpuTime();
    phase.run();
    return (THREADS.getCurrentThreadCpuTime() - before) / NANOS_PER_MS;
  }

  /** Returns this device's costs of the last step. */
  StepCosts.DeviceStepCosts costs() {
    return new StepCosts.DeviceStepCosts(
        forwardMs + updateMs, forwardMs, packMs, unpackMs, packBackMs, unpackBackMs);
  }
}
