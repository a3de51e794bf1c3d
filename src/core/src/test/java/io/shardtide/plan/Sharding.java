package io.shardtide.plan;

import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Names;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * How a table is sharded over a cluster. Rows are cut into blocks of {@code ceil(rows / devices)},
 * as TorchRec cuts them, so that the last devices may hold fewer rows or none.
 */
public sealed interface Sharding {
  /** Returns the sharding type; of a table that is cut by use, that of its other rows. */
  ShardKind kind();

  /**
   * Returns the shards of a table, in {@link Shard#ORDER}.
   *
   * @throws IllegalArgumentException if the table or the cluster does not have the columns, devices
   *     or nodes that this names
   */
  List<Shard> shards(TableSpec table, ClusterSpec cluster);

  /**
   * The whole table on one device.
   *
   * @param device number of the device, from 0
   */
  record TableWise(int device) implements Sharding {
    @Override
    public ShardKind kind() {
      return ShardKind.TABLE_WISE;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      checkIndex("device", device, cluster.devices());
      return List.of(new Shard(table.name(), Region.of(table), device, kind()));
    }
  }

  /**
   * Ranges of columns on any devices.
   *
   * @param parts the ranges in the order of their columns, at least one
   */
  record ColumnWise(List<ColumnPart> parts) implements Sharding {
    /** Checks that there is a part. */
    public ColumnWise {
      parts = checked(parts);
    }

    @Override
    public ShardKind kind() {
      return ShardKind.COLUMN_WISE;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      return columnShards(parts, kind(), table, cluster);
    }
  }

  /**
   * Ranges of columns on devices of one node.
   *
   * @param parts the ranges in the order of their columns, at least one
   */
  record TableColumnWise(List<ColumnPart> parts) implements Sharding {
    /** Checks that there is a part. */
    public TableColumnWise {
      parts = checked(parts);
    }

    @Override
    public ShardKind kind() {
      return ShardKind.TABLE_COLUMN_WISE;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      List<Shard> shards = columnShards(parts, kind(), table, cluster);
      List<Integer> nodes =
          shards.stream().map(shard -> cluster.node(shard.device())).distinct().sorted().toList();
      if (nodes.size() > 1) {
        throw new IllegalArgumentException(
            "table_column_wise parts of table %s must be on one node, got nodes %s"
                .formatted(Names.quote(table.name()), nodes));
      }
      return shards;
    }
  }

  /** A block of rows on each device. */
  record RowWise() implements Sharding {
    @Override
    public ShardKind kind() {
      return ShardKind.ROW_WISE;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      return rowShards(table, 0, table.columns(), devices(cluster), kind());
    }
  }

  /**
   * A block of rows on each device of a node.
   *
   * @param node number of the node, from 0
   */
  record TableRowWise(int node) implements Sharding {
    @Override
    public ShardKind kind() {
      return ShardKind.TABLE_ROW_WISE;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      return rowShards(table, 0, table.columns(), cluster.devicesOfNode(node), kind());
    }
  }

  /**
   * Ranges of columns, each cut into a block of rows on each device of a node.
   *
   * @param parts the ranges in the order of their columns, at least one
   */
  record GridShard(List<NodePart> parts) implements Sharding {
    /** Checks that there is a part. */
    public GridShard {
      parts = checked(parts);
    }

    @Override
    public ShardKind kind() {
      return ShardKind.GRID_SHARD;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      checkColumns(parts.stream().mapToInt(NodePart::columns).sum(), table);
      List<Shard> shards = new ArrayList<>();
      int column = 0;
      for (NodePart part : parts) {
        List<Integer> devices = cluster.devicesOfNode(part.node());
        shards.addAll(rowShards(table, column, part.columns(), devices, kind()));
        column += part.columns();
      }
      return shards;
    }
  }

  /**
   * A block of rows on each of any devices.
   *
   * @param devices the devices in the order of their rows, at least one
   */
  record PartialRowWise(List<Integer> devices) implements Sharding {
    /** Checks that there is a device. */
    public PartialRowWise {
      devices = checked(devices);
    }

