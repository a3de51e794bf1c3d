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

  /**
   * Returns the mean pseudo-Huber loss of the relative error, {@code sqrt(1 + (e / knee)^2) - 1}: a
   * sample of 0.1 ms counts as much as one of 40 ms, and one wild label does not pull the rest
   * along.
   */
  static Operand<TFloat32> relative(Ops tf, Operand<TFloat32> predicted, Operand<TFloat32> label) {
    Operand<TFloat32> error =
        tf.math.div(tf.math.sub(predicted, label), tf.math.mul(label, tf.constant(KNEE)));
    Operand<TFloat32> loss =
        tf.math.sub(
            tf.math.sqrt(tf.math.add(tf.math.square(error), tf.constant(1f))), tf.constant(1f));
    return tf.math.mean(loss, tf.constant(0));
  }
}
