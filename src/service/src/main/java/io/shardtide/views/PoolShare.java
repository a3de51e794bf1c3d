package io.shardtide.views;

import io.shardtide.pool.Claim;
import io.shardtide.pool.WorkloadAllocation;
import java.util.Optional;

/**
 * What a workload asks of a pool, and what it has.
 *
 * @param poolId the pool
 * @param claim what it asks; empty if it withdrew its claim, and the pool is not allocated since
 * @param allocation what it has; empty before the first allocation that has it
 */
public record PoolShare(
    String poolId, Optional<Claim> claim, Optional<WorkloadAllocation> allocation) {}
