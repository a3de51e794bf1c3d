package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

/** The table tower of {@link io.shardtide.cost.ModelBundle}, for training and prediction. */
record TowerGraph(DenseStack layers, int components) {
  /**
   * @param tf the graph to add the tower to
   * @param components number of outputs that are latency components, forward ones first; the others
   *     are context
   * @param sizes features, then outputs of each layer
   */
  TowerGraph(Ops tf, int components, int... sizes) {
    this(DenseStack.of(tf, sizes[0], sizes), components);
  }

  /**
   * Returns the latency components and the context of each shard.
   *
   * @param features normalized features, one row per shard
   * @param baseline sums of the fitted terms, forward and backward, in milliseconds: two columns
   */
  Operand<TFloat32> apply(Ops tf, Operand<TFloat32> features, Operand<TFloat32> baseline) {
    Operand<TFloat32> h = layers.hidden().apply(tf, features, DenseStack.Activation.SILU, true);
    Operand<TFloat32> read = tf.concat(List.of(h, features), tf.constant(1));
    Operand<TFloat32> y = layers.last().apply(tf, read, DenseStack.Activation.RELU, false);
    Operand<TFloat32> corrections = tf.math.exp(HeadGraph.columns(tf, y, 0, components));
    Operand<TFloat32> context = tf.nn.relu(HeadGraph.columns(tf, y, components, -1));
    return tf.concat(
        List.of(tf.math.mul(corrections, repeated(tf, baseline)), context), tf.constant(1));
  }

  /** Returns the forward sum for each forward component, then the backward one likewise. */
  private Operand<TFloat32> repeated(Ops tf, Operand<TFloat32> baseline) {
    Operand<TInt32> times = tf.constant(new int[] {1, components / 2});
    return tf.concat(
        List.of(
            tf.tile(HeadGraph.columns(tf, baseline, 0, 1), times),
            tf.tile(HeadGraph.columns(tf, baseline, 1, 1), times)),
        tf.constant(1));
  }

  void initialize(Session session, Random random) {
    DenseStack output = layers.last();
    layers.hidden().initialize(session, random, 1);
    output.initialize(session, random, 0.3);
    // Each component begins as its part of the fitted terms, so that their sum begins as the terms.
    DenseLayer drawn = output.get(session).get(0);
    Arrays.fill(drawn.biases(), 0, components, (float) -StrictMath.log(components / 2.0));
    output.set(session, List.of(drawn));
  }
}
