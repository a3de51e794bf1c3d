package io.shardtide.torchrec;

import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How one table is sharded: TorchRec's {@code ParameterSharding}.
 *
 * @param columnWise whether its sharding type is {@code column_wise}, not {@code table_wise}
 * @param shards its shards in the order of their columns, which all together are the table
 */
record TableSharding(boolean columnWise, List<Shard> shards) {
  /**
   * @throws IllegalArgumentException if TorchRec does not take the shards, or not with this type
   */
  TableSharding {
    shards = List.copyOf(shards);
    String table = shards.get(0).table();
    if (table.indexOf('.') >= 0) {
      throw new IllegalArgumentException(
          "Table \"%s\" has a dot; TorchRec makes a module of each table, so its name must have none"
              .formatted(table));
    }
    int column = 0;
    for (Shard shard : shards) {
      if (shard.kind() != ShardKind.TABLE_WISE && shard.kind() != ShardKind.COLUMN_WISE) {
        throw new IllegalArgumentException(
            "Table \"%s\" is sharded %s; expected TABLE_WISE or COLUMN_WISE"
                .formatted(table, shard.kind()));
      }
      if (shard.columnOffset() != column
          || shard.rowOffset() != 0
          || shard.rows() != shards.get(0).rows()) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard of columns %d+%d, rows %d+%d; expected all rows, and columns from %d on"
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
            "Table \"%s\" has a shard of %d columns; expected a multiple of %d"
                .formatted(table, shard.columns(), TableSpec.COLUMN_UNIT));
      }
      column += shard.columns();
    }
    if (!columnWise && shards.size() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" is table_wise in %d shards; expected one".formatted(table, shards.size()));
    }
  }

  /**
   * Returns this table column-wise with one shard on each rank, as wide as the rank's shards
   * together, in the order of the ranks' first columns.
   */
  TableSharding joined() {
    Map<Integer, Integer> widths = new LinkedHashMap<>();
    shards.forEach(shard -> widths.merge(shard.device(), shard.columns(), Integer::sum));
    List<Shard> joined = new ArrayList<>();
    int column = 0;
    for (Map.Entry<Integer, Integer> width : widths.entrySet()) {
      joined.add(
          new Shard(
              shards.get(0).table(),
              widths.size() == 1 ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE,
              column,
              width.getValue(),
              0,
              rows(),
              width.getKey()));
      column += width.getValue();
    }
    return new TableSharding(true, joined);
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

  /** Returns whether each shard is where one of the other is, and the type is the same. */
  boolean isLike(TableSharding other) {
    return columnWise == other.columnWise
        && ranks().equals(other.ranks())
        && shards.stream()
            .map(Shard::columns)
            .toList()
            .equals(other.shards.stream().map(Shard::columns).toList());
  }

  /** Returns how many columns are on another rank than in the other sharding. */
  int columnsElsewhere(TableSharding other) {
    int stay = 0;
    for (Shard shard : shards) {
      for (Shard before : other.shards) {
        if (shard.device() == before.device()) {
          int first = Math.max(shard.columnOffset(), before.columnOffset());
          int end =
              Math.min(
                  shard.columnOffset() + shard.columns(), before.columnOffset() + before.columns());
          stay += Math.max(0, end - first);
        }
      }
    }
    return columns() - stay;
  }
}
