package io.shardtide.cost;

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
    check("table", table, table >= 0, "the position of a table, from 0");
    check("columns", columns, columns >= 1, "at least 1");
    check("samples", samples, samples > 0 && Double.isFinite(samples), "above 0");
    check("rowShare", rowShare, rowShare > 0 && rowShare <= 1, "above 0 and at most 1");
    check(
        "bytesPerElement",
        bytesPerElement,
        bytesPerElement > 0 && Double.isFinite(bytesPerElement),
        "above 0");
    if (cacheShare.isPresent()) {
      double share = cacheShare.getAsDouble();
      check("cacheShare", share, share >= 0 && share <= 1, "between 0 and 1");
    }
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

  private static void check(String what, Object value, boolean isValid, String expected) {
    if (!isValid) {
      throw new IllegalArgumentException(
          "%s of a shard must be %s, got %s".formatted(what, expected, value));
    }
  }
}
