package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ModelBundle;
import java.util.List;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
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
    session = GraphRun.session(graph);
    head.layers().set(session, bundle.head());
  }

  /**
   * Predicts the computation of devices, in milliseconds.
   *
   * @param towerSums sums of tower outputs, one device after another
   */
  public float[] computeMs(float[] towerSums) {
    return new GraphRun(session).feed(sums, towerSums).fetch(milliseconds);
  }

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
