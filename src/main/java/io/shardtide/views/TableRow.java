package io.shardtide.views;

import java.util.OptionalDouble;

/**
 * A table of a workload, as it is now.
 *
 * @param name its name
 * @param rows number of rows
 * @param columns number of columns
 * @param poolingFactor mean number of lookups per sample
 * @param bytesPerElement bytes of an element: weight and optimizer state
 * @param bytes bytes of the whole table
 * @param aloneMs predicted compute time of a step, in milliseconds, if a device held this table
 *     alone; empty if the model is not on the log
 * @param share {@code aloneMs} as a fraction of its sum over the workload's tables
 */
public record TableRow(
    String name,
    long rows,
    int columns,
    double poolingFactor,
    double bytesPerElement,
    long bytes,
    OptionalDouble aloneMs,
    OptionalDouble share) {}
