package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ModelBundle;
import java.util.List;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat32;

/**
 * The head of a model in TensorFlow: the reference for {@link io.shardtide.cost.CostEvaluator},
 * which is faster. Of models without launch groups. Not thread-safe.
 */
public final class TensorFlowHead implements AutoCloseable {
  private final Graph graph = new Graph();
  private final Session session;
  private final Placeholder<TFloat32> sums;
  private final Operand<TFloat32> milliseconds;

  /** Builds the graph and sets the bundle's weights. */
  public TensorFlowHead(ModelBundle bundle) {
    Ops tf = Ops.create(graph);
    HeadGraph head = new HeadGraph(tf, DenseStack.sizes(bundle.head()));
    sums = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, bundle.headOutputs())));
    milliseconds = tf.reduceSum(head.apply(tf, sums, List.of()), tf.constant(1));
    session = Tensors.session(graph);
    head.set(session, bundle.head());
  }

  /**
   * Predicts the computation of devices, in milliseconds.
   *
   * @param towerSums sums of tower outputs, one device after another
   * @param devices number of devices
   */
  public float[] computeMs(float[] towerSums, int devices) {
    try (TFloat32 fed = Tensors.matrix(towerSums, devices, towerSums.length / devices);
        Result result = session.runner().feed(sums, fed).fetch(milliseconds).run()) {
      return Tensors.toArray(result.get(0));
    }
  }

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
