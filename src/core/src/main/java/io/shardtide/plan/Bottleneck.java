package io.shardtide.plan;

/**
 * The device that all others wait for: the last one to begin its forward communication.
 *
 * @param device the device
 * @param cause the larger part of its cost; {@link Explanation.Cause#MEMORY} if no other device has
 *     room for the table
 * @param table its table whose removal shortens a step the most; empty for a device without tables
 * @param gainMs how much shorter a step would be without the table, in milliseconds
 */
public record Bottleneck(int device, Explanation.Cause cause, String table, double gainMs) {}
