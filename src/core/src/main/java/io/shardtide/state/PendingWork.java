package io.shardtide.state;

/** What planning has to do for a workload. */
public enum PendingWork {
  /** Nothing: the latest generation is answered, or there is none. */
  IDLE,
  /** A plan for a changed workload, or for other speeds of its devices. */
  CHANGE_PENDING,
  /** A plan because of a new cost model only; it has a lower priority. */
  MODEL_PENDING,
  /** A background search for a better plan. */
  BACKGROUND_SEARCH_DUE;

  /** Returns whether a plan is pending. */
  public boolean isPending() {
    return this == CHANGE_PENDING || this == MODEL_PENDING;
  }
}
