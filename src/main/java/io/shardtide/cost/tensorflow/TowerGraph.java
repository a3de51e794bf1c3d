package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

/** The table tower of {@link io.shardtide.cost.ModelBundle}, for training and prediction. */
final class TowerGraph {
  private final DenseStack hidden;
  private final DenseStack output;
  private final int components;

  /**
   * @param tf the graph to add the tower to
   * @param components number of outputs that are latency components; the others are context
   * @param hiddenSizes features, then outputs of each hidden layer
   * @param outputs number of outputs
   */
  TowerGraph(Ops tf, int components, int[] hiddenSizes, int outputs) {
    this.components = components;
    hidden = new DenseStack(tf, hiddenSizes);
    output = new DenseStack(tf, hiddenSizes[hiddenSizes.length - 1] + hiddenSizes[0], outputs);
  }

  /** Returns a tower of the same sizes as trained layers. */
  static TowerGraph of(Ops tf, int components, List<DenseLayer> layers) {
    List<DenseLayer> hidden = layers.subList(0, layers.size() - 1);
    return new TowerGraph(
        tf, components, DenseStack.sizes(hidden), layers.get(layers.size() - 1).outputs());
  }

  /**
   * Returns the latency components and the context of each shard.
   *
   * @param features normalized features, one row per shard
   * @param baseline sum of the fitted terms in milliseconds, one column
   */
  Operand<TFloat32> apply(Ops tf, Operand<TFloat32> features, Operand<TFloat32> baseline) {
    Operand<TFloat32> h = hidden.apply(tf, features, DenseStack.Activation.SILU, true);
    Operand<TFloat32> y =
        output.apply(
            tf, tf.concat(List.of(h, features), tf.constant(1)), DenseStack.Activation.RELU, false);
    Operand<TFloat32> latencies =
        tf.math.mul(
            tf.math.exp(
                tf.slice(
                    y, tf.constant(new int[] {0, 0}), tf.constant(new int[] {-1, components}))),
            baseline);
    Operand<TFloat32> context =
        tf.nn.relu(
            tf.slice(y, tf.constant(new int[] {0, components}), tf.constant(new int[] {-1, -1})));
    return tf.concat(List.of(latencies, context), tf.constant(1));
  }

  List<Variable<TFloat32>> variables() {
    List<Variable<TFloat32>> variables = new ArrayList<>(hidden.variables());
    variables.addAll(output.variables());
    return variables;
  }

  void initialize(Session session, Random random) {
    hidden.initialize(session, random, 1);
    output.initialize(session, random, 0.3);
  }

  void set(Session session, List<DenseLayer> layers) {
    hidden.set(session, layers.subList(0, layers.size() - 1));
    output.set(session, layers.subList(layers.size() - 1, layers.size()));
  }

  List<DenseLayer> get(Session session) {
    List<DenseLayer> layers = new ArrayList<>(hidden.get(session));
    layers.addAll(output.get(session));
    return layers;
  }
}
