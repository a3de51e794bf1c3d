package io.shardtide.pool;

/**
 * How good an allocation is.
 *
 * @param weightedThroughput sum over the workloads of their weight times their predicted samples a
 *     second
 * @param gap by how much the optimum may be better at most, as a share of it: 0 if the allocation
 *     is proven optimal
 * @param fairnessLoss part of the pool that is in other hands than in the fair allocation, 0 to 1
 * @param adjusted running workloads that have other nodes now
 */
public record AllocationQuality(
    double weightedThroughput, double gap, double fairnessLoss, int adjusted) {}
