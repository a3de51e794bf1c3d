package io.shardtide.workload;

/** Which rows a cache in device memory gives up for others: FBGEMM's {@code CacheAlgorithm}. */
public enum CacheAlgorithm implements Named {
  /** Those whose last use is longest ago. */
  LRU,
  /** Those that were used least often. */
  LFU;

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static CacheAlgorithm of(String label) {
    return Named.parse(
        CacheAlgorithm.class,
        label,
        "cache algorithm of a table",
        RejectionReason.INVALID_CONSTRAINTS);
  }

  @Override
  public String label() {
    return name();
  }
}
