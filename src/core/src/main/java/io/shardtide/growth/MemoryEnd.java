package io.shardtide.growth;

/**
 * When memory will no longer hold the tables, whatever the plan.
 *
 * @param days from now on; the latest may be infinite
 * @param bytesShort bytes that are missing at the end of the period of warning, 1 or more
 */
public record MemoryEnd(Range days, long bytesShort) {}
