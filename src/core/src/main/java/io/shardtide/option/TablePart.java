package io.shardtide.option;

import io.shardtide.plan.Region;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
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

  /** Returns the bytes of device memory of each shard: of a cached part, its share of them. */
  public long bytes(TableSpec table, ClusterSpec cluster) {
    return table.bytes(rows(table, cluster), columns, cacheShare, false);
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
    int parts = table.columns() / columns;
    for (ShardKind kind : ShardKind.values()) {
      if (isOf(kind) && table.constraints().allows(kind, table.columns(), parts)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether shards of a kind may be such parts. */
  public boolean isOf(ShardKind kind) {
    return kind.scope() == scope && kind.isOfBlocks() == (blocks > 1);
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
  TablePart withoutCache() {
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

  /**
   * Returns the lookups of the part's hottest block of rows over the mean of its blocks, as a
   * table's use of blocks says; 1 where rows are not split, or that is not known.
   */
  public double hotFactor(TableSpec table, int devices, int devicesPerNode) {
    if (table.rowSpread().isEmpty()) {
      return 1;
    }
    int blocks = rowBlocks(devices, devicesPerNode);
    return table.hottest(blocks).orElseThrow().share() * blocks;
  }

  /** Returns the share of a table's rows in the first of the part's blocks. */
  public double rowShare(TableSpec table, int devices, int devicesPerNode) {
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
