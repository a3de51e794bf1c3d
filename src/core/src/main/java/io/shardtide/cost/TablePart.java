package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ComputeKernel;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableKernel;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A column part of a table, or a block of its rows: where its rows are, and how many of them device
 * memory holds.
 *
 * @param scope where its rows are
 * @param columns its columns
 * @param blocks 1, or of a table whose rows are cut into blocks on as many devices, their number:
 *     all of them are taken to have the rows of the first
 * @param cacheShare share of the rows of each shard that device memory holds, the most used ones; 0
 *     if all are in host memory without a cache; empty if device memory holds all
 */
public record TablePart(ShardScope scope, int columns, int blocks, OptionalDouble cacheShare) {
  /** So many devices or fewer: each number of blocks is predicted. */
  private static final int FEW_DEVICES = 16;

  /** On more devices, each number of blocks is about so many times the one before. */
  private static final double BLOCKS_RATIO = 1.25;

  /**
   * Shares of the rows that a cache may hold: from the least that samples have, each half as much
   * again as the one before.
   */
  private static final double[] CACHE_SHARES = {
    0.01, 0.015, 0.0225, 0.034, 0.051, 0.076, 0.114, 0.171, 0.256, 0.384, 0.577, 0.865
  };

  /** The smallest cache. */
  public static final double LEAST_CACHE_SHARE = CACHE_SHARES[0];

  /** Checks the blocks and the share. */
  public TablePart {
    if (blocks < 1 || (blocks > 1 && scope != ShardScope.DEVICE)) {
      throw new IllegalArgumentException(
          "blocks of rows of a part must be at least 1, and several are on single devices; got %s of scope %s"
              .formatted(blocks, scope.label()));
    }
    if (cacheShare.isPresent()) {
      double share = cacheShare.getAsDouble();
      if (!(share >= 0 && share <= 1) || scope == ShardScope.COPIES) {
        throw new IllegalArgumentException(
            "cache share of a part must be 0 to 1, and a copy has none; got %s of scope %s"
                .formatted(share, scope.label()));
      }
    }
  }

  /** A part whose rows are not cut into blocks on any devices. */
  public TablePart(ShardScope scope, int columns, OptionalDouble cacheShare) {
    this(scope, columns, 1, cacheShare);
  }

  /** A part that is in device memory. */
  public TablePart(ShardScope scope, int columns) {
    this(scope, columns, OptionalDouble.empty());
  }

  /** Returns the part that each shard of a plan is of, or is one of the blocks of. */
  public static List<TablePart> of(List<Shard> shards) {
    Map<String, Integer> blocks = new HashMap<>();
    for (Shard shard : shards) {
      if (shard.kind() == ShardKind.PARTIAL_ROW_WISE) {
        blocks.merge(shard.table(), 1, Integer::sum);
      }
    }
    List<TablePart> parts = new ArrayList<>();
    for (Shard shard : shards) {
      int ofTable = shard.kind() == ShardKind.PARTIAL_ROW_WISE ? blocks.get(shard.table()) : 1;
      parts.add(new TablePart(shard.kind().scope(), shard.columns(), ofTable, shard.cacheShare()));
    }
    return parts;
  }

  /**
   * Returns the parts that a plan may have of a table beside those in the memory of one device:
   *
   * <ul>
   *   <li>split over a node: parts of equal width, at most one for each node. Only where there are
   *       several nodes of equally many devices, more than one: in a single node a split over all
   *       devices is the same, and not of unpooled tables, as TorchRec has it;
   *   <li>split over all devices, and copies: whole tables, as TorchRec has them;
   *   <li>on the only device of a cluster, where all kinds are one thing: the table as one that is
   *       split or copied, if it may not be table-wise, or only as another table is;
   *   <li>where the cluster has host memory: parts of equal width on one device, and split parts,
   *       with caches of various sizes, or of the one that the table's kernel names;
   *   <li>if constraints name that kind: blocks of rows on two devices or more; of several devices
   *       some numbers of blocks. Not of unpooled tables, and without caches.
   * </ul>
   *
   * A table is only split over devices that all get {@link Region#hasRowsForEach rows} of it. Parts
   * that its kernel does not compute are left out.
   */
  public static List<TablePart> of(TableSpec table, PredictionInputs inputs) {
    List<TablePart> parts = predictable(table, inputs);
    return table.kernel().computeKernel().isEmpty()
        ? parts
        : parts.stream().filter(part -> part.isComputedBy(table.kernel())).toList();
  }

