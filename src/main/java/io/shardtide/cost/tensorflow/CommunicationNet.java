package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat32;

/**
 * One communication net for every number of devices: it reads a device among its peers and gives
 * the logarithm of how long the exchange takes it, without waiting.
 */
final class CommunicationNet implements AutoCloseable {
  private static final int HIDDEN = 16;
  private static final float CLIP_NORM = 10f;

  private final Graph graph = new Graph();
  private final Session session;
  private final DenseStack layers;
  private final int width;
  private final Placeholder<TFloat32> features;
  private final Placeholder<TFloat32> baselines;
  private final Placeholder<TFloat32> waits;
  private final Placeholder<TFloat32> labels;
  private final Placeholder<TFloat32> weights;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /** A net with weights drawn at random, that reads so many features. */
  static CommunicationNet drawn(int width, Random random) {
    CommunicationNet net =
        new CommunicationNet(new int[] {width, HIDDEN, HIDDEN, 1}, Losses::relative);
    net.layers.initialize(net.session, random, 0.1);
    return net;
  }

  /** A net that begins as a trained one. */
  static CommunicationNet from(List<DenseLayer> weights) {
    CommunicationNet net = new CommunicationNet(DenseStack.sizes(weights), Losses::logarithmic);
    net.set(weights);
    return net;
  }

  private CommunicationNet(int[] sizes, Losses.Loss lossOf) {
    width = sizes[0];
    Ops tf = Ops.create(graph);
    layers = new DenseStack(tf, sizes);
    features = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, width)));
    baselines = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    waits = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    weights = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    Operand<TFloat32> logarithm =
        tf.reshape(
            layers.apply(tf, features, DenseStack.Activation.RELU, false),
            tf.constant(new int[] {-1}));
    predicted = tf.math.add(tf.math.mul(tf.math.exp(logarithm), baselines), waits);
    loss = lossOf.of(tf, predicted, labels, weights);
    adam = new Adam(tf, loss, layers.variables(), CLIP_NORM);
    session = Tensors.session(graph);
    adam.reset(session);
  }

  /**
   * Devices of any samples as flat arrays.
   *
   * @param features normalised features, one device after another
   * @param baselines the fitted terms' sum of each, in milliseconds
   * @param waits how long each waits, in milliseconds
   * @param labels cost of each in milliseconds, waiting included
   * @param weights how much each counts
   */
  @SuppressWarnings("ArrayRecordComponent") // Made for one run.
  record Batch(
      float[] features, float[] baselines, float[] waits, float[] labels, float[] weights) {
    /** Returns a batch of so many devices with so many features, all of which count alike. */
    static Batch of(int devices, int width) {
      float[] alike = new float[devices];
      Arrays.fill(alike, 1);
      return new Batch(
          new float[devices * width],
          new float[devices],
          new float[devices],
          new float[devices],
          alike);
    }
  }

  /** Learns from a batch and returns its loss. */
  double train(Batch batch, double learningRate) {
    Session.Runner runner = session.runner().fetch(loss);
    try (TFloat32 fedFeatures = Tensors.matrix(batch.features, batch.labels.length, width);
        TFloat32 fedBaselines = TFloat32.vectorOf(batch.baselines);
        TFloat32 fedWaits = TFloat32.vectorOf(batch.waits);
        TFloat32 fedLabels = TFloat32.vectorOf(batch.labels);
        TFloat32 fedWeights = TFloat32.vectorOf(batch.weights);
        Adam.Step step = adam.step(runner, learningRate);
        Result result =
            runner
                .feed(features, fedFeatures)
                .feed(baselines, fedBaselines)
                .feed(waits, fedWaits)
                .feed(labels, fedLabels)
                .feed(weights, fedWeights)
                .run()) {
      assert step != null;
      return Tensors.toArray(result.get(0))[0];
    }
  }

  /** Returns the predicted cost of each device, in milliseconds, waiting included. */
  float[] predict(Batch batch) {
    try (TFloat32 fedFeatures = Tensors.matrix(batch.features, batch.labels.length, width);
        TFloat32 fedBaselines = TFloat32.vectorOf(batch.baselines);
        TFloat32 fedWaits = TFloat32.vectorOf(batch.waits);
        Result result =
            session
                .runner()
                .feed(features, fedFeatures)
                .feed(baselines, fedBaselines)
                .feed(waits, fedWaits)
                .fetch(predicted)
                .run()) {
      return Tensors.toArray(result.get(0));
    }
  }

  /** Returns the layers. */
  List<DenseLayer> layers() {
    return layers.get(session);
  }

  /** Takes layers back. */
  void set(List<DenseLayer> weights) {
    layers.set(session, weights);
  }

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
