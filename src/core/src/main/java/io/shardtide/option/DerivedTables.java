package io.shardtide.option;

import io.shardtide.workload.TableSpec;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;

/**
 * What parts of a table may be of, in place of the table: some of its rows, or the table as it is
 * looked up once ids are deduplicated.
 *
 * @param byUse the table cut by use, for each number of hot rows; empty if a plan may not cut it
 * @param deduplicated the table with the lookups that are left of each step: {@link
 *     DistinctIds#deduplicated}; empty if a plan may not deduplicate its ids
 */
public record DerivedTables(Map<Long, HotColdTable> byUse, Optional<TableSpec> deduplicated) {
  /** None. */
  public static final DerivedTables NONE = new DerivedTables(Map.of(), Optional.empty());

  /** Keeps the order of the numbers of hot rows. */
  public DerivedTables {
    byUse = Collections.unmodifiableMap(byUse);
  }

  /** Returns the table that parts of an option are of. */
  public TableSpec of(TableSpec table, Option option) {
    if (option.deduplicated()) {
      return deduplicated.orElseThrow();
    }
    if (option.hotRows() == 0) {
      return table;
    }
    HotColdTable cut = byUse.get(option.hotRows());
    return option.isAddition() ? cut.hot() : cut.others();
  }
}
