package io.shardtide.domain;

/** A part of a training step's cost that a model predicts and a trainer measures. */
public enum CostQuantity {
  /** Embedding computation, forward and backward. */
  COMPUTE,
  /** The forward all-to-all, waiting for slower devices not included. */
  FORWARD,
  /** The backward all-to-all. */
  BACKWARD
}
