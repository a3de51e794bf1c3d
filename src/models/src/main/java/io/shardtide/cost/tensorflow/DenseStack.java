package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

/** Dense layers as variables of a graph. Weights are copied from and to arrays without loss. */
final class DenseStack {
  private final List<Layer> layers = new ArrayList<>();

  private record Layer(
      int inputs,
      int outputs,
      Variable<TFloat32> weights,
      Variable<TFloat32> biases,
      Placeholder<TFloat32> newWeights,
      Placeholder<TFloat32> newBiases,
      Op assignWeights,
      Op assignBiases) {}

  /** An activation function. */
  @FunctionalInterface
  interface Activation {
    /** {@code max(0, x)}. */
    Activation RELU = (tf, x) -> tf.nn.relu(x);

    /** {@code x / (1 + exp(-x))}: smooth, as costs are. */
    Activation SILU = (tf, x) -> tf.math.mul(x, tf.math.sigmoid(x));

    Operand<TFloat32> apply(Ops tf, Operand<TFloat32> x);
  }

  /**
   * Adds the variables to the graph.
   *
   * @param sizes inputs of the first layer, then outputs of each layer
   */
  DenseStack(Ops tf, int... sizes) {
    for (int l = 1; l < sizes.length; l++) {
      Variable<TFloat32> weights = tf.variable(Shape.of(sizes[l - 1], sizes[l]), TFloat32.class);
      Variable<TFloat32> biases = tf.variable(Shape.of(sizes[l]), TFloat32.class);
      Placeholder<TFloat32> newWeights =
          tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(sizes[l - 1], sizes[l])));
      Placeholder<TFloat32> newBiases =
          tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(sizes[l])));
      layers.add(
          new Layer(
              sizes[l - 1],
              sizes[l],
              weights,
              biases,
              newWeights,
              newBiases,
              tf.assign(weights, newWeights),
              tf.assign(biases, newBiases)));
    }
  }

  /** Returns the sizes of layers, as in the constructor. */
  static int[] sizes(List<DenseLayer> layers) {
    int[] sizes = new int[layers.size() + 1];
    sizes[0] = layers.get(0).inputs();
    for (int l = 0; l < layers.size(); l++) {
      sizes[l + 1] = layers.get(l).outputs();
    }
    return sizes;
  }

  /**
   * Applies the layers to {@code x}, with an activation between them.
   *
   * @param activateLast whether the activation also follows the last layer
   */
  Operand<TFloat32> apply(
      Ops tf, Operand<TFloat32> x, Activation activation, boolean activateLast) {
    Operand<TFloat32> y = x;
    for (int l = 0; l < layers.size(); l++) {
      y = tf.math.add(tf.linalg.matMul(y, layers.get(l).weights()), layers.get(l).biases());
      if (l + 1 < layers.size() || activateLast) {
        y = activation.apply(tf, y);
      }
    }
    return y;
  }

  List<Variable<TFloat32>> variables() {
    List<Variable<TFloat32>> variables = new ArrayList<>();
    for (Layer layer : layers) {
      variables.add(layer.weights());
      variables.add(layer.biases());
    }
    return variables;
  }

  /**
   * Initializes weights with variance {@code 2 / inputs} (He et al., ICCV 2015) and biases with 0.
   *
   * @param lastGain factor of the last layer's weights; with outputs near 0, training starts from
   *     the fitted terms
   */
  void initialize(Session session, Random random, double lastGain) {
    List<DenseLayer> drawn = new ArrayList<>();
    for (int l = 0; l < layers.size(); l++) {
      Layer layer = layers.get(l);
      boolean last = l == layers.size() - 1;
      float[] weights = new float[layer.inputs() * layer.outputs()];
      double deviation = Math.sqrt(2.0 / layer.inputs()) * (last ? lastGain : 1);
      for (int i = 0; i < weights.length; i++) {
        weights[i] = (float) (random.nextGaussian() * deviation);
      }
      drawn.add(
          new DenseLayer(layer.inputs(), layer.outputs(), weights, new float[layer.outputs()]));
    }
    set(session, drawn);
  }

  void set(Session session, List<DenseLayer> values) {
    for (int l = 0; l < layers.size(); l++) {
      Layer layer = layers.get(l);
      DenseLayer value = values.get(l);
      try (TFloat32 weights = Tensors.matrix(value.weights(), layer.inputs(), layer.outputs());
          TFloat32 biases = TFloat32.vectorOf(value.biases());
          Result none =
              session
                  .runner()
                  .feed(layer.newWeights(), weights)
                  .feed(layer.newBiases(), biases)
                  .addTarget(layer.assignWeights())
                  .addTarget(layer.assignBiases())
                  .run()) {
        assert none.size() == 0;
      }
    }
  }

  List<DenseLayer> get(Session session) {
    List<DenseLayer> values = new ArrayList<>();
    for (Layer layer : layers) {
      try (Result result = session.runner().fetch(layer.weights()).fetch(layer.biases()).run()) {
        values.add(
            new DenseLayer(
                layer.inputs(),
                layer.outputs(),
                Tensors.toArray(result.get(0)),
                Tensors.toArray(result.get(1))));
      }
    }
    return values;
  }
}
