package io.shardtide.search.problem;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What a search places as one table: a table, or several that must be on the same devices. Each
 * part of a group has a part of each of its tables, all in equally many parts; its columns are
 * those of all of them.
 *
 * @param tables predictions of the tables, at least one, in the order of the problem
 * @param columns of all tables together
 */
public record TableGroup(List<TablePrediction> tables, int columns) {
  /** More than the memory of the largest cluster, and small enough to be added to. */
  private static final long MAX_BYTES = 1L << 60;

  /**
   * Makes a group.
   *
   * @throws IllegalArgumentException if there are no tables
   */
  public TableGroup(List<TablePrediction> tables) {
    this(List.copyOf(tables), tables.stream().mapToInt(of -> of.table().columns()).sum());
    if (tables.isEmpty()) {
      throw new IllegalArgumentException("a group must have at least one table, got none");
    }
  }

  /**
   * Returns the groups of tables that must be on the same devices, in the order of their first
   * tables. A constraint that refers to a table that is not there has no effect.
   */
  public static List<TableGroup> of(List<TablePrediction> tables) {
    if (tables.stream().allMatch(t -> t.table().constraints().sameDevicesAs().isEmpty())) {
      return tables.stream().map(table -> new TableGroup(List.of(table))).toList();
    }
    Map<String, Integer> positions = new LinkedHashMap<>();
    tables.forEach(table -> positions.put(table.table().name(), positions.size()));
    int[] first = new int[tables.size()];
    Arrays.setAll(first, t -> t);
    for (int t = 0; t < first.length; t++) {
      Integer leader =
          tables.get(t).table().constraints().sameDevicesAs().map(positions::get).orElse(null);
      if (leader != null) {
        int a = root(first, t);
        int b = root(first, leader);
        first[Math.max(a, b)] = Math.min(a, b);
      }
    }
    Map<Integer, List<TablePrediction>> members = new LinkedHashMap<>();
    for (int t = 0; t < first.length; t++) {
      members.computeIfAbsent(root(first, t), f -> new ArrayList<>()).add(tables.get(t));
    }
    return members.values().stream().map(TableGroup::new).toList();
  }

  private static int root(int[] first, int table) {
    int root = table;
    while (first[root] != root) {
      root = first[root];
    }
    return root;
  }

  /**
   * Returns the positions of the largest tables, the largest first, without those that share their
   * devices: no decision is one table's then.
   *
   * @param which tables to choose from, by position
   * @param most how many at most
   */
  public static List<Integer> largest(List<TableGroup> tables, IntPredicate which, int most) {
    return IntStream.range(0, tables.size())
        .filter(t -> !tables.get(t).isShared())
        .filter(which)
        .boxed()
        .sorted(Comparator.comparingLong(t -> -tables.get(t).bytes()))
        .limit(most)
        .toList();
  }

  /** Returns the tables without their predictions. */
  public Stream<TableSpec> specs() {
    return tables.stream().map(TablePrediction::table);
  }

  /** Returns whether it has several tables. */
  public boolean isShared() {
    return tables.size() > 1;
  }

  /** Returns the name of the first table, which stands for all of them where one is named. */
  public String name() {
    return tables.get(0).table().name();
  }

  /** Returns the bytes of all tables together, 2^60 at most. */
  public long bytes() {
    return bytes(columns());
  }

  /** Returns the bytes of some columns, of each table its share of them; 2^60 at most. */
  public long bytes(int ofColumns) {
    return bytes(0, ofColumns);
  }

  /** Returns the bytes of some columns of all rows from one on; 2^60 at most. */
  public long bytes(long firstRow, int ofColumns) {
    long bytes = 0;
    for (TablePrediction of : tables) {
      TableSpec table = of.table();
      bytes +=
          Math.min(
              MAX_BYTES - bytes, table.bytes(table.rows() - firstRow, columnsOf(table, ofColumns)));
    }
    return bytes;
  }

  /**
   * Returns the most column parts with all rows that may be on different devices, of any table and
   * not regarding its width.
   */
  public int maxColumnParts(ClusterSpec cluster) {
    ShardScope within = keepsPartsInNode() ? ShardScope.NODE : ShardScope.CLUSTER;
    return Math.min(columns() / TableSpec.COLUMN_UNIT, within.devices(cluster));
  }

  /** Returns how many of some columns of the group are those of one of its tables. */
  public int columnsOf(TableSpec table, int ofColumns) {
    return isShared() ? Math.toIntExact((long) table.columns() * ofColumns / columns()) : ofColumns;
  }

  /**
   * Returns whether a table has constraints, or a kernel that may not keep its rows in device
   * memory, so that parts must be of equal width.
   */
  public boolean isConstrained() {
    return isShared()
        || any(table -> !table.constraints().isEmpty() || table.kernel().isInHostMemory());
  }

  /** Returns whether a plan may deduplicate the ids of all tables. */
  public boolean mayBeDeduplicated() {
    return tables.stream().allMatch(of -> of.derived().deduplicated().isPresent());
  }

