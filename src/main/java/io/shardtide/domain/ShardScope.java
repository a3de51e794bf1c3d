package io.shardtide.domain;

/** Where the rows of a column part are, which decides what a step communicates for it. */
public enum ShardScope {
  /** All on one device: an all-to-all of outputs, and one of gradients. */
  DEVICE,
  /**
   * Split over the devices of a node: a reduce-scatter of partial sums in the node and an
   * all-to-all between nodes; backward an all-gather and the same all-to-all.
   */
  NODE,
  /** Split over all devices: a reduce-scatter, backward an all-gather. */
  CLUSTER,
  /** All on each device, as copies: an all-reduce of gradients. */
  COPIES
}
