package io.shardtide.domain;

/** How long was searched for a plan. */
public enum Effort {
  /** The answer to a change. */
  QUICK,
  /** A longer search from the plan that runs, after the answer. */
  DEEP
}
