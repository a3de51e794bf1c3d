package io.shardtide.option;

import io.shardtide.plan.HotRows;
import io.shardtide.plan.Shard;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A shard of a plan, and what it is a part of: of a table that is cut by use, one of two.
 *
 * @param table the table, or those of its rows that are cut off
 * @param part what part of that table it is, or is a block of
 * @param shard the shard, of that table
 */
public record PlannedPart(TableSpec table, TablePart part, Shard shard) {
  /**
   * Returns the parts of a plan, in the order of shards.
   *
   * @param tables the tables of all shards
   */
  public static List<PlannedPart> of(List<TableSpec> tables, List<Shard> shards) {
    Map<String, TableSpec> byName = TableSpec.byName(HotColdTable.separate(tables, shards));
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
}
