package io.shardtide.cost.tensorflow;

import org.tensorflow.Operand;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;

/** Losses for costs that span orders of magnitude. */
final class Losses {
  /**
   * The pseudo-Huber loss is quadratic for errors below this and linear above. It is near the noise
   * of the reference samples.
   */
  private static final float DELTA = 0.02f;

  private Losses() {}

  /** A loss of predicted costs, given measured costs and weights. */
  @FunctionalInterface
  interface Loss {
    Operand<TFloat32> of(
        Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight);
  }

  /**
   * Returns the mean pseudo-Huber loss of the relative error, {@code sqrt(1 + (e / delta)^2) - 1}.
   * Costs of 0.1 ms and of 40 ms have equal weight, and the influence of outliers is bounded.
   */
  static Operand<TFloat32> relative(
      Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight) {
    return mean(
        tf,
        tf.math.div(tf.math.sub(predicted, label), tf.math.mul(label, tf.constant(DELTA))),
        weight);
  }

  /**
   * Returns the mean pseudo-Huber loss of {@code e = ln(predicted / label)}. Labels that are ten
   * times too small and ten times too large have the same influence. A relative error is at most 1
   * for labels that are too large and unbounded for labels that are too small.
   */
  static Operand<TFloat32> logarithmic(
      Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight) {
    return mean(
        tf, tf.math.div(tf.math.log(tf.math.div(predicted, label)), tf.constant(DELTA)), weight);
  }

  private static Operand<TFloat32> mean(Ops tf, Operand<TFloat32> error, Operand<TFloat32> weight) {
    Operand<TFloat32> loss =
        tf.math.sub(
            tf.math.sqrt(tf.math.add(tf.math.square(error), tf.constant(1f))), tf.constant(1f));
    return tf.math.mean(tf.math.mul(weight, loss), tf.constant(0));
  }
}
