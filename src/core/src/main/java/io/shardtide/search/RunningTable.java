package io.shardtide.search;

import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;

/**
 * A table of the running plan, or several that are placed together, and the parts of it that can be
 * kept: those at places that are still there. Nothing is kept of a table that is new, has another
 * number of columns, or is split over other devices than the place has now.
 *
 * @param parts the parts that can be kept, by column and row
 * @param shards the shards, also those whose devices are gone; none of a table that is new or has
 *     another number of columns
 * @param firstRow the first row that the parts have: all devices have those before it; 0 of tables
 *     that share their devices
 * @param deduplicated whether the parts get distinct ids
 * @param scope where the rows of the parts are; null of a table that did not run
 * @param partsBefore into how many parts it was cut, also those whose devices are gone
 * @param isEqual whether the parts are of equal width, at places of their own
 */
record RunningTable(
    List<RunningPart> parts,
    PlanShards shards,
    long firstRow,
    boolean deduplicated,
    ShardScope scope,
    int partsBefore,
    boolean isEqual) {
  /**
   * A part of a table at a place.
   *
   * @param part the part
   * @param place the place
   * @param region what of the table the devices of the place have together; of tables that are
   *     placed together, of the columns of all, with the rows of the first
   */
  record RunningPart(TablePart part, int place, Region region) {
    int columns() {
      return part.columns();
    }
  }

  /** A shard of the running plan, and the option whose part it is, or is a block of. */
  private record PlacedShard(Shard shard, Option option) {}

  /**
   * Returns the tables of a problem, in its order.
   *
   * @param tables tables of the problem, those that are placed together as one
   * @param plan the running plan; some of its devices may be gone
   * @param places places that there are now
   */
  static List<RunningTable> of(List<TableGroup> tables, PlanShards plan, Places places) {
    Map<String, List<PlacedShard>> byTable = new HashMap<>();
    List<Option> options = Option.of(plan.shards());
    for (int i = 0; i < options.size(); i++) {
      Shard shard = plan.shards().get(i);
      byTable
          .computeIfAbsent(shard.table(), table -> new ArrayList<>())
          .add(new PlacedShard(shard, options.get(i)));
    }
    PlanShards none = new PlanShards(List.of(), plan.devices(), plan.groups());
    RunningTable isNew = new RunningTable(List.of(), none, 0, false, null, 0, false);
    List<RunningTable> running = new ArrayList<>();
    for (TableGroup group : tables) {
      boolean ran = group.specs().anyMatch(table -> byTable.containsKey(table.name()));
      running.add(ran ? of(group, byTable, plan, places) : isNew);
    }
    return running;
  }

  private static RunningTable of(
      TableGroup group, Map<String, List<PlacedShard>> byTable, PlanShards plan, Places places) {
    List<Shard> all = new ArrayList<>();
    // Without what all devices have beside them.
    List<List<PlacedShard>> parts = new ArrayList<>();
    long firstRow = 0;
    for (TablePrediction prediction : group.tables()) {
      TableSpec table = prediction.table();
      List<PlacedShard> known = known(table, byTable.getOrDefault(table.name(), List.of()));
      List<PlacedShard> ofTable = new ArrayList<>();
      firstRow = 0;
      for (PlacedShard of : known) {
        all.add(of.shard());
        firstRow = Math.max(firstRow, of.option().firstRow());
        if (!of.option().isAddition()) {
          ofTable.add(of);
        }
      }
      parts.add(ofTable);
    }
    List<PlacedShard> first =
        parts.stream().filter(of -> !of.isEmpty()).findFirst().orElse(List.of());
    ShardScope scope = first.isEmpty() ? null : first.get(0).option().part().scope();
    int count =
        scope == ShardScope.DEVICE
            ? first.size()
            : (int) first.stream().mapToInt(of -> of.shard().columnOffset()).distinct().count();
    boolean hasCopies = parts.stream().mapToInt(List::size).sum() < all.size();
    boolean areEqual = !(hasCopies && group.isShared());
    List<List<RunningPart>> ofTables = new ArrayList<>();
    for (int t = 0; t < parts.size(); t++) {
      TableSpec table = group.tables().get(t).table();
      areEqual &= isEqual(table, parts.get(t), count);
      ofTables.add(parts(table, parts.get(t), places));
    }
    return new RunningTable(
        group.isShared() ? shared(group, ofTables) : ofTables.get(0),
        new PlanShards(all, plan.devices(), plan.groups()),
        group.isShared() ? 0 : firstRow,
        !first.isEmpty() && first.get(0).option().deduplicated(),
        scope,
        count,
        areEqual);
  }

  /** Returns whether it ran with as many columns as it has now. */
  boolean ran() {
    return !shards.isEmpty();
  }

  /** Returns the option of the parts, of which there must be some. */
  Option option() {
    return new Option(firstRow, deduplicated, parts.get(0).part());
  }

  /**
   * Returns whether it was cut into so many parts of such width, at places of their own that are
   * places still but for those that are gone.
   *
   * @param group the tables
   */
  boolean isCutInto(TableGroup group, TablePart part) {
    return isEqual
        && !parts.isEmpty()
        && scope == part.scope()
        && part.count(group.columns()) == partsBefore
        && part.columns() * partsBefore == group.columns();
  }

  /** Returns how many columns can be kept at a place. */
  int columns(int place) {
    int columns = 0;
    for (int i = 0; i < parts.size(); i++) {
      if (parts.get(i).place() == place) {
        columns += parts.get(i).columns();
      }
    }
    return columns;
  }

  /** Returns whether a table was cut into so many parts of equal width, at places of their own. */
  private static boolean isEqual(TableSpec table, List<PlacedShard> shards, int count) {
    return !shards.isEmpty()
        && shards.stream().allMatch(of -> of.shard().columns() * count == table.columns())
        && shards.stream().map(of -> of.shard().device()).distinct().count() == shards.size();
  }

  private static List<PlacedShard> known(TableSpec table, List<PlacedShard> shards) {
    int columns = 0;
    for (PlacedShard of : shards) {
      columns = Math.max(columns, of.shard().region().columnEnd());
    }
    return columns == table.columns() ? shards : List.of();
  }

  /** Returns the parts of a group if each table has its equal parts, all at the same places. */
  private static List<RunningPart> shared(TableGroup group, List<List<RunningPart>> ofTables) {
    List<Integer> places = ofTables.get(0).stream().map(RunningPart::place).toList();
    for (int t = 0; t < ofTables.size(); t++) {
      List<RunningPart> own = ofTables.get(t);
      int columns = group.tables().get(t).table().columns();
      boolean areSame =
          own.stream().map(RunningPart::place).toList().equals(places)
              && own.stream().allMatch(part -> part.columns() * places.size() == columns)
              && cacheShares(own).equals(cacheShares(ofTables.get(0)));
      if (!areSame) {
        return List.of();
      }
    }
    List<RunningPart> shared = new ArrayList<>();
    for (RunningPart own : ofTables.get(0)) {
      int columns = group.columns() / places.size();
      Region rows = own.region();
      shared.add(
          new RunningPart(
              own.part().withColumns(columns),
              own.place(),
              new Region(shared.size() * columns, columns, rows.rowOffset(), rows.rows())));
    }
    return shared;
  }

  private static List<OptionalDouble> cacheShares(List<RunningPart> parts) {
    return parts.stream().map(part -> part.part().cacheShare()).toList();
  }

  private static List<RunningPart> parts(TableSpec table, List<PlacedShard> shards, Places places) {
    if (shards.isEmpty()) {
      return List.of();
    }
    ShardScope scope = shards.get(0).option().part().scope();
    if (scope == ShardScope.COPIES) {
      return List.of(
          new RunningPart(
              new TablePart(scope, table.columns()), places.firstOf(scope), Region.of(table)));
    }
    Map<RunningPart, Integer> found = new LinkedHashMap<>();
    Map<Integer, Integer> blocks = new HashMap<>();
    List<PlacedShard> sorted = new ArrayList<>(shards);
    sorted.sort(Comparator.comparing(PlacedShard::shard, Shard.ORDER));
    for (PlacedShard of : sorted) {
      Shard shard = of.shard();
      blocks.merge(shard.columnOffset(), 1, Integer::sum);
      if (shard.device() < places.devices) {
        int place = places.of(scope, shard.device());
        Region region =
            scope == ShardScope.DEVICE
                ? shard.region()
                : Region.ofColumns(table, shard.columnOffset(), shard.columns());
        found.merge(new RunningPart(of.option().part(), place, region), 1, Integer::sum);
      }
    }
    if (scope == ShardScope.DEVICE) {
      return List.copyOf(found.keySet());
    }
    // Of a node that lost a device, or got one, all rows are elsewhere; of one that became several,
    // each has some of the rows. A device of an earlier version's plan may have none of them.
    Set<Integer> offsets = new HashSet<>();
    boolean areWhole =
        found.keySet().stream().allMatch(part -> offsets.add(part.region().columnOffset()));
    return found.entrySet().stream()
        .filter(part -> areWhole && part.getValue() == places.size(part.getKey().place()))
        .map(Map.Entry::getKey)
        // The devices that are left of a node may be a whole smaller one.
        .filter(
            part ->
                scope != ShardScope.NODE
                    || blocks.get(part.region().columnOffset()) == places.size(part.place()))
        .toList();
  }
}
