package io.shardtide.cost.tensorflow;

import org.tensorflow.Graph;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

/**
 * Converts between arrays and tensors. Tensors should be short-lived: reading a closed one returns
 * garbage without an error.
 */
final class Tensors {
  /** The second number: operations run in the thread that calls, without a pool. */
  private static final ConfigProto ONE_THREAD =
      ConfigProto.newBuilder()
          .setIntraOpParallelismThreads(1)
          .setInterOpParallelismThreads(-1)
          .build();

  private Tensors() {}

  static TFloat32 matrix(float[] values, int rows, int columns) {
    return TFloat32.tensorOf(Shape.of(rows, columns), DataBuffers.of(values));
  }

  static TInt32 vector(int[] values) {
    return TInt32.tensorOf(Shape.of(values.length), DataBuffers.of(values));
  }

  /** Copies the values of an open tensor. */
  static float[] toArray(Tensor tensor) {
    float[] values = new float[Math.toIntExact(tensor.size())];
    ((TFloat32) tensor)
        .copyTo(
            org.tensorflow.ndarray.NdArrays.wrap(
                tensor.shape(), DataBuffers.of(values, false, false)));
    return values;
  }

  /**
   * Returns a session with one thread, so that the order of additions is fixed and training is
   * reproducible. Nets of this size are not faster on two threads (20,000 samples and 10 epochs
   * took 0.8 s on one).
   */
  static Session session(Graph graph) {
    return new Session(graph, ONE_THREAD);
  }
}
