package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.ArrayList;
import java.util.Arrays;
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
 * The compute net, being trained: the tower on each shard, a sum over the shards of a device, the
 * head on the sum. The shape is NeuroShard's (Zha et al., MLSys 2023, section 3.1); what the parts
 * are is in {@link io.shardtide.cost.ModelBundle}.
 */
final class ComputeNet implements AutoCloseable {
  private static final int TOWER_HIDDEN = 64;

  /**
   * Works, each corrected by the head; more did not help, one alone costs a tenth of the accuracy.
   */
  private static final int WORKS = 4;

  /** Sums that only the head reads. With 4, 28 and 60 of them the errors are the same. */
  private static final int CONTEXT = 4;

  private static final int HEAD_HIDDEN = 16;
  private static final float CLIP_NORM = 10f;

  private final Graph graph = new Graph();
  private final Session session;
  private final TowerGraph tower;
  private final HeadGraph head;
  private final Placeholder<TInt32> rows;
  private final Placeholder<TInt32> devices;
  private final Placeholder<TInt32> deviceCount;
  private final Placeholder<TFloat32> labels;
  private final Placeholder<TFloat32> weights;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /**
   * How large the parts are.
   *
   * @param hidden features, then the outputs of the tower's hidden layers
   * @param outputs how many numbers the tower gives
   * @param head sums, then the outputs of the head's layers, the last of which are the works
   */
  @SuppressWarnings("ArrayRecordComponent") // Made for one net.
  private record Sizes(int[] hidden, int outputs, int[] head) {}

  /**
   * A net with weights drawn at random.
   *
   * @param features normalised features, a row per shard that samples may point to
   * @param baseline the fitted terms' sum of each of these shards, in milliseconds
   */
  static ComputeNet drawn(float[][] features, float[] baseline, Random random) {
    int[] hidden = {features[0].length, TOWER_HIDDEN, TOWER_HIDDEN};
    int[] head = {WORKS + CONTEXT, HEAD_HIDDEN, WORKS};
    ComputeNet net =
        new ComputeNet(
            features, baseline, new Sizes(hidden, WORKS + CONTEXT, head), Losses::relative);
    net.tower.initialize(net.session, random);
    net.head.initialize(net.session, random);
    return net;
  }

  /** A net that begins as a trained one; see {@link #drawn}. */
  static ComputeNet from(Weights weights, float[][] features, float[] baseline) {
    List<DenseLayer> hidden = weights.tower().subList(0, weights.tower().size() - 1);
    ComputeNet net =
        new ComputeNet(
            features,
            baseline,
            new Sizes(
                DenseStack.sizes(hidden),
                weights.head().get(0).inputs(),
                DenseStack.sizes(weights.head())),
            Losses::logarithmic);
    net.set(weights);
    return net;
  }

  private ComputeNet(float[][] features, float[] baseline, Sizes sizes, Losses.Loss lossOf) {
    int width = features[0].length;
    Ops tf = Ops.create(graph);
    Placeholder<TFloat32> newFeatures =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(features.length, width)));
    Variable<TFloat32> allFeatures = tf.variable(Shape.of(features.length, width), TFloat32.class);
    Op setFeatures = tf.assign(allFeatures, newFeatures);
    Placeholder<TFloat32> newBaseline =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(baseline.length, 1)));
    Variable<TFloat32> allBaseline = tf.variable(Shape.of(baseline.length, 1), TFloat32.class);
    Op setBaseline = tf.assign(allBaseline, newBaseline);
    int works = sizes.head()[sizes.head().length - 1];
    tower = new TowerGraph(tf, works, sizes.hidden(), sizes.outputs());
    head = new HeadGraph(tf, sizes.head());

    rows = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    devices = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    deviceCount = tf.placeholder(TInt32.class, Placeholder.shape(Shape.scalar()));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    weights = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    Operand<TFloat32> towers =
        tower.apply(
            tf,
            tf.gather(allFeatures, rows, tf.constant(0)),
            tf.gather(allBaseline, rows, tf.constant(0)));
    predicted = head.apply(tf, tf.math.unsortedSegmentSum(towers, devices, deviceCount));
    loss = lossOf.of(tf, predicted, labels, weights);
    List<Variable<TFloat32>> variables = new ArrayList<>(tower.variables());
    variables.addAll(head.variables());
    adam = new Adam(tf, loss, variables, CLIP_NORM);

    session = Tensors.session(graph);
    float[] flat = new float[features.length * width];
    for (int i = 0; i < features.length; i++) {
      System.arraycopy(features[i], 0, flat, i * width, width);
    }
    try (TFloat32 fedFeatures = Tensors.matrix(flat, features.length, width);
        TFloat32 fedBaseline = Tensors.matrix(baseline, baseline.length, 1)) {
      session
          .runner()
          .feed(newFeatures, fedFeatures)
          .feed(newBaseline, fedBaseline)
          .addTarget(setFeatures)
          .addTarget(setBaseline)
          .run()
          .close();
    }
    adam.reset(session);
  }

  /**
   * A batch of samples as flat arrays.
   *
   * @param rows row of features of each shard
   * @param devices sample, within the batch, of each shard
   * @param labels cost of each sample in milliseconds
   * @param weights how much each counts
   */
  @SuppressWarnings("ArrayRecordComponent") // Made for one run.
  record Batch(int[] rows, int[] devices, float[] labels, float[] weights) {
    /** Returns a batch of so many samples with so many shards, all of which count alike. */
    static Batch of(int samples, int shards) {
      float[] alike = new float[samples];
      Arrays.fill(alike, 1);
      return new Batch(new int[shards], new int[shards], new float[samples], alike);
    }
  }

  /** Learns from a batch and returns its loss. */
  double train(Batch batch, double learningRate) {
    Session.Runner runner = session.runner().fetch(loss);
    try (TInt32 fedRows = Tensors.vector(batch.rows);
        TInt32 fedDevices = Tensors.vector(batch.devices);
        TInt32 fedCount = TInt32.scalarOf(batch.labels.length);
        TFloat32 fedLabels = TFloat32.vectorOf(batch.labels);
        TFloat32 fedWeights = TFloat32.vectorOf(batch.weights);
        Adam.Step step = adam.step(runner, learningRate);
        Result result =
            feed(runner, fedRows, fedDevices, fedCount)
                .feed(labels, fedLabels)
                .feed(weights, fedWeights)
                .run()) {
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

  /** Takes layers back. */
  void set(Weights weights) {
    tower.set(session, weights.tower());
    head.set(session, weights.head());
  }

  /** Trained layers. */
  record Weights(List<DenseLayer> tower, List<DenseLayer> head) {}

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
