package io.shardtide.search.local;

import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The part of the running plan that can be kept: the shards of each table on devices that are still
 * there. Nothing is kept of a table that is new or has another number of columns.
 */
final class CurrentPlan {
  private final List<List<Shard>> shards;

  /**
   * @param tables tables of the problem
   * @param plan shards of the running plan; some of its devices may be gone
   * @param devices number of devices that there are now
   */
  CurrentPlan(List<TableSpec> tables, List<Shard> plan, int devices) {
    Map<String, List<Shard>> byTable = new HashMap<>();
    for (Shard shard : plan) {
      byTable.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    shards = new ArrayList<>();
    for (TableSpec table : tables) {
      List<Shard> of = byTable.getOrDefault(table.name(), List.of());
      int columns = of.stream().mapToInt(Shard::columns).sum();
      shards.add(
          columns == table.columns()
              ? of.stream()
                  .filter(shard -> shard.device() < devices)
                  .sorted(Comparator.comparingInt(Shard::columnOffset))
                  .toList()
              : List.of());
    }
  }

  /** Returns whether shards of a table can be kept. */
  boolean has(int table) {
    return !shards.get(table).isEmpty();
  }

  /** Returns the shards of a table that can be kept, by column. */
  List<Shard> shards(int table) {
    return shards.get(table);
  }

  /** Returns how many columns of a table can be kept on a device. */
  int columns(int table, int device) {
    int columns = 0;
    List<Shard> of = shards.get(table);
    for (int i = 0; i < of.size(); i++) {
      if (of.get(i).device() == device) {
        columns += of.get(i).columns();
      }
    }
    return columns;
  }
}
