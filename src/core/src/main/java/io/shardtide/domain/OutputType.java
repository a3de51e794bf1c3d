package io.shardtide.domain;

import java.util.Arrays;

/**
 * The number format of a table's outputs and of their gradients, as the device that looks them up
 * passes them on: those of TorchRec's {@code DataType} that FBGEMM's training kernels write.
 */
public enum OutputType {
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

  /**
   * Returns the type with TorchRec's name.
   *
   * @throws RejectedException if there is none
   */
  public static OutputType of(String name) {
    return Arrays.stream(values())
        .filter(type -> type.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new RejectedException(
                    RejectionReason.INVALID_CONSTRAINTS,
                    "output type of a table must be one of FP32, FP16, BF16, INT8, got "
                        + Names.quote(name)));
  }

  /** Returns the bytes of a number; the scale and the bias of {@link #INT8} are not counted. */
  public int bytes() {
    return bytes;
  }
}
