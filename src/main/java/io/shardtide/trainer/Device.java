package io.shardtide.trainer;

import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;

/**
 * What one device does in a step, phase by phase. Each phase runs on the device's own thread, and
 * is measured in processor time of that thread: on a machine with fewer cores than devices, or with
 * other work, a device does not pay for others.
 */
final class Device {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final double NANOS_PER_MS = 1e6;

  private final int number;
  private final ColumnIndex layout;
  private final float rate;
  private final int[] mine;
  private final int[] places;
  private final ShardWeights[] shards;
  private final LookupSource[] sources;
  private final Lookups[] lookups;
  private final LookupSource labelSource;
  private final Lookups labels;
  private final LogisticLoss objective;
  private final int columns;
  private final int batch;

  /** All columns of the layout: a row of {@link #features}. */
  private final int stride;

  /** First of this device's samples, and how many there are. */
  private final int firstSample;

  private final int samples;

  /** Where in {@link #backwardBuffer} the gradients of each owner's columns lie. */
  private final int[] sentTo;

  /** Pooled columns of this device for the whole batch, later their gradients. */
  private final float[] local;

  /** All columns of this device's samples, later their gradients. */
  private final float[] features;

  /** What leaves in the forward exchange: this device's columns of the others' samples. */
  private final float[] forwardBuffer;

  /** What leaves in the backward exchange: the others' columns of this device's samples. */
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
   * @param layout which columns lie where
   * @param memory this device's shards, in their places
   * @param seed seed of what is drawn
   * @param rate learning rate
   */
  Device(int number, ColumnIndex layout, DeviceMemory memory, long seed, float rate) {
    this.number = number;
    this.layout = layout;
    this.rate = rate;
    batch = layout.cluster().batchSize();
    mine = layout.of(number);
    int[] all = layout.places();
    places = new int[mine.length];
    shards = new ShardWeights[mine.length];
    sources = new LookupSource[mine.length];
    lookups = new Lookups[mine.length];
    int width = 0;
    for (int i = 0; i < mine.length; i++) {
      Shard shard = layout.shards().get(mine[i]);
      places[i] = all[mine[i]];
      shards[i] = memory.shard(shard.table(), shard.columnOffset());
      // Columns of one table look up the same rows: what was drawn for the first is read again.
      boolean again = i > 0 && layout.shards().get(mine[i - 1]).table().equals(shard.table());
      TableSpec table = layout.tables().get(shard.table());
      sources[i] = again ? null : new LookupSource(table, batch, seed);
      lookups[i] = again ? lookups[i - 1] : new Lookups(batch);
      width += shard.columns();
    }
    columns = width;
    TableSpec first =
        layout.shards().isEmpty() ? null : layout.tables().get(layout.shards().get(0).table());
    labelSource = first == null ? null : new LookupSource(first, batch, seed);
    labels = new Lookups(batch);
    objective = new LogisticLoss(layout, seed);
    stride = layout.columns();
    firstSample = layout.firstSample(number);
    samples = layout.firstSample(number + 1) - firstSample;
    sentTo = sentTo();
    local = new float[batch * columns];
    features = new float[samples * stride];
    forwardBuffer = new float[batch * columns];
    backwardBuffer = new float[samples * stride];
  }

  private int[] sentTo() {
    int[] starts = new int[layout.cluster().devices()];
    int next = 0;
    for (int owner = 0; owner < starts.length; owner++) {
      starts[owner] = next;
      if (owner != number) {
        for (int shard : layout.of(owner)) {
          next += samples * layout.shards().get(shard).columns();
        }
      }
    }
    return starts;
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

  /** Draws what the step looks up; not measured: in training, batches come ready. */
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

  /** Pools this device's columns for the whole batch. */
  void forward() {
    forwardMs =
        measure(
            () -> {
              int at = 0;
              for (int i = 0; i < shards.length; i++) {
                for (int r = slowdown.computations(number, shards[i].columns()); r > 0; r--) {
                  shards[i].forward(lookups[i], local, columns, at);
                }
                at += shards[i].columns();
              }
            });
  }

  /** Puts what the others' samples need where they can fetch it. */
  void pack() {
    packMs =
        measure(
            () -> {
              for (int r = slowdown.copies(number); r > 0; r--) {
                for (int peer = 0; peer < layout.cluster().devices(); peer++) {
                  if (peer != number) {
                    int first = layout.firstSample(peer) * columns;
                    int end = layout.firstSample(peer + 1) * columns;
                    System.arraycopy(local, first, forwardBuffer, first, end - first);
                  }
                }
              }
            });
  }

  /** Fetches all columns of this device's samples. */
  void unpack(List<Device> devices) {
    unpackMs =
        measure(
            () -> {
              for (int r = slowdown.copies(number); r > 0; r--) {
                for (Device peer : devices) {
                  float[] source = peer == this ? local : peer.forwardBuffer;
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
        System.arraycopy(source, from, features, s * stride + peer.places[i], width);
        from += width;
      }
    }
  }

  /** Computes the gradients of this device's samples; no part of an embedding's cost. */
  void dense() {
    loss = objective.gradients(features, firstSample, samples, labels);
  }

  /** Puts gradients where the owners of the columns can fetch them. */
  void packBack(List<Device> devices) {
    packBackMs =
        measure(
            () -> {
              for (int r = slowdown.copies(number); r > 0; r--) {
                for (Device peer : devices) {
                  if (peer != this) {
                    scatter(peer, backwardBuffer, sentTo[peer.number]);
                  }
                }
              }
            });
  }

  private void scatter(Device owner, float[] target, int at) {
    int to = at;
    for (int s = 0; s < samples; s++) {
      for (int i = 0; i < owner.shards.length; i++) {
        int width = owner.shards[i].columns();
        System.arraycopy(features, s * stride + owner.places[i], target, to, width);
        to += width;
      }
    }
  }

  /** Fetches the gradients of this device's columns for the whole batch. */
  void unpackBack(List<Device> devices) {
    unpackBackMs =
        measure(
            () -> {
              for (int r = slowdown.copies(number); r > 0; r--) {
                for (Device peer : devices) {
                  int first = peer.firstSample * columns;
                  if (peer == this) {
                    scatter(this, local, first);
                  } else {
                    int length = peer.samples * columns;
                    System.arraycopy(
                        peer.backwardBuffer, peer.sentTo[number], local, first, length);
                  }
                }
              }
            });
  }

  /** Updates the rows that were looked up. */
  void update() {
    updateMs =
        measure(
            () -> {
              int at = 0;
              for (int i = 0; i < shards.length; i++) {
                shards[i].update(lookups[i], local, columns, at, rate);
                for (int r = slowdown.computations(number, shards[i].columns()); r > 1; r--) {
                  shards[i].update(lookups[i], local, columns, at, 0);
                }
                at += shards[i].columns();
              }
            });
  }

  private static double measure(Runnable work) {
    long before = THREADS.getCurrentThreadCpuTime();
    work.run();
    return (THREADS.getCurrentThreadCpuTime() - before) / NANOS_PER_MS;
  }

  /** Returns what the last step cost this device. */
  StepCosts.OfDevice costs() {
    return new StepCosts.OfDevice(forwardMs + updateMs, packMs, unpackMs, packBackMs, unpackBackMs);
  }
}
