package io.shardtide.torchrec;

import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/** Which shards of a table TorchRec supports. */
final class ShardingRules {
  /** Sharding types that TorchRec's {@code EmbeddingCollection}, whose tables are unpooled, has. */
  static final Set<ShardKind> UNPOOLED_KINDS =
      Collections.unmodifiableSet(
          EnumSet.of(
              ShardKind.TABLE_WISE,
              ShardKind.COLUMN_WISE,
              ShardKind.ROW_WISE,
              ShardKind.DATA_PARALLEL));

  private ShardingRules() {}

  /**
   * Checks the shards of a table: each element once, blocks of {@code ceil(rows / devices)} rows
   * where rows are split, each block on its rank.
   *
   * @param shards in the order of their columns and rows, those without rows included, at least one
   * @throws IllegalArgumentException if TorchRec does not support them
   */
  static void check(String table, ShardKind type, List<ShardMetadata> shards, Ranks ranks) {
    checkName(table);
    checkParts(table, type, shards, ranks);
    int devices = ranks.rowDevices(type);
    long rows = TableSharding.rows(shards);
    long block = (rows + devices - 1) / devices;
    int column = 0;
    for (int i = 0; i < shards.size(); i++) {
      ShardMetadata shard = shards.get(i);
      int number = i % devices;
      ShardMetadata first = shards.get(i - number);
      long row = Math.min(number * block, rows);
      ShardMetadata expected =
          new ShardMetadata(
              column,
              first.columns(),
              row,
              Math.min(block, rows - row),
              devices > 1 ? first.rank() / devices * devices + number : shard.rank());
      if (!shard.equals(expected)) {
        throw new IllegalArgumentException(
            "Table \"%s\" is %s and has %s; expected %s"
                .formatted(table, type.label(), shard, expected));
      }
      if (shard.columns() < 1 || shard.columns() % TableSpec.COLUMN_UNIT != 0) {
        throw new IllegalArgumentException(
            "Table \"%s\" has a shard of %d columns; must be a multiple of %d"
                .formatted(table, shard.columns(), TableSpec.COLUMN_UNIT));
      }
      if (number == devices - 1) {
        column += shard.columns();
      }
    }
    if (shards.size() % devices != 0) {
      throw new IllegalArgumentException(
          "Table \"%s\" is %s and has %d shards; must be %d for each range of columns"
              .formatted(table, type.label(), shards.size(), devices));
    }
  }

  /**
   * Checks that a rank's shards are of one width: TorchRec makes its parameter as large as so many
   * first ones.
   *
   * @throws IllegalArgumentException if they are not
   */
  static void checkWidths(String table, List<ShardMetadata> shards) {
    SortedMap<Integer, List<Integer>> widths = new TreeMap<>();
    shards.forEach(
        shard ->
            widths.computeIfAbsent(shard.rank(), rank -> new ArrayList<>()).add(shard.columns()));
    widths.forEach(
        (rank, ofRank) -> {
          if (new HashSet<>(ofRank).size() > 1) {
            throw new IllegalArgumentException(
                "Table \"%s\" has shards of %s columns on device %d; must be of equal width there, as reshardable plans and plans with equal column cuts have them"
                    .formatted(table, ofRank, rank));
          }
        });
  }

  /**
   * Checks that each device that shares a table's rows gets some, for FBGEMM's CPU kernels: with a
   * shard without rows they compute wrong weights or crash. Whether those of GPUs do, is not known.
   *
   * @throws IllegalArgumentException if one gets none
   */
  static void checkRows(String table, TableSharding sharding) {
    for (ShardMetadata shard : sharding.shards()) {
      if (shard.rows() == 0) {
        throw new IllegalArgumentException(
            "Table \"%s\" is %s and leaves device %d without any of its %d rows; FBGEMM's CPU kernels need some on each, plan the table again"
                .formatted(table, sharding.type().label(), shard.rank(), sharding.rows()));
      }
    }
  }

  /**
   * Checks the name of a table.
   *
   * @throws IllegalArgumentException if TorchRec does not support it
   */
  static void checkName(String table) {
    if (table.indexOf('.') >= 0) {
      throw new IllegalArgumentException(
          "Table \"%s\" must not have a dot in its name, since TorchRec makes a module of each table"
              .formatted(table));
    }
  }

  private static void checkParts(
      String table, ShardKind type, List<ShardMetadata> shards, Ranks ranks) {
    if (!type.isOfTorchRec()) {
      throw new IllegalArgumentException(
          "Table \"%s\" is %s, blocks of rows on devices %s, which TorchRec lacks; publish it without that kind"
              .formatted(table, type.label(), shards.stream().map(ShardMetadata::rank).toList()));
    }
    if (type.scope() == ShardScope.NODE && ranks.worldSize() % ranks.perNode() != 0) {
      throw new IllegalArgumentException(
          "Table \"%s\" is %s on nodes of %d devices; must be a plan of whole nodes, got %d devices"
              .formatted(table, type.label(), ranks.perNode(), ranks.worldSize()));
    }
    if ((type == ShardKind.TABLE_WISE || type == ShardKind.DATA_PARALLEL) && shards.size() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" is %s and must have one shard, got %d"
              .formatted(table, type.label(), shards.size()));
    }
    if ((type == ShardKind.ROW_WISE || type == ShardKind.TABLE_ROW_WISE)
        && shards.stream().mapToInt(ShardMetadata::columnOffset).distinct().count() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" is %s and has several ranges of columns; must have one"
              .formatted(table, type.label()));
    }
    if (type == ShardKind.TABLE_COLUMN_WISE
        && shards.stream().map(shard -> ranks.node(shard.rank())).distinct().count() > 1) {
      throw new IllegalArgumentException(
          "Table \"%s\" is table_column_wise on devices %s; must be on one node of %d devices"
              .formatted(
                  table, shards.stream().map(ShardMetadata::rank).toList(), ranks.perNode()));
    }
  }
}