  private static List<TablePart> predictable(TableSpec table, PredictionInputs inputs) {
    List<TablePart> parts = new ArrayList<>(split(table, inputs));
    if (inputs.areCachesPredicted(table)) {
      List<TablePart> cached = new ArrayList<>();
      addEqual(cached, table, ShardScope.DEVICE, inputs.devices());
      parts.stream().filter(part -> part.scope() != ShardScope.COPIES).forEach(cached::add);
      for (TablePart part : cached) {
        for (double share : cacheShares(table.kernel())) {
          parts.add(new TablePart(part.scope(), part.columns(), OptionalDouble.of(share)));
        }
      }
    }
    if (table.pooled() && table.constraints().allows(ShardKind.PARTIAL_ROW_WISE)) {
      addBlocks(parts, table, inputs.devices());
    }
    return parts;
  }

  private static double[] cacheShares(TableKernel kernel) {
    if (kernel.computeKernel().equals(Optional.of(ComputeKernel.FUSED_UVM))) {
      return new double[] {TableKernel.NO_CACHE};
    }
    return kernel.cacheLoadFactor().isPresent()
        ? new double[] {kernel.cacheLoadFactor().getAsDouble()}
        : CACHE_SHARES;
  }

  private static void addBlocks(List<TablePart> parts, TableSpec table, int devices) {
    for (int blocks = 2; blocks <= devices; blocks = moreBlocks(blocks, devices)) {
      if (Region.hasRowsForEach(table.rows(), blocks)) {
        parts.add(
            new TablePart(ShardScope.DEVICE, table.columns(), blocks, OptionalDouble.empty()));
      }
    }
  }

  private static int moreBlocks(int blocks, int devices) {
    boolean isNext = devices <= FEW_DEVICES || blocks == devices;
    return isNext
        ? blocks + 1
        : Math.min(devices, Math.max(blocks + 1, (int) Math.round(BLOCKS_RATIO * blocks)));
  }

  private static List<TablePart> split(TableSpec table, PredictionInputs inputs) {
    if (inputs.devices() == 1) {
      return onOneDevice(table);
    }
    List<TablePart> parts = new ArrayList<>();
    int nodes = inputs.nodes();
    int devices = inputs.devicesPerNode();
    boolean areEqual = nodes > 1 && devices > 1 && inputs.devices() % devices == 0;
    if (table.pooled() && areEqual && Region.hasRowsForEach(table.rows(), devices)) {
      addEqual(parts, table, ShardScope.NODE, nodes);
    }
    if (Region.hasRowsForEach(table.rows(), inputs.devices())) {
      parts.add(new TablePart(ShardScope.CLUSTER, table.columns()));
    }
    parts.add(new TablePart(ShardScope.COPIES, table.columns()));
    return parts;
  }

  private static List<TablePart> onOneDevice(TableSpec table) {
    TableConstraints constraints = table.constraints();
    if (constraints.allows(ShardKind.TABLE_WISE) && constraints.sameDevicesAs().isEmpty()) {
      return List.of();
    }
    return Arrays.stream(ShardKind.values())
        .filter(constraints::allows)
        .map(ShardKind::scope)
        .filter(scope -> scope != ShardScope.DEVICE && (table.pooled() || scope != ShardScope.NODE))
        .distinct()
        .map(scope -> new TablePart(scope, table.columns()))
        .toList();
  }

  /** Adds each way to cut a table into so many parts of equal width at most. */
  private static void addEqual(
      List<TablePart> parts, TableSpec table, ShardScope scope, int mostParts) {
    int units = table.columns() / TableSpec.COLUMN_UNIT;
    for (int count = 1; count <= Math.min(mostParts, units); count++) {
      if (units % count == 0) {
        parts.add(new TablePart(scope, table.columns() / count));
      }
    }
  }

