package io.shardtide.growth;

/**
 * A table that gets another capacity.
 *
 * @param table its name
 * @param capacity slots that it gets
 * @param reason why, as a plan says it: {@code it is full in 3.2 days (2.6 to 4.1)}
 */
public record Resize(String table, long capacity, String reason) {}
