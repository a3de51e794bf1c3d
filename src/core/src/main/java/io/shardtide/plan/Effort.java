package io.shardtide.plan;

/** Budget of a plan's search. */
public enum Effort {
  /** The quick search that answers a change. */
  QUICK,
  /** The background search from the running plan that follows. */
  DEEP
}
