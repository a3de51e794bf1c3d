package io.shardtide.plan;

/** A part of a training step's cost, predicted by models and measured by trainers. */
public enum CostQuantity {
  /** Embedding computation, forward and backward. */
  COMPUTE,
  /** Forward communication, idle time not included. */
  FORWARD,
  /** Backward communication. */
  BACKWARD
}
