package io.shardtide.plan;

/** From what it is known how lookups spread over the rows of a table. */
public enum UseKnowledge {
  /** From an access CDF: holds for any batch and any cache. */
  ACCESS_CDF,
  /** From a reuse histogram of one batch. */
  REUSE_HISTOGRAM,
  /** From nothing: all rows are taken to be used equally. */
  NONE
}
