package io.shardtide.views;

import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.Claim;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * What a workload asks of a pool, and what it has.
 *
 * @param workloadId the workload
 * @param poolId the pool
 * @param claim what it asks; empty if it withdrew its claim, and the pool is not allocated since
 * @param nodes names of its nodes; none while it waits
 * @param devices devices that it uses, 0 while it waits
 * @param share its nodes as a share of the pool's, 0 to 1
 * @param fairNodes nodes that it would have in the fair allocation; empty before the first
 *     allocation that has it
 * @param samplesPerSecond predicted throughput on these devices; empty without devices or without a
 *     prediction
 * @param change what the latest allocation changed for it; empty before the first that has it
 * @param reason why, for people
 * @param curve its predicted throughput by number of devices; empty before the first curve, and if
 *     that is older than what the dashboard reads
 */
public record PoolShare(
    String workloadId,
    String poolId,
    Optional<Claim> claim,
    List<String> nodes,
    int devices,
    double share,
    OptionalDouble fairNodes,
    OptionalDouble samplesPerSecond,
    Optional<AllocationChange> change,
    Optional<String> reason,
    Optional<PoolCurve> curve) {}
