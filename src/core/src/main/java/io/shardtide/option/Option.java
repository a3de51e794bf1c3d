package io.shardtide.option;

import io.shardtide.plan.HotRows;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A way to shard a table in its replica group: all parts of a table are alike, so that a plan is an
 * option, and the places of its parts, for each table.
 *
 * @param hotRows how many of the most used rows each device has a copy of; 0 if the table is not
 *     cut by use
 * @param part what each part is, of all other rows; copies of a table with hot rows are those of
 *     the hot rows
 */
public record Option(long hotRows, TablePart part) {
  /** One for each width, because nearly all options of most tables are such. */
  private static final List<Option> OF_COLUMNS =
      IntStream.rangeClosed(1, TableSpec.MAX_COLUMNS / TableSpec.COLUMN_UNIT)
          .mapToObj(
              units ->
                  new Option(0, new TablePart(ShardScope.DEVICE, units * TableSpec.COLUMN_UNIT)))
          .toList();

  /** Returns parts of so many columns with all rows, each in the memory of one device. */
  public static Option ofColumns(int columns) {
    return OF_COLUMNS.get(columns / TableSpec.COLUMN_UNIT - 1);
  }

  /** Returns the option whose part each shard of a plan is, or is a block of. */
  public static List<Option> of(List<Shard> shards) {
    Map<String, Long> hotRows = HotRows.byTable(shards);
    Map<String, Integer> blocks = new HashMap<>();
    for (Shard shard : shards) {
      if (shard.kind().isOfBlocks()) {
        blocks.merge(shard.table(), 1, Integer::sum);
      }
    }
    List<Option> options = new ArrayList<>();
    for (Shard shard : shards) {
      int ofTable = shard.kind().isOfBlocks() ? blocks.get(shard.table()) : 1;
      options.add(
          new Option(
              hotRows.getOrDefault(shard.table(), 0L),
              new TablePart(shard.kind().scope(), shard.columns(), ofTable, shard.cacheShare())));
    }
    return options;
  }

  /** Returns whether it is the copies of hot rows: no way to shard a table by themselves. */
  public boolean isOfHotRows() {
    return hotRows > 0 && part.scope() == ShardScope.COPIES;
  }

  /**
   * Returns the table whose parts these are: of a table that is cut by use, some of its rows.
   *
   * @param cuts the table cut by use, for each number of hot rows
   */
  public TableSpec of(TableSpec table, Map<Long, HotColdTable> cuts) {
    if (hotRows == 0) {
      return table;
    }
    HotColdTable cut = cuts.get(hotRows);
    return isOfHotRows() ? cut.hot() : cut.others();
  }

  /** Returns this option with other columns in each part. */
  public Option withColumns(int columns) {
    return new Option(hotRows, part.withColumns(columns));
  }

  /** Returns this option in device memory. */
  public Option withoutCache() {
    return new Option(hotRows, part.withoutCache());
  }

  /** Returns what it is, for people. */
  public String describe() {
    String described = Options.describe(part);
    return hotRows == 0 ? described : "%s, %s hot rows".formatted(described, hotRows);
  }
}
