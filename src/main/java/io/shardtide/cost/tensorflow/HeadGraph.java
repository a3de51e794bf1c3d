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
 * The head of {@link io.shardtide.cost.ModelBundle}: predicts a device's cost from the sums of its
 * shards' tower outputs. For training; {@link io.shardtide.cost.CostEvaluator} is the same in plain
 * Java.
 */
final class HeadGraph {
  private final DenseStack layers;
  private final int components;

  /**
   * @param tf the graph to add the head to
   * @param sizes inputs, outputs of each hidden layer, number of latency components
   */
  HeadGraph(Ops tf, int... sizes) {
    layers = new DenseStack(tf, sizes);
    components = sizes[sizes.length - 1];
  }

  /** Returns the cost of each device in milliseconds, from one row of sums per device. */
  Operand<TFloat32> apply(Ops tf, Operand<TFloat32> sums) {
    Operand<TFloat32> one = tf.constant(1f);
    Operand<TFloat32> bounded = tf.math.div(sums, tf.math.add(sums, one));
    Operand<TFloat32> g = layers.apply(tf, bounded, DenseStack.Activation.RELU, false);
    Operand<TFloat32> factor =
        tf.math.div(tf.math.add(tf.nn.relu(g), one), tf.math.add(tf.nn.relu(tf.math.neg(g)), one));
    Operand<TFloat32> latencies =
        tf.slice(sums, tf.constant(new int[] {0, 0}), tf.constant(new int[] {-1, components}));
    return tf.sum(tf.math.mul(latencies, factor), tf.constant(1));
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
