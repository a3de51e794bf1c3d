package io.shardtide.plan;

/**
 * A table of which each rank sends the distinct ids of its batch.
 *
 * @param table its name
 * @param distinctShare distinct ids of a rank's batch over its lookups, above 0 and at most 1
 * @param savedMs how much shorter a step is predicted to be than without it, everything else as it
 *     is, in milliseconds; 0 where the publisher decided it, or there is no room without
 */
public record Deduplication(String table, double distinctShare, double savedMs) {}