    @Override
    public ShardKind kind() {
      return ShardKind.PARTIAL_ROW_WISE;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      devices.forEach(device -> checkIndex("device", device, cluster.devices()));
      List<Shard> shards = rowShards(table, 0, table.columns(), devices, kind());
      if (shards.size() < devices.size() || Set.copyOf(devices).size() < devices.size()) {
        throw invalid(
            table,
            "of %s rows must have some on each of its devices, each named once, got devices %s"
                .formatted(table.rows(), devices));
      }
      return shards;
    }
  }

  /** A copy on each device. */
  record DataParallel() implements Sharding {
    @Override
    public ShardKind kind() {
      return ShardKind.DATA_PARALLEL;
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      return List.of(new Shard(table.name(), Region.of(table), Shard.EVERY_DEVICE, kind()));
    }
  }

  /**
   * A copy of the first rows on each device, and all others sharded in another way; see {@link
   * HotRows}.
   *
   * @param rows number of rows that are copied, at least 1
   * @param others how the other rows are sharded, as a table of their own; not copied themselves
   */
  record HotColdSplit(long rows, Sharding others) implements Sharding {
    /** Checks that it is cut once. */
    public HotColdSplit {
      if (rows < 1 || others instanceof HotColdSplit || others instanceof DataParallel) {
        throw new IllegalArgumentException(
            "a sharding by use must have at least 1 hot row, and other rows that are not copied, got %s and %s"
                .formatted(rows, others));
      }
    }

    @Override
    public ShardKind kind() {
      return others.kind();
    }

    @Override
    public List<Shard> shards(TableSpec table, ClusterSpec cluster) {
      if (rows >= table.rows()) {
        throw invalid(
            table,
            "must have more than its hot rows, got %s rows, %s of them hot"
                .formatted(table.rows(), rows));
      }
      List<Shard> shards =
          new ArrayList<>(new DataParallel().shards(withRows(table, rows), cluster));
      others.shards(withRows(table, table.rows() - rows), cluster).stream()
          .map(shard -> shard.at(table.name(), rows))
          .forEach(shards::add);
      return shards.stream().sorted(Shard.ORDER).toList();
    }

    private static TableSpec withRows(TableSpec table, long rows) {
      return TableSpecBuilder.builder(table.withoutUse()).rows(rows).build();
    }
  }

  /**
   * A range of columns on a device.
   *
   * @param columns number of columns, at least 1
   * @param device number of the device, from 0
   */
  record ColumnPart(int columns, int device) {
    /** Checks the columns. */
    public ColumnPart {
      checkPart(columns);
    }
  }

  /**
   * A range of columns on the devices of a node.
   *
   * @param columns number of columns, at least 1
   * @param node number of the node, from 0
   */
  record NodePart(int columns, int node) {
    /** Checks the columns. */
    public NodePart {
      checkPart(columns);
    }
  }

  /** Returns table-wise sharding for one part, column-wise sharding for more. */
  static Sharding ofColumns(List<ColumnPart> parts) {
    return parts.size() == 1 ? new TableWise(parts.get(0).device()) : new ColumnWise(parts);
  }

  /**
   * Returns the sharding that yields the shards of a table.
   *
   * @param shards all shards of the table, in any order
   * @throws IllegalArgumentException if no sharding yields exactly these shards
   */
  static Sharding of(TableSpec table, List<Shard> shards, ClusterSpec cluster) {
    if (shards.isEmpty()) {
      throw invalid(table, "must have shards, got none");
    }
    List<Shard> sorted = shards.stream().sorted(Shard.ORDER).toList();
    List<Shard> others = HotRows.others(sorted);
    Sharding ofOthers = of(others, cluster);
    OptionalLong hotRows = HotRows.of(sorted);
    Sharding sharding =
        hotRows.isPresent() ? new HotColdSplit(hotRows.getAsLong(), ofOthers) : ofOthers;
    OptionalDouble cacheShare = others.get(0).cacheShare();
    List<Shard> expected =
        sharding.shards(table, cluster).stream()
            .map(shard -> shard.isCopied() ? shard : Plans.cached(shard, cacheShare))
            .toList();
    if (!expected.equals(sorted)) {
      throw invalid(
          table,
          "must have the shards of %s sharding, %s, got %s"
              .formatted(sharding.kind().label(), expected, sorted));
    }
    return sharding;
  }

