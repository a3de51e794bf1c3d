package io.shardtide.workload;

/**
 * What updates the weights of a table, and the state that it keeps for them, in single precision:
 * FBGEMM's {@code EmbOptimType}.
 */
public enum Optimizer implements Named {
  /** Stochastic gradient descent, without state. */
  SGD(0, 0),
  /** Adagrad with one sum for each row. */
  ROWWISE_ADAGRAD(0, 4),
  /** Adagrad with a sum for each element. */
  ADAGRAD(4, 0),
  /** Adam: two moments for each element. */
  ADAM(8, 0),
  /** Adam whose second moment is one for each row. */
  PARTIAL_ROWWISE_ADAM(4, 4),
  /** LAMB: Adam's moments, and norms of each row. */
  LAMB(8, 0);

  /** Tables are taken to have it if neither they nor their cluster name one, as in TorchRec. */
  public static final Optimizer DEFAULT = ROWWISE_ADAGRAD;

  /** Bytes of a number of the state. */
  static final int NUMBER_BYTES = 4;

  private final int bytesPerElement;
  private final int bytesPerRow;

  Optimizer(int bytesPerElement, int bytesPerRow) {
    this.bytesPerElement = bytesPerElement;
    this.bytesPerRow = bytesPerRow;
  }

  /** Returns the bytes of state of each element. */
  public int bytesPerElement() {
    return bytesPerElement;
  }

  /** Returns the bytes of state of each row of each shard. */
  public int bytesPerRow() {
    return bytesPerRow;
  }

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static Optimizer of(String label) {
    return Named.parse(Optimizer.class, label, "optimizer", RejectionReason.INVALID_OPTIMIZER);
  }
}
