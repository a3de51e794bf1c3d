package io.shardtide.plan;

import java.util.List;

/** A part of a training step's cost in which a device can be slower than its peers. */
public enum CostPart {
  /** Embedding computation: a slow device. */
  COMPUTATION,
  /** Collectives, forward and backward: a slow link. */
  COMMUNICATION;

  /** Returns what is measured of it. */
  public List<CostQuantity> quantities() {
    return this == COMPUTATION
        ? List.of(CostQuantity.COMPUTE)
        : List.of(CostQuantity.FORWARD, CostQuantity.BACKWARD);
  }

  /** Returns what a device does slowly, for people. */
  public String verb() {
    return this == COMPUTATION ? "computes" : "communicates";
  }
}
