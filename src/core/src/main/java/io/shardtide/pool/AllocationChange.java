package io.shardtide.pool;

/** What an allocation changes for a workload. The names are codes: they are never renamed. */
public enum AllocationChange {
  /** It had no nodes and has some. */
  STARTED,
  /** It keeps its nodes; it uses more or fewer of their devices only if its claim changed. */
  KEPT,
  /** It has more nodes. */
  GREW,
  /** It has fewer nodes. */
  SHRANK,
  /** It has as many nodes, some of them others. */
  MOVED,
  /** It had nodes and has none. */
  STOPPED,
  /** It had no nodes and has none. */
  WAITS;

  /** Returns whether a running workload has to restart or reshard. */
  public boolean isAdjustment() {
    return this == GREW || this == SHRANK || this == MOVED || this == STOPPED;
  }
}
