package io.shardtide.search.reference;

import io.shardtide.workload.TableSpec;
import java.util.Arrays;
import java.util.List;

/**
 * A way to cut tables into column shards. Shards are sorted by table, the widest first, so that two
 * orders of the same cuts are one split; the columns of a table's shards follow one another in this
 * order.
 */
final class ColumnSplit {
  private final int[] tables;
  private final int[] widths;

  private ColumnSplit(int[] tables, int[] widths) {
    this.tables = tables;
    this.widths = widths;
  }

  /** Returns the split that cuts nothing. */
  static ColumnSplit whole(List<TableSpec> tables) {
    int[] positions = new int[tables.size()];
    int[] widths = new int[tables.size()];
    for (int t = 0; t < positions.length; t++) {
      positions[t] = t;
      widths[t] = tables.get(t).columns();
    }
    return new ColumnSplit(positions, widths);
  }

  /** Returns the number of shards. */
  int size() {
    return tables.length;
  }

  /** Returns the position of a shard's table. */
  int table(int shard) {
    return tables[shard];
  }

  /** Returns a shard's columns. */
  int width(int shard) {
    return widths[shard];
  }

  /** Returns the shape of each shard. */
  int[] shapes(ShapeCosts costs) {
    int[] shapes = new int[size()];
    for (int s = 0; s < shapes.length; s++) {
      shapes[s] = costs.shape(tables[s], widths[s]);
    }
    return shapes;
  }

  /** Returns whether both halves of a shard are multiples of 4 columns. */
  boolean canHalve(int shard) {
    return widths[shard] % (2 * TableSpec.COLUMN_UNIT) == 0;
  }

  /**
   * Returns the split with a shard cut into a first part of {@code width} columns, its larger half,
   * and the rest.
   */
  ColumnSplit cut(int shard, int width) {
    int rest = widths[shard] - width;
    int n = tables.length;
    int[] newTables = new int[n + 1];
    int[] newWidths = new int[n + 1];
    int at = 0;
    boolean isPartPending = true;
    boolean isRestPending = true;
    for (int s = 0; s <= n; s++) {
      boolean sameTable = s < n && tables[s] == tables[shard];
      // Both parts go before the first shard of the same table that is narrower, or before the next
      // table.
      boolean past = s == n || tables[s] > tables[shard];
      if (isPartPending && (past || (sameTable && s != shard && widths[s] < width))) {
        newTables[at] = tables[shard];
        newWidths[at++] = width;
        isPartPending = false;
      }
      if (isRestPending && (past || (sameTable && s != shard && widths[s] < rest))) {
        newTables[at] = tables[shard];
        newWidths[at++] = rest;
        isRestPending = false;
      }
      if (s < n && s != shard) {
        newTables[at] = tables[s];
        newWidths[at++] = widths[s];
      }
    }
    return new ColumnSplit(newTables, newWidths);
  }

  /** Returns the split with a shard cut into two halves; see {@link #canHalve}. */
  ColumnSplit halve(int shard) {
    return cut(shard, widths[shard] / 2);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ColumnSplit split
        && Arrays.equals(tables, split.tables)
        && Arrays.equals(widths, split.widths);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(tables) + Arrays.hashCode(widths);
  }
}
