package io.shardtide.cost;

import java.util.List;
import java.util.Set;

/**
 * The terms of a shard's computation, before a net corrects their sum: a constant for each shard,
 * its outputs, its lookups and the distinct rows that they touch, each once alone (indices,
 * addresses) and once times columns, lanes, or bytes in whole sectors; what misses the device's
 * caches, or device memory; all elements of a copy, whose optimizer is dense; the state of the
 * optimizer, in device memory, in host memory, and of copies; and outputs of unpooled tables. Any
 * hardware does all of this, so that the sum, with fitted coefficients that are not negative,
 * extrapolates well. The net learns the difference.
 */
public final class ComputeTerms {
  /** Lanes of four warps, which a wide row occupies together. */
  private static final int WIDE = 128;

  /** Names with units, in the order of {@link #of}. */
  public static final List<String> NAMES =
      List.of(
          "shards",
          "cached_shards",
          "copies",
          "outputs",
          "output_elements",
          "lookups",
          "lookups_times_columns",
          "lookups_times_lanes",
          "lookups_times_wide_lanes",
          "lookups_times_sector_bytes",
          "distinct_rows",
          "distinct_rows_times_columns",
          "distinct_rows_times_sector_bytes",
          "missed_rows",
          "missed_bytes",
          "elements_of_copies",
          "bytes_beside_32_mib",
          "bytes_beside_64_mib",
          "bytes_beside_256_mib",
          "state_bytes",
          "state_bytes_in_host_memory",
          "state_bytes_of_copies",
          "unpooled_outputs",
          "unpooled_output_elements");

  /** Terms that need samples of many widths, as {@link ShardFeatures#OF_WIDTHS}. */
  public static final Set<String> OF_WIDTHS =
      Set.of(
          "lookups_times_lanes",
          "lookups_times_wide_lanes",
          "lookups_times_sector_bytes",
          "distinct_rows_times_sector_bytes");

  /** Terms of models of before terms of optimizers; newer ones are after these. */
  static final int FIRST = 19;

  private ComputeTerms() {}

  /** Returns the terms of a shape. */
  public static double[] of(ShardShape shape) {
    double lookups = shape.lookups();
    double distinct = shape.distinctRows();
    double missed = shape.missedRows();
    int columns = shape.columns();
    double state = shape.stateBytes();
    boolean inHost = shape.isCached() && shape.isStateInHostMemory();
    double sectorBytes = ShardFeatures.sectorBytes(shape.rowBytes());
    return new double[] {
      1,
      shape.isCached() ? 1 : 0,
      shape.replicated() ? 1 : 0,
      shape.outputs(),
      shape.outputElements(),
      lookups,
      lookups * columns,
      lookups * ShardFeatures.lanes(columns),
      lookups * ((columns + WIDE - 1) / WIDE * WIDE),
      lookups * sectorBytes,
      distinct,
      distinct * columns,
      distinct * sectorBytes,
      missed,
      missed * shape.rowBytes(),
      shape.replicated() ? (double) shape.rows() * columns : 0,
      ShardFeatures.bytesBesideCache(shape, 2),
      ShardFeatures.bytesBesideCache(shape, 3),
      ShardFeatures.bytesBesideCache(shape, 4),
      shape.replicated() || inHost ? 0 : state,
      inHost ? state : 0,
      shape.replicated() ? state : 0,
      shape.pooled() ? 0 : shape.outputs(),
      shape.pooled() ? 0 : shape.outputElements()
    };
  }
}
