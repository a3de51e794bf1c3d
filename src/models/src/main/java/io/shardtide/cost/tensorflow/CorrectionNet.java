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
 * The trainable net of a collective, for any number of devices. It predicts the logarithm of the
 * factor that corrects the sum of the fitted terms.
 */
final class CorrectionNet implements AutoCloseable {
  private static final int HIDDEN = 16;
  private static final float CLIP_NORM = 10f;

  private final Graph graph = new Graph();
  private final Session session;
  private final DenseStack layers;
  private final int width;
  private final Placeholder<TFloat32> features;
  private final Placeholder<TFloat32> baselines;
  private final Placeholder<TFloat32> labels;
  private final Placeholder<TFloat32> weights;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /**
   * Returns a net with random weights.
   *
   * @param width number of features
   * @param widest outputs of a hidden layer at most
   */
  static CorrectionNet random(int width, int widest, Random random) {
    int hidden = Math.min(HIDDEN, widest);
    CorrectionNet net = new CorrectionNet(new int[] {width, hidden, hidden, 1});
    net.layers.initialize(net.session, random, 0.1);
    return net;
  }

  private CorrectionNet(int[] sizes) {
    width = sizes[0];
    Ops tf = Ops.create(graph);
    layers = new DenseStack(tf, sizes);
    features = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, width)));
    baselines = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    weights = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    Operand<TFloat32> logarithm =
        tf.reshape(
            layers.apply(tf, features, DenseStack.Activation.RELU, false),
            tf.constant(new int[] {-1}));
    predicted = tf.math.mul(tf.math.exp(logarithm), baselines);
    loss = Losses.relative(tf, predicted, labels, weights);
    adam = new Adam(tf, loss, layers.variables(), CLIP_NORM, 0, List.of());
    session = Tensors.session(graph);
    adam.reset(session);
  }

  /**
   * A batch of measured collectives, one device each, as flat arrays.
   *
   * @param features normalized features, one device after another
   * @param baselines sum of the fitted terms, in milliseconds
   * @param labels cost in milliseconds
   * @param weights weight in the loss
   */
  @SuppressWarnings("ArrayRecordComponent") // Used for one run.
  record CorrectionBatch(float[] features, float[] baselines, float[] labels, float[] weights) {
    /** Returns an empty batch of equally weighted devices. */
    static CorrectionBatch of(int devices, int width) {
      float[] equal = new float[devices];
      Arrays.fill(equal, 1);
      return new CorrectionBatch(
          new float[devices * width], new float[devices], new float[devices], equal);
    }
  }

  /** Makes one optimizer step on a batch; returns its loss. */
  double train(CorrectionBatch batch, double learningRate) {
    Session.Runner runner = session.runner().fetch(loss);
    try (TFloat32 fedFeatures = Tensors.matrix(batch.features, batch.labels.length, width);
        TFloat32 fedBaselines = TFloat32.vectorOf(batch.baselines);
        TFloat32 fedLabels = TFloat32.vectorOf(batch.labels);
        TFloat32 fedWeights = TFloat32.vectorOf(batch.weights);
        Adam.Step step = adam.step(runner, learningRate);
        Result result =
            runner
                .feed(features, fedFeatures)
                .feed(baselines, fedBaselines)
                .feed(labels, fedLabels)
                .feed(weights, fedWeights)
                .run()) {
      assert step != null;
      return Tensors.toArray(result.get(0))[0];
    }
  }

  /** Returns the predicted cost of each device, in milliseconds. */
  float[] predict(CorrectionBatch batch) {
    try (TFloat32 fedFeatures = Tensors.matrix(batch.features, batch.labels.length, width);
        TFloat32 fedBaselines = TFloat32.vectorOf(batch.baselines);
        Result result =
            session
                .runner()
                .feed(features, fedFeatures)
                .feed(baselines, fedBaselines)
                .fetch(predicted)
                .run()) {
      return Tensors.toArray(result.get(0));
    }
  }

  /** Returns the weights. */
  List<DenseLayer> layers() {
    return layers.get(session);
  }

  /** Sets the weights. */
  void set(List<DenseLayer> weights) {
    layers.set(session, weights);
  }

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
