package io.shardtide.workload;

/**
 * The number format of a table's outputs and of their gradients, as the device that looks them up
 * passes them on: those of TorchRec's {@code DataType} that FBGEMM's training kernels write.
 */
public enum OutputType implements Named {
  /** Single precision. */
  FP32(4),
  /** Half precision. */
  FP16(2),
  /** The upper half of single precision. */
  BF16(2),
  /** 8 bits, with a scale and a bias for each output. */
  INT8(1);

  /** Tables are taken to have it if they name none, as in TorchRec. */
  public static final OutputType DEFAULT = FP32;

  private final int bytes;

  OutputType(int bytes) {
    this.bytes = bytes;
  }

  /** Returns the bytes of a number; the scale and the bias of {@link #INT8} are not counted. */
  public int bytes() {
    return bytes;
  }

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static OutputType of(String label) {
    return Named.parse(
        OutputType.class, label, "output type of a table", RejectionReason.INVALID_CONSTRAINTS);
  }

  @Override
  public String label() {
    return name();
  }
}
