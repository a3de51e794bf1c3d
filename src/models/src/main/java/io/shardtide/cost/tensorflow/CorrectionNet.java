package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.List;
import java.util.Random;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
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
  private final Placeholder<TFloat32> features;
  private final Placeholder<TFloat32> baselines;
  private final Placeholder<TFloat32> labels;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /**
   * Makes a net with random weights.
   *
   * @param width number of features
   * @param widest outputs of a hidden layer at most
   */
  CorrectionNet(int width, int widest, Random random) {
    int hidden = Math.min(HIDDEN, widest);
    Ops tf = Ops.create(graph);
    layers = DenseStack.of(tf, 0, width, hidden, hidden, 1);
    features = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, width)));
    baselines = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    Operand<TFloat32> logarithm =
        tf.reshape(
            layers.apply(tf, features, DenseStack.Activation.RELU, false),
            tf.constant(new int[] {-1}));
    predicted = tf.math.mul(tf.math.exp(logarithm), baselines);
    loss = Losses.relative(tf, predicted, labels, tf.constant(1f));
    adam = new Adam(tf, loss, layers.variables(), CLIP_NORM, 0, List.of());
    session = GraphRun.session(graph);
    adam.reset(session);
    layers.initialize(session, random, 0.1);
  }

  /**
   * A batch of measured collectives, one device each, as flat arrays.
   *
   * @param features normalized features, one device after another
   * @param baselines sum of the fitted terms, in milliseconds
   * @param labels cost in milliseconds
   */
  @SuppressWarnings("ArrayRecordComponent") // Used for one run.
  record CorrectionBatch(float[] features, float[] baselines, float[] labels) {
    /** Returns an empty batch. */
    static CorrectionBatch of(int devices, int width) {
      return new CorrectionBatch(
          new float[devices * width], new float[devices], new float[devices]);
    }
  }

  /** Makes one optimizer step on a batch; returns its loss. */
  double train(CorrectionBatch batch, double learningRate) {
    return adam.step(feed(batch).feed(labels, batch.labels), learningRate).fetch(loss)[0];
  }

  /** Returns the predicted cost of each device, in milliseconds. */
  float[] predict(CorrectionBatch batch) {
    return feed(batch).fetch(predicted);
  }

  private GraphRun feed(CorrectionBatch batch) {
    return new GraphRun(session).feed(features, batch.features).feed(baselines, batch.baselines);
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
