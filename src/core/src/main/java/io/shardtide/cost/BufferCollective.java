package io.shardtide.cost;

import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;

/**
 * A collective with one buffer, which shards need whose rows are split over devices or copied.
 *
 * @param collective the operation, not an all-to-all
 * @param direction the half of the step
 * @param bytes the whole buffer on a device
 */
public record BufferCollective(Collective collective, Direction direction, double bytes) {
  /** Bytes of an element of a dense gradient, which is not quantized. */
  private static final double GRADIENT_BYTES = 4;

  /**
   * Returns the collective of shards whose rows are split: a reduce-scatter of partial sums of
   * outputs, or an all-gather of gradients.
   *
   * @param wire what is sent
   * @param scope the devices that rows are split over
   * @param elements outputs times columns
   */
  public static BufferCollective ofRows(
      StepComm wire, ShardScope scope, Direction direction, double elements) {
    return new BufferCollective(
        direction == Direction.FORWARD ? Collective.REDUCE_SCATTER : Collective.ALL_GATHER,
        direction,
        elements * wire.bytesPerElement(scope, direction));
  }

  /**
   * Returns the all-reduce of the gradients of copies, in single precision.
   *
   * @param elements rows times columns
   */
  public static BufferCollective ofCopies(double elements) {
    return new BufferCollective(
        Collective.ALL_REDUCE, Direction.BACKWARD, elements * GRADIENT_BYTES);
  }
}
