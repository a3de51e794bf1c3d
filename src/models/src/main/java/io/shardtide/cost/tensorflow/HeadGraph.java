package io.shardtide.cost.tensorflow;

import io.shardtide.cost.HeadInputs;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.Operand;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.ReduceSum;
import org.tensorflow.types.TFloat32;

/**
 * The head of {@link io.shardtide.cost.ModelBundle}: predicts a device's cost from the sums of its
 * shards' tower outputs. For training; {@link io.shardtide.cost.CostEvaluator} is the same in plain
 * Java.
 *
 * <p>No operation reads a tensor that two others read already: TensorFlow adds the gradients of
 * three readers in an order that depends on addresses in memory, so that training would not be
 * reproducible.
 */
record HeadGraph(DenseStack layers, int components) {
  /**
   * @param tf the graph to add the head to
   * @param sizes inputs, outputs of each hidden layer, number of latency components, forward and
   *     backward
   */
  HeadGraph(Ops tf, int... sizes) {
    this(DenseStack.of(tf, 0, sizes), sizes[sizes.length - 1]);
  }

  /**
   * Returns the forward and the backward cost of each launch group in milliseconds, two columns,
   * from one row of sums per group.
   *
   * @param sums what the head reads of towers, one row for each launch group
   * @param widest the further inputs of the head, one row for each launch group; none of a model
   *     without launch groups
   */
  Operand<TFloat32> apply(Ops tf, Operand<TFloat32> sums, List<Operand<TFloat32>> widest) {
    int half = components / 2;
    Operand<TFloat32> one = tf.constant(1f);
    Operand<TFloat32> latencies = columns(tf, sums, 0, components);
    Operand<TFloat32> context = columns(tf, sums, components, -1);
    Operand<TFloat32> read = tf.identity(latencies);
    List<Operand<TFloat32>> inputs = new ArrayList<>();
    List<Operand<TFloat32>> scaled = new ArrayList<>();
    for (int first = 0; first < components; first += half) {
      Operand<TFloat32> part = columns(tf, read, first, half);
      Operand<TFloat32> total = total(tf, part);
      Operand<TFloat32> divisors = tf.math.add(total, tf.constant(addends()));
      inputs.add(tf.math.div(part, columns(tf, divisors, 0, 1)));
      scaled.add(tf.math.div(total, columns(tf, divisors, 1, -1)));
    }
    inputs.add(tf.math.div(context, tf.math.add(context, one)));
    inputs.addAll(scaled);
    inputs.addAll(widest);
    Operand<TFloat32> g =
        layers.apply(tf, tf.concat(inputs, tf.constant(1)), DenseStack.Activation.RELU, false);
    Operand<TFloat32> factor =
        tf.math.div(tf.math.add(tf.nn.relu(g), one), tf.math.add(tf.nn.relu(tf.math.neg(g)), one));
    Operand<TFloat32> corrected = tf.math.mul(latencies, factor);
    return tf.concat(
        List.of(
            total(tf, columns(tf, corrected, 0, half)),
            total(tf, columns(tf, corrected, half, half))),
        tf.constant(1));
  }

  /** Returns what is added to a sum to get its divisors: that of shares, and those of scales. */
  private static float[][] addends() {
    float[] scales = HeadInputs.scalesMs();
    float[] addends = new float[1 + scales.length];
    addends[0] = HeadInputs.LEAST_MS;
    System.arraycopy(scales, 0, addends, 1, scales.length);
    return new float[][] {addends};
  }

  /** Returns so many columns, or all from one on (-1). */
  static Operand<TFloat32> columns(Ops tf, Operand<TFloat32> x, int from, int count) {
    return tf.slice(x, tf.constant(new int[] {0, from}), tf.constant(new int[] {-1, count}));
  }

  private static Operand<TFloat32> total(Ops tf, Operand<TFloat32> x) {
    return tf.reduceSum(x, tf.constant(1), ReduceSum.keepDims(true));
  }
}
