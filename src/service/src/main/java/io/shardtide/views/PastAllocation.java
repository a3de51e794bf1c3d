package io.shardtide.views;

import io.shardtide.pool.AllocationQuality;
import java.time.Instant;
import java.util.SortedMap;

/**
 * An allocation of a pool, as its history shows it.
 *
 * @param allocationId its id
 * @param generation the pool's generation; several allocations may have one, if curves changed
 * @param allocatedAt timestamp of its record
 * @param devices devices of each workload that has any, by its id
 * @param quality how good it is
 */
public record PastAllocation(
    String allocationId,
    long generation,
    Instant allocatedAt,
    SortedMap<String, Integer> devices,
    AllocationQuality quality) {}
