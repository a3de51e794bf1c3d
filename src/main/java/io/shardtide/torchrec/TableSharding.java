package io.shardtide.torchrec;

import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sharding of one table: TorchRec's {@code ParameterSharding}.
 *
 * @param columnWise whether the sharding type is {@code column_wise} instead of {@code table_wise}
 * @param shards shards that cover the table, ordered by column
 */
record TableSharding(boolean columnWise, List<Shard> shards) {
  /**
   * @throws IllegalArgumentException if TorchRec does not support the shards with this type
   */
  TableSharding {
    shards = List.copyOf(shards);
    String table = shards.get(0).table();
    if (table.indexOf('.') >= 0) {
      throw new IllegalArgumentException(
          "Table \"%s\" must not have a dot in its name, since TorchRec makes a module of each table"
              .formatted(table));
    }
    int column = 0;
    for (Shard shard : shards) {
      if (shard.kind() != ShardKind.TABLE_WISE && shard.kind() != ShardKind.COLUMN_WISE) {
        throw new IllegalArgumentException(
            "Table \"%s\" is sharded %s; supported are TABLE_WISE and COLUMN_WISE"
                .formatted(table, shard.kind()));
      }
      if (shard.columnOffset() != column
          || shard.rowOffset() != 0
          || shard.rows() != shards.get(0).rows()) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard of columns %d+%d, rows %d+%d; expected all rows, and columns from %d"
                .formatted(
                    table,
                    shard.columnOffset(),
                    shard.columns(),
                    shard.rowOffset(),
                    shard.rows(),
                    column));
      }
      if (shard.columns() % TableSpec.COLUMN_UNIT != 0) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard of %d columns; must be a multiple of %d"
                .formatted(table, shard.columns(), TableSpec.COLUMN_UNIT));
      }
      column += shard.columns();
    }
    if (!columnWise && shards.size() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" is table_wise and must have one shard, got %d"
              .formatted(table, shards.size()));
    }
  }

  /**
   * Returns a column-wise sharding with one shard per rank. It has the total columns of the rank's
   * shards; shards are ordered by the ranks' first columns.
   */
  TableSharding mergedByRank() {
    Map<Integer, Integer> widths = new LinkedHashMap<>();
    shards.forEach(shard -> widths.merge(shard.device(), shard.columns(), Integer::sum));
    List<Shard> merged = new ArrayList<>();
    int column = 0;
    for (Map.Entry<Integer, Integer> width : widths.entrySet()) {
      merged.add(
          new Shard(
              shards.get(0).table(),
              new Region(column, width.getValue(), 0, rows()),
              width.getKey(),
              widths.size() == 1 ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE));
      column += width.getValue();
    }
    return new TableSharding(true, merged);
  }

  String type() {
    return columnWise ? "column_wise" : "table_wise";
  }

  long rows() {
    return shards.get(0).rows();
  }

  int columns() {
    return shards.stream().mapToInt(Shard::columns).sum();
  }

  /** Returns the rank of each shard. */
  List<Integer> ranks() {
    return shards.stream().map(Shard::device).toList();
  }

  /** Returns whether type, ranks and widths of all shards are the same. */
  boolean hasSamePlacement(TableSharding other) {
    return columnWise == other.columnWise
        && ranks().equals(other.ranks())
        && shards.stream()
            .map(Shard::columns)
            .toList()
            .equals(other.shards.stream().map(Shard::columns).toList());
  }

  /** Returns the number of columns that are on another rank than in an earlier sharding. */
  int movedColumns(TableSharding earlier) {
    int unmoved = 0;
    for (Shard shard : shards) {
      for (Shard before : earlier.shards) {
        if (shard.device() == before.device()) {
          unmoved += shard.region().intersection(before.region()).map(Region::columns).orElse(0);
        }
      }
    }
    return columns() - unmoved;
  }
}