  /** Returns the sharding of the kind that the first shard says. */
  private static Sharding of(List<Shard> sorted, ClusterSpec cluster) {
    Shard first = sorted.get(0);
    return switch (first.kind()) {
      case TABLE_WISE -> new TableWise(first.device());
      case COLUMN_WISE -> new ColumnWise(columnParts(sorted));
      case TABLE_COLUMN_WISE -> new TableColumnWise(columnParts(sorted));
      case ROW_WISE -> new RowWise();
      case TABLE_ROW_WISE -> new TableRowWise(cluster.node(first.device()));
      case GRID_SHARD -> new GridShard(nodeParts(sorted, cluster));
      case DATA_PARALLEL -> new DataParallel();
      case PARTIAL_ROW_WISE -> new PartialRowWise(sorted.stream().map(Shard::device).toList());
    };
  }

  private static List<ColumnPart> columnParts(List<Shard> shards) {
    return shards.stream().map(shard -> new ColumnPart(shard.columns(), shard.device())).toList();
  }

  /** Returns one part for each first column, on the node of the first rows. */
  private static List<NodePart> nodeParts(List<Shard> shards, ClusterSpec cluster) {
    List<NodePart> parts = new ArrayList<>();
    Set<Integer> seen = new HashSet<>();
    for (Shard shard : shards) {
      if (seen.add(shard.columnOffset())) {
        parts.add(new NodePart(shard.columns(), cluster.node(shard.device())));
      }
    }
    return parts;
  }

  private static List<Shard> columnShards(
      List<ColumnPart> parts, ShardKind kind, TableSpec table, ClusterSpec cluster) {
    checkColumns(parts.stream().mapToInt(ColumnPart::columns).sum(), table);
    List<Shard> shards = new ArrayList<>();
    int column = 0;
    for (ColumnPart part : parts) {
      checkIndex("device", part.device(), cluster.devices());
      Region region = Region.ofColumns(table, column, part.columns());
      shards.add(new Shard(table.name(), region, part.device(), kind));
      column += part.columns();
    }
    return shards;
  }

  private static List<Shard> rowShards(
      TableSpec table, int columnOffset, int columns, List<Integer> devices, ShardKind kind) {
    long block = blockRows(table, devices.size());
    List<Shard> shards = new ArrayList<>();
    for (int i = 0; i * block < table.rows(); i++) {
      long rows = Math.min(block, table.rows() - i * block);
      Region region = new Region(columnOffset, columns, i * block, rows);
      shards.add(new Shard(table.name(), region, devices.get(i), kind));
    }
    return shards;
  }

  /** Returns the rows of each block but the last, if a table is split over so many devices. */
  static long blockRows(TableSpec table, int devices) {
    return (table.rows() - 1) / devices + 1;
  }

  private static List<Integer> devices(ClusterSpec cluster) {
    return IntStream.range(0, cluster.devices()).boxed().toList();
  }

  private static <T> List<T> checked(List<T> parts) {
    if (parts.isEmpty()) {
      throw new IllegalArgumentException("a sharding must have parts, got none");
    }
    return List.copyOf(parts);
  }

  private static void checkPart(int columns) {
    if (columns < 1) {
      throw new IllegalArgumentException("columns must be at least 1, got " + columns);
    }
  }

  private static void checkIndex(String what, int index, int count) {
    if (index < 0 || index >= count) {
      throw new IllegalArgumentException(
          "%s must be between 0 and %s, got %s".formatted(what, count - 1, index));
    }
  }

  private static void checkColumns(int columns, TableSpec table) {
    if (columns != table.columns()) {
      throw invalid(
          table, "must have parts of %s columns, got %s".formatted(table.columns(), columns));
    }
  }

  private static IllegalArgumentException invalid(TableSpec table, String message) {
    return new IllegalArgumentException(
        "table %s %s".formatted(Names.quote(table.name()), message));
  }
}
