package io.shardtide.plan;

import io.shardtide.workload.Names;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Tables that are cut by use: each device holds a copy of the most used rows, and all other rows
 * are sharded in any way, as in OPER (Wang et al., 2024) and FlexShard (Sethi et al., 2023). Rows
 * are in the order of use, the most used first.
 *
 * <p>Searches and predictions see two tables in place of such a one: its hot rows, always copied,
 * under a name of their own, and all others from row 0, under its name.
 */
public final class HotRows {
  private static final String SUFFIX = " (hot rows)";

  private HotRows() {}

  /** Returns the name of the hot rows of a table. */
  public static String name(String table) {
    return table + SUFFIX;
  }

  /** Returns whether the hot rows of a table can have a name. */
  public static boolean canBeNamed(String table) {
    return Names.characters(name(table)) <= Names.MAX_LENGTH;
  }

  /**
   * Returns how many rows of a table each device has a copy of, if others have none.
   *
   * @param shards the shards of one table
   */
  public static OptionalLong of(List<Shard> shards) {
    if (shards.stream().allMatch(Shard::isCopied)) {
      return OptionalLong.empty();
    }
    return shards.stream().filter(Shard::isCopied).mapToLong(Shard::rows).findFirst();
  }

  /** Returns the shards of one table without the copies of its hot rows. */
  public static List<Shard> others(List<Shard> shards) {
    return of(shards).isPresent()
        ? shards.stream().filter(shard -> !shard.isCopied()).toList()
        : shards;
  }

  /** Returns how many hot rows each table has, by its name; without tables that have none. */
  public static Map<String, Long> byTable(List<Shard> shards) {
    Map<String, Long> hotRows = new HashMap<>();
    Shard.byTable(shards)
        .forEach((name, ofTable) -> of(ofTable).ifPresent(rows -> hotRows.put(name, rows)));
    return hotRows;
  }

  /** Returns the shards of a plan with two tables in place of each that is cut by use. */
  public static List<Shard> separate(List<Shard> shards) {
    Map<String, Long> hotRows = byTable(shards);
    if (hotRows.isEmpty()) {
      return shards;
    }
    return shards.stream()
        .map(shard -> separate(shard, hotRows.getOrDefault(shard.table(), 0L)))
        .sorted(Shard.ORDER)
        .toList();
  }

  private static Shard separate(Shard shard, long hot) {
    if (hot == 0) {
      return shard;
    }
    return shard.isCopied() ? shard.at(name(shard.table()), 0) : shard.at(shard.table(), -hot);
  }
}
