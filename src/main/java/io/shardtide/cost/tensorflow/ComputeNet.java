package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DenseLayer;
import java.util.List;
import java.util.Random;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

/**
 * The compute net: a table tower on each shard, a sum over the shards of a device, a head on the
 * sum (Zha et al., MLSys 2023, section 3.1: tower 128-32, head 32-64-1).
 */
final class ComputeNet implements AutoCloseable {
  private static final int TOWER_HIDDEN = 128;
  private static final int TOWER_OUTPUT = 32;
  private static final int HEAD_HIDDEN = 64;
  private static final float CLIP_NORM = 10f;

  private final Graph graph = new Graph();
  private final Session session;
  private final DenseStack tower;
  private final DenseStack head;
  private final Placeholder<TInt32> rows;
  private final Placeholder<TInt32> devices;
  private final Placeholder<TInt32> deviceCount;
  private final Placeholder<TFloat32> labels;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /**
   * @param features normalised features, a row per shard that samples may point to
   */
  ComputeNet(float[][] features, Random random) {
    int width = features[0].length;
    Ops tf = Ops.create(graph);
    Placeholder<TFloat32> newFeatures =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(features.length, width)));
    Variable<TFloat32> allFeatures = tf.variable(Shape.of(features.length, width), TFloat32.class);
    Op setFeatures = tf.assign(allFeatures, newFeatures);
    tower = new DenseStack(tf, width, TOWER_HIDDEN, TOWER_OUTPUT);
    head = new DenseStack(tf, TOWER_OUTPUT, HEAD_HIDDEN, 1);

    rows = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    devices = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    deviceCount = tf.placeholder(TInt32.class, Placeholder.shape(Shape.scalar()));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    Operand<TFloat32> towers = tower.apply(tf, tf.gather(allFeatures, rows, tf.constant(0)), true);
    Operand<TFloat32> sums = tf.math.unsortedSegmentSum(towers, devices, deviceCount);
    predicted = tf.reshape(head.apply(tf, sums, false), tf.constant(new int[] {-1}));
    loss = Losses.relative(tf, predicted, labels);
    List<Variable<TFloat32>> variables = tower.variables();
    variables.addAll(head.variables());
    adam = new Adam(tf, loss, variables, CLIP_NORM);

    session = new Session(graph, Tensors.oneThread());
    float[] flat = new float[features.length * width];
    for (int i = 0; i < features.length; i++) {
      System.arraycopy(features[i], 0, flat, i * width, width);
    }
    try (TFloat32 values = Tensors.matrix(flat, features.length, width)) {
      session.runner().feed(newFeatures, values).addTarget(setFeatures).run().close();
    }
    tower.initialize(session, random);
    head.initialize(session, random);
    adam.reset(session);
  }

  /**
   * A batch of samples as flat arrays.
   *
   * @param rows row of features of each shard
   * @param devices sample, within the batch, of each shard
   * @param labels cost of each sample in milliseconds
   */
  @SuppressWarnings("ArrayRecordComponent") // Made for one run.
  record Batch(int[] rows, int[] devices, float[] labels) {
    /** Collects samples; {@code rowOf} says which row of features a shard has. */
    static Batch of(List<ComputeSample> samples, RowOf rowOf) {
      int shards = samples.stream().mapToInt(s -> s.shards().size()).sum();
      Batch batch = new Batch(new int[shards], new int[shards], new float[samples.size()]);
      int at = 0;
      for (int s = 0; s < samples.size(); s++) {
        for (ComputeSample.SampledShard shard : samples.get(s).shards()) {
          batch.rows[at] = rowOf.row(s, shard);
          batch.devices[at++] = s;
        }
        batch.labels[s] = (float) samples.get(s).computeMs();
      }
      return batch;
    }
  }

  /** Says which row of features a shard of the batch's sample {@code s} has. */
  interface RowOf {
    int row(int s, ComputeSample.SampledShard shard);
  }

  /** Learns from a batch and returns its loss. */
  double train(Batch batch, double learningRate) {
    Session.Runner runner = session.runner().fetch(loss);
    try (TInt32 fedRows = Tensors.vector(batch.rows);
        TInt32 fedDevices = Tensors.vector(batch.devices);
        TInt32 fedCount = TInt32.scalarOf(batch.labels.length);
        TFloat32 fedLabels = TFloat32.vectorOf(batch.labels);
        Adam.Step step = adam.step(runner, learningRate);
        Result result = feed(runner, fedRows, fedDevices, fedCount).feed(labels, fedLabels).run()) {
      assert step != null;
      return Tensors.toArray(result.get(0))[0];
    }
  }

  /** Returns the predicted cost of each sample, in milliseconds. */
  float[] predict(Batch batch) {
    try (TInt32 fedRows = Tensors.vector(batch.rows);
        TInt32 fedDevices = Tensors.vector(batch.devices);
        TInt32 fedCount = TInt32.scalarOf(batch.labels.length);
        Result result =
            feed(session.runner(), fedRows, fedDevices, fedCount).fetch(predicted).run()) {
      return Tensors.toArray(result.get(0));
    }
  }

  private Session.Runner feed(
      Session.Runner runner, TInt32 fedRows, TInt32 fedDevices, TInt32 fedCount) {
    return runner.feed(rows, fedRows).feed(devices, fedDevices).feed(deviceCount, fedCount);
  }

  /** Returns the layers of the tower and of the head. */
  Weights weights() {
    return new Weights(tower.get(session), head.get(session));
  }

  /** Trained layers. */
  record Weights(List<DenseLayer> tower, List<DenseLayer> head) {}

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
