package io.shardtide.search.local;

import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The plan that runs, as far as it can be kept: which columns of each table are on which device. A
 * table that was given another number of columns, and one that is new, has nothing to keep.
 */
final class CurrentPlan {
  private final List<List<Shard>> shards;

  /**
   * @param tables tables of the problem
   * @param plan shards of the plan that runs; some of its devices may be gone
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

  /** Returns whether columns of a table can stay where they are. */
  boolean has(int table) {
    return !shards.get(table).isEmpty();
  }

  /** Returns the shards of a table that can stay, by column. */
  List<Shard> shards(int table) {
    return shards.get(table);
  }

  /** Returns how many columns of a table run on a device. */
  int width(int table, int device) {
    int width = 0;
    List<Shard> of = shards.get(table);
    for (int i = 0; i < of.size(); i++) {
      if (of.get(i).device() == device) {
        width += of.get(i).columns();
      }
    }
    return width;
  }
}
