package io.shardtide.cost;

import io.shardtide.domain.Limits;
import io.shardtide.domain.Optimizer;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.OptionalDouble;

/**
 * A shard in a compute sample. {@link SampleShapes} has its lookups and outputs, which its table
 * says.
 *
 * @param table position of the table in {@link SampleSet#tables}, from 0
 * @param columns columns of the shard, at least 1
 * @param samples samples that the device works on: the global batch, or a device's part of it for a
 *     copy; above 0
 * @param rowShare share of the table's rows, above 0 and at most 1
 * @param replicated whether each device has a copy
 * @param cacheShare share of its rows that device memory holds, the most used ones, 0 to 1; empty
 *     if device memory holds all of them without a cache
 * @param bytesPerElement bytes of an element of the weights, above 0
 * @param optimizer what updates the weights
 * @param stateInDeviceMemory whether the optimizer's state is in device memory also where rows are
 *     cached
 * @param pooled whether the rows of a sample's lookups are summed; if not, each lookup has an
 *     output
 */
@RecordBuilder
public record SampledShard(
    int table,
    int columns,
    double samples,
    double rowShare,
    boolean replicated,
    OptionalDouble cacheShare,
    double bytesPerElement,
    Optimizer optimizer,
    boolean stateInDeviceMemory,
    boolean pooled) {

  /** Checks the ranges. */
  public SampledShard {
    Limits.of(IllegalArgumentException::new, "a shard")
        .check(table >= 0, "table", "the position of a table, from 0", table)
        .atLeast("columns", columns, 1)
        .above("samples", samples, 0)
        .above("rowShare", rowShare, 0, 1)
        .above("bytesPerElement", bytesPerElement, 0)
        .within("cacheShare", cacheShare.orElse(0), 0, 1);
  }

  /** A pooled shard with the default optimizer. */
  public SampledShard(
      int table,
      int columns,
      double samples,
      double rowShare,
      boolean replicated,
      OptionalDouble cacheShare,
      double bytesPerElement) {
    this(
        table,
        columns,
        samples,
        rowShare,
        replicated,
        cacheShare,
        bytesPerElement,
        Optimizer.DEFAULT,
        false,
        true);
  }

  /** A shard of columns with all rows, in device memory, in single precision. */
  public static SampledShard ofColumns(int table, int columns, double samples) {
    return new SampledShard(table, columns, samples, 1, false, OptionalDouble.empty(), 4);
  }

  /** Returns this shard with another position of its table. */
  public SampledShard ofTable(int position) {
    return SampledShardBuilder.builder(this).table(position).build();
  }
}
