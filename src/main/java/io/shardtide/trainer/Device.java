package io.shardtide.trainer;

import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One device of the trainer: its shards, its samples and its part of each phase of a step. */
final class Device {
  private final int number;
  private final DeviceLookups lookups;
  private final Lookups labels;
  private final LogisticLoss logisticLoss;
  private final int firstSample;

  /** Number of this device's samples. */
  private final int samples;

  /** Outputs of all columns for this device's samples, later their gradients. */
  private final float[] features;

  private final List<ScopeOutputs> outputs = new ArrayList<>();
  private final List<LocalShard> shards = new ArrayList<>();
  private final List<LocalCopy> copies = new ArrayList<>();
  private final DenseGradients denseGradients;
  private Slowdown slowdown = Slowdown.NONE;
  private double loss;

  /**
   * Where a shard's rows are pooled to.
   *
   * @param weights the shard
   * @param lookups lookups of its rows
   * @param outputs a row for each sample: the outputs, later their gradients
   * @param stride length of a row of {@code outputs}
   * @param offset position of the shard's columns in a row
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record LocalShard(
      ShardWeights weights, Lookups lookups, float[] outputs, int stride, int offset) {
    void forward() {
      weights.forward(lookups, outputs, stride, offset);
    }

    void update(float learningRate) {
      weights.update(lookups, outputs, stride, offset, learningRate);
    }

    void sumGradients(List<float[]> sums) {
      weights.sumGradients(lookups, outputs, stride, offset, sums);
    }

    int columns() {
      return weights.region().columns();
    }
  }

  /**
   * A copy of a table.
   *
   * @param shard pools this device's samples
   * @param gradients gradients of all elements
   */
  private record LocalCopy(LocalShard shard, List<float[]> gradients) {}

  /**
   * @param number the device's number
   * @param index shards, and positions of the columns
   * @param layouts layouts of the scopes
   * @param memory memory that holds this device's shards
   * @param seed seed of the lookups
   */
  Device(int number, ColumnIndex index, List<ScopeLayout> layouts, DeviceMemory memory, long seed) {
    this.number = number;
    int batch = index.cluster().batchSize();
    int stride = index.columns();
    firstSample = index.firstSample(number);
    samples = index.firstSample(number + 1) - firstSample;
    features = new float[samples * stride];
    lookups = new DeviceLookups(batch, seed);
    labels =
        index.tables().isEmpty()
            ? new Lookups(batch)
            : lookups.of(index.tables().get(index.tables().firstKey()));
    logisticLoss = new LogisticLoss(index, seed);
    Map<String, Integer> positions = index.positions();
    for (ScopeLayout layout : layouts) {
      outputs.add(new ScopeOutputs(layout, index, number));
    }
    for (Shard shard : index.shardsOf(number)) {
      TableSpec table = index.tables().get(shard.table());
      ShardWeights weights = memory.shard(shard.table(), shard.region());
      int position = positions.get(shard.table()) + shard.columnOffset();
      if (shard.isCopied()) {
        Lookups own = lookups.of(table, shard.region(), firstSample, samples);
        copies.add(
            new LocalCopy(
                new LocalShard(weights, own, features, stride, position), weights.zeroGradients()));
      } else {
        int layout = layoutOf(shard, layouts);
        ScopeOutputs scope = outputs.get(layout);
        shards.add(
            new LocalShard(
                weights,
                lookups.of(table, shard.region(), 0, batch),
                scope.partial(),
                scope.columns(),
                layouts.get(layout).offset(number, position)));
      }
    }
    denseGradients =
        new DenseGradients(
            number,
            index.cluster().devices(),
            copies.stream().flatMap(copy -> copy.gradients().stream()).toList());
  }

  private static int layoutOf(Shard shard, List<ScopeLayout> layouts) {
    return layouts.stream().map(ScopeLayout::scope).toList().indexOf(shard.kind().scope());
  }

  void setSlowdown(Slowdown slowdown) {
    this.slowdown = slowdown;
  }

  boolean hasShards() {
    return !shards.isEmpty() || !copies.isEmpty();
  }

  boolean hasCopies() {
    return !copies.isEmpty();
  }

  /** Returns the sum of the log losses of this device's samples in the last step. */
  double loss() {
    return loss;
  }

  float[] features() {
    return features;
  }

  /** Returns the outputs of a scope, by the number of its layout. */
  ScopeOutputs outputs(int layout) {
    return outputs.get(layout);
  }

  DenseGradients denseGradients() {
    return denseGradients;
  }

  /** Draws the lookups of a step. Not measured: in production, batches come from data loaders. */
  void draw(long step) {
    lookups.draw(step);
  }

  /** Pools this device's rows: of shards for the whole batch, of copies for its own samples. */
  void forward() {
    outputs.forEach(ScopeOutputs::clear);
    for (LocalShard shard : shards) {
      repeatCompute(shard, shard::forward);
    }
    for (LocalCopy copy : copies) {
      repeatCompute(copy.shard(), copy.shard()::forward);
    }
  }

  /** Computes the gradients of this device's samples. Not measured: not a cost of embeddings. */
  void dense() {
    loss = logisticLoss.gradients(features, firstSample, samples, labels);
  }

  /** Computes the gradients of all elements of copies from this device's samples. */
  void sumGradients() {
    for (LocalCopy copy : copies) {
      repeatCompute(copy.shard(), () -> copy.shard().sumGradients(copy.gradients()));
    }
  }

  /** Updates the rows that the batch looks up, and all rows of copies, by gradient descent. */
  void update(float learningRate) {
    for (LocalShard shard : shards) {
      shard.update(learningRate);
      repeatUpdate(shard, () -> shard.update(0));
    }
    for (LocalCopy copy : copies) {
      copy.shard().weights().update(copy.gradients(), learningRate);
      repeatUpdate(copy.shard(), () -> copy.shard().weights().update(copy.gradients(), 0));
    }
  }

  private void repeatCompute(LocalShard shard, Runnable work) {
    work.run();
    repeatUpdate(shard, work);
  }

  private void repeatUpdate(LocalShard shard, Runnable again) {
    for (int r = slowdown.computeRepeats(number, shard.columns()); r > 1; r--) {
      again.run();
    }
  }

  /** Runs this device's part of a collective, more than once on a slow link. */
  void transfer(Runnable part) {
    for (int r = slowdown.copyRepeats(number); r > 0; r--) {
      part.run();
    }
  }
}