  /** Returns what it is, for people. */
  public String describe() {
    return "%s columns, scope %s%s%s"
        .formatted(
            columns,
            scope.label(),
            blocks > 1 ? ", %s blocks of rows".formatted(blocks) : "",
            cacheShare.isEmpty()
                ? ""
                : cacheShare.getAsDouble() == TableKernel.NO_CACHE
                    ? ", in host memory"
                    : ", cache of %s of the rows".formatted(cacheShare.getAsDouble()));
  }

  /** Returns the bytes of device memory of each shard: of a cached part, its share of them. */
  public long bytes(TableSpec table, ClusterSpec cluster) {
    return table.bytes(rows(table, cluster), columns, cacheShare);
  }

  /** Returns how many such parts a table has, each at a place of its own. */
  public int count(int tableColumns) {
    return tableColumns / columns * blocks;
  }

  /** Returns whether a kernel computes such parts. */
  public boolean isComputedBy(TableKernel kernel) {
    return kernel.allows(scope, cacheShare.isPresent());
  }

  /** Returns whether a table's constraints allow it to be cut into such parts. */
  public boolean isAllowed(TableSpec table) {
    return blocks > 1
        ? table.constraints().allows(ShardKind.PARTIAL_ROW_WISE)
        : table.constraints().allows(scope, table.columns(), count(table.columns()));
  }

  /** Returns whether each device that shares the rows of such a part of a table gets some. */
  public boolean hasRowsForEach(TableSpec table, ClusterSpec cluster) {
    return Region.hasRowsForEach(
        table.rows(), rowBlocks(cluster.devices(), cluster.devicesPerNode()));
  }

  /**
   * Returns what one of a table's parts has of it, all devices of its place together.
   *
   * @param number which of the parts, from 0
   * @param rows rows of the table
   */
  public Region region(int number, long rows) {
    if (blocks > 1) {
      long most = Region.blockRows(rows, blocks);
      return new Region(0, columns, number * most, Math.min(most, rows - number * most));
    }
    return new Region(number * columns, columns, 0, rows);
  }

  /** Returns this part in device memory. */
  public TablePart withoutCache() {
    return new TablePart(scope, columns, blocks, OptionalDouble.empty());
  }

  /** Returns this part with another number of columns. */
  public TablePart withColumns(int others) {
    return new TablePart(scope, others, blocks, cacheShare);
  }

  /**
   * Returns whose collectives the part takes part in: those of its scope, but of an unpooled table
   * that is split over all devices the all-to-all, which sends lookups to their samples at once.
   */
  public ShardScope collectives(TableSpec table) {
    return scope == ShardScope.CLUSTER && !table.pooled() ? ShardScope.DEVICE : scope;
  }

  /** Returns whether it has all rows of its columns, on one device. */
  public boolean isByColumns() {
    return scope == ShardScope.DEVICE && blocks == 1;
  }

  /** Returns whether rows are split, copied or all on one device as those of another part. */
  public boolean isSplitAs(TablePart other) {
    return scope == other.scope && isByColumns() == other.isByColumns();
  }

  /** Returns whether it is on one device, all of it in the device's memory. */
  public boolean isOnDevice() {
    return isByColumns() && cacheShare.isEmpty();
  }

  /** Returns the most rows of the part that a device holds. */
  public long rows(TableSpec table, ClusterSpec cluster) {
    return Region.blockRows(table.rows(), rowBlocks(cluster.devices(), cluster.devicesPerNode()));
  }

  /** Returns the share of a table's rows in the first of the part's blocks. */
  double rowShare(TableSpec table, int devices, int devicesPerNode) {
    return Region.blockRows(table.rows(), rowBlocks(devices, devicesPerNode))
        / (double) table.rows();
  }

  /**
   * Returns into how many blocks the rows are cut, each on a device of its own.
   *
   * @param devices all devices
   * @param devicesPerNode devices of the node whose devices share the rows, where those of one do
   */
  private int rowBlocks(int devices, int devicesPerNode) {
    return switch (scope) {
      case NODE, CLUSTER -> scope.devices(devices, devicesPerNode);
      case DEVICE -> blocks;
      case COPIES -> 1;
    };
  }
}
