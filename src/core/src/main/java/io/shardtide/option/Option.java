package io.shardtide.option;

import io.shardtide.plan.HotRows;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A way to shard a table in its replica group: all parts of a table are alike, so that a plan is an
 * option, and the places of its parts, for each table.
 *
 * @param hotRows how many of the most used rows each device has a copy of; 0 if the table is not
 *     cut by use
 * @param deduplicated whether each rank sends the distinct ids of its batch instead of all
 * @param part what each part is, of all other rows; copies of a table with hot rows are those of
 *     the hot rows, and those of a deduplicated table what deduplication takes on each device
 */
public record Option(long hotRows, boolean deduplicated, TablePart part) {
  /** One for each width, because nearly all options of most tables are such. */
  private static final List<Option> OF_COLUMNS =
      IntStream.rangeClosed(1, TableSpec.MAX_COLUMNS / TableSpec.COLUMN_UNIT)
          .mapToObj(
              units ->
                  new Option(0, new TablePart(ShardScope.DEVICE, units * TableSpec.COLUMN_UNIT)))
          .toList();

  /** An option that gets all ids. */
  public Option(long hotRows, TablePart part) {
    this(hotRows, false, part);
  }

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
              shard.deduplicated(),
              new TablePart(shard.kind().scope(), shard.columns(), ofTable, shard.cacheShare())));
    }
    return options;
  }

  /** Returns whether it is {@link #onAll} of others: no way to shard a table by itself. */
  public boolean isAddition() {
    return (hotRows > 0 || deduplicated) && part.scope() == ShardScope.COPIES;
  }

  /**
   * Returns what of the table all devices have beside the parts; empty if nothing.
   *
   * @param columns columns of the table
   */
  public Optional<Option> onAll(int columns) {
    return (hotRows == 0 && !deduplicated) || isAddition()
        ? Optional.empty()
        : Optional.of(new Option(hotRows, deduplicated, new TablePart(ShardScope.COPIES, columns)));
  }

  /** Returns whether its parts are of the same rows, looked up alike, as those of another one. */
  public boolean isOfSameTable(Option other) {
    return firstRow() == other.firstRow() && deduplicated == other.deduplicated;
  }

  /** Returns the first row of the table that its parts have; all devices have those before it. */
  public long firstRow() {
    return isAddition() ? 0 : hotRows;
  }

  /** Returns whether its parts have all rows of the table. */
  public boolean hasAllRows() {
    return hotRows == 0;
  }

  /** Returns this option with all rows of the table in its parts, which get all ids. */
  public Option withAllRows() {
    return new Option(0, part);
  }

  /** Returns whether each part has all rows and gets all ids, in the memory of one device. */
  public boolean isOnDevice() {
    return hasAllRows() && !deduplicated && part.isOnDevice();
  }

  /** Returns this option with other columns in each part. */
  public Option withColumns(int columns) {
    return with(part.withColumns(columns));
  }

  /** Returns this option with other parts. */
  public Option with(TablePart other) {
    return new Option(hotRows, deduplicated, other);
  }

  /** Returns this option in device memory. */
  public Option withoutCache() {
    return with(part.withoutCache());
  }

  /** Returns what it is, for people. */
  public String describe() {
    String described = Options.describe(part);
    String ids = deduplicated ? ", distinct ids" : "";
    return hotRows == 0 ? described + ids : "%s, %s hot rows".formatted(described, hotRows);
  }
}
