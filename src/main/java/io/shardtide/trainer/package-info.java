/**
 * A reference trainer that really trains: devices are threads, each with its shards in its own
 * memory. They draw lookups, pool them, exchange, compute gradients, exchange back and update, and
 * measure what that costs. What a plan's shards cost here is measured, not predicted.
 *
 * <p>In: plans with the specs of their tables. Out: measured costs and statuses. May import {@code
 * domain}.
 */
package io.shardtide.trainer;
