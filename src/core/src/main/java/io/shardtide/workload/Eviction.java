package io.shardtide.workload;

/** Which ids a hashed table gives up when it is full: {@link HashedStorage}. */
public enum Eviction implements Named {
  /** None: new ids share the slots of others, or are not stored. */
  NONE,
  /** Those whose last use is longest ago. */
  LRU,
  /** Those that were used least often. */
  LFU,
  /** Those that were not used for a time that the training program sets. */
  AGE;

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static Eviction of(String label) {
    return Named.parse(
        Eviction.class, label, "eviction of a hashed table", RejectionReason.INVALID_STORAGE);
  }
}
