package io.shardtide.growth;

/**
 * What forecasts of a workload were made from, beside reports and tables.
 *
 * @param parts parts of the generation after the latest one that were read already; nearly always 0
 * @param memoryBytes memory for all hashed tables together; below 0 if the other tables alone take
 *     more than there is
 * @param policy when tables are resized, and for how long
 */
public record GrowthInputs(int parts, double memoryBytes, CapacityPolicy policy) {}
