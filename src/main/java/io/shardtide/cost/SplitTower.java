package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A tower's output for a column part that is not on one device: on each device that it is split
 * over, or copied to, it is the same.
 *
 * @param scope where the part's rows are; not {@link ShardScope#DEVICE}
 * @param columns columns of the part
 * @param tower the tower's output; must not be changed
 */
@SuppressWarnings("ArrayRecordComponent") // Recorded, never compared.
public record SplitTower(ShardScope scope, int columns, float[] tower) {
  /** Checks the scope. */
  public SplitTower {
    Objects.requireNonNull(tower, "tower");
    if (scope == ShardScope.DEVICE) {
      throw new IllegalArgumentException("scope of a split part must not be device");
    }
  }

  /**
   * A column part of a table that is not on one device.
   *
   * @param scope where its rows are
   * @param columns its columns
   */
  public record SplitPart(ShardScope scope, int columns) {}

  /**
   * Returns the parts that a plan may have of a table beside those on one device:
   *
   * <ul>
   *   <li>split over a node: parts of equal width, at most one for each node. Only where there are
   *       several nodes of equally many devices, more than one: in a single node a split over all
   *       devices is the same;
   *   <li>split over all devices, and copies: whole tables, as TorchRec has them.
   * </ul>
   *
   * A table is only split over as many devices as it has rows.
   */
  public static List<SplitPart> parts(TableSpec table, ClusterSpec cluster) {
    List<SplitPart> parts = new ArrayList<>();
    int nodes = cluster.nodes();
    int devices = cluster.devicesPerNode();
    if (nodes > 1 && devices > 1 && cluster.devices() % devices == 0 && table.rows() >= devices) {
      int units = table.columns() / TableSpec.COLUMN_UNIT;
      for (int count = 1; count <= Math.min(nodes, units); count++) {
        if (units % count == 0) {
          parts.add(new SplitPart(ShardScope.NODE, table.columns() / count));
        }
      }
    }
    if (cluster.devices() > 1) {
      if (table.rows() >= cluster.devices()) {
        parts.add(new SplitPart(ShardScope.CLUSTER, table.columns()));
      }
      parts.add(new SplitPart(ShardScope.COPIES, table.columns()));
    }
    return parts;
  }

  /** Returns the most rows of the part that a device holds. */
  public long rows(TableSpec table, ClusterSpec cluster) {
    return rows(table, scope, cluster);
  }

  /** Returns the most rows that a device holds of a part of a scope. */
  public static long rows(TableSpec table, ShardScope scope, ClusterSpec cluster) {
    return scope == ShardScope.COPIES
        ? table.rows()
        : Sharding.blockRows(table, scope.devices(cluster));
  }
}
