package io.shardtide.torchrec;

import io.shardtide.plan.HotRows;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The sharding of one table: TorchRec's {@code ParameterSharding}.
 *
 * @param type sharding type
 * @param shards shards that cover the table, ordered by column, then by row; a shard without rows
 *     for each rank that rows are split over and that has none; of copies, one
 * @param cacheShare share of the rows that device memory holds, as a cache, 0 without one; empty if
 *     all
 * @param kernel how lookups are computed, with the compute kernel, without a load factor, and with
 *     a cache algorithm only if there is a cache
 */
record TableSharding(
    ShardKind type, List<ShardMetadata> shards, OptionalDouble cacheShare, PlannedKernel kernel) {
  TableSharding {
    shards = List.copyOf(shards);
  }

  /**
   * Returns the sharding with these shards of a plan.
   *
   * @param shards all shards of a table, at least one
   * @param kernel how the plan says that lookups are computed
   * @param other the compute kernel of shards in device memory where the plan names none
   * @throws IllegalArgumentException if TorchRec does not support the shards
   */
  static TableSharding of(
      List<Shard> shards, Ranks ranks, PlannedKernel kernel, ComputeKernel other) {
    String table = shards.get(0).table();
    if (HotRows.of(shards).isPresent()) {
      throw new IllegalArgumentException(
          "Table \"%s\" has copies of its %,d most used rows, which TorchRec lacks; publish it with mayHaveHotRows false"
              .formatted(table, HotRows.of(shards).getAsLong()));
    }
    List<String> types =
        shards.stream().map(shard -> shard.kind().label()).distinct().sorted().toList();
    if (types.size() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" has shards of kinds %s; must be of one kind"
              .formatted(table, String.join(", ", types)));
    }
    ShardKind type = shards.get(0).kind();
    List<ShardMetadata> all = withEmpty(shards, ranks.rowDevices(type));
    ShardingRules.check(table, type, all, ranks);
    OptionalDouble share = cacheShare(table, shards);
    return new TableSharding(type, all, share, effective(kernel, type, share, other));
  }

  private static PlannedKernel effective(
      PlannedKernel planned, ShardKind type, OptionalDouble share, ComputeKernel other) {
    ComputeKernel kernel = planned.kernel().planned(type, share, other);
    boolean isCached = kernel == ComputeKernel.FUSED_UVM_CACHING;
    return new PlannedKernel(
        planned.table(),
        new TableKernel(
            Optional.of(kernel),
            OptionalDouble.empty(),
            planned.kernel().cacheAlgorithm().filter(algorithm -> isCached),
            planned.kernel().outputType(),
            planned.kernel().stochasticRounding()),
        planned.enforceHbm());
  }

  /** Returns the cache share of all shards: TorchRec has one for a table. */
  private static OptionalDouble cacheShare(String table, List<Shard> shards) {
    List<OptionalDouble> shares = shards.stream().map(Shard::cacheShare).distinct().toList();
    if (shares.size() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" has shards with cache shares %s; must have one"
              .formatted(
                  table,
                  shares.stream()
                      .map(s -> s.isPresent() ? Double.toString(s.getAsDouble()) : "none")
                      .collect(Collectors.joining(", "))));
    }
    return shares.get(0);
  }

  /** Adds a shard without rows for each of the last devices of a column part that has none. */
  private static List<ShardMetadata> withEmpty(List<Shard> shards, int devices) {
    Map<Integer, List<ShardMetadata>> parts =
        shards.stream()
            .map(ShardMetadata::of)
            .sorted(ShardMetadata.ORDER)
            .collect(
                Collectors.groupingBy(
                    ShardMetadata::columnOffset, TreeMap::new, Collectors.toList()));
    long rows = rows(parts.values().stream().flatMap(Collection::stream).toList());
    for (List<ShardMetadata> part : parts.values()) {
      ShardMetadata first = part.get(0);
      for (int i = part.size(); i < devices; i++) {
        int rank = first.rank() / devices * devices + i;
        part.add(new ShardMetadata(first.columnOffset(), first.columns(), rows, 0, rank));
      }
    }
    return parts.values().stream().flatMap(Collection::stream).toList();
  }

  static long rows(List<ShardMetadata> shards) {
    return shards.stream().mapToLong(ShardMetadata::rowEnd).max().orElseThrow();
  }

  /**
   * Returns a column-wise sharding with one shard per rank, if shards have all rows. It has the
   * total columns of the rank's shards; shards are ordered by the ranks' first columns. Other types
   * are returned as they are.
   */
  TableSharding mergedByRank() {
    if (type.scope() != ShardScope.DEVICE) {
      return this;
    }
    Map<Integer, Integer> widths = new LinkedHashMap<>();
    shards.forEach(shard -> widths.merge(shard.rank(), shard.columns(), Integer::sum));
    List<ShardMetadata> merged = new ArrayList<>();
    int column = 0;
    for (Map.Entry<Integer, Integer> width : widths.entrySet()) {
      merged.add(new ShardMetadata(column, width.getValue(), 0, rows(), width.getKey()));
      column += width.getValue();
    }
    return new TableSharding(ShardKind.COLUMN_WISE, merged, cacheShare, kernel);
  }

  /** Returns the rows of the table. */
  long rows() {
    return rows(shards);
  }

  /** Returns the columns of the table. */
  int columns() {
    return shards.stream()
        .mapToInt(shard -> shard.columnOffset() + shard.columns())
        .max()
        .orElseThrow();
  }

  /** Returns the rank of each shard. */
  List<Integer> ranks() {
    return shards.stream().map(ShardMetadata::rank).toList();
  }

  /**
   * Returns the number of columns that are on another rank than in an earlier sharding. Both are by
   * columns.
   */
  int movedColumns(TableSharding earlier) {
    int unmoved = 0;
    for (ShardMetadata shard : shards) {
      for (ShardMetadata before : earlier.shards) {
        if (shard.rank() == before.rank()) {
          int end =
              Math.min(
                  shard.columnOffset() + shard.columns(), before.columnOffset() + before.columns());
          unmoved += Math.max(0, end - Math.max(shard.columnOffset(), before.columnOffset()));
        }
      }
    }
    return columns() - unmoved;
  }
}
