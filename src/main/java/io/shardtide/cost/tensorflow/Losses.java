package io.shardtide.cost.tensorflow;

import org.tensorflow.Operand;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;

/** Losses of costs that span decades. */
final class Losses {
  /**
   * Relative errors below this are squared, above it they count as they are: near the noise of the
   * reference samples.
   */
  private static final float KNEE = 0.02f;

  private Losses() {}

  /** What is made small: from predicted costs, measured ones, and how much each counts. */
  @FunctionalInterface
  interface Loss {
    Operand<TFloat32> of(
        Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight);
  }

  /**
   * Returns the mean pseudo-Huber loss of the relative error, {@code sqrt(1 + (e / knee)^2) - 1}: a
   * sample of 0.1 ms counts as much as one of 40 ms, and one wild label does not pull the rest
   * along.
   */
  static Operand<TFloat32> relative(
      Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight) {
    return mean(
        tf,
        tf.math.div(tf.math.sub(predicted, label), tf.math.mul(label, tf.constant(KNEE))),
        weight);
  }

  /**
   * Returns the same of the error's logarithm, {@code e = ln(predicted / label)}: a label that is
   * ten times too small counts no more than one that is ten times too large. A relative error is at
   * most 1 for a label that is too large, and without a bound for one that is too small.
   */
  static Operand<TFloat32> logarithmic(
      Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight) {
    return mean(
        tf, tf.math.div(tf.math.log(tf.math.div(predicted, label)), tf.constant(KNEE)), weight);
  }

  private static Operand<TFloat32> mean(Ops tf, Operand<TFloat32> error, Operand<TFloat32> weight) {
    Operand<TFloat32> loss =
        tf.math.sub(
            tf.math.sqrt(tf.math.add(tf.math.square(error), tf.constant(1f))), tf.constant(1f));
    return tf.math.mean(tf.math.mul(weight, loss), tf.constant(0));
  }
}