  /** Returns whether each device must have a copy of a table. */
  public boolean isAlwaysCopied() {
    return any(table -> table.constraints().isAlwaysCopied());
  }

  /** Returns whether column parts with all rows must be on devices of one node. */
  public boolean keepsPartsInNode() {
    return any(table -> table.constraints().keepsPartsInNode());
  }

  // Not a stream: this is asked of each option of each table.
  private boolean any(Predicate<TableSpec> predicate) {
    for (TablePrediction of : tables) {
      if (predicate.test(of.table())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the kind of the tables on the only device of a cluster. All kinds are one thing there,
   * so that it is the first that all constraints allow; empty if there is none.
   */
  private Optional<ShardKind> kindOnOneDevice() {
    return Arrays.stream(ShardKind.values())
        .filter(
            kind ->
                specs()
                    .allMatch(
                        t ->
                            t.constraints().allows(kind)
                                && t.kernel().allows(kind.scope(), t.kernel().isInHostMemory())
                                && (t.pooled() || kind.scope() != ShardScope.NODE)))
        .findFirst();
  }

  /**
   * Returns whether the constraints and kernels of all tables allow the group to be cut into such
   * parts on a cluster.
   *
   * @param part a part that divides the columns of each table
   */
  public boolean allows(TablePart part, ClusterSpec cluster) {
    if (any(table -> !part.isComputedBy(table.kernel()))) {
      return false;
    }
    int parts = part.count(columns());
    Optional<ShardKind> kind = kind(part, cluster.devices());
    if (cluster.devices() == 1) {
      return parts == 1 && kind.filter(only -> only.scope() == part.scope()).isPresent();
    }
    return kind.isPresent()
        && (kind.get() != ShardKind.TABLE_COLUMN_WISE || parts <= ShardScope.NODE.devices(cluster))
        && !any(t -> !part.withColumns(columnsOf(t, part.columns())).isAllowed(t));
  }

  /**
   * Returns the kind of such parts, which all tables have: one's parts may be in any node,
   * another's not; one is too narrow to be cut, another must be whole. Empty if they allow none in
   * common.
   */
  public Optional<ShardKind> kind(TablePart part, int devices) {
    if (devices == 1) {
      return kindOnOneDevice();
    }
    boolean isWhole = part.columns() == columns();
    for (ShardKind kind : ShardKind.values()) {
      if (part.isOf(kind)
          && (isWhole || kind.isCut())
          && !any(table -> !table.constraints().allows(kind))) {
        return Optional.of(kind);
      }
    }
    return Optional.empty();
  }

  /**
   * Returns the options that all tables have predictions of: those whose parts have all rows first,
   * and among them those in the memory of one device, the fewest parts first.
   */
  public List<Option> options(ClusterSpec cluster) {
    TablePrediction first = tables.get(0);
    int most = maxColumnParts(cluster);
    List<Option> options = new ArrayList<>();
    int begin = 0;
    Option before = null;
    for (Option own : first.towers().keySet()) {
      if (before != null && !own.isOfSameTable(before)) {
        begin = options.size();
      }
      before = own;
      int count = own.part().count(first.table().columns());
      Option option = isShared() ? own.withColumns(columns() / count) : own;
      boolean isOnDevice = own.part().isOnDevice();
      if ((!isOnDevice || count <= most)
          && !own.isAddition()
          && first.table().columns() % own.part().columns() == 0
          && isPredicted(option, cluster)) {
        options.add(isOnDevice ? begin : options.size(), option);
      }
    }
    return options;
  }

  /**
   * Returns whether all tables have predictions of an option. Each device that shares rows gets
   * some of each table; predictions of earlier versions have other parts.
   */
  public boolean isPredicted(Option option, ClusterSpec cluster) {
    int columns = option.part().columns();
    if (columns() % columns != 0) {
      return false;
    }
    for (TablePrediction table : tables) {
      Option own = of(option, table.table());
      boolean isThere =
          (long) own.part().columns() * columns() == (long) columns * table.table().columns()
              && table.towers().containsKey(own)
              && table.table().mayHave(own.deduplicated(), own.part().scope())
              && own.part().hasRowsForEach(table.table(own), cluster);
      if (!isThere) {
        return false;
      }
    }
    return true;
  }

  /** Returns what a part of each table, as an option has it, adds to each of its devices. */
  public List<ShapeLoad> loads(Option option, CostEvaluator evaluator, ClusterSpec cluster) {
    List<ShapeLoad> loads = new ArrayList<>(tables.size());
    for (TablePrediction table : tables) {
      loads.add(table.load(of(option, table.table()), evaluator, cluster).orElseThrow());
    }
    return loads;
  }

  /** Returns what an option of the group is of one of its tables. */
  public Option of(Option option, TableSpec table) {
    return isShared() ? option.withColumns(columnsOf(table, option.part().columns())) : option;
  }
}
