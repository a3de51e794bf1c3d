package io.shardtide.option;

import io.shardtide.plan.HotRows;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A shard of a plan, and what it is a part of: of a table that is cut by use, one of two.
 *
 * @param table the table, or those of its rows that are cut off; as it is looked up
 * @param part what part of that table it is, or is a block of
 * @param shard the shard, of that table
 */
public record PlannedPart(TableSpec table, TablePart part, Shard shard) {
  /**
   * Returns the parts of a plan, in the order of shards.
   *
   * @param tables the tables of all shards
   * @param cluster the devices and the batch, of one replica group
   */
  public static List<PlannedPart> of(
      List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    Map<String, TableSpec> byName = lookedUp(tables, shards, cluster);
    List<Shard> separated = HotRows.separate(shards);
    List<Option> options = Option.of(separated);
    return IntStream.range(0, options.size())
        .mapToObj(
            i -> {
              Shard shard = separated.get(i);
              return new PlannedPart(byName.get(shard.table()), options.get(i).part(), shard);
            })
        .toList();
  }

  /** Returns the tables that shards are of, as {@link HotRows#separate} names them. */
  private static Map<String, TableSpec> lookedUp(
      List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    Map<String, Long> hotRows = HotRows.byTable(shards);
    Map<String, TableSpec> byName = new HashMap<>(TableSpec.byName(tables));
    for (TableSpec table : tables) {
      Long rows = hotRows.get(table.name());
      if (rows != null) {
        HotColdTable cut = HotColdTable.of(table, rows);
        byName.put(cut.hot().name(), cut.hot());
        byName.put(table.name(), cut.others());
      }
    }
    shards.stream()
        .filter(Shard::deduplicated)
        .map(Shard::table)
        .distinct()
        .forEach(name -> byName.compute(name, (n, of) -> DistinctIds.deduplicated(of, cluster)));
    return byName;
  }
}
