package io.shardtide.views;

import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.AllocationQuality;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A pool with its nodes, the workloads that share it, and its latest allocations.
 *
 * @param row its row
 * @param policy how it was allocated the last time; empty before the first allocation
 * @param quality how good that allocation is
 * @param allocatedAt timestamp of that allocation
 * @param nodes its nodes, and the latest that it lost, by name
 * @param workloads the workloads with a claim or with nodes, by id
 * @param history its latest allocations, the oldest first
 */
public record PoolView(
    PoolRow row,
    Optional<AllocationPolicy> policy,
    Optional<AllocationQuality> quality,
    Optional<Instant> allocatedAt,
    List<PoolNodeView> nodes,
    List<PoolShare> workloads,
    List<PastAllocation> history) {}
