package io.shardtide.cost.tensorflow;

import java.util.ArrayList;
import java.util.List;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Gradients;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

/**
 * Adam (Kingma and Ba, ICLR 2015) with the authors' constants; gradients are clipped by their
 * global norm, and weights may decay (Loshchilov and Hutter, ICLR 2019).
 *
 * <p>Training is reproducible: the powers of beta are fed, and no weight changes before all
 * gradients are computed. TensorFlow Java's own optimizer updates the powers and the weights in no
 * defined order.
 */
final class Adam {
  private static final float BETA_1 = 0.9f;
  private static final float BETA_2 = 0.999f;
  private static final float EPSILON = 1e-8f;

  private final Placeholder<TFloat32> rate;
  private final Placeholder<TFloat32> beta1Power;
  private final Placeholder<TFloat32> beta2Power;
  private final List<Op> updates = new ArrayList<>();
  private final List<Op> resets = new ArrayList<>();
  private double power1 = 1;
  private double power2 = 1;

  /**
   * @param decay share of a weight that an update at a learning rate of 1 subtracts beside its
   *     gradient, at least 0
   * @param decaying the variables whose weights decay
   */
  Adam(
      Ops tf,
      Operand<TFloat32> loss,
      List<Variable<TFloat32>> variables,
      float clipNorm,
      float decay,
      List<Variable<TFloat32>> decaying) {
    rate = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.scalar()));
    beta1Power = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.scalar()));
    beta2Power = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.scalar()));
    Gradients gradients = tf.gradients(loss, variables);
    List<Operand<TFloat32>> raw = new ArrayList<>();
    Operand<TFloat32> squares = tf.constant(0f);
    for (int i = 0; i < variables.size(); i++) {
      Operand<TFloat32> gradient = gradients.dy(i);
      raw.add(gradient);
      squares =
          tf.math.add(
              squares,
              tf.reduceSum(
                  tf.math.square(gradient),
                  tf.range(tf.constant(0), tf.rank(gradient), tf.constant(1))));
    }
    Operand<TFloat32> norm = tf.math.sqrt(squares);
    Operand<TFloat32> clip =
        tf.math.div(tf.constant(clipNorm), tf.math.maximum(norm, tf.constant(clipNorm)));
    // The norm depends on all gradients, so this control dependency waits for all of them.
    Ops after = tf.withControlDependencies(List.of(clip));
    for (int i = 0; i < variables.size(); i++) {
      Variable<TFloat32> variable = variables.get(i);
      Shape shape = variable.shape();
      Variable<TFloat32> m = tf.variable(shape, TFloat32.class);
      Variable<TFloat32> v = tf.variable(shape, TFloat32.class);
      Operand<TFloat32> zeros = tf.zeros(tf.constant(shape.asArray()), TFloat32.class);
      resets.add(tf.assign(m, zeros));
      resets.add(tf.assign(v, zeros));
      Op update =
          after.train.applyAdam(
              variable,
              m,
              v,
              beta1Power,
              beta2Power,
              rate,
              tf.constant(BETA_1),
              tf.constant(BETA_2),
              tf.constant(EPSILON),
              after.math.mul(raw.get(i), clip));
      updates.add(update);
      if (decay > 0 && decaying.contains(variable)) {
        Ops then = tf.withControlDependencies(List.of(update));
        Operand<TFloat32> share = then.math.mul(rate, then.constant(decay));
        updates.add(then.assignSub(variable, then.math.mul(share, variable)));
      }
    }
  }

  /** Resets all moments. */
  void reset(Session session) {
    new GraphRun(session).with(resets).run();
    power1 = 1;
    power2 = 1;
  }

  /** Adds one update to a run that feeds a batch. */
  GraphRun step(GraphRun run, double learningRate) {
    power1 *= BETA_1;
    power2 *= BETA_2;
    return run.feed(rate, (float) learningRate)
        .feed(beta1Power, (float) power1)
        .feed(beta2Power, (float) power2)
        .with(updates);
  }
}
