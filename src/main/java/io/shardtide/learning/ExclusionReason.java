package io.shardtide.learning;

/** Why a part of a measurement that was taken is not used. */
public enum ExclusionReason {
  /** A sample of a device that is slow: it says nothing of devices as they should be. */
  SLOW_DEVICE,
  /** A cost that is too short to be compared. */
  TOO_SHORT,
  /** A forward exchange of which more was waiting than exchange. */
  MOSTLY_WAITING
}
