package io.shardtide.plan;

import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The device that gets most lookups of a table whose rows are split.
 *
 * @param table the table's name
 * @param device its number; of rows that are split over nodes, of the first node that has some
 * @param factor its lookups over the mean of all that share the rows, above 1
 */
public record HotOwner(String table, int device, double factor) {
  /** Less than this is no reason for anything. */
  private static final double LEAST_FACTOR = 1.05;

  /**
   * Returns those of a plan, by table: of tables all of whose rows are split, and get all ids.
   *
   * @param tables the tables, by name
   * @param shards the shards of the plan
   */
  public static List<HotOwner> of(Map<String, TableSpec> tables, List<Shard> shards) {
    List<HotOwner> owners = new ArrayList<>();
    new TreeMap<>(Shard.byTable(shards))
        .forEach(
            (name, ofTable) -> {
              List<Shard> blocks =
                  ofTable.stream().filter(shard -> shard.columnOffset() == 0).toList();
              boolean isSplit =
                  ofTable.stream().noneMatch(shard -> shard.isCopied() || shard.deduplicated());
              tables
                  .get(name)
                  .hottest(blocks.size())
                  .filter(hottest -> isSplit)
                  .map(
                      hottest ->
                          new HotOwner(
                              name,
                              blocks.get(hottest.number()).device(),
                              hottest.share() * blocks.size()))
                  .filter(owner -> owner.factor() >= LEAST_FACTOR)
                  .ifPresent(owners::add);
            });
    return owners;
  }
}
