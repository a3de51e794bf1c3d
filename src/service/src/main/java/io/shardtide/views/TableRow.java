package io.shardtide.views;

import io.shardtide.workload.TableSpec;
import java.util.OptionalDouble;

/**
 * A table of a workload, as it is now.
 *
 * @param name its name
 * @param rows number of rows
 * @param columns number of columns
 * @param poolingFactor mean number of lookups per sample
 * @param bytesPerElement bytes of an element of the weights
 * @param optimizerBytesPerElement bytes of the optimizer's state for each element
 * @param optimizerBytesPerRow bytes of the optimizer's state for each row of each shard
 * @param bytes bytes of the whole table in one shard
 * @param aloneMs predicted compute time of a step, in milliseconds, if a device held this table
 *     alone; empty if the model is not on the log
 */
public record TableRow(
    String name,
    long rows,
    int columns,
    double poolingFactor,
    double bytesPerElement,
    double optimizerBytesPerElement,
    double optimizerBytesPerRow,
    long bytes,
    OptionalDouble aloneMs) {
  static TableRow of(TableSpec table, OptionalDouble aloneMs) {
    return new TableRow(
        table.name(),
        table.rows(),
        table.columns(),
        table.poolingFactor(),
        table.bytesPerElement(),
        table.stateBytesPerElement(),
        table.stateBytesPerRow(),
        table.bytes(),
        aloneMs);
  }
}
