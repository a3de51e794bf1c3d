package io.shardtide.workload;

/** The half of a training step that a cost belongs to. */
public enum Direction implements Named {
  /** Lookups and outputs. */
  FORWARD,
  /** Gradients and updates. */
  BACKWARD
}
