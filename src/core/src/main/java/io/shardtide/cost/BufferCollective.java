package io.shardtide.cost;

import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;

/**
 * A collective with one buffer, which shards need whose rows are split over devices or copied.
 *
 * @param collective the operation, not an all-to-all
 * @param direction the half of the step
 * @param bytes the whole buffer on a device
 */
public record BufferCollective(Collective collective, Direction direction, double bytes) {}
