package io.shardtide.learn;

/** Why a part of an accepted measurement is not used. */
public enum ExclusionReason {
  /** The device is a straggler; its costs do not represent healthy devices. */
  SLOW_DEVICE,

  /** The cost is too short to be compared. */
  TOO_SHORT,

  /** The device waited longer in its forward all-to-all than the transfer took. */
  MOSTLY_WAITING
}
