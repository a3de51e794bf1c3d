package io.shardtide.workload;

/** A collective operation between devices, with NCCL's and PyTorch's names. */
public enum Collective implements Named {
  /** Each device sends a part of its own to each other one. */
  ALL_TO_ALL,
  /** Sums a buffer over devices and leaves a part of the sum on each. */
  REDUCE_SCATTER,
  /** Leaves on each device the parts of all. */
  ALL_GATHER,
  /** Leaves on each device the sum of a buffer over all. */
  ALL_REDUCE
}
