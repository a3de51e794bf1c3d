package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.List;
import java.util.Random;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

/**
 * The head of {@link io.shardtide.cost.ModelBundle}: from a device's sums to milliseconds. Trained
 * here; plans ask it in plain Java.
 */
final class HeadGraph {
  private final DenseStack layers;
  private final int works;

  /**
   * @param tf where to add it
   * @param sizes sums, the outputs of each hidden layer, works
   */
  HeadGraph(Ops tf, int... sizes) {
    layers = new DenseStack(tf, sizes);
    works = sizes[sizes.length - 1];
  }

  /** Returns milliseconds of each device from its sums, a row per device. */
  Operand<TFloat32> apply(Ops tf, Operand<TFloat32> sums) {
    Operand<TFloat32> one = tf.constant(1f);
    Operand<TFloat32> bounded = tf.math.div(sums, tf.math.add(sums, one));
    Operand<TFloat32> g = layers.apply(tf, bounded, DenseStack.Activation.RELU, false);
    Operand<TFloat32> factor =
        tf.math.div(tf.math.add(tf.nn.relu(g), one), tf.math.add(tf.nn.relu(tf.math.neg(g)), one));
    Operand<TFloat32> work =
        tf.slice(sums, tf.constant(new int[] {0, 0}), tf.constant(new int[] {-1, works}));
    return tf.sum(tf.math.mul(work, factor), tf.constant(1));
  }

  List<Variable<TFloat32>> variables() {
    return layers.variables();
  }

  void initialize(Session session, Random random) {
    layers.initialize(session, random, 0.1);
  }

  void set(Session session, List<DenseLayer> values) {
    layers.set(session, values);
  }

  List<DenseLayer> get(Session session) {
    return layers.get(session);
  }
}
