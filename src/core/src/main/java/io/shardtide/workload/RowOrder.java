package io.shardtide.workload;

/** The order in which a trainer cuts the rows of a table into blocks, one for each owner. */
public enum RowOrder implements Named {
  /** Blocks of consecutive rows, the last ones maybe shorter, as TorchRec cuts them. */
  CONTIGUOUS,
  /** Row modulo the number of blocks. */
  ROUND_ROBIN,
  /** A hash of the row modulo the number of blocks. */
  HASHED;

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static RowOrder of(String label) {
    return Named.parse(
        RowOrder.class, label, "order of a table's rows", RejectionReason.INVALID_ROW_SPREAD);
  }
}
