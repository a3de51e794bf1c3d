package io.shardtide.workload;

/** What the planner does with an event for hardware without a cost model. */
public enum UnknownHardware implements Named {
  /** It begins with the model of the nearest hardware, and retrains it on measured costs. */
  NEAREST,
  /** It rejects the event with {@link RejectionReason#UNKNOWN_HARDWARE}. */
  REJECT
}
