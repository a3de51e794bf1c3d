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

  /**
   * Returns the mean pseudo-Huber loss of the relative error, {@code sqrt(1 + (e / delta)^2) - 1}.
   * Costs of 0.1 ms and of 40 ms have equal weight, and the influence of outliers is bounded.
   */
  static Operand<TFloat32> relative(
      Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label, Operand<TFloat32> weight) {
    Operand<TFloat32> error =
        tf.math.div(tf.math.sub(predicted, label), tf.math.mul(label, tf.constant(DELTA)));
    Operand<TFloat32> loss =
        tf.math.sub(
            tf.math.sqrt(tf.math.add(tf.math.square(error), tf.constant(1f))), tf.constant(1f));
    return tf.math.mean(tf.math.mul(weight, loss), tf.constant(0));
  }
}
