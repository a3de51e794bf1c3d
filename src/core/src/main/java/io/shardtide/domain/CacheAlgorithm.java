package io.shardtide.domain;

import java.util.Arrays;

/** Which rows a cache in device memory gives up for others: FBGEMM's {@code CacheAlgorithm}. */
public enum CacheAlgorithm {
  /** Those whose last use is longest ago. */
  LRU,
  /** Those that were used least often. */
  LFU;

  /**
   * Returns the algorithm with a name.
   *
   * @throws RejectedException if there is none
   */
  public static CacheAlgorithm of(String name) {
    return Arrays.stream(values())
        .filter(algorithm -> algorithm.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new RejectedException(
                    RejectionReason.INVALID_CONSTRAINTS,
                    "cache algorithm of a table must be LRU or LFU, got " + Names.quote(name)));
  }
}
