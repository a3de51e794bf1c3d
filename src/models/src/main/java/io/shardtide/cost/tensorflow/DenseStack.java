package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

/** Dense layers as variables of a graph. Weights are copied from and to arrays without loss. */
record DenseStack(List<Layer> layers) {
  private record Layer(
      int inputs,
      int outputs,
      Variable<TFloat32> weights,
      Variable<TFloat32> biases,
      Placeholder<TFloat32> newWeights,
      Placeholder<TFloat32> newBiases,
      List<Op> assign) {}

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
   * @param skipping inputs of the last layer beside the outputs of the one before
   * @param sizes inputs of the first layer, then outputs of each layer
   */
  static DenseStack of(Ops tf, int skipping, int... sizes) {
    List<Layer> layers = new ArrayList<>();
    for (int l = 1; l < sizes.length; l++) {
      int inputs = sizes[l - 1] + (l == sizes.length - 1 ? skipping : 0);
      Shape shape = Shape.of(inputs, sizes[l]);
      Shape ofBiases = Shape.of(sizes[l]);
      Variable<TFloat32> weights = tf.variable(shape, TFloat32.class);
      Variable<TFloat32> biases = tf.variable(ofBiases, TFloat32.class);
      Placeholder<TFloat32> newWeights = tf.placeholder(TFloat32.class, Placeholder.shape(shape));
      Placeholder<TFloat32> newBiases = tf.placeholder(TFloat32.class, Placeholder.shape(ofBiases));
      List<Op> assign = List.of(tf.assign(weights, newWeights), tf.assign(biases, newBiases));
      layers.add(new Layer(inputs, sizes[l], weights, biases, newWeights, newBiases, assign));
    }
    return new DenseStack(layers);
  }

  /** Returns all layers but the last one. */
  DenseStack hidden() {
    return new DenseStack(layers.subList(0, layers.size() - 1));
  }

  /** Returns the last layer. */
  DenseStack last() {
    return new DenseStack(layers.subList(layers.size() - 1, layers.size()));
  }

  /** Returns the sizes of layers, as in the constructor. */
  static int[] sizes(List<DenseLayer> layers) {
    return IntStream.concat(
            IntStream.of(layers.get(0).inputs()), layers.stream().mapToInt(DenseLayer::outputs))
        .toArray();
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
    return layers.stream().flatMap(of -> Stream.of(of.weights(), of.biases())).toList();
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
      new GraphRun(session)
          .feed(layer.newWeights(), values.get(l).weights())
          .feed(layer.newBiases(), values.get(l).biases())
          .with(layer.assign())
          .run();
    }
  }

  List<DenseLayer> get(Session session) {
    return layers.stream()
        .map(
            layer ->
                new DenseLayer(
                    layer.inputs(),
                    layer.outputs(),
                    new GraphRun(session).fetch(layer.weights()),
                    new GraphRun(session).fetch(layer.biases())))
        .toList();
  }
}
